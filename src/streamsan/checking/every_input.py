"""Checks sources and traces. One that cannot be read takes no other with it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence, Set

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


FEWEST_FOR_PROCESSES = 8
"""inputs for which further processes are worth their start"""


def nobody_watches(path: str, number: int, total: int) -> None:
    """Watch nothing."""


def check_all(
    inputs: Sequence[Input],
    options: SourceOptions,
    watch: Watch = nobody_watches,
    proofs: Proofs = ALL,
    jobs: int = 1,
) -> tuple[list[Checked], list[Problem], list[Problem]]:
    """Check the inputs, in up to `jobs` processes. Returns the results, what could not be read, and what limits them.

    All three are in the order of the inputs, and the same however many processes there are.
    """
    results: list[Checked] = []
    unreadable: list[Problem] = []
    problems: list[Problem] = []
    included: set[str] = set()
    for item, outcome in _outcomes(inputs, included, options, watch, proofs, jobs):
        if isinstance(outcome, Problem):
            unreadable.append(outcome)
            continue
        results.append(outcome)
        included.update(os.path.realpath(file) for file in outcome.sources)
        problems.extend(Problem(item.path, message) for message in outcome.problems)
    return results, unreadable, problems


def _outcomes(
    inputs: Sequence[Input], included: Set[str], options: SourceOptions, watch: Watch, proofs: Proofs, jobs: int
) -> Iterator[tuple[Input, Checked | Problem]]:
    """Yield what comes of each input that is needed. `included` is filled by whoever asks, from one to the next."""
    total = len(inputs)
    numbered = list(enumerate(inputs))
    if jobs == 1 or total < FEWEST_FOR_PROCESSES:
        for number, item in numbered:
            if _is_needed(item, included):
                yield item, _checked(item.path, options, watch(item.path, number, total), proofs)
        return
    # Loaded late, for the time that it takes.
    from streamsan.checking.worker_processes import outcomes

    sources = [each for each in numbered if not each[1].only_if_not_included]
    headers = [each for each in numbered if each[1].only_if_not_included]
    # A header that another one includes is checked in vain: which does is known only when both were.
    for group in (sources, headers):
        needed = [(number, item) for number, item in group if _is_needed(item, included)]
        found = outcomes([item.path for _, item in needed], options, proofs, jobs) if needed else ()
        for (number, item), outcome in zip(needed, found, strict=True):
            watch(item.path, number, total)
            if _is_needed(item, included):
                yield item, outcome


def _is_needed(item: Input, included: Set[str]) -> bool:
    return not item.only_if_not_included or os.path.realpath(item.path) not in included


def _checked(
    path: str, options: SourceOptions, progress: Callable[[int, int], None] | None, proofs: Proofs
) -> Checked | Problem:
    try:
        return analyse_path(path, options, progress, proofs)
    except Exception as error:
        return problem_of(path, error)
