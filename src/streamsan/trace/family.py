"""All files of one run as one trace: processes that forked or began anew, and what rotation left of each."""

from __future__ import annotations

import os
import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct

from streamsan.trace import reader
from streamsan.trace.errors import TraceError
from streamsan.trace.file_layout import MOST_LANES
from streamsan.trace.header import read_header
from streamsan.trace.joined_files import JoinedSites, JoinedSlots, JoinedSymbols
from streamsan.trace.launch_shapes import CODE, CODE_LEFT_OUT, JoinedShapes
from streamsan.trace.modules import UNKNOWN_MODULE, Module
from streamsan.trace.poison_counts import joined_poison
from streamsan.trace.random_access import RandomAccessFile
from streamsan.trace.ranks import PROCESS_RANKS, WORLD_SIZE, rank_of, ranks_by_process
from streamsan.trace.reader import OpenFile, cut_off
from streamsan.trace.side_tables import SideTables
from streamsan.trace.source_lines import joined_source_lines
from streamsan.trace.stacks import FrameSource
from streamsan.trace.symbols import Frame
from streamsan.trace.trace import RECORDING, Thread, Trace
from streamsan.trace.translation import Translation
from streamsan.vocabulary.rank_words import ranks_in_words

SUFFIX = ".sst"
OLDER = ".old"
_MEMBER = re.compile(r"(\.\d+(?:-\d+)?)?(\.old)?\.sst\Z")
MOST_MEMBERS = 4096


def read(path: str) -> Trace:
    """Open a trace, with the other files of its run where it is a recording. Raises TraceError.

    A member that cannot be read is a line in `problems`; `path` itself is an error. What the files do not say of native
    frames is looked up in the modules on this machine, where they are the same.
    """
    opened = reader.open_file(path)
    others = [other for other in members(path) if not os.path.samefile(other, path)]
    trace = _merged(path, opened, others) if others else reader.trace_of(opened)
    trace.symbolise_with(LateSymboliser(trace.clock / 1e9 if trace.clock > 0 else None))
    return trace


class LateSymboliser:
    """A symboliser that is loaded when it is first asked: the symbols are in most files.

    `loaded_before`: when the modules were there, in seconds since 1970; None: not known.
    """

    def __init__(self, loaded_before: float | None) -> None:
        self._loaded_before = loaded_before
        self._symboliser: FrameSource | None = None

    def __call__(self, module: Module, offset: int) -> Sequence[Frame]:
        """Return the frames at a place of a module, innermost first."""
        if self._symboliser is None:
            from streamsan.trace.symboliser.module_files import Symboliser

            self._symboliser = Symboliser(self._loaded_before)
        return self._symboliser(module, offset)


def members(path: str, beside: Sequence[str] | None = None) -> list[str]:
    """Return the files of the run that a file belongs to, itself included, the first process first, sorted by name.

    A file that is no recording of several files is alone. `beside`: the names in its folder (`names_beside`), where
    they are known.
    """
    run = _run_of(path)
    if not run:
        return [path]
    folder, name = os.path.split(path)
    names = names_beside(path) if beside is None else beside
    # F.100.sst may be a process of F.sst, or the first of a run that was given this name: the run's id tells.
    stems = {match.string[: match.start()] for match in _MEMBER.finditer(name)} | {name.removesuffix(SUFFIX)}
    found = [path]
    for other in {each for stem in stems for each in _of_stem(names, stem)} - {name}:
        place = os.path.join(folder, other)
        if _run_of(place) == run:
            found.append(place)
    found.sort(key=lambda place: (len(os.path.basename(place)), place))
    return found[:MOST_MEMBERS]


def names_beside(path: str) -> list[str]:
    """Return the names in a file's folder, sorted; none where it cannot be read."""
    try:
        return sorted(os.listdir(os.path.dirname(path) or "."))
    except OSError:
        return []


def _of_stem(names: Sequence[str], stem: str) -> Iterator[str]:
    """Yield those of the sorted names that a process of a run with this stem may have."""
    for number in range(bisect_left(names, stem), len(names)):
        name = names[number]
        if not name.startswith(stem):
            return
        if _MEMBER.fullmatch(name, len(stem)):
            yield name


def _run_of(path: str) -> str:
    """Return the id of a file's run, "" when it has none or cannot be read."""
    try:
        file = RandomAccessFile(path)
        run = read_header(file)[1].get("run")
        file.close()
    except (TraceError, OSError):
        return ""
    return run if isinstance(run, str) else ""


class _Member(Struct):
    """One file of a run."""

    opened: OpenFile
    process: int
    """index of its process"""
    path: str

    @property
    def process_id(self) -> int:
        value = self.opened.tables.metadata.get("process")
        return value if isinstance(value, int) and not isinstance(value, bool) else 0

    @property
    def whole(self) -> bool:
        """Whether it has all that its process did.

        A forked child usually leaves by `_exit`, which closes no file: it has said all when no call of it is under way.
        """
        if self.opened.segments.ended:
            return True
        parent = self.opened.tables.metadata.get("parent")
        forked = isinstance(parent, int) and parent not in (0, self.process_id) and self.may_be_forked
        return forked and not any(lane.awaits_return() for lane in self.opened.lanes)

    @property
    def may_be_forked(self) -> bool:
        """Whether its process may be what a FORK made: only a file that says otherwise is not."""
        return self.opened.tables.metadata.get("forked") is not False


def _merged(path: str, opened: OpenFile, others: Sequence[str]) -> Trace:
    """Return one trace of a file and the other files of its run."""
    problems: list[str] = []
    files = {path: opened}
    for other in others:
        try:
            files[other] = reader.open_file(other)
        except TraceError as error:
            problems.append(f"{os.path.basename(other)} is left out: {error.reason}")
    older = {newer: name for newer in files if (name := _older_part(newer)) in files}
    for newer in older:
        # What it restates, the older part has as it happened.
        files[newer] = reader.open_file(newer, snapshot=False)
    ordered = _process_order(files, set(older.values()))
    found: list[_Member] = []
    for index, name in enumerate(ordered):
        found.append(_Member(files[name], index, name))
        if name in older:
            found.append(_Member(files[older[name]], index, older[name]))
    return _Family(path, found, problems).trace()


def _older_part(path: str) -> str:
    return path.removesuffix(SUFFIX) + OLDER + SUFFIX


def _process_order(files: Mapping[str, OpenFile], older: set[str]) -> list[str]:
    """Return the files that stand for a process: the shortest name first, the others as they began."""
    newest = [name for name in files if name not in older]
    first = min(newest, key=lambda name: (len(name), name))
    return sorted(newest, key=lambda name: (name != first, files[name].first_sequence, name))


class _Family:
    """Renumbers what the files of a run have."""

    def __init__(self, path: str, members: Sequence[_Member], problems: list[str]) -> None:
        self._path = path
        self._problems = problems
        self._threads: list[Thread] = []
        self._thread_indices: dict[tuple[int, int], int] = {}
        self._apis: dict[str, int] = {"": 0}
        self._first_sites: list[int] = []
        self._first_modules: list[int] = []
        self._members: list[_Member] = []
        self._translations: list[Translation] = []
        self._children = _Children(members)
        sites = modules = shapes = 1
        for member in members:
            if not self._fits(member):
                problems.append(f"{os.path.basename(member.path)} is left out: more threads or names than a trace has")
                continue
            tables = member.opened.tables
            threads = [self._thread(member.process, number, entry) for number, entry in enumerate(tables.threads)]
            apis = [self._apis.setdefault(name, len(self._apis)) for name in tables.apis]
            own_shapes = range(shapes, shapes + len(tables.launch_shapes) - 1)
            self._translations.append(Translation(threads, apis, sites, own_shapes, self._children.index))
            self._members.append(member)
            self._first_sites.append(sites)
            self._first_modules.append(modules)
            sites += len(tables.sites) - 1
            modules += len(tables.modules) - 1
            shapes = own_shapes.stop

    def _fits(self, member: _Member) -> bool:
        tables = member.opened.tables
        names = sum(name not in self._apis for name in tables.apis)
        return len(self._threads) + len(tables.threads) <= MOST_LANES and len(self._apis) + names <= MOST_LANES

    def _thread(self, process: int, number: int, thread: Thread) -> int:
        """Return the index of a thread; in both parts of a process it is the same."""
        key = (process, number)
        if key not in self._thread_indices:
            self._thread_indices[key] = len(self._threads)
            self._threads.append(Thread(process, thread.name))
        return self._thread_indices[key]

    def trace(self) -> Trace:
        """Return the trace of all files together; what is wrong with a file is one of its problems, under its name."""
        first = self._members[0].opened
        ranks = self._ranks()
        told = ranks_by_process(ranks)
        for member in self._members:
            name = os.path.basename(member.path)
            if member.process in told:
                name += f" ({ranks_in_words([told[member.process]])})"
            self._problems += [f"{name}: {problem}" for problem in member.opened.problems]
            if not member.whole:
                reason = member.opened.segments.reason
                self._problems.append(f"{name}: {cut_off(reason)}")
        tables = [member.opened.tables for member in self._members]
        modules = [UNKNOWN_MODULE, *(module for table in tables for module in table.modules[1:])]
        # Of several processes that lost a part the latest begin stands for all: what is not seen is not judged.
        begins_at = max(table.metadata.get(reader.BEGINS_AT, 0) for table in tables)
        trace = Trace(
            self._path,
            JoinedSlots(self._path, [member.opened for member in self._members], self._translations, self._problems),
            threads=self._threads,
            apis=list(self._apis),
            sites=JoinedSites([table.sites for table in tables], self._first_sites, self._first_modules),
            platform=first.platform,
            origin=RECORDING,
            complete=all(member.whole for member in self._members),
            metadata=first.tables.metadata
            | _of_any(tables, CODE, CODE_LEFT_OUT)
            | joined_poison([table.metadata for table in tables])
            | ranks
            | {"processes": self._process_ids()}
            | ({reader.BEGINS_AT: begins_at} if begins_at else {}),
            modules=modules,
            symbols=JoinedSymbols([table.symbols for table in tables], self._first_modules),
            source_lines=joined_source_lines(table.source_lines for table in tables),
            launch_shapes=JoinedShapes([table.launch_shapes for table in tables]),
        )
        trace.problems = self._problems  # reading may add to them
        return trace

    def _ranks(self) -> dict[str, Any]:
        """Return what the metadata says of ranks, nothing where no process had one."""
        metadata = {member.process: member.opened.tables.metadata for member in self._members}
        ranks = [rank_of(metadata.get(index, {})) for index in range(max(metadata, default=-1) + 1)]
        if not any(rank is not None for rank in ranks):
            return {}
        of_ranks = [
            member.opened.tables for member in self._members if rank_of(member.opened.tables.metadata) is not None
        ]
        return _of_any(of_ranks, WORLD_SIZE) | {PROCESS_RANKS: [-1 if rank is None else rank for rank in ranks]}

    def _process_ids(self) -> list[int]:
        """Return the operating system's process ids, by process index."""
        ids = {member.process: member.process_id for member in self._members}
        return [ids.get(index, 0) for index in range(max(ids, default=-1) + 1)]


def _of_any(tables: Sequence[SideTables], *keys: str) -> dict[str, Any]:
    """Return what the first file that says something of it says: all processes share one folder of machine code."""
    return {key: table.metadata[key] for table in reversed(tables) for key in keys if key in table.metadata}


class _Children:
    """Which process a FORK made: it says a process id, which may have been given to several.

    The next file of that process is the child's: what an exec makes of it later has a file of its own.
    """

    def __init__(self, members: Sequence[_Member]) -> None:
        self._forked: dict[int, list[tuple[int, int]]] = {}
        """process id to (sequence of its first operation, process index)"""
        self._next = max((member.process for member in members), default=0) + 1
        self._known: dict[tuple[int, int], int] = {}
        for member in members:
            if member.may_be_forked:
                entry = (member.opened.first_sequence, member.process)
                self._forked.setdefault(member.process_id, []).append(entry)
        for entries in self._forked.values():
            entries.sort()

    def index(self, process_id: int, sequence: int) -> int:
        """Return the index of the process that a fork with this sequence made, a new one when it has no file."""
        key = (process_id, sequence)
        if key not in self._known:
            entries = self._forked.get(process_id, [])
            at = bisect_left(entries, (sequence, 0))
            if at < len(entries):
                self._known[key] = entries[at][1]
            else:
                self._known[key] = self._next
                self._next += 1
        return self._known[key]
