"""What a rule found: one broken rule at one place, with everything a report needs. Data only, no wording, no layout."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from msgspec import Struct, field
from msgspec.structs import replace

from streamsan.findings.access import Access, Overlap
from streamsan.findings.move import Move
from streamsan.findings.scene import Scene
from streamsan.findings.spread import Spread
from streamsan.vocabulary.rank_words import ranks_in_words


class Severity(StrEnum):
    """How much a finding matters. `rank` orders them, an error first."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"

    @property
    def rank(self) -> int:
        """0 for an error, 1 for a warning, 2 for a note."""
        return _RANK[self]

    def at_most(self, limit: Severity) -> Severity:
        """Return the weaker of the two: a cap never raises a severity."""
        return self if self.rank >= limit.rank else limit


_RANK = {Severity.ERROR: 0, Severity.WARNING: 1, Severity.NOTE: 2}


class Confidence(StrEnum):
    """`proven`: in every execution that reaches the operations; `possible`: in some that the tool cannot exclude."""

    PROVEN = "proven"
    POSSIBLE = "possible"


class Place(Struct, frozen=True, order=True):
    """A point in a file; lines and columns count from 1, 0 is unknown."""

    file: str
    line: int
    column: int = 0


class Location(Struct, frozen=True):
    """Where a finding is reported: a call, up to `end_line`, before `end_column`; 0 where that is not known."""

    file: str
    line: int
    column: int = 0
    function: str = ""
    end_line: int = 0
    end_column: int = 0

    @property
    def place(self) -> Place:
        """The location without its function."""
        return Place(self.file, self.line, self.column)


class Related(Struct, frozen=True):
    """Another operation of the finding: `role` is a RelatedRole's name in lower case, `message` what happened there."""

    role: str
    file: str
    line: int
    message: str


class Contract(Struct, frozen=True):
    """What the documentation promises or demands, and which document."""

    text: str
    source: str


class Observed(Struct, frozen=True):
    """What hardware did: `fact` is the id of the measurement, `on` the machine and driver."""

    text: str
    fact: str
    on: str = "H200, driver 580"


class Edit(Struct, frozen=True):
    """One textual change of a fix: replace [line:column, end_line:end_column) by `text`."""

    file: str
    line: int
    column: int
    end_line: int
    end_column: int
    text: str


class Fix(Struct, frozen=True):
    """What to change. `verified` only where the changed program was analysed again without the finding."""

    summary: str
    verified: bool = False
    edits: tuple[Edit, ...] = ()


class Basis(Struct, frozen=True):
    """What a finding rests on, for merging. Never reported. `rules.case.CaseBasis` has the fact as well."""

    operations: frozenset[Place] = frozenset()
    """places of all operations that take part"""
    causes: frozenset[Place] = frozenset()
    """places that make two findings at one location the same finding: the allocation, the conflicting operations"""
    memory: frozenset[Place] = frozenset()
    """places where the memory that the finding is about was made"""
    status: int = 0
    """what the call at the finding's location returned, 0: success or not known"""

    def places_alone(self) -> Basis:
        """Return what merging needs, without the trace that the finding comes from."""
        return Basis(self.operations, self.causes, self.memory, self.status)


class Finding(Struct, frozen=True):
    """One rule broken at one place."""

    code: str
    name: str
    severity: Severity
    confidence: Confidence
    message: str
    location: Location
    related: tuple[Related, ...] = ()
    accesses: tuple[Access, ...] = ()
    """of a race: what its two sides do to the memory, the earlier one first; one that is not known is left out"""
    overlap: Overlap | None = None
    """of a race: what both sides surely touch, None where that is not known"""
    contract: Contract | None = None
    observed: Observed | None = None
    witness: tuple[str, ...] = ()
    """an execution that goes wrong, step by step"""
    moves: tuple[Move, ...] = ()
    """the same steps with the operations that they are about, where they are of one trace"""
    no_witness: str = ""
    """why there is no execution to show, "" where there is one"""
    fix: Fix | None = None
    no_fix: str = ""
    """why there is no fix, or why it was not verified; "" where there is a verified one"""
    properties: Mapping[str, int | str] = field(default_factory=dict)
    ranks: tuple[int, ...] = ()
    """the processes of a job of many in which it was found, sorted; () where there is one, or they have no numbers"""
    spread: Spread | None = None
    """of several traces that were checked together: in how many it was found"""
    fingerprint: str = ""
    """its identity over edits elsewhere in the program, where it was asked for (`fingerprint.py`)"""
    scene: Scene | None = None
    """the time around it, where a report draws it (`timeline.scenes`)"""
    no_scene: str = ""
    """why a report that draws others does not draw it, "" where it does, or draws none"""
    basis: Basis = Basis()

    @property
    def strength(self) -> tuple[int, int]:
        """Sorts the strongest first: severity, then `proven` before `possible`."""
        return self.severity.rank, 0 if self.confidence is Confidence.PROVEN else 1

    @property
    def headline(self) -> str:
        """What is said of it where people read it: its message, and in which traces and ranks it was found."""
        if self.spread is not None:
            return f"{self.message} ({self.spread.words(self.ranks)})"
        return f"{self.message} ({ranks_in_words(self.ranks)})" if self.ranks else self.message

    @property
    def order(self) -> tuple[str, int, int, str, str]:
        """Sorts findings as reports print them: by place, then code."""
        return self.location.file, self.location.line, self.location.column, self.code, self.message

    def weakened(self, limit: Severity) -> Finding:
        """Return the finding as `possible`, with a severity of at most `limit`."""
        return replace(self, severity=self.severity.at_most(limit), confidence=Confidence.POSSIBLE)


def same_finding(first: Finding, second: Finding) -> bool:
    """Tell whether two findings are one: same code, same place, and a cause in common (or no cause at all)."""
    if first.code != second.code or first.location.place != second.location.place:
        return False
    if not first.basis.causes or not second.basis.causes:
        return first.message == second.message
    return not first.basis.causes.isdisjoint(second.basis.causes)
