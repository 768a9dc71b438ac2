"""A folder into which every process of a simulated program writes its part of the trace as it goes.

A process that is killed leaves what it had written; `family.py` puts the parts together and says what is missing.
"""

from __future__ import annotations

import mmap
import os
import time
from typing import Any

from msgspec import Struct

from streamsan.trace.builder import TableLengths, TraceBuilder
from streamsan.trace.errors import TraceError
from streamsan.trace.writer import TraceWriter

EVERY_CALL = 64
"""The first calls of a process are written one by one: many processes of a family make no more."""
MOST_PENDING = 2048
"""operations"""
MOST_DELAY = 0.05
"""seconds between an operation and its file, as long as calls go on"""
SUFFIX = ".sst"
MOST_PROCESSES = 4096


class Birth(Struct, frozen=True):
    """How a process came to be: a fork of another one of the family, or (`parent` "") on its own."""

    parent: str = ""
    """file of the parent"""
    sequence: int = 0
    """the parent's latest operation then"""
    threads: int = 0
    """how many host threads the parent knew then"""
    place: str = ""
    """file and line of the fork"""

    def described(self) -> dict[str, Any]:
        """Return it as metadata of the file."""
        return {"parent": self.parent, "sequence": self.sequence, "threads": self.threads, "place": self.place}


def claim(folder: str) -> int:
    """Return a number that no other process of the family has. Raises OSError when there is no folder any more."""
    for number in range(MOST_PROCESSES):
        try:
            os.close(os.open(_claim_path(folder, number), os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        except FileExistsError:
            continue
        return number
    raise OSError(f"more than {MOST_PROCESSES} processes")


def _counter(folder: str, number: int) -> mmap.mmap | None:
    """Return memory that outlives the process: how many operations it had when it ended."""
    try:
        with open(_claim_path(folder, number), "r+b") as file:
            file.truncate(8)
            return mmap.mmap(file.fileno(), 8)
    except (OSError, ValueError):
        return None


def issued(folder: str, number: int) -> int | None:
    """Return the sequence of the last operation of a process, whatever it came to write; None when it is not known."""
    try:
        with open(_claim_path(folder, number), "rb") as file:
            data = file.read(8)
    except OSError:
        return None
    return int.from_bytes(data, "little") if len(data) == 8 else None


def _claim_path(folder: str, number: int) -> str:
    return os.path.join(folder, f"{number:04}.claim")


class Spool:
    """Writes one process's part."""

    def __init__(self, folder: str, number: int, builder: TraceBuilder, birth: Birth) -> None:
        """Begin. A forked process writes what it does from here on, another one all that the builder holds."""
        self.folder = folder
        self.number = number
        self.birth = birth
        self._builder = builder
        self._written = TableLengths(slots=builder.lengths.slots if birth.parent else 0)
        self._writer: TraceWriter | None = None
        self._calls = 0
        self._issued = _counter(folder, number)
        self._latest = time.monotonic()
        self._failed = False

    @property
    def name(self) -> str:
        """The file's name in the folder."""
        return f"{self.number:04}{SUFFIX}"

    def after_call(self) -> None:
        """Write, if it is time to."""
        self._calls += 1
        self._count()
        if self._calls > EVERY_CALL:
            pending = self._builder.lengths.slots - self._written.slots
            if pending < MOST_PENDING and time.monotonic() - self._latest < MOST_DELAY:
                return
        self.flush()

    def flush(self) -> None:
        """Write all that there is. A disk that is full ends the writing; the program goes on."""
        self._count()
        self._write()

    def _write(self) -> None:
        if self._failed or self._nothing:
            return
        try:
            self._flush()
        except (TraceError, OSError, ValueError):
            self._failed = True

    @property
    def _nothing(self) -> bool:
        """Whether the process has done nothing of its own so far."""
        return self._writer is None and self._builder.lengths.slots == self._written.slots

    def _count(self) -> None:
        if self._issued is not None and not self._nothing:
            self._issued[:8] = self._builder.operations.to_bytes(8, "little")

    def close(self) -> None:
        """Write the rest and the end mark."""
        # Not counted: a process that is killed at its very end lacks nothing but the end.
        self._write()
        if self._writer is not None and not self._failed:
            self._writer.close()
        self._writer = None
        self._failed = True

    def abandon(self) -> None:
        """Let go of the file without writing: it belongs to the process that this one was forked from."""
        if self._writer is not None:
            self._writer.abandon()
        self._writer = None
        self._failed = True

    def _flush(self) -> None:
        if self._writer is None:
            self._writer = TraceWriter(
                os.path.join(self.folder, self.name),
                origin=self._builder.origin,
                metadata={**self._builder.metadata, "source": self._builder.path, "birth": self.birth.described()},
            )
        threads, apis, sites, slots = self._builder.since(self._written)
        if threads:
            self._writer.add_threads(threads)
        if apis:
            self._writer.add_apis(apis)
        if sites:
            self._writer.add_sites(sites)
        if len(slots):
            self._writer.append_slots(slots)
        self._written = self._builder.lengths
        self._latest = time.monotonic()
