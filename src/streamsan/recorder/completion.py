"""What is added to the files of a run when its program has ended, and what is left out of them."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import suppress

from msgspec import Struct, field

from streamsan.recorder.redacted_file import redact_file
from streamsan.recorder.redaction import Redaction
from streamsan.trace.errors import TraceError
from streamsan.trace.symboliser.finished_file import FinishedFile
from streamsan.trace.symboliser.module_files import Symboliser
from streamsan.trace.symboliser.source_segments import SourceFiles, add_source_lines
from streamsan.trace.symboliser.symbol_segments import add_symbols

Watch = Callable[[int, int], None]
"""called with the number of a file, and how many there are"""


class Completed(Struct):
    """The files of a run that can be checked on any machine."""

    files: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    """what could not be added or left out, a line each"""


def complete(
    files: Sequence[str], started: float, *, source: bool, redaction: Redaction | None, watch: Watch | None = None
) -> Completed:
    """Write what the frames of the call stacks are into the files, and with `source` the lines that they name.

    `started`: seconds since 1970 when the program began. With `redaction` no source is stored, and a file that cannot
    be redacted is removed: what it says may not be given away.
    """
    result = Completed()
    symbols = Symboliser(started)  # one for all: the processes of a run have their libraries in common
    sources = SourceFiles(started)
    for number, path in enumerate(files):
        if watch is not None:
            watch(number, len(files))
        try:
            add_symbols(path, symbols)
            if source and redaction is None:
                add_source_lines(path, sources)
        except TraceError as error:
            result.problems.append(f"{path}: call sites are not in the trace: {error.reason}")
        if redaction is not None and (reason := _not_redacted(path, redaction)):
            result.problems.append(f"{path}: removed, as it could not be redacted: {reason}")
            with suppress(OSError):
                os.unlink(path)
        else:
            result.files.append(path)
    return result


def _not_redacted(path: str, redaction: Redaction) -> str:
    """Redact a file; return why that was not possible, "" where it was."""
    try:
        if not FinishedFile(path).takes_more:
            return "its process is still running"
        redact_file(path, redaction)
    except TraceError as error:
        return error.reason
    return ""
