"""What the order engine says: candidate facts, aggregated by call sites. Rules turn them into findings."""

from __future__ import annotations

from dataclasses import dataclass, field

from streamsan.vocabulary import EdgeClass, FactVariant, MemoryKind, OperationKind, RelatedRole, StreamKind


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation of a fact, as the trace has it."""

    sequence: int
    kind: OperationKind
    site: int
    api: int
    thread: int
    process: int
    stream: int
    """stream handle, 0 for the host"""
    flags: int
    """SlotFlag bits"""
    status: int = 0
    stream_site: int = 0
    """site where the stream was made (its label is the stream's name), 0: a default stream or not known"""
    stream_kind: StreamKind | None = None
    stream_assumed: bool = False
    """the stream came from code nobody can see: it may equal another such stream"""


@dataclass(frozen=True, slots=True)
class AllocationFact:
    """The allocation a fact is about."""

    address: int
    size: int
    generation: int
    kind: MemoryKind
    assumed: bool
    """came from an unknown caller"""
    context: int
    site: int
    """where it was made; the site's label is its name"""


@dataclass(frozen=True, slots=True)
class Fact:
    """One rule's condition found true at one place; `count` instances share code, variant and places."""

    code: int
    """102 for SS102"""
    variant: FactVariant
    operation: Operation
    """the operation that is reported (for SS102: the free)"""
    related: tuple[tuple[RelatedRole, Operation], ...] = ()
    allocation: AllocationFact | None = None
    rests_on: EdgeClass = EdgeClass.CONTRACT
    """the weakest class of edge that the fact itself needs; weaker than CONTRACT is never `proven`"""
    assumed: bool = False
    """the fact involves a stream, allocation or operation that an unknown caller decides"""
    may_be_equal: bool = False
    """two unknown streams of the fact may be one and the same: then the fact does not hold"""
    unseen: bool = False
    """code that is not visible may give the order that the fact misses; such a fact is assumed as well"""
    count: int = 1
    cost_ns: int = 0
    """summed duration of the calls, for costs (SS501)"""
    extra: dict[str, int] = field(default_factory=dict)
