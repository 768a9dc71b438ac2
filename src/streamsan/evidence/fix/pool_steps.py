"""A step for memory of a framework's pool: the pool is told which other stream uses a block."""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from streamsan.evidence.fix.edited_trace import EditableTrace, Edits
from streamsan.evidence.fix.steps import pairs
from streamsan.order.facts import Operation
from streamsan.rules.case import Case
from streamsan.rules.torch_words import torch_stream
from streamsan.vocabulary import MemoryKind, OperationKind


class StreamTold(Struct, frozen=True):
    """PyTorch's pool is told, before `release`, of the stream that `use` is on.

    It then records an event there at the release, and hands the block out when a query has said that the event is over.
    """

    release: Operation
    use: Operation

    def apply(self, edits: Edits) -> bool:
        """Put the record in before each release, and a wait for it before the block has its next owner."""
        trace, slots = edits.trace, edits.trace.slots
        site = edits.site()
        done = False
        for source, target in pairs(trace, self.use, self.release):
            stream = int(slots["stream"][source])
            if not stream:
                return False
            event = edits.event()
            made = edits.call(target, OperationKind.EVENT_CREATE, site, object=event)
            record = edits.call(target, OperationKind.EVENT_RECORD, site, object=event, stream=stream)
            edits.put_before(target, [made, record])
            again = _handed_out_again(trace, target)
            if again is not None:
                edits.put_before(again, [edits.call(again, OperationKind.EVENT_SYNCHRONIZE, site, object=event)])
            done = True
        return done

    def words(self, case: Case) -> str:
        made = case.allocation_location()
        tensor = f"<the tensor of line {made.line}>" if made is not None and made.line else "<the tensor>"
        stream = torch_stream(case, self.use)
        # The pool may be told at any time while the tensor lives: where it is used it has a name.
        line = case.line(self.use)
        where = f"after line {line}" if line else f"after {case.does(self.use)}"
        return f"{where}: {tensor}.record_stream({stream})"


def _handed_out_again(trace: EditableTrace, release: int) -> int | None:
    """Return the row in which bytes of the released block have their next owner."""
    slots = trace.slots
    address = slots["address"][release]
    blocks = trace.starts & (slots["kind"] == OperationKind.ALLOC) & (slots["detail"] == MemoryKind.POOL_BLOCK)
    blocks &= (slots["address"] <= address) & (address - slots["address"] < slots["size"])
    later = np.flatnonzero(blocks)
    later = later[later > release]
    return int(later[0]) if len(later) else None
