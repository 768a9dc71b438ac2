"""What a report draws of one finding: the operations around it on their lanes, what orders them, and what does not."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

from streamsan.findings.move import Move


class Strength(StrEnum):
    """How an order between two operations is known."""

    PROMISED = "promised"
    """the documentation promises it, or it holds in this run"""
    MISSING = "missing"
    """nothing orders them: the finding"""
    WRONG = "wrong"
    """they are ordered, in the wrong way: the finding"""


class SceneLane(Struct, frozen=True):
    """One lane: `kind` is "host", "stream", "queue" or "graph"."""

    kind: str
    name: str


class SceneOperation(Struct, frozen=True):
    """One operation, in the order of their issue."""

    lane: int
    issuer: int
    """the lane of the host thread that put it there; -1: it is the host's own"""
    number: int
    """its number in the trace"""
    place: int
    """its index in the whole run's timeline; -1: it is not in it"""
    kind: str
    """an OperationKind's name in lower case"""
    name: str
    file: str
    line: int
    """0: not known"""
    role: str = ""
    """what it is to the finding: "reported", or a RelatedRole's name in lower case; "": it is around it"""
    says: str = ""
    """what the finding says of it"""
    access: str = ""
    """of a use of the finding's memory: "reads", "writes", "accesses" """
    left_out: int = 0
    """operations before it that are not drawn"""


class SceneEdge(Struct, frozen=True):
    """An order between two operations, by their index in the scene."""

    source: int
    target: int
    reason: str
    strength: Strength = Strength.PROMISED


class SceneBar(Struct, frozen=True):
    """Memory: from the operation that made it to the one that ends it, by their index in the scene; -1: beyond it."""

    name: str
    begin: int
    end: int
    uses: tuple[int, ...] = ()
    own: bool = False
    """it is the memory that the finding is about"""


class Scene(Struct, frozen=True):
    """A scene."""

    lanes: tuple[SceneLane, ...]
    operations: tuple[SceneOperation, ...]
    edges: tuple[SceneEdge, ...] = ()
    bars: tuple[SceneBar, ...] = ()
    moves: tuple[Move, ...] = ()
    """the witness; a move's `sequence` is an operation's `number`"""
    run: str = ""
    """the title of the timeline that it is cut from"""
    notes: tuple[str, ...] = ()
    """what the picture does not show, one line each"""
