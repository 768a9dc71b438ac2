"""The effects table as a C++ header: constant data that a recorder compiles in."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

from streamsan.effects.api import Api
from streamsan.effects.roles import HANDLE_WORDS, Effect, Role
from streamsan.effects.signature import Parameter, Signature

NOTICE = "Generated from src/streamsan/platforms/cuda/api/*.toml by `python -m streamsan.generate`. Do not edit."

_TYPES = """
/// One parameter of a published argument list.
struct Parameter {
    std::string_view name;
    Role role;
    Handle handle;
    bool optional;  ///< has a C++ default
    bool variadic;  ///< takes all further arguments
};

/// One published argument list: `count` parameters from `parameters[first]` on; a call needs at least `least` of them.
struct Version {
    std::uint16_t first;
    std::uint8_t count;
    std::uint8_t least;
};

/// One API: `count` argument lists from `versions[first]` on, the current one first.
struct Api {
    std::string_view name;
    Effect effect;
    std::uint8_t memory;  ///< MemoryKind of what it allocates, 0 for none
    std::uint8_t free;    ///< FreeClass, 0 for none
    Wait wait;
    Direction direction;
    std::uint16_t first;
    std::uint8_t count;
};
"""

_FIND = """
/// The API of a name without `_v2` or `_ptsz`; nullptr if the table has none.
constexpr const Api* find(std::string_view name) {
    std::size_t low = 0;
    std::size_t high = apis.size();
    while (low < high) {
        const std::size_t middle = low + (high - low) / 2;
        if (apis[middle].name < name) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < apis.size() && apis[low].name == name ? &apis[low] : nullptr;
}
"""

WAITS = ("", "synchronous", "asynchronous")
DIRECTIONS = ("", "host_to_device", "device_to_host", "device_to_device")


def header_text(table: Iterable[Api]) -> str:
    """Return effects.hpp as text, the APIs in order of their names."""
    apis = sorted(table, key=lambda api: api.name.encode())
    versions = [version for api in apis for version in api.versions]
    parameters = [parameter for version in versions for parameter in version.parameters]
    out = [f"// {NOTICE}", "#pragma once", "#include <array>", "#include <cstddef>", "#include <cstdint>"]
    out += ["#include <string_view>", "", "namespace streamsan::effects {"]
    out += _enumeration("Effect", "What a call does.", [_word(effect) for effect in Effect])
    out += _enumeration("Role", "What an argument is.", [_word(role) for role in Role])
    out += _enumeration("Handle", "Which handle an argument is.", [constant(word) for word in ("none", *HANDLE_WORDS)])
    out += _enumeration("Wait", "Column of the waits of copies and fills.", [constant(word) for word in WAITS])
    out += _enumeration("Direction", "Fixed by the API's name.", [constant(word) for word in DIRECTIONS])
    out += [_TYPES, f"inline constexpr std::array<Parameter, {len(parameters)}> parameters{{{{"]
    out += [_parameter(parameter) for parameter in parameters]
    out += ["}};", "", f"inline constexpr std::array<Version, {len(versions)}> versions{{{{"]
    first = 0
    for version in versions:
        out.append(_version(version, first))
        first += len(version.parameters)
    out += ["}};", "", f"inline constexpr std::array<Api, {len(apis)}> apis{{{{"]
    first = 0
    for api in apis:
        out.append(_api(api, first))
        first += len(api.versions)
    return "\n".join([*out, "}};", _FIND, "}  // namespace streamsan::effects", ""])


def _enumeration(name: str, doc: str, words: list[str]) -> list[str]:
    return ["", f"/// {doc}", f"enum class {name} : std::uint8_t {{", *(f"    {word}," for word in words), "};"]


def constant(word: str) -> str:
    """Return a word of the table as an enumerator."""
    return word.upper().replace(" ", "_") or "NONE"


def _word(member: StrEnum) -> str:
    return member.name


def _parameter(parameter: Parameter) -> str:
    optional = "true" if parameter.default is not None else "false"
    variadic = "true" if parameter.variadic else "false"
    handle = constant(parameter.handle or "none")
    return f'    {{"{parameter.name}", Role::{parameter.role.name}, Handle::{handle}, {optional}, {variadic}}},'


def _version(version: Signature, first: int) -> str:
    return f"    {{{first}, {len(version.parameters)}, {version.least}}},"


def _api(api: Api, first: int) -> str:
    memory = 0 if api.memory is None else int(api.memory)
    free = 0 if api.free is None else int(api.free)
    return (
        f'    {{"{api.name}", Effect::{api.effect.name}, {memory}, {free}, Wait::{constant(api.wait)}, '
        f"Direction::{constant(api.direction)}, {first}, {len(api.versions)}}},"
    )
