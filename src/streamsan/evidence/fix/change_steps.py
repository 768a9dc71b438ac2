"""Steps that change what is there: the stream and the place of a free, waits that are too wide or not needed."""

from __future__ import annotations

from bisect import bisect_left

from msgspec import Struct

from streamsan.evidence.fix.edited_trace import EditableTrace, Edits
from streamsan.evidence.fix.moved_frees import later_freed
from streamsan.evidence.fix.named_lines import behind, is_called_there, line_beside
from streamsan.evidence.fix.order_steps import wait_by_event
from streamsan.evidence.fix.steps import USES, Calls, pairs, touches
from streamsan.evidence.fix.wait_lists import command_of, has_wait_lists
from streamsan.order.facts import Operation
from streamsan.rules.case import Case
from streamsan.rules.python_calls import named_wait
from streamsan.rules.torch_words import is_of_torch
from streamsan.vocabulary import FreeClass, OperationKind, RelatedRole, WaitClass

GRID_WAIT = "cudaGridDependencySynchronize"
"""waits, in a kernel, for the kernels that it depends on"""


class FreeOnStream(Struct, frozen=True):
    """The free becomes one in the order of the stream of `use`."""

    free: Operation
    use: Operation

    def apply(self, edits: Edits) -> bool:
        """Change each free."""
        slots = edits.trace.slots
        done = False
        for source, target in pairs(edits.trace, self.use, self.free):
            stream = int(slots["stream"][source])
            if not stream or int(slots["detail"][target]) not in (FreeClass.ASYNC, FreeClass.DEVICE):
                return False
            if self._is_of_another_device(edits.trace, source, target):
                return False
            edits.changed[target] = {"stream": stream, "detail": FreeClass.ASYNC}
            done = True
        return done

    @staticmethod
    def _is_of_another_device(trace: EditableTrace, use: int, free: int) -> bool:
        """Tell whether the last use ran on another device than the one that the memory is freed on."""
        own = trace.context_of_stream(free) if int(trace.slots["stream"][free]) else trace.context(free)
        other = trace.context_of_stream(use)
        return bool(own and other and own != other)

    def words(self, case: Case) -> str:
        call = Calls.of(case, self.free).free_async
        line = line_beside(case, self.free, self.use)
        if line and is_called_there(case, self.free, self.use):
            stream = case.stream_argument(self.use)
            return f"line {line}, where it is freed: free it in the stream of the last use, `{stream}`"
        at = f"line {line}: " if line else ""
        return f"{at}{call}({case.bare_memory()}, {case.stream_argument(self.use)}), in the stream of the last use"


class FreeBehindUses(Struct, frozen=True):
    """The free (or reset) goes behind the last use of the memory, `last` at the latest."""

    free: Operation
    last: Operation
    extent: int = 1
    """bytes of the memory, as far as known"""

    def apply(self, edits: Edits) -> bool:
        """Move each free behind the last use that follows it."""
        slots = edits.trace.slots
        lasts, frees = edits.trace.instances(self.last), edits.trace.instances(self.free)
        following: dict[int, int] = {}
        moves: dict[int, int] = {}
        for free in reversed(frees):
            # Each free has its own uses: those before the next one of the same memory.
            address = int(slots["address"][free])
            behind = self._last_of(edits.trace, free, lasts, following.get(address, len(slots)))
            if behind is not None:
                moves[free] = behind
            following[address] = free
        edits.moved.update(sorted(moves.items()))
        return bool(moves) and all(later_freed(edits, free, moves[free], self.extent) for free in sorted(moves))

    def _last_of(self, trace: EditableTrace, free: int, lasts: list[int], end: int) -> int | None:
        thread = trace.slots["thread"][free]
        for row in reversed(lasts[bisect_left(lasts, free + 1) : bisect_left(lasts, end)]):
            if trace.slots["thread"][row] == thread and self._concerns(trace, free, row):
                return row
        return None

    def _concerns(self, trace: EditableTrace, free: int, row: int) -> bool:
        slots = trace.slots
        kind = int(slots["kind"][row])
        if int(slots["kind"][free]) != OperationKind.FREE or kind not in USES:
            return True  # a reset concerns all that follows, a graph's launch is looked at by the engine
        return touches(slots, row, int(slots["address"][free]), self.extent)

    def words(self, case: Case) -> str:
        line, target = line_beside(case, self.free, self.last), line_beside(case, self.last, self.free)
        what = f"line {line} ({case.call(self.free)})" if line else case.call(self.free)
        if line and is_called_there(case, self.free, self.last):
            # Only what frees it: the function that line calls may do more.
            what = f"the {case.call(self.free)} that line {line} comes to"
        last = named_wait(case, self.last) if self.last.kind not in USES else case.does(self.last)
        where = f"behind line {target} ({last})" if target else f"behind {last}"
        made = case.line(case.first(RelatedRole.ALLOC))
        if is_of_torch(case) and made:
            end = f"line {target} ({last})" if target else last
            dropped = f"; now line {line} drops it" if line else ""
            return f"keep the tensor of line {made} until {end} is over{dropped}"
        return f"move {what} {where}"


class WaitsRemoved(Struct, frozen=True):
    """Waits are taken out, all that are made at their places."""

    waits: tuple[Operation, ...]

    def apply(self, edits: Edits) -> bool:
        """Take them out."""
        for wait in self.waits:
            edits.removed.update(edits.trace.instances(wait))
        return bool(edits.removed)

    def words(self, case: Case) -> str:
        if has_wait_lists(case) and all(wait.kind is OperationKind.STREAM_WAIT_EVENT for wait in self.waits):
            return "; ".join(case.phrase("out_of_wait_list", later=command_of(case, wait, None)) for wait in self.waits)
        words = (
            f"remove line {case.line(wait)} ({named_wait(case, wait)})"
            if case.line(wait)
            else f"remove {case.call(wait)}"
            for wait in self.waits
        )
        return "; ".join(dict.fromkeys(words))


class NarrowerWait(Struct, frozen=True):
    """A wait of the host gives way to waits for the streams of the work that is needed."""

    wait: Operation
    needed: tuple[Operation, ...]
    exact: bool
    """waits for whole streams; else for an event recorded right behind the needed work"""

    def apply(self, edits: Edits) -> bool:
        """Replace each wait."""
        trace, slots = edits.trace, edits.trace.slots
        record_site, wait_site = edits.site(), edits.site()
        waits = trace.instances(self.wait)
        for row in waits:
            edits.removed.add(row)
        for work in self.needed:
            for source, target in pairs(trace, work, self.wait):
                stream = int(slots["stream"][source])
                if not stream:
                    return False
                if self.exact:
                    call = edits.call(target, OperationKind.STREAM_SYNCHRONIZE, wait_site, stream=stream)
                    edits.put_before(target, [call])
                    continue
                wait_by_event(edits, source, target, record_site, wait_site)
        return bool(waits)

    def words(self, case: Case) -> str:
        calls = Calls.of(case, *self.needed)
        at = f"line {case.line(self.wait)}: " if case.line(self.wait) else ""
        if self.exact:
            names = dict.fromkeys(f"{calls.stream_sync}({case.stream_argument(work)});" for work in self.needed)
            return f"{at}{' '.join(names)} in place of {case.call(self.wait)}"
        work = self.needed[0]
        if has_wait_lists(case):
            waits = case.phrase("wait_for_event", earlier=command_of(case, work, self.wait))
            return f"{at}{waits}, in place of {case.call(self.wait)}"
        record = f"{calls.record}(event, {case.stream_argument(work)});"
        where = behind(case, work, self.wait)
        return f"{where}: {record} {at}{calls.event_wait}(event); in place of {case.call(self.wait)}"


class KernelWaits(Struct, frozen=True):
    """The kernel waits for the one before it, before it does anything else."""

    kernel: Operation

    def apply(self, edits: Edits) -> bool:
        """Change each launch that begins at once."""
        rows = [
            row
            for row in edits.trace.instances(self.kernel)
            if int(edits.trace.slots["kind"][row]) == OperationKind.LAUNCH
            and int(edits.trace.slots["detail"][row]) == WaitClass.AT_ONCE
        ]
        edits.changed.update({row: {"detail": WaitClass.PROGRAMMATIC} for row in rows})
        return bool(rows)

    def words(self, case: Case) -> str:
        return f"{GRID_WAIT}() at the start of {case.does(self.kernel)}, or a launch without the attribute"
