"""What a file says is at addresses of modules, found in its records when it is asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from streamsan.trace.symbols import Address, Frame, Texts


class Symbols(Mapping[Address, tuple[Frame, ...]]):
    """(module, offset) -> frames, innermost first, made when asked for."""

    def __init__(self, records: NDArray[np.void], strings: Texts) -> None:
        """`records` are of dtype SYMBOL, those of one address in a row; `strings` has every id that they name."""
        # Stable: the frames of one address stay innermost first.
        self._records = records[np.lexsort((records["offset"], records["module"]))] if len(records) else records
        self.count = len(records)
        self._strings = strings
        modules = self._records["module"]
        self._begins = {int(m): int(b) for m, b in zip(*np.unique(modules, return_index=True), strict=True)}
        self._ends = {m: int(np.searchsorted(modules, m, side="right")) for m in self._begins}

    def __getitem__(self, address: Address) -> tuple[Frame, ...]:
        module, offset = address
        begin = self._begins.get(module)
        if begin is None or not 0 <= offset < 1 << 64:
            raise KeyError(address)
        offsets = self._records["offset"][begin : self._ends[module]]
        key = np.uint64(offset)
        first, last = (begin + int(np.searchsorted(offsets, key, side=side)) for side in ("left", "right"))
        if first == last:
            raise KeyError(address)
        name = self._strings
        return tuple(
            Frame(name[file], line, column, name[function])
            for _, file, function, line, _, column, _ in self._records[first:last].tolist()
        )

    def __iter__(self) -> Iterator[Address]:
        pairs = np.unique(self._records[["module", "offset"]])
        return iter(pairs.tolist())

    def __len__(self) -> int:
        return len(np.unique(self._records[["module", "offset"]]))
