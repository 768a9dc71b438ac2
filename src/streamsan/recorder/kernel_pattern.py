"""Patterns of kernels' names: the recorder searches with the C library, whose expressions are POSIX's extended ones."""

from __future__ import annotations

import re

_CLASSES = {
    "d": "0-9",
    "w": "[:alnum:]_",
    "s": "[:space:]",
}
_QUANTIFIER = re.compile(r"[*+?]|\{(\d*)(,?)(\d*)\}")
_MOST_TIMES = 255
"""what POSIX promises to count"""


def extended(pattern: str) -> str:
    """Return a valid expression of Python's as an extended one of POSIX, which finds the same in a kernel's name.

    Raises ValueError for what these have not: flags, groups that look around, references to groups.
    """
    parts: list[str] = []
    at = 0
    while at < len(pattern):
        text, at = _part(pattern, at)
        parts.append(text)
    return "".join(parts)


def _part(pattern: str, at: int) -> tuple[str, int]:
    """Return what stands at a place in POSIX's words, and where the next part begins."""
    character = pattern[at]
    if character == "\\":
        return _escaped(pattern[at + 1]), at + 2
    if character == "[":
        return _bracket(pattern, at + 1)
    if character == "(":
        return _group(pattern, at)
    if (match := _QUANTIFIER.match(pattern, at)) and match[0] != "{}":
        end = match.end()
        if pattern[end : end + 1] == "+":
            raise ValueError("it has a quantifier that gives nothing back")
        return _times(match), end + (pattern[end : end + 1] == "?")  # how much is taken does not matter
    return ("\\" + character if character in "{}]" else character), at + 1


def _times(match: re.Match[str]) -> str:
    if match[1] is None:
        return match[0]
    if any(number and int(number) > _MOST_TIMES for number in (match[1], match[3])):
        raise ValueError(f"it counts beyond {_MOST_TIMES}")
    return f"{{{match[1] or 0}{match[2]}{match[3]}}}"


def _escaped(character: str) -> str:
    if character.lower() in _CLASSES:
        return f"[{'^' if character.isupper() else ''}{_CLASSES[character.lower()]}]"
    if character in "AZ":
        return "^" if character == "A" else "$"
    if character in "bB" or not character.isalnum():
        return "\\" + character
    raise ValueError(f"it has \\{character}")


def _group(pattern: str, at: int) -> tuple[str, int]:
    if pattern[at + 1 : at + 2] != "?":
        return "(", at + 1
    match = re.compile(r"\(\?(:|P<\w+>)").match(pattern, at)
    if match is None:
        raise ValueError(f"it has {pattern[at : at + 4]}")
    return "(", match.end()


def _bracket(pattern: str, at: int) -> tuple[str, int]:
    """Return a bracket expression, whose content begins at a place; in POSIX nothing in it is escaped."""
    negated = pattern[at] == "^"
    at += negated
    members: list[str] = []
    first = True
    while first or pattern[at] != "]":
        first = False
        member, at = _member(pattern, at)
        if pattern[at] == "-" and pattern[at + 1] != "]":
            last, at = _member(pattern, at + 1)
            members += [chr(code) for code in range(ord(member), ord(last) + 1)]
        else:
            members.append(member)
    # Where each stands for itself: `]` comes first, `-` first or last, `^` anywhere but first.
    text = "]" * ("]" in members) + "".join(member for member in members if member not in ("]", "^", "-"))
    if "^" in members and not text and not negated:
        return ("[-^]" if "-" in members else "\\^"), at + 1
    text += "^" * ("^" in members) + "-" * ("-" in members)
    return f"[{'^' if negated else ''}{text}]", at + 1


def _member(pattern: str, at: int) -> tuple[str, int]:
    character = pattern[at]
    if not character.isascii():
        raise ValueError(f"it has {character} in brackets")
    if character != "\\":
        return character, at + 1
    escaped = pattern[at + 1]
    if escaped.isalnum() and escaped not in _CLASSES:
        raise ValueError(f"it has \\{escaped} in brackets")
    return _CLASSES.get(escaped, escaped), at + 2
