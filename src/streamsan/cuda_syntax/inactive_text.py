"""Text that an `#if` of the program's own leaves out: it is part of a program that is configured otherwise."""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from streamsan.patterns.late_pattern import late_pattern

_NAMES: Final = late_pattern(r"\b[^\W\d]\w*")
_NOT_A_CHOICE: Final = late_pattern(
    r"_|(?:defined|true|false|WIN(?:32|64|VER)|linux|unix|\w+_(?:H|HPP|HXX|CUH|INCLUDED|VERSION)_*|\w+_VER)$"
)
"""names that say what compiler, system, language or version it is: nobody configures a program by them"""


def has_choice(condition: str) -> bool:
    """Tell whether a directive's condition has a name by which a program is configured; `#if 0` has none."""
    return any(_NOT_A_CHOICE.match(name) is None for name in _NAMES.findall(condition))


class InactiveText(Struct, frozen=True):
    """A range of a file's offsets that is left out."""

    start: int
    end: int
    directive: str
    """what leaves it out, on one line: `#if USE_MPI`, `#else of #ifdef FAST`"""


class Conditional(Struct):
    """An `#if` that is open."""

    offset: int
    parent: bool
    """whether the text around it is active"""
    taken: bool
    """whether one of its branches was active"""
    active: bool
    """whether the present branch is"""
    directive: str
    """the one that opened it"""
    branch: str
    """the one that opened the present branch"""
    choice: bool
    has_else: bool = False

    def alternative(self, word: str, condition: str) -> None:
        """Another branch begins with this directive."""
        written = " ".join(f"#{word} {condition}".split())
        self.branch = f"{written} of {self.directive}" if word == "else" else written
        self.choice = self.choice or has_choice(condition)


def opened(word: str, condition: str, offset: int, parent: bool, value: bool) -> Conditional:
    """Return the conditional that a directive at an offset opens."""
    directive = " ".join(f"#{word} {condition}".split())
    return Conditional(offset, parent, value, value, directive, directive, has_choice(condition))
