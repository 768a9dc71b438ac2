"""The words of a witness: who does what, where, in the program's own names."""

from __future__ import annotations

from streamsan.evidence.witness.gap import Gap
from streamsan.evidence.witness.known_order import Order, Sync
from streamsan.evidence.witness.rounds import rounds_later
from streamsan.order.facts import Operation
from streamsan.rules.callers import calls_within, common_calls
from streamsan.rules.case import Case
from streamsan.rules.catalogue.implicit import copy_that_waits
from streamsan.rules.catalogue.lifetime import short
from streamsan.rules.launch_names import launched
from streamsan.rules.wrong_execution import WrongExecution
from streamsan.trace.site import Site
from streamsan.vocabulary import AccessMode, FactVariant, MemoryKind, OperationKind, RelatedRole

READS, WRITES = (AccessMode.READ,), (AccessMode.WRITE, AccessMode.READ_WRITE)
_CALLS = (OperationKind.ALLOC, OperationKind.FREE, OperationKind.DEVICE_RESET, OperationKind.CONTEXT_DESTROY)


class Narrator:
    """Names the operations of one case, always in the same words."""

    def __init__(self, case: Case, order: Order, plan: WrongExecution) -> None:
        self.case = case
        self._pair = (plan.ahead, plan.behind)
        self._unpromised = plan.unpromised
        self._order = order
        self._gap = Gap(case, order)
        self._common = common_calls(case, self._pair)
        self._threads = len({operation.thread for operation in self._operations()})
        self._named: dict[tuple[str, int], int] = {}

    def _operations(self) -> list[Operation]:
        return [self.case.operation, *(operation for _, operation in self.case.fact.related)]

    # -- who ------------------------------------------------------------------------------------
    def host(self, operation: Operation) -> str:
        """Return the host thread of an operation: "the host" where there is one only."""
        if self._threads < 2:
            return "the host"
        return self.case.thread(operation)

    def stream(self, operation: Operation) -> str:
        """Return the name of an operation's stream; "the stream of `scale`" where it has none of its own."""
        name = self.case.stream(operation)
        others = [other for other in self._pair if other.stream and self.case.stream(other) == name]
        shared = any(other.stream != operation.stream for other in others)
        return f"the stream of {self.briefly(operation)}" if shared or name == "its stream" else name

    # -- what -----------------------------------------------------------------------------------
    @property
    def memory(self) -> str:
        """The memory that the case is about."""
        return self.case.memory()

    def what(self, operation: Operation) -> str:
        """Return a piece of work, or a call with its memory: "kernel `scale`", "`cudaFreeAsync` of `d_x`"."""
        if operation.kind in _CALLS:
            named = self.case.allocation is not None and operation.kind in (OperationKind.ALLOC, OperationKind.FREE)
            return f"{self.case.call(operation)} of {self.memory}" if named else self.case.call(operation)
        return self.case.does(operation)

    def briefly(self, operation: Operation) -> str:
        """Return a name for what was named before: "kernel `scale`", "the copy"; by its line where two have it."""
        name = self._brief(operation)
        others = [other for other in self._pair if other.sequence != operation.sequence and self._brief(other) == name]
        if not others:
            return name
        line = self._told_line(operation)
        if line and all(self._told_line(other) != line for other in others):
            return f"{name} of line {line}"
        # The same call twice: the trace's order tells them apart.
        return f"the later {_bare(name)}" if operation.sequence > others[0].sequence else f"the earlier {_bare(name)}"

    def _brief(self, operation: Operation) -> str:
        if operation.kind is OperationKind.FREE:
            return "the free"
        if operation.kind is OperationKind.ALLOC:
            return "the allocation"
        if operation.kind is OperationKind.GRAPH_LAUNCH:
            return "the graph"
        label = self.case.names.site(operation.site).label
        if operation.kind is OperationKind.LAUNCH and label:
            return launched(label, self.case.names.origin)
        return short(self.case, operation)

    def deed(self, operation: Operation) -> str:
        """Return what an access does: "reads", "writes", "accesses"."""
        mode = AccessMode(operation.flags & 3)
        return "reads" if mode in READS else "writes" if mode in WRITES else "accesses"

    def reads(self, operation: Operation) -> bool:
        """Tell whether an operation only reads the memory."""
        return AccessMode(operation.flags & 3) in READS

    # -- where ----------------------------------------------------------------------------------
    def at(self, operation: Operation | Sync) -> str:
        """Return " (line 39)", with the file where it is another than the finding's; "" where it is not known."""
        site = self.case.names.site(operation.site)
        if not site.line:
            return ""
        mine = self.case.names.site(self.case.operation.site).file
        where = self._where(site, mine)
        outer = calls_within(self.case, operation.site, self._common)
        led = self.case.names.site(outer[-1]) if outer else None
        # A helper's own line says little: it may have been called from many places.
        where += f", from {self._where(led, mine)}" if led is not None and led.line else ""
        first = self._named.setdefault((site.file, site.line), operation.sequence)
        again = isinstance(operation, Operation) and first < operation.sequence and self._is_repeated(operation)
        return f" ({where}, the next time round)" if again else f" ({where}{self._rounds(operation)})"

    @staticmethod
    def _where(site: Site, mine: str) -> str:
        return f"line {site.line}" if site.file in ("", mine) else f"{site.file.rsplit('/', 1)[-1]}:{site.line}"

    def _told_line(self, operation: Operation) -> int:
        """Return the line that tells an operation from others: that of the call which led to it from where all are."""
        outer = calls_within(self.case, operation.site, self._common)
        return (self.case.names.site(outer[-1]).line if outer else 0) or self.case.line(operation)

    def _rounds(self, operation: Operation | Sync) -> str:
        """Return ", three rounds later" for the later one of the two operations."""
        first, second = sorted(self._pair, key=lambda each: each.sequence)
        if not isinstance(operation, Operation) or operation.sequence != second.sequence:
            return ""
        return rounds_later(self._order, self.case, first, second)

    def _is_repeated(self, operation: Operation) -> bool:
        return any(
            other.site == operation.site and other.api == operation.api and other.sequence < operation.sequence
            for other in self._operations()
        )

    def issued(self, operation: Operation) -> str:
        """Return "the host issues kernel `scale` to s2 (line 39)"."""
        host, at = self.host(operation), self.at(operation)
        if operation.kind is OperationKind.GRAPH_LAUNCH:
            return (
                f"{host} launches the graph on {self.stream(operation)}{at}"
                if operation.stream
                else f"{host} launches the graph{at}"
            )
        if operation.kind is OperationKind.HOST_ACCESS:
            return f"{host} {self.deed(operation)} {self.memory}{at}"
        if not operation.stream:
            return f"{self.calls(operation)}{at}"
        return f"{host} issues {self.what(operation)} to {self.stream(operation)}{at}"

    def calls(self, operation: Operation) -> str:
        """Return what the host itself does: "the host calls `cudaFree` of `d_x`", "the host frees `table`"."""
        if operation.kind is OperationKind.FREE and not self.case.api(operation):
            if self.case.fact.variant is FactVariant.HOST_SCOPE_END:
                return f"{self.memory} goes out of scope"
            return f"{self.host(operation)} frees {self.memory}"
        return f"{self.host(operation)} calls {self.what(operation)}"

    # -- why ------------------------------------------------------------------------------------
    def gap(self, ahead: Operation, behind: Operation) -> str:
        """Return what is missing, or what was there and does not help: a wait for an earlier point, or too early."""
        if self.case.fact.variant is FactVariant.CONFLICT_OVERTAKES:
            return "it was launched to begin before that, and does not wait for it"
        who = self.stream(ahead) if ahead.stream else self.host(ahead)
        stale = self._gap.stale_record(ahead, behind)
        if stale is not None:
            return (
                f"{who} has waited for {self.stream(behind)} only up to the event of line {self._gap.line(stale)}, "
                f"recorded before {self.briefly(behind)}"
            )
        early = self._gap.early_wait(ahead, behind)
        if early is not None:
            return f"the wait of line {self._gap.line(early)} came before the event's record, and waits for nothing"
        if ahead.kind is OperationKind.GRAPH_NODE:
            return f"no path of edges leads from {self.briefly(behind)} to {self.briefly(ahead)}"
        copy = copy_that_waits(self.case) if self._unpromised else None
        if copy is not None:
            return f"nothing promises that {self.case.call(copy)} waits for it"
        if ahead.stream:
            return f"nothing orders {who} after it"
        if self._unpromised and ahead.kind is OperationKind.FREE:
            return "nothing promises that the call waits for it"
        return f"nothing makes {who} wait for it" if behind.stream else f"nothing orders {who} after it"

    def owner(self) -> str:
        """Return the step in which the memory, or its place on the stack, gets its next owner."""
        if self.is_local:
            return f"the place of {self.memory} on the stack is used for something else"
        other = self.case.first(RelatedRole.OWNER)
        label = self.case.names.site(other.site).label if other is not None else ""
        if other is not None and label:
            return f"`{label}` gets the block{self.at(other)}"
        return "the next allocation gets the block"

    @property
    def is_local(self) -> bool:
        """The memory is a function's local variable, and has no block of an allocator's."""
        allocation = self.case.allocation
        return allocation is not None and allocation.kind is MemoryKind.HOST_STACK

    @property
    def is_mapped(self) -> bool:
        """The memory is where a pointer into a mapped region leads."""
        allocation = self.case.allocation
        return allocation is not None and allocation.kind is MemoryKind.CL_MAPPED


def _bare(name: str) -> str:
    return name.removeprefix("the ")
