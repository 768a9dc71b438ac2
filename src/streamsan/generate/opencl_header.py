"""The functions of OpenCL as a C++ header: what a layer can stand before, with the place of each in the loader's table.

The effects table says which functions have an effect, and what each argument is; `functions.json` of the platform has
the prototypes, as OpenCL's headers say them. C++ needs of each parameter only what the calling convention does: its
width.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

from streamsan.effects.roles import Effect, Role
from streamsan.effects.signature import Parameter
from streamsan.effects.table import Effects

NOTICE = (
    "Generated from src/streamsan/platforms/opencl/api/*.toml and functions.json by `python -m streamsan.generate`. "
    "Do not edit."
)
_WIDE = frozenset(
    {"cl_bitfield", "cl_command_queue_properties", "cl_device_type", "cl_map_flags", "cl_mem_device_address_ext",
     "cl_mem_flags", "cl_mem_flags_intel", "cl_mem_migration_flags", "cl_mem_migration_flags_ext",
     "cl_svm_free_flags_khr", "cl_svm_mem_flags", "cl_svm_mem_flags_arm", "cl_ulong", "size_t"}
)  # fmt: skip
"""Types of 64 bits that are no pointers."""
_HANDLES = frozenset(
    {"cl_accelerator_intel", "cl_command_buffer_khr", "cl_command_queue", "cl_context", "cl_device_id", "cl_event",
     "cl_GLsync", "cl_kernel", "cl_mem", "cl_mutable_command_khr", "cl_platform_id", "cl_program", "cl_sampler",
     "cl_semaphore_khr", "CLeglDisplayKHR", "CLeglImageKHR", "CLeglSyncKHR"}
)  # fmt: skip
_NEVER_ON_LINUX = ("D3D10", "D3D11", "DX9", "APPLE")
_MEANS_THE_SAME: dict[str, Callable[[Parameter], bool]] = {
    "queue": lambda parameter: parameter.role is Role.HANDLE and parameter.handle == "stream",
    "wait_count": lambda parameter: parameter.role is Role.WAIT_COUNT,
    "wait_list": lambda parameter: parameter.role is Role.WAIT_LIST,
    "event": lambda parameter: parameter.role is Role.OUT_HANDLE and parameter.handle == "event",
    "status": lambda parameter: parameter.role is Role.OUT_STATUS,
    "blocking": lambda parameter: parameter.role is Role.BLOCKING,
}
"""Columns of the table: parameters that mean the same in every function that has them."""

Row = tuple[str, int | None, str, list[list[str]]]


def rows_of(source: Path, effects: Effects) -> dict[str, Row]:
    """Return the functions that have an effect on some system that this package runs on, with their prototypes."""
    document: dict[str, Row] = json.loads(source.read_text(encoding="utf-8"))
    return {name: row for name, row in document.items() if _has_effect(name, effects)}


def _has_effect(name: str, effects: Effects) -> bool:
    api = effects.find(name)
    asked_for = name.startswith("clGetExtensionFunctionAddress")
    has = api is not None and (asked_for or api.effect not in (Effect.CALL, Effect.PURE))
    return has and not any(word in name for word in _NEVER_ON_LINUX)


def header_text(source: Path, effects: Effects) -> str:
    """Return opencl_functions.hpp as text."""
    rows = rows_of(source, effects)
    out = [f"// {NOTICE}", "#pragma once", "#include <array>", "#include <cstdint>", ""]
    out += ["namespace streamsan::recorder::opencl {", "", "/// The functions, by their rows in the table."]
    out += ["enum class Function : std::uint16_t {", *(f"    {name}," for name in rows), "};", ""]
    out += [
        "/// A function: its place in the loader's table (-1: none, it is asked for by name), how many parameters it"
    ]
    out += ["/// has, and which of them (-1: none) are those that mean the same everywhere."]
    out += ["struct FunctionRow {", "    const char* name;", "    std::int16_t place;", "    std::uint8_t count;"]
    out += [*(f"    std::int8_t {column};" for column in _MEANS_THE_SAME), "};", ""]
    out += [f"inline constexpr std::array<FunctionRow, {len(rows)}> function_table{{{{"]
    out += [_row(name, row, effects) for name, row in rows.items()]
    out += ["}};", "", "/// How each is called.", "template <Function>", "struct Prototype;"]
    for name, row in rows.items():
        kind = _type(row, _more_parameters(name, row, effects))
        out += ["template <>", f"struct Prototype<Function::{name}> {{", f"    using Type = {kind};", "};"]
    out += ["", "/// The positions of parameters, by function.", "namespace parameter {"]
    for name, (_, _, _, parameters) in rows.items():
        if parameters:
            names = ", ".join(parameter for _, parameter in parameters)
            out.append(f"namespace {name} {{ enum : unsigned {{ {names} }}; }}")
    out += ["}  // namespace parameter", "", "}  // namespace streamsan::recorder::opencl", ""]
    return "\n".join(out)


def _row(name: str, row: Row, effects: Effects) -> str:
    _, place, _, prototype = row
    api = effects.find(name)
    versions = () if api is None else api.versions
    # The table may know a newer list of arguments than the headers that the prototype is from.
    same = [version for version in versions if len(version.parameters) == len(prototype)]
    parameters = same[-1].parameters if same else ()
    positions = [
        next((position for position, parameter in enumerate(parameters) if means(parameter)), -1)
        for means in _MEANS_THE_SAME.values()
    ]
    return f'    {{"{name}", {-1 if place is None else place}, {len(prototype)}, {", ".join(map(str, positions))}}},'


def _more_parameters(name: str, row: Row, effects: Effects) -> int:
    """Return how many parameters a newer version of the function has more than the prototype."""
    api = effects.find(name)
    return max([0, *(len(version.parameters) - len(row[3]) for version in (() if api is None else api.versions))])


def _type(row: Row, more: int) -> str:
    """Return how a function is called. One of several versions is called with the words of the longest.

    The callee of a shorter one leaves the last words alone, and passes on what it gets.
    """
    _, _, result, parameters = row
    words = ["std::uint64_t"] * (len(parameters) + more) if more else list(_types(parameters))
    return f"{_word(result)}({', '.join(words)})"


def _types(parameters: list[list[str]]) -> Iterator[str]:
    return (_word(kind) for kind, _ in parameters)


def _word(kind: str) -> str:
    """Return the C++ type that is passed as this one is."""
    if kind == "void":
        return "void"
    if any(letter in kind for letter in "*[(") or kind in _HANDLES or kind in _WIDE:
        return "std::uint64_t"
    return "std::int32_t" if kind == "cl_int" else "std::uint32_t"
