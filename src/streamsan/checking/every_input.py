"""Checks sources and traces. One that cannot be read takes no other with it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from itertools import chain
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct, field
from msgspec.structs import replace

from streamsan.analysis.checked import Checked
from streamsan.analysis.inputs import analyse_path
from streamsan.analysis.source_options import SourceOptions
from streamsan.checking.defects import problem_of
from streamsan.checking.folders import Input
from streamsan.evidence.proofs import ALL, Proofs
from streamsan.findings.reading_gaps import Unread
from streamsan.report import Problem

if TYPE_CHECKING:
    from streamsan.checking.engines.worker_engine import WorkerEngine, WorkerLost
    from streamsan.checking.remembered.results import RememberedResults

Outcome = Checked | Problem

FEWEST_FOR_PROCESSES = 8
"""inputs for which further processes are worth their start"""


class Watch(Protocol):
    """Who wants to know how far a check is."""

    def begins(self, path: str, number: int, total: int) -> Callable[[int, int], None] | None:
        """Hear that this process begins with an input, its number from 0, and how many there are.

        Returns what is called with the operations of a trace that are done, and their total; None: not wanted.
        """

    def done(self, count: int, total: int, findings: int) -> None:
        """Hear how many of the inputs are done, and how many findings there are up to now."""


class NobodyWatches:
    """Nobody wants to know how far a check is."""

    def begins(self, path: str, number: int, total: int) -> None:
        """Hear that this process begins with an input."""

    def done(self, count: int, total: int, findings: int) -> None:
        """Hear how many of the inputs are done."""


class Workers(Struct, frozen=True):
    """Who checks inputs: this process, or up to `jobs` processes of this machine, or those of a cluster."""

    jobs: int = 1
    cluster: WorkerEngine | None = None
    folder: str = ""
    """where paths are meant from, for workers that may stand elsewhere"""

    def engine(self, inputs: int) -> WorkerEngine | None:
        """Return what spreads so many inputs over workers; None where this process checks them."""
        if self.cluster is not None:
            return self.cluster if inputs else None
        if self.jobs == 1 or inputs < FEWEST_FOR_PROCESSES:
            return None
        # Loaded late, for the time that it takes.
        from streamsan.checking.engines.local_processes import LocalProcesses

        return LocalProcesses(self.jobs)


class Results(Protocol):
    """What results of numbered inputs come to, as they come."""

    def add(self, number: int, result: Checked) -> None:
        """Add the result of the input with this number."""

    def found(self) -> int:
        """Return how many findings there are up to now."""

    def checked(self) -> list[Checked]:
        """Return the results, the same in whatever order they came."""


class EachResult:
    """Keeps each result as it is, for those who look at each trace once more."""

    def __init__(self) -> None:
        self._results: dict[int, Checked] = {}
        self._found = 0

    def add(self, number: int, result: Checked) -> None:
        """Add the result of the input with this number."""
        self._results[number] = result
        self._found += len(result.findings)

    def found(self) -> int:
        """Return how many findings there are up to now."""
        return self._found

    def checked(self) -> list[Checked]:
        """Return the results in the order of the inputs."""
        return [self._results[number] for number in sorted(self._results)]


def together(inputs: Sequence[Input]) -> Results:
    """Return what puts the results of traces together; of one input there is nothing to put together."""
    if len(inputs) < 2:
        return EachResult()
    # Loaded late, for the time that it takes.
    from streamsan.checking.gathered import GatheredResults

    return GatheredResults(inputs)


class CheckedInputs(Struct, frozen=True):
    """What came of inputs, in their order: the same whoever checked them, and whether results were remembered."""

    results: list[Checked]
    unreadable: list[Problem]
    """what could not be read, or was not"""
    limits: list[Problem]
    """what limits the results"""
    unread: Unread = field(default_factory=Unread)
    interrupted: bool = False
    """Ctrl-C came before all was checked, and the results are of a part"""

    def whole(self) -> CheckedInputs:
        """Return it, for whom a part is of no use. Raises KeyboardInterrupt where the check was interrupted."""
        if self.interrupted:
            raise KeyboardInterrupt
        return self


def check_all(
    inputs: Sequence[Input],
    options: SourceOptions,
    watch: Watch | None = None,
    proofs: Proofs = ALL,
    workers: Workers | None = None,
    remembered: RememberedResults | None = None,
    results: Results | None = None,
) -> CheckedInputs:
    """Check the inputs, and let `results` collect what comes of them: without it, each as it is.

    When Ctrl-C comes, or a cluster is lost, it is what was checked by then.
    """
    tally = _Tally(inputs, results if results is not None else EachResult())
    checks = _Checks(options, proofs, workers or Workers(), remembered)
    watch = watch or NobodyWatches()
    try:
        for number, outcome in _outcomes(inputs, tally.included, checks, watch):
            tally.add(number, outcome)
            watch.done(len(tally.done), len(inputs), tally.results.found())
    except KeyboardInterrupt:
        if not tally.done:
            raise
        return tally.part("interrupted", interrupted=True)
    except _NobodyLeftError as error:
        return tally.part(str(error))
    return tally.all()


class _NobodyLeftError(Exception):
    """Those who check are gone. `str()` says how."""


class _Tally:
    """What came of the inputs up to now."""

    def __init__(self, inputs: Sequence[Input], results: Results) -> None:
        self.results = results
        self.done: set[int] = set()
        self.included: set[str] = set()
        """real paths of what checked sources consist of"""
        self._inputs = inputs
        self._unreadable: dict[int, Problem] = {}
        self._limits: dict[int, Sequence[str]] = {}

    def add(self, number: int, outcome: Outcome) -> None:
        self.done.add(number)
        if isinstance(outcome, Problem):
            self._unreadable[number] = outcome
            return
        self.results.add(number, outcome)
        self.included.update(os.path.realpath(file) for file in outcome.sources)
        if outcome.problems:
            self._limits[number] = outcome.problems

    def all(self) -> CheckedInputs:
        unreadable = [self._unreadable[number] for number in sorted(self._unreadable)]
        limits = [Problem(self._inputs[at].path, text) for at in sorted(self._limits) for text in self._limits[at]]
        return CheckedInputs(self.results.checked(), unreadable, limits)

    def part(self, reason: str, interrupted: bool = False) -> CheckedInputs:
        """Return it where nobody comes to the other inputs."""
        numbered = enumerate(self._inputs)
        left = [item.path for at, item in numbered if at not in self.done and _is_needed(item, self.included)]
        told = Problem("", f"{reason}: {len(self.done):,} of {len(self.done) + len(left):,} inputs were checked")
        found = self.all()
        unread = Unread(unchecked=frozenset(left))
        return replace(found, unreadable=[*found.unreadable, told], unread=unread, interrupted=interrupted)


class _Checks(Struct, frozen=True):
    """How each input is checked."""

    options: SourceOptions
    proofs: Proofs
    workers: Workers
    remembered: RememberedResults | None

    def known(self, path: str) -> Checked | None:
        """Return the result of an input that has not changed."""
        return self.remembered.find(path) if self.remembered is not None else None

    def of(self, path: str, progress: Callable[[int, int], None] | None) -> Outcome:
        """Check an input in this process."""
        try:
            return self.kept(analyse_path(path, self.options, progress, self.proofs))
        except Exception as error:
            return problem_of(path, error)

    def by(self, engine: WorkerEngine, paths: Sequence[str]) -> Iterator[tuple[str, Outcome]]:
        """Let workers check inputs, and yield what comes of each, as they come."""
        # Loaded late, for the time that it takes.
        from streamsan.checking.engines.lost_workers import outcomes
        from streamsan.checking.engines.worker_engine import ClusterLostError, WorkerLost
        from streamsan.checking.engines.worker_tasks import CheckTask

        task = CheckTask(self.options, self.proofs, self.workers.folder)
        try:
            for path, outcome in outcomes(engine, task, paths):
                yield path, self.kept(outcome) if not isinstance(outcome, WorkerLost) else _killed(path, outcome)
        except ClusterLostError as error:
            raise _NobodyLeftError(str(error)) from error

    def kept(self, outcome: Outcome) -> Outcome:
        """Return an outcome, which is remembered from here on."""
        if self.remembered is not None and isinstance(outcome, Checked):
            self.remembered.keep(outcome)
        return outcome


def _outcomes(
    inputs: Sequence[Input], included: Set[str], checks: _Checks, watch: Watch
) -> Iterator[tuple[int, Outcome]]:
    """Yield what comes of each input that is needed, by its number; of headers, which come last, in their order.

    `included` is filled by whoever asks, from one to the next.
    """
    numbered = list(enumerate(inputs))
    sources = [each for each in numbered if not each[1].only_if_not_included]
    headers = [each for each in numbered if each[1].only_if_not_included]
    # A header that another one includes is checked in vain: which does is known only when both were.
    for group in (sources, headers):
        needed = {number: item.path for number, item in group if _is_needed(item, included)}
        known = {number: result for number, path in needed.items() if (result := checks.known(path)) is not None}
        unknown = {path: number for number, path in needed.items() if number not in known}
        engine = checks.workers.engine(len(unknown))
        if engine is None:
            for number, path in needed.items():
                if _is_needed(inputs[number], included):
                    progress = watch.begins(path, number, len(inputs))
                    yield number, known.get(number) or checks.of(path, progress)
            continue
        spread = ((unknown[path], outcome) for path, outcome in checks.by(engine, list(unknown)))
        found: Iterable[tuple[int, Outcome]] = chain(known.items(), spread)
        for number, outcome in sorted(found, key=_number) if group is headers else found:
            if _is_needed(inputs[number], included):
                yield number, outcome


def _number(found: tuple[int, Outcome]) -> int:
    return found[0]


def _is_needed(item: Input, included: Set[str]) -> bool:
    return not item.only_if_not_included or os.path.realpath(item.path) not in included


def _killed(path: str, lost: WorkerLost) -> Problem:
    return Problem(path, f"not checked: {lost.workers} processes that checked it ended, the last one {lost.reason}")
