"""Which of several sources are one program: those that define what another one only declares, and calls.

Sources that are given together may be one program, several, or none. What they call decides. A program has one `main`
at most; a name that two sources define links nothing, unless only one of them stands in the caller's folder.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from msgspec import Struct, field

from streamsan.analysis.source_options import SourceOptions
from streamsan.cuda_syntax.files_seen import FilesSeen

MOST_SOURCES = 64
"""sources of one program; what lies further away is not read with it"""
MOST_PROGRAMS = 4
"""programs that one source is read in: a library of many tests would be read for each of them"""


class Outline(Struct, frozen=True):
    """What a source defines for others, and what it needs of them."""

    path: str
    defines: frozenset[str] = frozenset()
    needs: frozenset[str] = frozenset()
    has_main: bool = False
    seen: FilesSeen = field(default_factory=lambda: FilesSeen(changing=True))
    """what of the file system this depends on; of a source that could not be read more than is known"""


class Programs(Struct, frozen=True):
    """How sources are put together."""

    programs: tuple[tuple[str, ...], ...]
    """the sources of each: that with `main` first; those that are alone are programs of one"""
    cut_short: int = 0
    """sources that some program needs and does not have, for there would be too many"""


def outline(path: str, options: SourceOptions) -> Outline:
    """Return what a source defines and needs, by the first way in which it is compiled. One not readable: nothing."""
    # Imported late: who checks one file needs none of it.
    from streamsan import cuda_source
    from streamsan.cuda_syntax.unit import read_unit

    try:
        compiler, *_ = options.configurations(path)
        unit = read_unit(Path(path), compiler, contents=options.contents)
        found = cuda_source.symbols_of(unit)
    except Exception:  # who checks it says what is wrong with it
        return Outline(path)
    return Outline(path, found.defines, found.needs, found.has_main, unit.seen)


def programs_of(outlines: Sequence[Outline]) -> Programs:
    """Return the programs that sources make, in the order of their first ones."""
    return _Grouping(outlines).programs()


class _Grouping:
    def __init__(self, outlines: Sequence[Outline]) -> None:
        self._outlines = {each.path: each for each in outlines}
        self._order = {each.path: number for number, each in enumerate(outlines)}
        self._definers: dict[str, list[str]] = {}
        self._needed: dict[str, tuple[str, ...]] = {}
        self._uses: dict[str, int] = dict.fromkeys(self._order, 0)
        self._cut = 0
        for each in outlines:
            if not each.has_main:
                for name in each.defines:
                    self._definers.setdefault(name, []).append(each.path)

    def programs(self) -> Programs:
        """Each `main` with all that it needs; then what no `main` needs, with what it needs itself."""
        found: list[tuple[str, ...]] = []
        for path, outline in self._outlines.items():
            if outline.has_main:
                found.append(self._with_needs([path]))
        used = {path for program in found for path in program}
        left = [path for path in self._outlines if path not in used]
        found += [self._with_needs(group) for group in self._connected(left)]
        return Programs(tuple(sorted(found, key=lambda program: self._order[program[0]])), self._cut)

    def _with_needs(self, first: Sequence[str]) -> tuple[str, ...]:
        """Return sources with those that they need, and those that these need."""
        program = dict.fromkeys(first)
        pending = list(first)
        while pending:
            for path in self._needs(pending.pop(0)):
                if path in program:
                    continue
                if len(program) >= MOST_SOURCES or self._uses[path] >= MOST_PROGRAMS:
                    self._cut += 1
                    continue
                program[path] = None
                pending.append(path)
        for path in program:
            self._uses[path] += 1
        lead, *others = program
        return (lead, *sorted(others, key=self._order.__getitem__))

    def _needs(self, path: str) -> tuple[str, ...]:
        if path not in self._needed:
            outline = self._outlines[path]
            chosen = {self._definer(name, path) for name in outline.needs - outline.defines}
            self._needed[path] = tuple(sorted((each for each in chosen if each), key=self._order.__getitem__))
        return self._needed[path]

    def _definer(self, name: str, path: str) -> str:
        """Return the one source that defines a name for another; "" where none does, or nobody can say which."""
        candidates = self._definers.get(name, [])
        near = [each for each in candidates if os.path.dirname(each) == os.path.dirname(path)]
        chosen = near or candidates
        return chosen[0] if len(chosen) == 1 else ""

    def _connected(self, paths: Iterable[str]) -> list[list[str]]:
        """Return the groups of sources that need each other, or that one of them needs."""
        group = {path: [path] for path in paths}
        for path in list(group):
            for other in self._needs(path):
                if other in group and group[other] is not group[path]:
                    merged = group[path] + group[other]
                    for each in merged:
                        group[each] = merged
        found: dict[int, list[str]] = {id(each): each for each in group.values()}
        return [sorted(each, key=self._order.__getitem__) for each in found.values()]


def partners_of(programs: Programs) -> Mapping[str, tuple[str, ...]]:
    """Return the other sources of each program, by the real path of its first one."""
    return {os.path.realpath(first): tuple(others) for first, *others in programs.programs if others}
