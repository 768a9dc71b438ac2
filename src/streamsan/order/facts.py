"""What the order engine says: candidate facts, aggregated by call sites. Rules turn them into findings.

Facts about graphs, conflicts and costs: the reported operation, and the roles of the related ones ([..]: where known).

    SS109               the later use (its kind may be GRAPH_NODE or GRAPH_LAUNCH); USE the earlier one, ALLOC. Both
                        uses have the flag TOUCHES, and modes that are known, exactly where the overlap is sure;
                        [SYNC, where the fact is `polled`: a launch between the two that polls the word];
                        otherwise the fact is `assumed`, and `likely` where both modes are known and the one touches
                        all that the other may touch
    SS301               the launch; ALLOC one that lives, USE the launch that made it, CREATE the instantiation
    SS302               the call that is refused; [CREATE the begin of the capture]
    SS303 STALE_*       the launch; ALLOC, FREE (STALE_RESET: RESET), USE the node, CREATE the instantiation,
                        [OWNER the allocation that has the address now: STALE_RECYCLED, STALE_GIVEN_AGAIN]
    SS304 GRAPH_USE     the use outside; ALLOC, USE the launch that allocates
    SS304 GRAPH_FREE    the free outside; ALLOC, USE the launch that allocates. Where the operation is a GRAPH_LAUNCH,
                        that launch frees (automatically, or by a node) while the USE, outside, may still run
    SS304 GRAPH_INSIDE  the node; ALLOC, [FREE the free node: the use is not before it; without: it is not after ALLOC]
    SS304 GRAPH_NOT_ALIVE
                        the use or free; ALLOC, [FREE the node that frees in the graph; without: before any launch]
    SS401 UNRELEASED    the call that made the object; RESET the exit
    SS305 NO_FREE       the allocation; ALLOC, USE the first launch, CREATE the instantiation
    SS306 SECOND_EXEC   the instantiation; [CREATE the first one], [ALLOC]
    SS306 CLONED        the clone; [CREATE an instantiation of the same graph], [ALLOC]
    SS306 OUTSIDE_FREE  the free; ALLOC
    SS306 AS_CHILD      the call; [ALLOC], [FREE the node that frees it already]
    SS402               the allocation; ALLOC, USE the last launch, DESTROY of the executable graph, [SYNC the trim],
                        RESET the reset or the exit
    SS502 CHURN         the allocation of the last round; ALLOC the same, FREE, [USE work between],
                        [SYNC: stream-ordered memory, the wait before the next round]; `count`: the rounds
    SS503 TOO_WIDE      the wait; USE the last work that something later needs, [OTHER: work that nothing needs, and
                        that the wait covers]; the stream of USE is the one to wait for. `extra["exact"]` is 1 where
                        waiting for that stream is enough, 0 where only an event recorded right after USE is
    SS601 UNCHECKED     the call that failed (its `status`); USE the first later work of the same thread
"""

from __future__ import annotations

from msgspec import Struct, field

from streamsan.trace.rows import Rows
from streamsan.trace.slot_fields import STATUS_UNKNOWN
from streamsan.vocabulary import EdgeClass, FactVariant, MemoryKind, OperationKind, RelatedRole, RuleCode, StreamKind

_KINDS = {kind.value: kind for kind in OperationKind}


def operation_kind(number: int) -> OperationKind:
    """Return a slot's kind; a call that nothing is known of for one that a later version may have written."""
    return _KINDS.get(number, OperationKind.CALL)


class Operation(Struct, frozen=True):
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
    stream_number: int = 0
    """counts the streams in the order in which they became known, from 1; 0: the host, or a default stream"""

    @property
    def failed(self) -> bool:
        """Whether the call is known to have failed, by whichever platform's statuses."""
        return self.status not in (0, STATUS_UNKNOWN)


class AllocationFact(Struct, frozen=True):
    """The allocation a fact is about."""

    address: int
    size: int
    generation: int
    kind: MemoryKind
    assumed: bool
    """came from an unknown caller"""
    site: int
    """where it was made; the site's label is its name"""


class Touch(Struct, frozen=True):
    """Which bytes of the fact's allocation one side of a race touches, and how."""

    begin: int
    """address"""
    end: int
    """0: how far it reaches is not known"""
    rows: Rows | None = None
    """which of them, where not all"""
    within: tuple[int, int] | None = None
    """where it is not known how far it reaches: from which address to which (exclusive) at most"""
    surely: bool = False
    """it touches all of these bytes; of an unknown extent the first"""
    atomic: bool = False
    """by atomic operations only"""
    node: Operation | None = None
    """of a launch of a graph: the node that does it"""


class Fact(Struct, frozen=True):
    """One rule's condition found true at one place; `count` instances share code, variant and places."""

    code: RuleCode
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
    likely: bool = False
    """though the fact is assumed, a right program that looks so is out of the ordinary (SS108, SS109)"""
    polled: bool = False
    """a word that a kernel polls may give the order that the fact misses; such a fact is assumed as well (SS109)"""
    count: int = 1
    cost_ns: int = 0
    """summed duration of the calls, for costs (SS501)"""
    extra: dict[str, int] = field(default_factory=dict)
    touches: tuple[Touch | None, Touch | None] = (None, None)
    """of a race (SS107 to SS109), and of uses of memory that is not there (SS101 to SS103): what `operation`, and what
    the first USE touches, where that is known"""
    explained: str = ""
    """the driver's own words on why `operation` failed, "" where it gave none"""
