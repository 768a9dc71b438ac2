"""The findings of many traces, each told once: what ranks and runs do alike is one finding, with where it was found.

Traces may come in any order, and what comes out is the same. Of a finding that is there already nothing is kept but in
which trace it was found.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from streamsan.findings.finding import Finding, Place, Related
from streamsan.findings.same_findings import SameFindings
from streamsan.findings.spread import InRun, Spread
from streamsan.vocabulary.rank_words import rank_ranges

_Cause = tuple[str, Place, str, frozenset[Place] | str]


class FindingsOfTraces:
    """Collects the findings of traces that are numbered. `runs`: the run of each by its number, "" for none."""

    def __init__(self, runs: Sequence[str]) -> None:
        self._runs = runs
        self._alike: dict[_Cause, _Alike] = {}

    def __len__(self) -> int:
        """Return how many there are up to now, before those with a cause in common are joined."""
        return len(self._alike)

    def add(self, trace: int, path: str, findings: Iterable[Finding]) -> None:
        """Add what was found in a trace."""
        for each in findings:
            # Without the trace that it comes from: that may be large.
            finding = replace(each, basis=each.basis.places_alone())
            cause = _cause(finding, path)
            alike = self._alike.get(cause)
            if alike is None:
                alike = self._alike[cause] = _Alike(finding, trace, path)
            alike.add(finding, trace, path)
            alike.found_in.add(trace, self._runs[trace], finding.ranks)

    def findings(self, checked: int) -> list[Finding]:
        """Return each finding once, sorted by place; of those with a cause in common the strongest speaks.

        `checked`: how many traces there are.
        """
        kept = SameFindings()
        speakers: list[_Alike] = []
        for alike in sorted(self._alike.values(), key=lambda each: _turn(each.speaker, each.trace)):
            finding = alike.finding()
            first = kept.join(finding)
            if first is not None:
                speakers[first].found_in.update(alike.found_in)
            else:
                kept.add(finding)
                speakers.append(alike)
        told = []
        for finding, alike in zip(kept.findings, speakers, strict=True):
            found, runs = alike.found_in.counted(self._runs)
            spread = Spread(found, checked, alike.path, runs)
            told.append(replace(finding, ranks=alike.found_in.all_ranks(), spread=spread))
        return sorted(told, key=lambda finding: finding.order)


class _FoundIn(Struct):
    """In which traces a finding was found."""

    traces: bytearray = field(default_factory=bytearray)
    """a bit for each, by its number"""
    ranks: dict[str, set[int]] = field(default_factory=dict)
    """by run"""

    def add(self, trace: int, run: str, ranks: Iterable[int]) -> None:
        self._mark(trace)
        self.ranks.setdefault(run, set()).update(ranks)

    def update(self, other: _FoundIn) -> None:
        for trace in other._numbers():
            self._mark(trace)
        for run, ranks in other.ranks.items():
            self.ranks.setdefault(run, set()).update(ranks)

    def counted(self, runs: Sequence[str]) -> tuple[int, tuple[InRun, ...]]:
        """Return in how many traces it was found, in all and by run; `runs` are those of all traces."""
        counts = Counter(runs[trace] for trace in self._numbers())
        ranks = {run: tuple(rank_ranges(_sorted(found))) for run, found in self.ranks.items()}
        return counts.total(), tuple(InRun(run, counts[run], ranks[run]) for run in sorted(counts) if run)

    def all_ranks(self) -> tuple[int, ...]:
        return _sorted(rank for ranks in self.ranks.values() for rank in ranks)

    def _mark(self, trace: int) -> None:
        at, bit = divmod(trace, 8)
        self.traces.extend(bytes(max(0, at + 1 - len(self.traces))))
        self.traces[at] |= 1 << bit

    def _numbers(self) -> Iterator[int]:
        return (8 * at + bit for at, byte in enumerate(self.traces) for bit in range(8) if byte >> bit & 1)


class _Alike(Struct):
    """Findings with the same causes: the strongest one of the first trace speaks."""

    speaker: Finding
    trace: int
    path: str
    found_in: _FoundIn = field(default_factory=_FoundIn)
    related: dict[tuple[str, str, int], Related] = field(default_factory=dict)
    """what any of them names; of several texts of one place the first in the alphabet"""

    def add(self, finding: Finding, trace: int, path: str) -> None:
        """Add a finding: it speaks from here on if its turn is before that of the one that did."""
        if _turn(finding, trace) < _turn(self.speaker, self.trace):
            self.speaker, self.trace, self.path = finding, trace, path
        for each in finding.related:
            key = each.role, each.file, each.line
            # A call without a line has the name of its trace: each would be another one.
            if each.file != path and (key not in self.related or each.message < self.related[key].message):
                self.related[key] = each

    def finding(self) -> Finding:
        """Return the one that speaks, with what the others name behind what it names."""
        own = {(each.role, each.file, each.line) for each in self.speaker.related}
        others = tuple(self.related[key] for key in sorted(self.related) if key not in own)
        return replace(self.speaker, related=self.speaker.related + others)


def _turn(finding: Finding, trace: int) -> tuple[tuple[int, int], int, tuple[str, int, int, str, str]]:
    return finding.strength, trace, finding.order


def _cause(finding: Finding, path: str) -> _Cause:
    """Return what findings of one cause have in common: rule, place and causes; of a call without a line its words."""
    place = finding.location.place
    if place.file == path:
        return finding.code, Place("", place.line, place.column), finding.location.function, finding.message
    causes = frozenset(each if each.file != path else Place("", each.line) for each in finding.basis.causes)
    return finding.code, place, "", causes or finding.message


def _sorted(ranks: Iterable[int]) -> tuple[int, ...]:
    return tuple(sorted(set(ranks)))
