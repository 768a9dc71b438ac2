"""SS304, SS306, SS402: memory that a graph allocates itself."""

from __future__ import annotations

from typing import ClassVar

from streamsan.findings.finding import Contract, Location, Observed, Related, Severity
from streamsan.rules.case import Case
from streamsan.rules.catalogue.graph_launches import memory_of_graph
from streamsan.rules.catalogue.lifetime import event_between, host_wait
from streamsan.rules.fix_steps import FixStep, Remedy, step
from streamsan.rules.rule import Rule, Wording
from streamsan.rules.wrong_execution import Harm, WrongExecution, wrong_order
from streamsan.vocabulary import FactVariant, OperationKind, RelatedRole, RuleCode

GUIDE = "CUDA Programming Guide, Graph Memory Nodes"
OUTSIDE = Contract(
    "memory of a graph may be used outside only in stream order after the launch that allocates it and before its free",
    GUIDE,
)
INSIDE = Contract(
    "in a graph, memory must be used between its allocation node and its free node, ordered by edges", GUIDE
)
LIFETIME = Contract(
    "memory of a graph exists from the run of its allocation node to its free, and anew with each launch", GUIDE
)
ONE_EXEC = Contract("a graph with memory nodes has at most one executable graph at a time", GUIDE)
NO_CLONE = Contract("a graph with memory nodes cannot be cloned", GUIDE)
NO_CHILD = Contract("memory nodes cannot be in a child graph, nor be removed from their graph", GUIDE)
OWN_ONLY = Contract("a free node frees memory of an allocation node of the same graph, no other", GUIDE)
SURVIVES = Contract(
    "to destroy a graph does not free what it allocated: the program frees it, on a stream or in another graph", GUIDE
)

_VERB = {"reading": "reads", "writing": "writes"}


class GraphMemoryUnordered(Rule):
    """SS304. Reported at the use or free that is not ordered."""

    code = RuleCode.GRAPH_MEMORY_UNORDERED
    definition = "Memory that a graph allocates is used or freed without order, or while it is not allocated."
    severity = Severity.ERROR

    without_fix_of: ClassVar = {
        FactVariant.GRAPH_NOT_ALIVE: "whether the graph should free the memory, or be launched earlier, is the "
        "program's decision"
    }
    outranks = (RuleCode.USE_AFTER_FREE, RuleCode.USE_RACES_FREE, RuleCode.USE_BEFORE_ALLOC)
    outranks_for_use = (RuleCode.UNORDERED_CONFLICT,)
    comes_with_edits = True

    def wrong_execution(self, case: Case) -> WrongExecution | str:
        """The use overtakes the launch, or what is in the graph overtakes its other nodes."""
        last, use = case.operation, case.first(RelatedRole.USE, RelatedRole.OTHER)
        free = case.first(RelatedRole.FREE, RelatedRole.RESET, RelatedRole.DESTROY)
        match case.fact.variant:
            case FactVariant.GRAPH_USE:
                return wrong_order(last, use, Harm.NOT_YET)
            case FactVariant.GRAPH_FREE:
                return wrong_order(last, use, Harm.FREED)
            case FactVariant.GRAPH_INSIDE if free is not None:
                return WrongExecution(free, last, Harm.FREED, inside=True)
            case FactVariant.GRAPH_INSIDE:
                return wrong_order(last, case.first(RelatedRole.ALLOC), Harm.NOT_YET, inside=True)
        if last.failed:
            return "the call is refused in every execution"
        if free is not None:
            return wrong_order(free, last, Harm.GONE, certain=True)
        # The memory does not exist before a launch: there is nothing to go ahead.
        return WrongExecution(last, last, Harm.NOT_YET, certain=True)

    def fix_steps(self, case: Case) -> tuple[FixStep, ...]:
        """An edge of the graph, or an order behind its launch."""
        if case.fact.variant is not FactVariant.GRAPH_INSIDE:
            launch = case.first(RelatedRole.CREATE, RelatedRole.USE, RelatedRole.OTHER)
            return (step(Remedy.ORDER, case.operation, launch),)
        free = case.first(RelatedRole.FREE)
        if free is None:
            return (step(Remedy.EDGE_FROM_ALLOCATION, case.operation),)
        return (step(Remedy.EDGE, free, case.operation),)

    def wording(self, case: Case) -> Wording:
        variant = case.fact.variant
        if variant is FactVariant.GRAPH_INSIDE:
            return self._inside(case)
        if variant is FactVariant.GRAPH_NOT_ALIVE:
            return self._not_alive(case)
        if case.operation.kind is OperationKind.GRAPH_LAUNCH:
            return self._freed_by_launch(case)
        last, launch = case.operation, case.first(RelatedRole.CREATE, RelatedRole.USE, RelatedRole.OTHER)
        memory = memory_of_graph(case)
        frees = variant is FactVariant.GRAPH_FREE
        who = case.stream(last)
        waits = f"nothing orders {who} after the launch"
        where = f", in the order of {who}" if last.stream else ", by the host"
        related = [*case.allocated()]
        related.extend(
            case.used(operation)
            for operation in case.all_of(RelatedRole.CREATE, RelatedRole.USE, RelatedRole.OTHER)
            if operation.kind is OperationKind.GRAPH_LAUNCH
        )
        related.extend(case.others(RelatedRole.SYNC, RelatedRole.RECORD))
        related.append(
            case.freed(last, waits) if frees else case.related(RelatedRole.USE, last, f"used here{where}: {waits}")
        )
        line = case.line(last)
        message = (
            f"{memory} is freed, and nothing orders the free after the graph launch that allocates it"
            if frees
            else f"{case.does(last)} {_VERB.get(case.verb(last), 'uses')} {memory}, and nothing orders it after the "
            "graph launch that allocates the memory"
        )
        return Wording(
            message=message,
            related=tuple(related),
            contract=OUTSIDE,
            observed=None
            if frees
            else Observed("a read in another stream gave 1,048,576 stale words, and no error", "G-14"),
            fix=event_between(case, launch, last, line) if last.stream else host_wait(case, launch, line),
        )

    @staticmethod
    def _freed_by_launch(case: Case) -> Wording:
        launch, use, memory = case.operation, case.first(RelatedRole.USE), memory_of_graph(case)
        who, line = case.stream(launch), case.line(launch)
        return Wording(
            message=f"{case.does(use)} may still be {case.verb(use)} {memory} when a launch of the graph frees it",
            related=(
                *case.allocated(),
                *(case.used(operation) for operation in case.all_of(RelatedRole.USE)),
                *case.others(RelatedRole.SYNC, RelatedRole.RECORD),
                case.related(
                    RelatedRole.FREE,
                    launch,
                    f"launched here, and the launch frees it: nothing orders {who} after the use",
                ),
            ),
            contract=OUTSIDE,
            fix=event_between(case, use, launch, line),
        )

    @staticmethod
    def _inside(case: Case) -> Wording:
        node, memory = case.operation, memory_of_graph(case)
        free = case.first(RelatedRole.FREE)
        related: list[Related] = [*case.allocated()]
        if free is not None:
            related.append(case.freed(free))
        side = "the free node" if free is not None else "the node that allocates the memory"
        order = f"before {side}" if free is not None else f"after {side}"
        related.append(
            case.related(RelatedRole.USE, node, f"used here: no path of edges connects the node with {side}")
        )
        return Wording(
            message=f"{case.does(node)} uses {memory}, and no edge of the graph puts it {order}",
            related=tuple(related),
            contract=INSIDE,
            fix="make the free node depend on the use"
            if free is not None
            else "make the use depend on the allocation node",
        )

    @staticmethod
    def _not_alive(case: Case) -> Wording:
        use, memory = case.operation, memory_of_graph(case)
        free = case.first(RelatedRole.FREE)
        related: list[Related] = [*case.allocated()]
        if free is not None:
            related.append(case.freed(free, "each launch ends with the memory freed"))
        frees = use.kind is OperationKind.FREE
        when = "after the graph freed it" if free is not None else "before any launch has allocated it"
        related.append(case.related(RelatedRole.USE, use, f"{'freed' if frees else 'used'} here, {when}"))
        return Wording(
            message=f"{memory} is freed {when}" if frees else f"{case.does(use)} uses {memory} {when}",
            related=tuple(related),
            contract=LIFETIME,
            observed=Observed("the use and the free outside both return cudaErrorInvalidValue", "G-08")
            if free is not None
            else Observed("each call that is given the address returns cudaErrorInvalidValue", "G-15"),
            fix="leave the free out of the graph and free the memory after its last use"
            if free is not None
            else "launch the graph first, in the same stream",
        )


class GraphMemoryRestriction(Rule):
    """SS306. Reported at the call that is refused."""

    code = RuleCode.GRAPH_MEMORY_RESTRICTION
    definition = "A graph with memory nodes is cloned, nested or instantiated twice, or frees memory from outside."
    severity = Severity.ERROR
    without_fix = "what belongs in the graph, and how many executable graphs there are, is the program's decision"
    without_witness = "the call is refused in every execution"
    outranks = (RuleCode.INVALID_FREE, RuleCode.GRAPH_MEMORY_UNORDERED)

    def wording(self, case: Case) -> Wording:
        call, variant = case.operation, case.fact.variant
        name, memory = case.call(call), memory_of_graph(case)
        failed = f", and fails: {case.error_name(call)}" if call.status else ""
        message, here, contract, fix = _restriction(variant, name, memory)
        related: list[Related] = [*case.allocated()]
        related.extend(
            case.related(RelatedRole.CREATE, operation, "(instantiated here before)")
            for operation in case.all_of(RelatedRole.CREATE)
        )
        related.extend(case.others(RelatedRole.OTHER, RelatedRole.USE))
        if variant is not FactVariant.OUTSIDE_FREE:
            related.extend(case.freed(operation) for operation in case.all_of(RelatedRole.FREE))
        related.append(case.related(RelatedRole.OTHER, call, here))
        observed = None
        if variant in (FactVariant.SECOND_EXEC, FactVariant.CLONED):
            observed = Observed("a second instantiation and a clone both return cudaErrorNotSupported", "G-07")
        elif variant is FactVariant.OUTSIDE_FREE:
            observed = Observed("the captured free returns cudaErrorInvalidValue; the capture goes on", "G-09")
        elif variant is FactVariant.AS_CHILD:
            observed = Observed("each such call returns cudaErrorNotSupported", "G-16")
        return Wording(
            message=f"{message}{failed}",
            related=tuple(related),
            contract=contract,
            observed=observed,
            witness=(f"{name} is refused", "what should follow from it never happens"),
            fix=fix,
        )


def _restriction(variant: FactVariant, name: str, memory: str) -> tuple[str, str, Contract, str]:
    """Return the message, what is said of the call's line, the contract and the fix."""
    if variant is FactVariant.CLONED:
        return (
            f"{name} clones a graph that allocates memory",
            "cloned here",
            NO_CLONE,
            "capture or build the graph a second time",
        )
    if variant is FactVariant.OUTSIDE_FREE:
        return (
            f"{name} puts a free of {memory} into a graph that did not allocate it",
            "freed here, in a graph that did not allocate it",
            OWN_ONLY,
            "free the memory outside the graph, after its last launch; or allocate it in the graph",
        )
    if variant is FactVariant.AS_CHILD:
        return (
            f"{name} nests or takes apart a graph that allocates memory",
            "refused here",
            NO_CHILD,
            "allocate outside, and give the graph the address; or keep the memory nodes in the graph that is launched",
        )
    return (
        f"{name} makes a second instance of a graph with allocation nodes, which may have only one",
        "instantiated here again",
        ONE_EXEC,
        "launch the one executable graph again, or destroy it first; capture a second graph for concurrent launches",
    )


class GraphMemoryLeak(Rule):
    """SS402. Reported where the memory is allocated; has that no line, at a launch or where the graph is destroyed."""

    code = RuleCode.GRAPH_MEMORY_LEAK
    definition = "Memory that a graph allocated is still in use after the graph was destroyed and memory trimmed."
    severity = Severity.WARNING
    without_fix = "where the memory is needed for the last time is the program's decision"
    without_witness = "no order matters: the memory stays in every execution"
    explains_failure = False
    outranks = (RuleCode.LEAK,)

    def location(self, case: Case) -> Location:
        if (allocated := case.allocation_location()) is not None:
            return allocated
        told = case.all_of(RelatedRole.USE, RelatedRole.OTHER, RelatedRole.DESTROY)
        return case.location(next(filter(case.line, told), case.operation))

    def wording(self, case: Case) -> Wording:
        end, memory = case.operation, memory_of_graph(case)
        destroy = case.first(RelatedRole.DESTROY)
        if destroy is None and end.kind is OperationKind.HANDLE_DESTROY:
            destroy = end
        related: list[Related] = [*case.allocated()]
        related.extend(
            case.used(operation)
            for operation in case.all_of(RelatedRole.USE, RelatedRole.OTHER)
            if operation.kind is OperationKind.GRAPH_LAUNCH
        )
        if destroy is not None:
            related.append(
                case.related(RelatedRole.DESTROY, destroy, "the graph is destroyed here; what it allocated stays")
            )
        related.extend(
            case.related(RelatedRole.OTHER, operation, "(trimmed here: memory in use is kept)")
            for operation in case.all_of(RelatedRole.SYNC, RelatedRole.OTHER)
            if operation.kind is OperationKind.GRAPH_TRIM
        )
        name = case.bare_memory()
        line = case.line(destroy)
        before = f"before line {line}: " if line else "before the graph is destroyed: "
        return Wording(
            message=f"{memory} is still allocated after its graph was destroyed",
            related=tuple(related),
            contract=SURVIVES,
            observed=Observed(
                "1024 MB of 64 unfreed allocations stayed in use after the graph was destroyed and memory trimmed",
                "G-04",
            ),
            witness=(
                f"a launch allocates {memory}",
                "the graph is destroyed",
                "the memory stays in use until the process ends",
            ),
            fix=f"{before}cudaFreeAsync({name}, stream); or free it by a node of the graph",
        )
