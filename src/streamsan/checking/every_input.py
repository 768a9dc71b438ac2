"""Checks sources and traces one after the other. One that cannot be read takes no other with it."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence

from streamsan.analysis.checked import Checked
from streamsan.analysis.inputs import analyse_path
from streamsan.analysis.source_files import SourceOptions
from streamsan.checking.defects import problem_of
from streamsan.checking.folders import Input
from streamsan.evidence.proofs import ALL, Proofs
from streamsan.report import Problem

Watch = Callable[[str, int, int], Callable[[int, int], None] | None]
"""Called with a path, its number and how many there are. Returns what is called with the operations of a trace that
are done, and their total; None: nobody wants to know."""


def nobody_watches(path: str, number: int, total: int) -> None:
    """Watch nothing."""


def check_all(
    inputs: Sequence[Input], options: SourceOptions, watch: Watch = nobody_watches, proofs: Proofs = ALL
) -> tuple[list[Checked], list[Problem], list[Problem]]:
    """Check the inputs in order. Returns the results, what could not be read, and what limits the results."""
    results: list[Checked] = []
    unreadable: list[Problem] = []
    problems: list[Problem] = []
    included: set[str] = set()
    for number, item in enumerate(inputs):
        if item.only_if_not_included and os.path.realpath(item.path) in included:
            continue
        try:
            result = analyse_path(item.path, options, watch(item.path, number, len(inputs)), proofs)
        except Exception as error:
            unreadable.append(problem_of(item.path, error))
            continue
        results.append(result)
        included.update(os.path.realpath(file) for file in result.sources)
        problems.extend(Problem(item.path, message) for message in result.problems)
    return results, unreadable, problems
