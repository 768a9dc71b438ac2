"""Checks sources, traces and folders of them, one after the other."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from streamsan.analysis.checked import Checked
from streamsan.analysis.inputs import analyse_path
from streamsan.analysis.source_files import SourceOptions
from streamsan.analysis.traces import TRACE_SUFFIX
from streamsan.cli.defects import problem_of
from streamsan.cli.input_files import Input
from streamsan.cli.progress import progress
from streamsan.report import Problem
from streamsan.report.printable import printable

Watch = Callable[[str, int, int], Callable[[int, int], None] | None]


def check_all(inputs: Sequence[Input], options: SourceOptions) -> tuple[list[Checked], list[Problem], list[Problem]]:
    """Check the inputs in order. Returns the results, what could not be read, and what limits the results."""
    results: list[Checked] = []
    unreadable: list[Problem] = []
    problems: list[Problem] = []
    included: set[str] = set()
    with _progress() as watch:
        for number, item in enumerate(inputs):
            if item.only_if_not_included and os.path.realpath(item.path) in included:
                continue
            try:
                result = analyse_path(item.path, options, watch(item.path, number, len(inputs)))
            except Exception as error:
                unreadable.append(problem_of(item.path, error))
                continue
            results.append(result)
            included.update(os.path.realpath(file) for file in result.sources)
            problems.extend(Problem(item.path, message) for message in result.problems)
    return results, unreadable, problems


@contextmanager
def _progress() -> Iterator[Watch]:
    """Give a function that shows what is being checked: on a terminal only, and gone when done."""
    with progress() as show:
        if show is None:
            yield lambda path, number, total: None
            return

        def watch(path: str, number: int, total: int) -> Callable[[int, int], None] | None:
            description = f"{number + 1}/{total} {printable(path)[-60:]}"
            show(description, number, total)
            if Path(path).suffix.lower() != TRACE_SUFFIX:
                return None
            return lambda done, operations: show(description, done, operations)

        yield watch
