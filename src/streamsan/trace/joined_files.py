"""What several files of one run have, as if one file had it: sites, symbols and slots."""

from __future__ import annotations

import os
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence

from msgspec.structs import replace

from streamsan.trace.errors import TraceError
from streamsan.trace.lane import LaneCursor
from streamsan.trace.merge import in_order
from streamsan.trace.reader import OpenFile
from streamsan.trace.site import Site, SiteTable
from streamsan.trace.slot_fields import CHUNK
from streamsan.trace.store import Slots, owners
from streamsan.trace.symbol_records import Symbols
from streamsan.trace.symbols import Address, Frame
from streamsan.trace.translation import Translation


class JoinedSites(SiteTable):
    """The sites of several files in a row."""

    def __init__(self, parts: Sequence[Sequence[Site]], first_sites: Sequence[int], modules: Sequence[int]) -> None:
        self._parts = parts
        self._firsts = first_sites
        self._modules = modules

    def __len__(self) -> int:
        return self._firsts[-1] + len(self._parts[-1]) - 1

    def made(self, number: int) -> Site:
        part = _part(self._firsts, number)
        shift = self._firsts[part] - 1
        site = self._parts[part][number - shift]
        if not (site.caller or site.module):
            return site
        caller = site.caller + shift if site.caller else 0
        module = site.module + self._modules[part] - 1 if site.module else 0
        return replace(site, caller=caller, module=module)


def _part(firsts: Sequence[int], number: int) -> int:
    """Return the last part that begins at or before a number: parts without entries begin where the next one does."""
    return bisect_left(firsts, number + 1) - 1


class JoinedSymbols(Mapping[Address, tuple[Frame, ...]]):
    """The symbols of several files."""

    def __init__(self, parts: Sequence[Symbols], first_modules: Sequence[int]) -> None:
        self._parts = parts
        self._firsts = first_modules

    def __getitem__(self, address: Address) -> tuple[Frame, ...]:
        module, offset = address
        if module < 1:
            raise KeyError(address)
        part = _part(self._firsts, module)
        return self._parts[part][module - self._firsts[part] + 1, offset]

    def __iter__(self) -> Iterator[Address]:
        for part, first in zip(self._parts, self._firsts, strict=True):
            for module, offset in part:
                yield module + first - 1, offset

    def __len__(self) -> int:
        return sum(map(len, self._parts))


class JoinedSlots:
    """A store over the lanes of several files. A lane that is found damaged ends there, and a problem says so."""

    def __init__(
        self, path: str, files: Sequence[OpenFile], translations: Sequence[Translation], problems: list[str]
    ) -> None:
        self._path = path
        self._files = files
        self._translations = translations
        self._problems = problems
        self._count: int | None = None
        promised = [file.promised for file in files]
        if None not in promised:
            self._count = sum(filter(None, promised))

    def chunks(self, size: int, first: int) -> Iterator[Slots]:
        """Yield all slots in order. Raises TraceError where two files have operations of one sequence."""
        cursors = [
            LaneCursor(lane, file.sizes, first, translation)
            for file, translation in zip(self._files, self._translations, strict=True)
            for lane in file.lanes
        ]
        return in_order(self._path, cursors, size, self._damaged)

    def _damaged(self, cursor: LaneCursor, error: TraceError) -> None:
        line = f"{os.path.basename(error.path)}: {error.reason}; its operations from there on are left out"
        if line not in self._problems:
            self._problems.append(line)

    def count(self) -> int:
        """Return the number of operations: what the end marks say, else by counting once."""
        if self._count is None:
            self._count = sum(int(owners(chunk).sum()) for chunk in self.chunks(CHUNK, 0))
        return self._count
