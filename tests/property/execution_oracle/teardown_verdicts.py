"""The part of `verdicts` that is about contexts that end: what is pending then, and who else uses them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from execution_oracle.lifetimes import STREAM_WORK, is_call, is_ordered
from execution_oracle.program import Op
from streamsan.vocabulary import OperationKind as Kind

ASKS = (Kind.CALL, Kind.ALLOC_ATTRIBUTE)

if TYPE_CHECKING:
    from execution_oracle.verdicts import Oracle


class TeardownJudge:
    """Judges the resets and destructions of contexts of one program."""

    def __init__(self, oracle: Oracle) -> None:
        self.oracle = oracle

    def take(self, index: int, op: Op) -> None:
        """Judge one of them, and take its memory away."""
        oracle = self.oracle
        dying = oracle.memory.end_context(index, op)
        uses = [use for allocation in dying for use in oracle.life(allocation).uses]
        work, frees = self._on_streams(index, op)
        parts = {*work, *((use.index, use.part) for use in uses)}
        pending = any(self._is_pending(part, index) for part in parts)
        must, may = self._other_threads(index, op)
        if pending or must or any(self._is_pending((free, 0), index) for free in frees):
            oracle.say(106, index)
        elif may:
            oracle.say(106, index, needed=False)
        for allocation in dying:
            oracle.life(allocation).uses.clear()

    def _is_pending(self, part: tuple[int, int], index: int) -> bool:
        return not self.oracle.is_ordered(("end", *part), ("call", index, 0))

    def _on_streams(self, index: int, op: Op) -> tuple[list[tuple[int, int]], list[int]]:
        """Work and frees on the context's streams, since it ended last."""
        lifetimes = self.oracle.lifetimes
        life = sum(1 for end in lifetimes.ends[op.object] if end < index)
        work, frees = [], []
        for earlier in range(index):
            each = self.oracle.program.ops[earlier]
            here = lifetimes.context.get(earlier) == op.object and lifetimes.life[earlier] == life
            if not here or not lifetimes.has_effect(earlier):
                continue
            if each.kind in STREAM_WORK:
                work.append((earlier, 0))
            elif each.kind is Kind.FREE and is_ordered(each) and (earlier, 0) in self.oracle.promised.machine.end:
                frees.append(earlier)
        return work, frees

    def _other_threads(self, index: int, op: Op) -> tuple[bool, bool]:
        """Whether another thread's call in the context may come later, and whether one may not have returned.

        That a thread only makes a context its own may be said, too.

        In a recording that is decided by the times of the calls, which there are none of here.
        """
        oracle = self.oracle
        if oracle.program.origin == "recording":
            return False, False
        must = may = False
        relation = oracle.believed
        machine = relation.machine
        for other, call in enumerate(oracle.program.ops):
            at = oracle.lifetimes.current[other]
            switch = call.kind is Kind.CONTEXT_CURRENT
            if call.thread == op.thread or not is_call(call) or (at != op.object and not switch):
                continue
            mine, theirs = machine.call[index], machine.call[other]
            if switch:
                may |= other < index and not relation.reaches(self._returned(other, call), mine)
            elif other > index and call.kind in ASKS:
                continue  # it does not use the device
            elif other < index:
                must |= not relation.reaches(theirs, mine)
                may |= not relation.reaches(self._returned(other, call), mine)
            else:
                must |= not relation.reaches(machine.back[index], theirs)
        return must, may

    def _returned(self, index: int, op: Op) -> int:
        """The step in which the thread next tells others how far it is; one that never comes where it does not."""
        machine = self.oracle.believed.machine
        later = [at for at in range(index + 1, len(self.oracle.program.ops))
                 if self.oracle.program.ops[at].thread == op.thread]  # fmt: skip
        releases = [at for at in later if machine.releases >> machine.call[at] & 1]
        return machine.call[releases[0]] if releases else len(machine.guards)
