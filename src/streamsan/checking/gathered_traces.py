"""Results of several traces as one, in which nothing is twice: it grows with what is found, not with how often."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, TypeVar

from streamsan.analysis.checked import Checked
from streamsan.findings.many_traces import FindingsOfTraces
from streamsan.findings.reading_gaps import Unread

if TYPE_CHECKING:
    from streamsan.findings.wait_cost import RunCosts
    from streamsan.timeline import Timeline

Value = TypeVar("Value")


class GatheredTraces:
    """Puts results of traces together."""

    def __init__(self, runs: Sequence[str]) -> None:
        """`runs`: the run of each input by its number, "" for none."""
        self._findings = FindingsOfTraces(runs)
        self._alone: Checked | None = None
        """the only one up to now: it stays as it is"""
        self._count = 0
        self._operations = 0
        self._lines: dict[str, dict[int, tuple[int, str]]] = {}
        """file -> line -> its text, and the number of the trace that has it: of several the first one counts"""
        self._remarks: dict[str, int] = {}
        self._unread: list[Unread] = []
        self._timelines: dict[int, tuple[Timeline, ...]] = {}
        self._wait_costs: dict[int, tuple[RunCosts, ...]] = {}

    def found(self) -> int:
        """Return how many findings there are up to now, about: some of them may be one in the end."""
        return len(self._findings)

    def add(self, number: int, result: Checked) -> None:
        """Add the result of the trace with this number."""
        self._alone = result if self._count == 0 else None
        self._count += 1
        self._findings.add(number, result.path, result.findings)
        self._operations += result.operations
        for file, lines in result.stored_lines.items():
            known = self._lines.setdefault(file, {})
            for line, text in lines.items():
                if line not in known or number < known[line][0]:
                    known[line] = number, text
        for remark in result.remarks:
            self._remarks[remark] = min(number, self._remarks.get(remark, number))
        if result.unread:
            self._unread.append(result.unread)
        if result.timelines:
            self._timelines[number] = result.timelines
        if result.wait_costs:
            self._wait_costs[number] = result.wait_costs

    def checked(self) -> Checked:
        """Return what came of all, the same in whatever order they came; one alone is as it was."""
        if self._alone is not None:
            return self._alone
        return Checked(
            "",
            tuple(self._findings.findings(self._count)),
            self._operations,
            stored_lines={
                file: {line: text for line, (_, text) in sorted(lines.items())}
                for file, lines in sorted(self._lines.items())
            },
            remarks=tuple(sorted(self._remarks, key=lambda text: (self._remarks[text], text))),
            unread=Unread.merged(self._unread),
            files=self._count,
            wait_costs=_in_order(self._wait_costs),
            timelines=_in_order(self._timelines),
        )


def _in_order(found: Mapping[int, tuple[Value, ...]]) -> tuple[Value, ...]:
    """Return what came of the traces, by their numbers, one behind the other."""
    return tuple(chain.from_iterable(found[number] for number in sorted(found)))
