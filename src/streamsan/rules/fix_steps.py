"""What may mend a finding, as its rule says: which remedy, for which operations. `streamsan.evidence.fix` tries it."""

from __future__ import annotations

from enum import Enum

from msgspec import Struct

from streamsan.order.facts import Operation


class Remedy(Enum):
    """What can be done about a finding. `operation` and `others` are those of the FixStep."""

    ORDER = "the operation waits for the other: by the stream of a free, an event, or a wait of the host"
    WAIT_BEFORE_END = "the operation, a reset or the end of the process, waits for the other"
    FREE_LATER = "the operation, a free or a reset, goes behind the last use of what it takes"
    FREE_ON_STREAM = "the operation, a free, is ordered in the stream of the other"
    EDGE = "the operation, a node of a graph, depends on the other"
    EDGE_FROM_ALLOCATION = "the operation, a node of a graph, depends on the node that allocates its memory"
    KERNEL_WAIT = "the operation, a kernel, waits for the kernel before it"
    WAIT_FOR_STREAMS = "the operation, a wait, is replaced by waits for the streams of the others"
    WAIT_FOR_WORK = "the operation, a wait, is replaced by one for an event recorded behind the first of the others"
    TELL_POOL = "PyTorch's pool is told before the operation, a release, of the stream of the other"
    NO_WAIT = "the operation, a wait, is taken out"


class FixStep(Struct, frozen=True):
    """One remedy, and what it is for. A step whose operations are not known is left out."""

    remedy: Remedy
    operation: Operation | None
    others: tuple[Operation, ...] = ()

    @property
    def other(self) -> Operation | None:
        """The first of the other operations."""
        return self.others[0] if self.others else None


def step(remedy: Remedy, operation: Operation | None, other: Operation | None = None) -> FixStep:
    """Return a step that takes one operation, or two of which the other may not be known."""
    return FixStep(remedy, operation, () if other is None else (other,))
