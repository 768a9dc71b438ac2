"""Writes what is at the native frames of a recording into its file, so that it can be checked on any machine."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from streamsan.trace.file_layout import SegmentType
from streamsan.trace.stacks import FrameSource
from streamsan.trace.symboliser.finished_file import FinishedFile
from streamsan.trace.writer import packed_symbols


def add_symbols(path: str | os.PathLike[str], source: FrameSource | None = None) -> int:
    """Add the source lines of a recording's native frames to its file; return of how many addresses.

    What the file says already is not asked again. A file whose process is still writing it is left as it is, and so is
    one with no room behind its last segment. `source` is asked, by default the modules on this machine. Raises
    TraceError when the file cannot be read, or cannot be written: then it is what it was.
    """
    file = FinishedFile(path)
    tables = file.tables
    if not file.takes_more:
        return 0
    missing = [address for address in tables.sites.addresses() if address not in tables.symbols]
    if not missing:
        return 0
    source = source or _modules_of_this_machine(file.metadata)
    found = {
        (module, offset): frames for module, offset in missing if (frames := source(tables.modules[module], offset))
    }
    if found:
        rows = [(address, frame) for address, frames in found.items() for frame in frames]
        ids = file.string_ids([text for _, frame in rows for text in (frame.file, frame.function)])
        file.append(SegmentType.SYMBOLS, tables.symbols.count, packed_symbols(rows, ids))
    return len(found)


def _modules_of_this_machine(metadata: Mapping[str, Any]) -> FrameSource:
    # Late: most runs of the command need no reader of debug information.
    from streamsan.trace.symboliser.module_files import Symboliser

    return Symboliser(began(metadata))


def began(metadata: Mapping[str, Any]) -> float | None:
    """Return when a recording began, in seconds since 1970; None when its metadata does not say."""
    origin = metadata.get("clock_origin")
    return origin / 1e9 if isinstance(origin, int) and origin > 0 else None
