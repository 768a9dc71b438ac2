"""Lines of source as records of a trace's file."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from streamsan.trace.errors import TraceError
from streamsan.trace.file_layout import MOST_SOURCE_LINE, MOST_SOURCE_LINES, SOURCE_LINE
from streamsan.trace.source_lines import SourceLines
from streamsan.trace.symbols import Texts


def unpacked_source_lines(path: str, records: NDArray[np.void], strings: Texts) -> SourceLines:
    """Return the lines that SOURCE_LINE records say; `strings` has every id that they name. Raises TraceError."""
    if len(records) > MOST_SOURCE_LINES:
        raise TraceError(path, f"damaged: more than {MOST_SOURCE_LINES} source lines")
    found: dict[str, dict[int, str]] = {}
    for file, line, text, _ in records.tolist():
        if not 1 <= line <= MOST_SOURCE_LINE:
            raise TraceError(path, f"damaged: a source line with number {line}")
        # The text is anyone's: what follows an end of the line would stand on other lines.
        found.setdefault(strings[file], {})[line] = strings[text].partition("\n")[0].rstrip("\r")
    return found


def packed_source_lines(rows: Iterable[tuple[int, int, int]]) -> NDArray[np.void]:
    """Return SOURCE_LINE records of (string id of the file, number, string id of the text)."""
    return np.array([(*row, 0) for row in rows], SOURCE_LINE)
