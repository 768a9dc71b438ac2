"""Puts the parts of a trace together that the processes of a program wrote."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from msgspec import Struct, field
from msgspec.structs import replace

from streamsan.sim.spool import SUFFIX, Birth, issued
from streamsan.trace import Trace, TraceError
from streamsan.trace import reader as trace_reader
from streamsan.trace.layout import SLOT
from streamsan.trace.site import UNKNOWN_SITE, Site
from streamsan.trace.store import MemorySlots, Slots, owners
from streamsan.trace.trace import Thread
from streamsan.vocabulary import OperationKind

_MOST_THREADS = 1 << 16


class _Part(Struct):
    """One process's part, with where its numbers go in the whole."""

    name: str
    trace: Trace
    birth: Birth
    slots: Slots
    processes: dict[int, int] = field(default_factory=dict)
    threads: list[int] = field(default_factory=list)
    children: list[_Part] = field(default_factory=list)


class _Whole:
    """The tables of the trace that is being put together."""

    def __init__(self) -> None:
        self.threads: list[Thread] = []
        self.apis: dict[str, int] = {"": 0}
        self.sites: dict[Site, int] = {}
        self.site_list: list[Site] = [UNKNOWN_SITE]
        self.processes = 0

    def api(self, name: str) -> int:
        return self.apis.setdefault(name, len(self.apis))

    def site(self, site: Site) -> int:
        number = self.sites.get(site)
        if number is None:
            number = self.sites[site] = len(self.site_list)
            self.site_list.append(site)
        return number

    def process(self) -> int:
        self.processes += 1
        return self.processes - 1


def collect(folder: str, main: Trace | None = None, main_name: str = "") -> Trace | None:
    """Return the trace of a whole family of processes; None when no process wrote anything.

    `main`: the first process's own trace, where this is that process (then its part in the folder is not read). What a
    process that was killed did not come to write is named in `problems`.
    """
    problems: list[str] = []
    parts = _read(folder, main_name, problems)
    if main is not None:
        parts.insert(0, _Part(main_name, main, Birth(), _all_slots(main)))
    if not parts:
        return None
    known = {part.name: part for part in parts}
    roots = []
    for part in parts:
        parent = known.get(part.birth.parent)
        # A parent's file is older than its children's: numbers rise.
        if parent is not None and parent.name < part.name:
            parent.children.append(part)
        else:
            roots.append(part)
    whole = _Whole()
    arrays: list[Slots] = []
    for root in roots:
        arrays.extend(_placed(root, None, whole))
    slots = np.concatenate(arrays) if arrays else np.zeros(0, SLOT)
    starts = owners(slots)
    slots["sequence"][starts] = np.arange(1, int(np.count_nonzero(starts)) + 1, dtype=np.uint64)
    first = roots[0].trace
    return Trace(
        str(first.metadata.get("source", first.path)),
        MemorySlots(slots),
        threads=whole.threads,
        apis=list(whole.apis),
        sites=tuple(whole.site_list),
        platform=first.platform,
        origin=first.origin,
        complete=first.complete,
        problems=problems,
        metadata={key: value for key, value in first.metadata.items() if key != "birth"},
    )


def _read(folder: str, skipped: str, problems: list[str]) -> list[_Part]:
    parts: list[_Part] = []
    for name in sorted(os.listdir(folder)) if os.path.isdir(folder) else []:
        if not name.endswith(SUFFIX) or name == skipped:
            continue
        try:
            trace = trace_reader.read(os.path.join(folder, name))
            birth = _birth_from(trace.metadata.get("birth"))
            slots = _all_slots(trace)
        except TraceError as error:
            if _counted(folder, name) == 0:
                continue  # killed before it did anything
            problems.append(f"what a process of the program did is missing: {error.reason}")
            continue
        if not trace.complete and (parts or skipped) and not _is_whole(folder, name, slots):
            # The first process says so by `complete`. A worker that its pool ended has mostly written all it did.
            whose = f"the process forked at {birth.place}" if birth.place else "a process that the program started"
            problems.append(f"partial result: {whose} was ended from outside; its last calls may be missing")
        parts.append(_Part(name, trace, birth, slots))
    return parts


def _is_whole(folder: str, name: str, slots: Slots) -> bool:
    """Return whether a part without an end mark has all that its process did."""
    last = slots["sequence"][owners(slots)][-1:]
    counted = _counted(folder, name)
    return counted is not None and counted <= (int(last[0]) if len(last) else 0)


def _counted(folder: str, name: str) -> int | None:
    """Return the sequence of the last operation that a process counted before its end; None when it is not known."""
    number = name.removesuffix(SUFFIX)
    return issued(folder, int(number)) if number.isdecimal() else None


def _birth_from(given: Any) -> Birth:
    if not isinstance(given, Mapping):
        return Birth()
    parent, place = given.get("parent", ""), given.get("place", "")
    sequence, threads = given.get("sequence", 0), given.get("threads", 0)
    if not (
        isinstance(parent, str) and isinstance(place, str) and isinstance(sequence, int) and isinstance(threads, int)
    ):
        return Birth()
    return Birth(parent, sequence, threads, place)


def _all_slots(trace: Trace) -> Slots:
    chunks = list(trace.chunks())
    slots = np.concatenate(chunks) if chunks else np.zeros(0, SLOT)
    return slots.copy()


def _placed(part: _Part, parent: _Part | None, whole: _Whole) -> Iterable[Slots]:
    """Yield a part's slots with the whole's numbers, those of its children at their forks."""
    _number(part, parent, whole)
    slots = _renumbered(part, whole)
    done = 0
    for child in sorted(part.children, key=lambda child: child.birth.sequence):
        sequences = np.where(owners(slots), slots["sequence"], 0)
        cut = int(np.searchsorted(np.maximum.accumulate(sequences), child.birth.sequence, side="right"))
        yield slots[done:cut]
        done = max(done, cut)
        yield from _placed(child, part, whole)
    yield slots[done:]


def _number(part: _Part, parent: _Part | None, whole: _Whole) -> None:
    """Give a part's processes and threads their numbers; those that its parent knew have one."""
    if parent is not None:
        part.processes.update(parent.processes)
    for index, thread in enumerate(part.trace.threads):
        if parent is not None and index < min(part.birth.threads, len(parent.threads)):
            part.threads.append(parent.threads[index])
            continue
        process = part.processes.get(thread.process)
        if process is None:
            process = part.processes[thread.process] = whole.process()
        if len(whole.threads) == _MOST_THREADS:
            raise TraceError(part.name, "a trace has at most 65536 threads")
        part.threads.append(len(whole.threads))
        whole.threads.append(replace(thread, process=process))


def _renumbered(part: _Part, whole: _Whole) -> Slots:
    slots = part.slots
    starts = owners(slots)
    sites = np.zeros(len(part.trace.sites) or 1, np.uint32)
    for number in range(1, len(part.trace.sites)):
        site = part.trace.site(number)
        sites[number] = whole.site(replace(site, caller=int(sites[site.caller])))
    apis = np.array([whole.api(name) for name in part.trace.apis] or [0], np.uint16)
    threads = np.array(part.threads or [0], np.uint16)
    slots["site"][starts] = sites[slots["site"][starts]]
    slots["api"][starts] = apis[slots["api"][starts]]
    slots["thread"][starts] = threads[slots["thread"][starts]]
    for index in np.flatnonzero(starts & (slots["kind"] == OperationKind.FORK)):
        child = int(slots["object"][index])
        if child not in part.processes:
            part.processes[child] = whole.process()
        slots["object"][index] = part.processes[child]
    return slots
