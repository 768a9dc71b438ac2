"""The files that a run leaves beside F.sst: which are its own, which are an earlier run's."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from msgspec import Struct

from streamsan.trace import reader
from streamsan.trace.errors import TraceError
from streamsan.trace.family import OLDER, SUFFIX
from streamsan.trace.header import read_header
from streamsan.trace.random_access import RandomAccessFile
from streamsan.trace.trace import RECORDING
from streamsan.vocabulary import OperationKind

MOST_WITHOUT_USE = 1 << 20
"""bytes of a file that is looked at to see whether it has any use of CUDA"""
_NO_USE = frozenset(
    {
        OperationKind.THREAD_START,
        OperationKind.MAIN_BEGIN,
        OperationKind.MAIN_END,
        OperationKind.PROCESS_EXIT,
    }
)


class RunFile(Struct, frozen=True):
    """A recording whose name says that it belongs to F.sst."""

    path: str
    part: str
    """what its name has between F and `.sst`: "", ".4711", ".4711-2", ".old", ".4711.old" """
    run: str
    process: int
    began: int
    """nanoseconds since 1970"""
    forked: bool
    """it is not the first process, and its process did not begin anew by exec"""

    @property
    def older(self) -> bool:
        """Whether rotation left it behind."""
        return self.part.endswith(OLDER)

    @property
    def running(self) -> bool:
        """Whether its process is alive: it may go on writing."""
        return self.process > 0 and os.path.exists(f"/proc/{self.process}")

    @property
    def named_by_recorder(self) -> bool:
        """Whether its name is the one that the recorder gives to a file with this header."""
        number = re.match(r"\.(\d+)", self.part)
        return number is None or int(number[1]) == self.process


def run_files(output: str) -> list[RunFile]:
    """Return the recordings that are named after `output` (F.sst), it first, then as they began."""
    folder, name = os.path.split(output)
    stem = re.escape(name.removesuffix(SUFFIX))
    pattern = re.compile(rf"{stem}((?:\.\d+(?:-\d+)?)?(?:{re.escape(OLDER)})?){re.escape(SUFFIX)}")
    found = list(_matching(folder or ".", pattern))
    return sorted(found, key=lambda file: (file.part != "", file.began, file.part))


def _matching(folder: str, pattern: re.Pattern[str]) -> Iterator[RunFile]:
    for name in os.listdir(folder):
        if match := pattern.fullmatch(name):
            path = os.path.join(folder, name)
            metadata = _metadata(path)
            run = metadata.get("run")
            if metadata.get("origin") == RECORDING and isinstance(run, str) and run:
                process, parent = _number(metadata, "process"), _number(metadata, "parent")
                began = _number(metadata, "clock_origin")
                yield RunFile(path, match[1], run, process, began, forked=parent not in (0, process))


def _metadata(path: str) -> dict[str, Any]:
    try:
        file = RandomAccessFile(path)
        try:
            return read_header(file)[1]
        finally:
            file.close()
    except (TraceError, OSError):
        return {}


def _number(metadata: dict[str, Any], key: str) -> int:
    value = metadata.get(key)
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


def _dropped(file: RunFile) -> bool:
    """Remove the file of a process that was forked and never used CUDA; most of them end without a word (`_exit`)."""
    if not file.forked or file.running or os.path.getsize(file.path) > MOST_WITHOUT_USE:
        return False
    try:
        kinds = {int(kind) for chunk in reader.read(file.path).chunks() for kind in chunk["kind"]}
        if kinds <= _NO_USE:
            os.unlink(file.path)
            return True
    except (TraceError, OSError):
        pass
    return False


def _remove_parts(output: str) -> None:
    """Remove files that processes were beginning when they were killed: what they had said lies in others."""
    folder, name = os.path.split(output)
    pattern = re.compile(rf"{re.escape(name.removesuffix(SUFFIX))}(?:\.\d+(?:-\d+)?)?{re.escape(SUFFIX)}\.(\d+)\.part")
    for other in os.listdir(folder or "."):
        match = pattern.fullmatch(other)
        if match and not os.path.exists(f"/proc/{match[1]}"):
            with suppress(OSError):
                os.unlink(os.path.join(folder, other))


def settle(output: str, run: str) -> str:
    """Bring the files of a run that has ended to their names; return the first's path, "" when the run left none.

    Files that an earlier run of this name left are removed, also where this one recorded nothing: who checks F.sst next
    is to see no run but the last. Where the program that was started did not use CUDA itself,
    a shell script say, the first of its processes that did becomes F.sst.
    """
    _remove_parts(output)
    found = run_files(output)
    own = [file for file in found if file.run == run and not _dropped(file)]
    for file in found:
        if file.run != run and (file.part or not own) and file.named_by_recorder:
            with suppress(OSError):
                os.unlink(file.path)
    if not own:
        return ""
    newest = [file for file in own if not file.older]
    first = newest[0] if newest else own[0]
    if first.part == "" or first.running or first.older:
        return first.path
    try:
        older = next((file for file in own if file.part == first.part + OLDER), None)
        if older is not None:
            os.replace(older.path, output.removesuffix(SUFFIX) + OLDER + SUFFIX)
        os.replace(first.path, output)
    except OSError:
        return first.path
    return output
