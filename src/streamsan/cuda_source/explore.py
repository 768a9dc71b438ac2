"""Entries and paths: which functions to run, and every way their undecided branches can go, within a budget."""

from __future__ import annotations

import pathlib
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from streamsan.cuda_source.agenda import Agenda
from streamsan.cuda_source.allowance import Allowance
from streamsan.cuda_source.entries import Entry, entries_of_program
from streamsan.cuda_source.limits import Limits
from streamsan.cuda_source.paths import Path
from streamsan.cuda_source.program.coverage import Coverage
from streamsan.cuda_source.program.index import Program
from streamsan.cuda_source.program.linkage import Home, Linkage
from streamsan.cuda_source.world import Reading
from streamsan.cuda_syntax.compiler_options import CompilerOptions
from streamsan.cuda_syntax.tree import Function, Unit
from streamsan.cuda_syntax.unit import read_unit

Result = TypeVar("Result")
STACK_BYTES = 256 << 20
DEEPEST_RECURSION = 40_000
MOST_HEADER_LINES = 10_000
"""of a library's headers a program runs a small part: what all may cost is not for one path"""


def read(
    path: pathlib.Path,
    options: CompilerOptions | None = None,
    *,
    limits: Limits | None = None,
    strict: bool = False,
    contents: Mapping[str, bytes] | None = None,
) -> Reading:
    """Read a CUDA source file and explore its paths. `contents` stand for those of the files that they name.

    `strict` lets an error of the interpreter itself through (for tests); otherwise it becomes a NOT_UNDERSTOOD of the
    entry. Raises OSError when the file cannot be read.
    """
    return read_program([(path, options)], limits=limits, strict=strict, contents=contents)


def read_program(
    files: Sequence[tuple[pathlib.Path, CompilerOptions | None]],
    *,
    limits: Limits | None = None,
    strict: bool = False,
    contents: Mapping[str, bytes] | None = None,
) -> Reading:
    """Read the source files of one program, each as a compiler reads it, and explore its paths."""
    return explore(
        *(read_unit(path, options, contents=contents) for path, options in files), limits=limits, strict=strict
    )


def explore(*units: Unit, limits: Limits | None = None, strict: bool = False) -> Reading:
    """Explore the paths of a program's units."""
    return with_deep_stack(lambda: _explore(units, (limits or Limits()).for_units(len(units)), strict))


def with_deep_stack(work: Callable[[], Result]) -> Result:
    """Run on a thread whose stack allows deep recursion; exceptions come through."""
    results: list[Result] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            results.append(work())
        except BaseException as error:
            errors.append(error)

    recursion = sys.getrecursionlimit()
    stack = threading.stack_size(STACK_BYTES)
    try:
        sys.setrecursionlimit(max(recursion, DEEPEST_RECURSION))
        thread = threading.Thread(target=run, name="interpreter")
        thread.start()
        thread.join()
    finally:
        threading.stack_size(stack)
        sys.setrecursionlimit(recursion)
    if errors:
        raise errors[0]
    return results[0]


def _explore(units: Sequence[Unit], limits: Limits, strict: bool) -> Reading:
    reading = _merged(units)
    programs = [Program(unit) for unit in units]
    coverage = Coverage(*programs)
    homes = [Home(program, coverage) for program in programs]
    linkage = Linkage(homes) if len(homes) > 1 else None
    steps = operations = 0
    allowance = Allowance(limits)
    for entry in entries_of_program(homes, coverage):
        lines = _lines_of(entry, homes)
        kept = limits.kept(entry.behind, entry.known)
        agenda = Agenda()
        worlds = 0
        while (turn := agenda.next()) is not None:
            run = Path(entry.home, linkage, coverage, entry, turn, limits.for_path(lines, steps, kept), strict)
            run.machine.allowance = allowance
            reached = coverage.count
            run.run()
            agenda.came_to_new(coverage.count > reached)
            reading.stopped = reading.stopped or run.truncated
            worlds += 1
            steps += run.machine.steps
            operations += run.builder.operations
            agenda.add(turn, run.alternatives())
            if steps > limits.thrifty_steps:
                agenda.be_thrifty()
            if not agenda.is_empty and (
                allowance.spent or limits.are_spent(steps, operations, worlds, agenda.leads_on, kept)
            ):
                agenda.give_up(everything=bool(allowance.spent) or agenda.leads_on)
            if agenda.is_empty and agenda.leaves_out:
                run.note(f"more paths through {entry.name or 'the fragment'} than the budget allows")
                run.truncated = True
            if not run.leaves_threads:  # the path on which it runs at once is read, too
                reading.worlds += run.worlds()
    # Another run may come further: nobody is to remember this one.
    reading.seen.changing |= bool(allowance.spent)
    reading.reached, reading.missed = coverage.places(reading.stopped)
    for unit in units:
        reading.problems += [*unit.problems, *unit.missing_includes]
        reading.missing_includes += unit.missing_includes
        reading.stopped = reading.stopped or any(
            problem.stops and problem.span.file not in reading.foreign for problem in unit.problems
        )
        reading.unread_macros += unit.unread_macros
        reading.without_functions = reading.without_functions or unit.without_functions
    return reading


def _merged(units: Sequence[Unit]) -> Reading:
    """Return a reading of the units' files. Each unit knows the text of all: a path goes from one to another."""
    reading = Reading(units=tuple(units))
    own: set[str] = set()
    foreign: set[str] = set()
    for unit in units:
        reading.files.update(unit.files)
        reading.seen.add(unit.seen)
        own |= unit.files.keys() - unit.foreign
        foreign |= unit.foreign
    reading.foreign = frozenset(foreign - own)
    for unit in units:
        unit.files = reading.files
    return reading


def _lines_of(entry: Entry, homes: Sequence[Home]) -> int:
    """Return how many lines an entry has; `main` with all functions, but of long headers only so many lines."""
    if not entry.is_main:
        return _length(entry.function)
    own = headers = 0
    for home in homes:
        for function in home.program.bodies():
            if function.span.file == home.program.unit.file:
                own += _length(function)
            else:
                headers += _length(function)
    return own + min(headers, MOST_HEADER_LINES)


def _length(function: Function) -> int:
    return function.span.end_line - function.span.line + 1
