"""Checks sources and traces. One that cannot be read takes no other with it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence, Set
from dataclasses import dataclass
from typing import TYPE_CHECKING

from streamsan.analysis.checked import Checked
from streamsan.analysis.inputs import analyse_path
from streamsan.analysis.source_options import SourceOptions
from streamsan.checking.defects import problem_of
from streamsan.checking.folders import Input
from streamsan.evidence.proofs import ALL, Proofs
from streamsan.report import Problem

if TYPE_CHECKING:
    from streamsan.checking.remembered.results import RememberedResults

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
    remembered: RememberedResults | None = None,
) -> tuple[list[Checked], list[Problem], list[Problem]]:
    """Check the inputs, in up to `jobs` processes. Returns the results, what could not be read, and what limits them.

    All three are in the order of the inputs, and the same however many processes there are, and whether results are
    taken from those that are `remembered` or not.
    """
    results: list[Checked] = []
    unreadable: list[Problem] = []
    problems: list[Problem] = []
    included: set[str] = set()
    for item, outcome in _outcomes(inputs, included, _Checks(options, proofs, jobs, remembered), watch):
        if isinstance(outcome, Problem):
            unreadable.append(outcome)
            continue
        results.append(outcome)
        included.update(os.path.realpath(file) for file in outcome.sources)
        problems.extend(Problem(item.path, message) for message in outcome.problems)
    return results, unreadable, problems


@dataclass(frozen=True, slots=True)
class _Checks:
    """How each input is checked."""

    options: SourceOptions
    proofs: Proofs
    jobs: int
    remembered: RememberedResults | None

    def known(self, path: str) -> Checked | None:
        """Return the result of an input that has not changed."""
        return self.remembered.find(path) if self.remembered is not None else None

    def of(self, path: str, progress: Callable[[int, int], None] | None) -> Checked | Problem:
        """Check an input in this process."""
        try:
            return self.kept(analyse_path(path, self.options, progress, self.proofs))
        except Exception as error:
            return problem_of(path, error)

    def in_processes(self, paths: Sequence[str]) -> Iterator[Checked | Problem]:
        """Check inputs in processes of their own."""
        # Loaded late, for the time that it takes.
        from streamsan.checking.worker_processes import outcomes

        return map(self.kept, outcomes(paths, self.options, self.proofs, self.jobs))

    def kept(self, outcome: Checked | Problem) -> Checked | Problem:
        """Return an outcome, which is remembered from here on."""
        if self.remembered is not None and isinstance(outcome, Checked):
            self.remembered.keep(outcome)
        return outcome


def _outcomes(
    inputs: Sequence[Input], included: Set[str], checks: _Checks, watch: Watch
) -> Iterator[tuple[Input, Checked | Problem]]:
    """Yield what comes of each input that is needed. `included` is filled by whoever asks, from one to the next."""
    total = len(inputs)
    numbered = list(enumerate(inputs))
    sources = [each for each in numbered if not each[1].only_if_not_included]
    headers = [each for each in numbered if each[1].only_if_not_included]
    # A header that another one includes is checked in vain: which does is known only when both were.
    for group in (sources, headers):
        needed = [(number, item) for number, item in group if _is_needed(item, included)]
        known = {number: checks.known(item.path) for number, item in needed}
        unknown = [item.path for number, item in needed if known[number] is None]
        found = checks.in_processes(unknown) if checks.jobs > 1 and len(unknown) >= FEWEST_FOR_PROCESSES else None
        for number, item in needed:
            progress = watch(item.path, number, total)
            outcome: Checked | Problem | None = known[number]
            if outcome is None and found is not None:
                outcome = next(found)
            if not _is_needed(item, included):
                continue
            yield item, outcome if outcome is not None else checks.of(item.path, progress)
        for _ in found or ():
            pass  # ends the processes


def _is_needed(item: Input, included: Set[str]) -> bool:
    return not item.only_if_not_included or os.path.realpath(item.path) not in included
