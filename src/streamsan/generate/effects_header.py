"""The words of the effects table as a C++ header: the enumerations that a recorder's callback table is written in."""

from __future__ import annotations

from collections.abc import Iterable

from streamsan.effects.roles import HANDLE_WORDS, Effect, Role

NOTICE = "Generated from src/streamsan/effects/roles.py by `python -m streamsan.generate`. Do not edit."
WAITS = ("", "synchronous", "asynchronous")
DIRECTIONS = ("", "host_to_device", "device_to_host", "device_to_device")


def header_text() -> str:
    """Return effects.hpp as text."""
    out = [f"// {NOTICE}", "#pragma once", "#include <cstdint>", "", "namespace streamsan::effects {"]
    out += _enumeration("Effect", "What a call does.", (effect.name for effect in Effect))
    out += _enumeration("Role", "What an argument is.", (role.name for role in Role))
    out += _enumeration("Handle", "Which handle an argument is.", map(constant, ("none", *HANDLE_WORDS)))
    out += _enumeration("Wait", "Column of the waits of copies and fills.", map(constant, WAITS))
    out += _enumeration("Direction", "Fixed by the API's name.", map(constant, DIRECTIONS))
    return "\n".join([*out, "", "}  // namespace streamsan::effects", ""])


def _enumeration(name: str, doc: str, words: Iterable[str]) -> list[str]:
    return ["", f"/// {doc}", f"enum class {name} : std::uint8_t {{", *(f"    {word}," for word in words), "};"]


def constant(word: str) -> str:
    """Return a word of the table as an enumerator."""
    return word.upper().replace(" ", "_") or "NONE"
