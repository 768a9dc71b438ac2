"""The enumeration classes of cuda.bindings."""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from typing import Any, cast


class NamedEnum(IntEnum):
    """An enumeration of cuda.bindings 13: shown by name also where it is formatted as text."""

    def __str__(self) -> str:
        """Return `<cudaError_t.cudaSuccess: 0>`."""
        return IntEnum.__repr__(self)

    def __format__(self, form: str) -> str:
        """Format as text, or as a number where a form for numbers is given."""
        return format(int(self), form) if form else str(self)


def enumeration(module: str, name: str, members: Mapping[str, int], major: int) -> type[IntEnum]:
    """Return a new enumeration class. Until 12 they were plain IntEnum classes."""
    make: Any = NamedEnum if major >= 13 else IntEnum
    return cast(type[IntEnum], make(name, dict(members), module=f"cuda.bindings.{module}"))


def member(kind: type[IntEnum], number: int) -> IntEnum | int:
    """Return the member with a number; the number where the enumeration has no such member."""
    try:
        return kind(number)
    except ValueError:
        return number
