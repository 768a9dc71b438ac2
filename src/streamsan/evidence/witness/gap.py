"""Why nothing orders two operations: what is missing, or the wait that is there and does not help."""

from __future__ import annotations

from collections.abc import Sequence

from streamsan.evidence.witness.known_order import Order, Sync
from streamsan.order.facts import Operation
from streamsan.rules.case import Case
from streamsan.vocabulary import OperationKind, StreamKind

_WAITS = (OperationKind.STREAM_WAIT_EVENT, OperationKind.EVENT_SYNCHRONIZE)


class Gap:
    """The records and waits of one case that were meant to order its operations."""

    def __init__(self, case: Case, order: Order) -> None:
        self._case = case
        self._order = order

    def line(self, sync: Sync) -> int:
        """Return the line of a record or a wait, 0 where it is not known."""
        return self._case.names.site(sync.site).line

    def stale_record(self, ahead: Operation, behind: Operation) -> Sync | None:
        """Return the last record of the stream behind, before its work, that whoever is ahead has waited for."""
        before = self._order.before.get(ahead.sequence)
        if before is None or not behind.stream:
            return None
        last_wait = {wait.event: wait.sequence for wait in self._waits_of(ahead) if wait.sequence < ahead.sequence}
        for sync in reversed(self._of_stream(behind)):
            is_before = sync.kind is OperationKind.EVENT_RECORD and sync.sequence < behind.sequence
            if is_before and sync.sequence < last_wait.get(sync.event, 0):
                return sync if before.has_work(sync.sequence) and self.line(sync) else None
        return None

    def early_wait(self, ahead: Operation, behind: Operation) -> Sync | None:
        """Return a wait of who is ahead for an event that is recorded behind the work, but only after the wait."""
        records = {
            sync.event: sync.sequence
            for sync in self._of_stream(behind)
            if sync.kind is OperationKind.EVENT_RECORD and sync.sequence > behind.sequence
        }
        for sync in self._waits_of(ahead):
            late = sync.sequence < records.get(sync.event, 0)
            # What the host waited for before the work was issued, it cannot have meant for it.
            late = late and (bool(ahead.stream) or sync.sequence > behind.sequence)
            if late and sync.sequence < ahead.sequence and self.line(sync):
                return None if self._order.is_recorded_before(sync.event, sync.sequence) else sync
        return None

    def _waits_of(self, operation: Operation) -> Sequence[Sync]:
        """Return the waits for events of who performs an operation: of its stream, or of the host thread."""
        if operation.stream:
            return [sync for sync in self._of_stream(operation) if sync.kind in _WAITS]
        return self._order.host_waits(operation.thread)

    def _of_stream(self, operation: Operation) -> list[Sync]:
        """Return the records and waits of an operation's stream, since that was made; nothing of a default stream's."""
        # Greater handles are of streams that were made; 0 is none.
        is_made = operation.stream > self._case.platform.per_thread_stream
        if not is_made or operation.stream_kind is StreamKind.LEGACY:
            return []
        found: list[Sync] = []
        for sync in self._order.syncs_of(operation.stream):
            if sync.kind is not OperationKind.STREAM_CREATE:
                found.append(sync)
            elif sync.sequence > operation.sequence:
                break
            else:
                found.clear()
        return found
