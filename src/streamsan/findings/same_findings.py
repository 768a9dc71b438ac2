"""Which of many findings are one: found by what they have in common, so that none is held against all others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from streamsan.findings.finding import Finding, Place

Key = tuple[str, Place, Place | str]
"""code and place of a finding, and a cause of it or its message"""


class SameFindings:
    """Findings by what makes two of them one. Answers as `same_finding` does, for one against all."""

    def __init__(self, findings: Iterable[Finding] = ()) -> None:
        self.findings: list[Finding] = []
        self._of_cause: dict[Key, dict[int, None]] = {}
        self._of_message: dict[Key, dict[int, None]] = {}
        self._without_cause: dict[Key, dict[int, None]] = {}
        for finding in findings:
            self.add(finding)

    def add(self, finding: Finding) -> None:
        """Add a finding behind the others."""
        self.findings.append(finding)
        self._enter(len(self.findings) - 1, finding)

    def join(self, finding: Finding) -> int | None:
        """Join a finding to the first one that it is the same as. Returns its number, None for none."""
        first = min(self._numbers(finding), default=None)
        if first is not None:
            self.findings[first] = _joined(self.findings[first], finding)
            self._enter(first, self.findings[first])
        return first

    def same(self, finding: Finding) -> Iterator[Finding]:
        """Yield the findings that are the same as this one."""
        return (self.findings[number] for number in self._numbers(finding))

    def __contains__(self, finding: Finding) -> bool:
        return next(self._numbers(finding), None) is not None

    def _enter(self, number: int, finding: Finding) -> None:
        code, place = finding.code, finding.location.place
        for cause in finding.basis.causes:
            self._of_cause.setdefault((code, place, cause), {})[number] = None
        self._of_message.setdefault((code, place, finding.message), {})[number] = None
        if not finding.basis.causes:
            self._without_cause.setdefault((code, place, finding.message), {})[number] = None

    def _numbers(self, finding: Finding) -> Iterator[int]:
        code, place = finding.code, finding.location.place
        for cause in finding.basis.causes:
            yield from self._of_cause.get((code, place, cause), ())
        # Where one of two has no cause, the message decides.
        by_message = self._without_cause if finding.basis.causes else self._of_message
        yield from by_message.get((code, place, finding.message), ())


def merge(findings: Iterable[Finding]) -> list[Finding]:
    """Join findings that are the same: the strongest speaks, the others add related operations. Sorted by place."""
    kept = SameFindings()
    for finding in sorted(findings, key=lambda f: (f.strength, f.order)):
        if kept.join(finding) is None:
            kept.add(finding)
    return sorted(kept.findings, key=lambda f: f.order)


def _joined(kept: Finding, other: Finding) -> Finding:
    known = {(r.role, r.file, r.line) for r in kept.related}
    extra = tuple(r for r in other.related if (r.role, r.file, r.line) not in known)
    # The operations stay those of the strongest: one instance is enough to have the finding.
    basis = replace(
        kept.basis,
        causes=kept.basis.causes | other.basis.causes,
        memory=kept.basis.memory | other.basis.memory,
    )
    ranks = tuple(sorted({*kept.ranks, *other.ranks}))
    return replace(kept, related=kept.related + extra, ranks=ranks, basis=basis)
