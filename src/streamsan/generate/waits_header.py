"""The waits of copies and fills as a C++ header: the recorder compiles in what `Waits` answers."""

from __future__ import annotations

from streamsan.effects.waits import Endpoint
from streamsan.platforms import Platform
from streamsan.vocabulary import MemoryKind

NOTICE = "Generated from src/streamsan/platforms/cuda/waits.toml by `python -m streamsan.generate`. Do not edit."
COLUMNS = ("synchronous", "asynchronous")
_BEGIN = f"""// {NOTICE}
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>

#include "generated/effects.hpp"
#include "generated/vocabulary.hpp"

namespace streamsan::effects {{

/// A side of a copy, as far as the host's wait depends on it.
enum class Endpoint : std::uint8_t {{"""


def waits_header_text(platform: Platform) -> str:
    """Return copy_waits.hpp as text."""
    ends = list(Endpoint)
    out = [_BEGIN]
    out += [f"    {end.name}," for end in ends] + ["};", ""]
    out += ["/// By MemoryKind: which side memory of that kind is."]
    kinds = max(MemoryKind) + 1
    sides = ", ".join(f"Endpoint::{platform.side(MemoryKind(number)).name}" for number in range(kinds))
    out += [f"inline constexpr std::array<Endpoint, {kinds}> endpoints{{{sides}}};", ""]
    row = f"std::array<WaitClass, {len(ends)}>"
    out.append("/// By column (synchronous, asynchronous), source, destination.")
    out.append("inline constexpr")
    out.append(f"std::array<std::array<{row}, {len(ends)}>, {len(COLUMNS)}> copy_waits{{{{")
    for column in COLUMNS:
        out.append("    {{")
        for source in ends:
            waits = ", ".join(f"WaitClass::{platform.waits.of_copy(column, source, to).name}" for to in ends)
            out.append(f"        {{{{{waits}}}}},  // from {source}")
        out.append("    }},")
    out += ["}};", "", "/// By column and target."]
    out.append(f"inline constexpr std::array<{row}, {len(COLUMNS)}> memset_waits{{{{")
    for column in COLUMNS:
        waits = ", ".join(f"WaitClass::{platform.waits.of_memset(column, end).name}" for end in ends)
        out.append(f"    {{{{{waits}}}}},")
    return "\n".join([*out, "}};", "", "}  // namespace streamsan::effects", ""])
