"""What is at an offset of a module: source file, line and function, and the functions inlined there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from msgspec import Struct

Address = tuple[int, int]
"""module id, address as in the module's file"""


class Frame(Struct, frozen=True):
    """One function that is active at an instruction. Lines and columns count from 1; 0, "": not known."""

    file: str
    line: int
    column: int = 0
    function: str = ""
    """demangled, with its parameters"""


class Texts(Protocol):
    """String id to string."""

    def __getitem__(self, number: int) -> str: ...


NO_SYMBOLS: Mapping[Address, tuple[Frame, ...]] = {}
