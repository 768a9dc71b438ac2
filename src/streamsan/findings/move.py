"""One step of a witness: what is said of it, and which operation of the trace it is about."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct


class Act(StrEnum):
    """What happens in a step."""

    ISSUED = "issued"
    """the host puts the work on a stream: it is to come"""
    DONE = "done"
    """it runs, or the host does it"""
    OUTCOME = "outcome"
    """what comes of it; no operation of the trace"""


class Move(Struct, frozen=True):
    """One step."""

    text: str
    act: Act
    sequence: int = 0
    """number of the operation in the trace; 0: none"""
