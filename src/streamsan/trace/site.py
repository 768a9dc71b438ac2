"""Where an operation was issued."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import overload

from msgspec import Struct


class Site(Struct, frozen=True):
    """A call site. Lines and columns count from 1; 0: unknown. `caller` is the site id of the call it is nested in."""

    file: str
    line: int
    column: int = 0
    end_line: int = 0
    end_column: int = 0
    function: str = ""
    text: str = ""
    """the call as written, on one line, at most 200 characters"""
    label: str = ""
    """what the operation makes or runs, in the program's own words: the variable (`d_x`), the kernel (`scale`),
    the reason of a NOT_UNDERSTOOD or MALFORMED_CALL"""
    caller: int = 0
    module: int = 0
    """module id of a native frame of a recorded stack; 0: not one"""
    offset: int = 0
    """address of the frame's instruction as in the module's file"""
    runtime: str = ""
    """function of the CUDA runtime that the program called there (`cudaFreeAsync`), where a recorded stack shows it"""


class SiteTable(Sequence[Site]):
    """Site id -> Site, made when asked for. Id 0 is the unknown site."""

    @abstractmethod
    def made(self, number: int) -> Site:
        """Return the site of an id above 0 that the table has."""

    @overload
    def __getitem__(self, index: int) -> Site: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Site]: ...
    def __getitem__(self, index: int | slice) -> Site | Sequence[Site]:
        if isinstance(index, slice):
            return [self[number] for number in range(*index.indices(len(self)))]
        if not 0 <= index < len(self):
            raise IndexError(index)
        return self.made(index) if index else UNKNOWN_SITE


UNKNOWN_SITE = Site("", 0)
