"""Bytes that several processes have: files without a name, which end with the last process that maps them."""

from __future__ import annotations

import os

import numpy as np

from streamsan.sim.executor.memory_files import check_file, new_file
from streamsan.sim.executor.physical import map_file, unmap
from streamsan.sim.executor.regions import PAGE, Region

_PIECE = 64 << 20


class PageFile:
    """The pages of a region that other processes may map. A page stays where it is in this process. Raises OSError."""

    def __init__(self, region: Region) -> None:
        self._region = region
        self.file = new_file(region.size)
        self._is_shared = np.zeros(region.size // PAGE, dtype=np.bool_)

    def share(self, address: int, size: int) -> int:
        """Let the pages of a range be those of the file; return the range's place in it. Raises OSError.

        What else lies on these pages goes along: an importer's block ends where the exported one does.
        """
        offset = address - self._region.start
        first, last = offset // PAGE, -(-(offset + size) // PAGE)
        begin = first
        while begin < last:
            if self._is_shared[begin]:
                begin += 1
                continue
            end = begin
            while end < last and not self._is_shared[end] and (end - begin) * PAGE < _PIECE:
                end += 1
            self._move(begin, end)
            begin = end
        return offset

    def _move(self, first: int, last: int) -> None:
        start, end = first * PAGE, last * PAGE
        pages = self._region.bytes[start:end].reshape(-1, PAGE)
        # A file is as small as what was written to it: untouched pages of large blocks are left out.
        written = np.flatnonzero(pages.any(axis=1))
        for run in np.split(written, np.flatnonzero(np.diff(written) != 1) + 1) if written.size else ():
            content = pages[run[0] : run[-1] + 1].tobytes()
            at = start + int(run[0]) * PAGE
            while content:
                count = os.pwrite(self.file, content, at)
                content, at = content[count:], at + count
        if not map_file(self._region.start + start, end - start, self.file, start):
            raise OSError("the pages cannot be mapped")
        self._is_shared[first:last] = True

    def close(self) -> None:
        """Let go of the file; its pages stay as long as somebody maps them."""
        os.close(self.file)


class Window:
    """Addresses of this process at which another one's bytes are. Raises OSError if they cannot be."""

    def __init__(self, file: int, offset: int, size: int, spare: list[Region]) -> None:
        """Map `size` bytes of a file. `spare`: regions that earlier windows have left."""
        check_file(file, offset + size)
        first = offset // PAGE * PAGE
        length = -(-(offset + size) // PAGE) * PAGE - first
        found = next((region for region in spare if region.size == length), None)
        if found is not None:
            spare.remove(found)
        try:
            self.region = _taken(length) if found is None else found
        except MemoryError as error:
            raise OSError(str(error)) from None
        self.address = self.region.start + offset - first
        if not map_file(self.region.start, length, file, first):
            spare.append(self.region)
            raise OSError("the memory cannot be mapped")

    def close(self, spare: list[Region]) -> None:
        """Leave the addresses without these bytes. They stay reserved: nothing else comes where old pointers lead."""
        unmap(self.region.start, self.region.size)
        spare.append(self.region)


def _taken(length: int) -> Region:
    region = Region(length, exact=True)
    region.take(length)  # what is no block of it was freed
    return region
