"""The callback table as a C++ header."""

from __future__ import annotations

from collections.abc import Iterable

from streamsan.effects.api import Api
from streamsan.effects.callbacks import MOST_PARAMETERS, Callback, role_of
from streamsan.generate.effects_header import DIRECTIONS, WAITS, constant

NOTICE = (
    "Generated from src/streamsan/platforms/cuda/api/*.toml and callbacks.json by `python -m streamsan.generate`. "
    "Do not edit."
)


def header_text(entries: Iterable[Callback]) -> str:
    """Return cuda_callbacks.hpp as text: the rows that a recorder uses, by domain and id."""
    rows = [(entry, entry.api) for entry in entries if entry.recorded and entry.api is not None]
    out = [f"// {NOTICE}", "#pragma once", "#include <array>", "", '#include "recorder/cuda/call.hpp"', ""]
    out += ["namespace streamsan::recorder::cuda {", ""]
    for domain in ("driver", "runtime"):
        most = max(entry.number for entry, _ in rows if entry.domain == domain)
        out.append(f"/// Callback ids of the {domain} domain in the table are smaller than this.")
        out.append(f"inline constexpr std::size_t {domain}_ids = {most + 1};")
    out += ["", f"inline constexpr std::array<Callback, {len(rows)}> callback_table{{{{"]
    out += [_row(entry, api) for entry, api in rows]
    return "\n".join([*out, "}};", "", "}  // namespace streamsan::recorder::cuda", ""])


def _row(entry: Callback, api: Api) -> str:
    members = entry.members[:MOST_PARAMETERS]
    parameters = ", ".join(_parameter(entry, position) for position in range(len(members)))
    flags = ", ".join("true" if flag else "false" for flag in (entry.domain == "runtime", entry.per_thread, entry.hot))
    memory = 0 if api.memory is None else int(api.memory)
    free = 0 if api.free is None else int(api.free)
    wait, direction = constant(WAITS[WAITS.index(api.wait)]), constant(DIRECTIONS[DIRECTIONS.index(api.direction)])
    return (
        f'    {{{entry.number}, {flags}, "{api.name}", effects::Effect::{api.effect.name}, {memory}, {free},\n'
        f"     effects::Wait::{wait}, effects::Direction::{direction}, {len(members)}, {{{{{parameters}}}}}}},"
    )


def _parameter(entry: Callback, position: int) -> str:
    member = entry.members[position]
    role, handle = role_of(entry, position)
    return (
        f"{{{member.offset}, {member.size}, effects::Role::{role.name}, effects::Handle::{constant(handle or 'none')}}}"
    )
