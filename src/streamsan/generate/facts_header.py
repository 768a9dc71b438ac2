"""The platforms' facts of memory, frees, handles and statuses as one C++ header.

A program may use several platforms, and a trace's operations do not say whose they are: they need not. A kind of memory
that two platforms have is the same for both, a family of frees takes what either takes, and their statuses have
different numbers (OpenCL's are negative).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from streamsan.platforms import Platform
from streamsan.vocabulary import FreeClass, MemoryKind

_BEGIN = """// Generated from src/streamsan/platforms/*/facts.toml by `python -m streamsan.generate`. Do not edit.
#pragma once
#include <cstdint>

#include "generated/vocabulary.hpp"

namespace streamsan {
"""
_OF_MEMORY = {
    "dies_with_context": "Gone after a reset, or the end of the context that made it.",
    "pooled": "From a pool or a graph: given back in a stream's order, and no free waits for it.",
    "pageable": "The host's own memory: the device does not know it.",
    "host_side": "Surely the host's memory, pageable, pinned or registered. Managed memory is nobody's.",
}
_OF_FREE = {
    "waits": "Such a free waits for the context that owns the memory, unless that is pooled. Observed, not promised.",
    "relied_on": "What only such a wait orders is a program's reliance on it; of others it is unordered to the rules.",
}
_OF_STATUS = {
    "answers": "A program calls to see them: no failures.",
    "of_capture": "A capture forbids the call, or is broken.",
    "of_pointers": "A free that returns it was given a wrong pointer.",
    "sticky": "Every later call of the process returns it, too.",
}


_HANDLES = """/// Such a free of such memory waits for all work of the context that owns it. Observed, not promised.
constexpr bool waits(FreeClass family, MemoryKind kind) {{ return waits(family) && !pooled(kind); }}

/// Handles that need no creation. Those of streams that were made are greater.
namespace handle {{
inline constexpr std::uint64_t legacy_default_stream = {platform.legacy_stream};
inline constexpr std::uint64_t per_thread_default_stream = {platform.per_thread_stream};
}}  // namespace handle
"""


def facts_header_text(*platforms: Platform) -> str:
    """Return facts.hpp as text. Single handles and statuses are the first platform's."""
    return "\n".join(
        [
            _BEGIN,
            *_memory_predicates(platforms),
            *_accepting_frees(platforms),
            *_free_predicates(platforms),
            _HANDLES.format(platform=platforms[0]),
            *_statuses(platforms),
            "}  // namespace streamsan",
            "",
        ]
    )


def _memory_predicates(platforms: Sequence[Platform]) -> list[str]:
    chosen: dict[str, Callable[[Platform, MemoryKind], bool]] = {
        "dies_with_context": Platform.dies_with_context,
        "pooled": lambda platform, kind: kind in platform.memory and platform.memory[kind].pooled,
        "pageable": Platform.pageable,
        "host_side": Platform.host_side,
    }
    out = []
    for name, holds in chosen.items():
        kinds = [kind.name for kind in MemoryKind if any(holds(platform, kind) for platform in platforms)]
        out += _predicate(_OF_MEMORY[name], f"{name}(MemoryKind kind)", "kind", "MemoryKind", kinds)
    return out


def _free_predicates(platforms: Sequence[Platform]) -> list[str]:
    out = []
    for name, doc in _OF_FREE.items():
        rows = [platform.frees for platform in platforms]
        families = [
            family.name for family in FreeClass if any(family in row and getattr(row[family], name) for row in rows)
        ]
        out += _predicate(doc, f"{name}(FreeClass family)", "family", "FreeClass", families)
    return out


def _accepting_frees(platforms: Sequence[Platform]) -> list[str]:
    out = [
        "/// Such a free releases memory of the kind; a free of any other is a mistake. True of unknown kinds, of",
        "/// families that are no calls and could not refuse, and of kinds that no platform with the family has.",
        "constexpr bool accepts(FreeClass family, MemoryKind kind) {",
        "    switch (family) {",
    ]
    for family in FreeClass:
        having = [platform for platform in platforms if family in platform.frees]
        if all(platform.frees[family].accepts is not None for platform in having):
            kinds = [kind.name for kind in MemoryKind if _accepted(having, family, kind)]
            out += [f"        case FreeClass::{family.name}:", "            switch (kind) {"]
            out += [f"                case MemoryKind::{kind}:" for kind in kinds]
            out += ["                    return true;", "                default: return false;", "            }"]
    return [*out, "        default: return true;", "    }", "}", ""]


def _accepted(having: Sequence[Platform], family: FreeClass, kind: MemoryKind) -> bool:
    knowing = [platform for platform in having if kind in platform.memory]
    return any(platform.accepts(family, kind) for platform in knowing or having)


def _statuses(platforms: Sequence[Platform]) -> list[str]:
    first = platforms[0].status
    numbers = {name: getattr(first, name) for name in first.__struct_fields__}
    out = ["namespace status {"]
    out += [
        f"inline constexpr std::int16_t {name} = {value};" for name, value in numbers.items() if isinstance(value, int)
    ]
    for name, doc in _OF_STATUS.items():
        members: set[int] = set().union(*(getattr(platform.status, name) for platform in platforms))
        terms = " || ".join(f"status == {number}" for number in sorted(members))
        out += ["", f"/// {doc}", f"constexpr bool {name}(std::int16_t status) {{", f"    return {terms};", "}"]
    return [*out, "}  // namespace status", ""]


def _predicate(doc: str, head: str, subject: str, type: str, names: Iterable[str]) -> list[str]:
    cases = [f"        case {type}::{name}:" for name in names]
    return [f"/// {doc}", f"constexpr bool {head} {{", f"    switch ({subject}) {{", *cases,
            "            return true;", "        default: return false;", "    }", "}", ""]  # fmt: skip
