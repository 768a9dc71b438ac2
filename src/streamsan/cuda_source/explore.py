"""Entries and paths: which functions to run, and every way their undecided branches can go, within a budget."""

from __future__ import annotations

import heapq
import pathlib
import sys
import threading
from collections.abc import Callable, Mapping
from typing import TypeVar

from streamsan.cuda_source.entries import Entry, entries_of
from streamsan.cuda_source.limits import Limits
from streamsan.cuda_source.paths import Path
from streamsan.cuda_source.program.coverage import Coverage
from streamsan.cuda_source.program.index import Program
from streamsan.cuda_source.program.relevance import Relevance
from streamsan.cuda_source.world import Reading
from streamsan.cuda_syntax.compiler_options import CompilerOptions
from streamsan.cuda_syntax.tree import Unit
from streamsan.cuda_syntax.unit import read_unit

Result = TypeVar("Result")
STACK_BYTES = 256 << 20
DEEPEST_RECURSION = 40_000


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
    unit = read_unit(path, options, contents=contents)
    return explore(unit, limits=limits, strict=strict)


def explore(unit: Unit, *, limits: Limits | None = None, strict: bool = False) -> Reading:
    """Explore the paths of a unit."""
    return with_deep_stack(lambda: _explore(unit, limits or Limits(), strict))


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


def _explore(unit: Unit, limits: Limits, strict: bool) -> Reading:
    program = Program(unit)
    relevance = Relevance(program)
    coverage = Coverage(program)
    reading = Reading(files=unit.files, foreign=unit.foreign)
    steps = operations = 0
    for entry in entries_of(program, relevance):
        lines = _lines_of(entry, program)
        # What goes on comes before what leaves at once. Then paths with the fewest turns off the first path come first:
        # each branch is seen both ways before combinations.
        pending: list[tuple[int, int, int, tuple[bool, ...]]] = [(0, 0, 0, ())]
        worlds = order = 0
        while pending:
            exits, turns, _, prefix = heapq.heappop(pending)
            run = Path(program, relevance, coverage, entry, prefix, limits.for_path(lines, steps), strict)
            run.run()
            reading.stopped = reading.stopped or run.truncated
            worlds += 1
            steps += run.machine.steps
            operations += run.builder.operations
            for leaves, alternative in run.decisions.alternatives():
                order += 1
                heapq.heappush(pending, (exits + leaves, turns + 1, order, alternative))
            spent = steps > limits.file_steps or operations > limits.file_operations
            if pending and (spent or worlds >= limits.paths):
                run.note(f"more paths through {entry.name or 'the fragment'} than the budget allows")
                run.truncated = True
                pending = []
            reading.worlds.append(run.world())
    reading.reached, reading.missed = coverage.places(reading.stopped)
    reading.problems = [*unit.problems, *unit.missing_includes]
    reading.missing_includes = unit.missing_includes
    reading.stopped = reading.stopped or any(
        problem.stops and problem.span.file not in unit.foreign for problem in unit.problems
    )
    reading.unread_macros = unit.unread_macros
    reading.without_functions = unit.without_functions
    return reading


def _lines_of(entry: Entry, program: Program) -> int:
    """Return how many lines an entry has; `main` with all functions, which it runs."""
    functions = program.bodies() if entry.is_main else [entry.function]
    return sum(function.span.end_line - function.span.line + 1 for function in functions)
