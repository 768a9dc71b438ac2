"""One way to write a fix: the text's edits, and the edit of the trace that they stand for."""

from __future__ import annotations

from typing import Protocol

from msgspec import Struct

from streamsan.evidence.fix.edited_trace import Edits
from streamsan.findings.finding import Edit


class Change(Protocol):
    """An edit of a trace."""

    def apply(self, edits: Edits) -> bool:
        """Make it. Returns False where the trace has no place for it."""


class Written(Struct, frozen=True):
    """One way to write a fix."""

    summary: str
    edits: tuple[Edit, ...]
    change: Change
