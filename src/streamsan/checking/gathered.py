"""Results as they come, in whatever order, put together: those of several traces are one, in which nothing is twice."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from streamsan.analysis.checked import Checked
from streamsan.analysis.suffixes import TRACE_SUFFIX
from streamsan.checking.folders import Input

if TYPE_CHECKING:
    from streamsan.checking.gathered_traces import GatheredTraces


class GatheredResults:
    """Keeps results of sources, and of all traces together what a report says of them.

    What it holds grows with what is found in them, not with how many of them have it.
    """

    def __init__(self, inputs: Sequence[Input]) -> None:
        """`inputs` are those that results may come of, by number."""
        self._others: dict[int, Checked] = {}
        self._found = 0
        self._inputs = inputs
        self._traces: GatheredTraces | None = None

    def add(self, number: int, result: Checked) -> None:
        """Add the result of the input with this number."""
        if not _is_trace(result.path):
            self._others[number] = result
            self._found += len(result.findings)
            return
        if self._traces is None:
            # Loaded late, for the time that it takes: a source needs none of it.
            from streamsan.checking.gathered_traces import GatheredTraces

            self._traces = GatheredTraces(_runs([item.path for item in self._inputs]))
        self._traces.add(number, result)

    def found(self) -> int:
        """Return how many findings there are up to now, about: some of them may be one in the end."""
        return self._found + (0 if self._traces is None else self._traces.found())

    def checked(self) -> list[Checked]:
        """Return the results of sources in the order of the inputs, behind that of the traces."""
        traces = [] if self._traces is None else [self._traces.checked()]
        return [*traces, *(self._others[number] for number in sorted(self._others))]


def gathered(inputs: Sequence[Input], results: Iterable[Checked]) -> list[Checked]:
    """Return results with those of traces put together. `inputs` are those of the results, and may be more."""
    numbers = {item.path: number for number, item in enumerate(inputs)}
    together = GatheredResults(inputs)
    for result in results:
        together.add(numbers[result.path], result)
    return together.checked()


def _is_trace(path: str) -> bool:
    return Path(path).suffix.lower() == TRACE_SUFFIX


def _runs(paths: Sequence[str]) -> list[str]:
    """Return the run of each trace by its number: its folder, as seen from the one that all lie in; "" for none."""
    folders = {path: os.path.dirname(os.path.abspath(path)) for path in paths if _is_trace(path)}
    if len(set(folders.values())) < 2:
        return [""] * len(paths)
    common = os.path.commonpath(folders.values())
    return [os.path.relpath(folders[path], common) if path in folders else "" for path in paths]
