"""SS301, SS303: what goes wrong when a graph is launched."""

from __future__ import annotations

from typing import ClassVar

from streamsan.findings.finding import Contract, Observed, Related, Severity
from streamsan.order.facts import Fact
from streamsan.rules.case import ANONYMOUS, Case
from streamsan.rules.fix_steps import FixStep, Remedy, step
from streamsan.rules.rule import Rule, Wording
from streamsan.rules.wrong_execution import Harm, WrongExecution, wrong_order
from streamsan.vocabulary import FactVariant, OperationKind, RelatedRole, RuleCode, SlotFlag

RELAUNCH = Contract(
    "a graph must not be launched again while an allocation of its last launch is not freed, unless it was "
    "instantiated with cudaGraphInstantiateFlagAutoFreeOnLaunch",
    "CUDA Programming Guide, Graph Memory Nodes",
)
BAKED = Contract(
    "a graph keeps the addresses it was made with: its memory must outlive every launch",
    "CUDA Programming Guide, CUDA Graphs",
)
_NOTHING_WRONG_HERE = "here the address leads to the memory that is meant"


class GraphRelaunchUnfreed(Rule):
    """SS301. Reported at the launch that fails."""

    code = RuleCode.GRAPH_RELAUNCH_UNFREED
    definition = "A graph is launched again while an allocation of its last launch is still alive."
    severity = Severity.ERROR
    without_fix = "whether the graph frees its memory itself, or the program does after each launch, is its decision"
    without_witness = "the launch fails in every execution"
    outranks_for_memory = (RuleCode.UNBALANCED_ALLOCATION, RuleCode.LEAK, RuleCode.GRAPH_MEMORY_LEAK)

    def wording(self, case: Case) -> Wording:
        launch, before = case.operation, case.first(RelatedRole.USE, RelatedRole.OTHER)
        made = case.first(RelatedRole.CREATE)
        memory = case.memory()
        related = [*case.allocated()]
        if made is not None:
            related.append(case.related(RelatedRole.CREATE, made, "(instantiated here, without automatic free)"))
        again = before is not None and before.site == launch.site
        if before is not None and not again:
            related.append(case.related(RelatedRole.USE, before, "launched here: the memory lives from here on"))
        related.append(
            case.related(
                RelatedRole.USE,
                launch,
                f"launched here again and again, with {memory} still allocated"
                if again
                else f"launched here again, with {memory} still allocated",
            )
        )
        name = case.bare_memory()
        stream = case.stream_argument(launch)
        return Wording(
            message=f"the graph is launched again, and its last launch has left {memory} allocated",
            related=tuple(related),
            contract=RELAUNCH,
            observed=Observed("the second launch fails: cudaErrorInvalidValue", "G-01"),
            witness=(
                f"a launch allocates {memory}",
                "nothing frees it",
                "the next launch cannot allocate it again, and fails",
            ),
            fix=f"end the captured work with cudaFreeAsync({name}, <stream>); or free it after each launch: "
            f"cudaFreeAsync({name}, {stream}); or instantiate with cudaGraphInstantiateFlagAutoFreeOnLaunch",
        )


class GraphStalePointer(Rule):
    """SS303. Reported at the launch, or at the instantiation that the driver refused."""

    code = RuleCode.GRAPH_STALE_POINTER
    definition = "A graph is launched with an address in it whose memory was freed, or belongs to someone else now."
    severity = Severity.ERROR

    without_fix_of: ClassVar = {
        FactVariant.STALE_RESET: "the graph has to be made anew: with which memory is the program's decision",
        FactVariant.STALE_GIVEN_AGAIN: _NOTHING_WRONG_HERE,
    }
    outranks = (
        RuleCode.USE_AFTER_FREE,
        RuleCode.USE_RACES_FREE,
        RuleCode.DOUBLE_FREE,
        RuleCode.GRAPH_MEMORY_UNORDERED,
    )

    varies = "error; possible for a node that a launch may leave out, note where the graph was given the address again"
    notes = (FactVariant.STALE_GIVEN_AGAIN,)

    def weak(self, fact: Fact) -> bool:
        """A node of a conditional body may not run."""
        return super().weak(fact) or _may_not_run(fact)

    def wrong_execution(self, case: Case) -> WrongExecution | str:
        """The program itself frees what the graph uses."""
        if case.fact.variant is FactVariant.STALE_GIVEN_AGAIN:
            return _NOTHING_WRONG_HERE
        end = case.first(RelatedRole.FREE, RelatedRole.RESET, RelatedRole.DESTROY)
        reset = case.fact.variant is FactVariant.STALE_RESET
        return wrong_order(end, case.operation, Harm.GONE if reset else Harm.FREED, certain=True)

    def fix_steps(self, case: Case) -> tuple[FixStep, ...]:
        """The free comes behind the last launch."""
        return (step(Remedy.FREE_LATER, case.first(RelatedRole.FREE)),)

    def wording(self, case: Case) -> Wording:
        launch = case.operation
        free = case.first(RelatedRole.FREE, RelatedRole.RESET, RelatedRole.DESTROY)
        use, owner = case.first(RelatedRole.USE), case.first(RelatedRole.OWNER)
        variant = case.fact.variant
        memory = case.memory()
        gone = "was freed"
        if variant is FactVariant.STALE_RESET:
            gone = "went with its context"
        elif variant is FactVariant.STALE_RECYCLED:
            gone = f"was freed, and its address now belongs to {_owner(case)}"
        elif variant is FactVariant.STALE_GIVEN_AGAIN:
            gone = (
                f"was freed; {_owner(case)}, which another of its nodes was given since, has the same address by luck, "
                "unless the program compared the two"
            )
        related: list[Related] = [*case.allocated()]
        if use is not None:
            related.append(case.related(RelatedRole.USE, use, "its address goes into the graph here"))
        made = case.first(RelatedRole.CREATE)
        if made is not None:
            related.append(case.related(RelatedRole.CREATE, made, "(instantiated here)"))
        if free is not None:
            reset = variant is FactVariant.STALE_RESET
            related.append(
                case.related(RelatedRole.RESET, free, "the memory goes with its context here")
                if reset
                else case.freed(free)
            )
        if owner is not None:
            related.append(case.related(RelatedRole.OWNER, owner, "the same address was handed out again here"))
        refused = launch.kind is OperationKind.GRAPH_INSTANTIATE
        does = "instantiated" if refused else "launched"
        related.append(case.related(RelatedRole.USE, launch, f"{does} here, with the old address"))
        line = case.line(free)
        if refused:
            return Wording(
                message=f"a copy or fill of the graph is given {memory}, which {gone}, and the graph cannot be "
                f"instantiated: {case.error_name(launch)}",
                related=tuple(related),
                contract=BAKED,
                fix=_fix(line, variant, f"give the node the address that replaces {memory} before the instantiation"),
            )
        verb = {"reading": "reads", "writing": "writes"}.get(case.verb(use), "uses")
        if_it_runs = ", if the conditional node runs that body" if _may_not_run(case.fact) else ""
        return Wording(
            message=f"the graph launch {verb} {memory}, which {gone}{if_it_runs}",
            related=tuple(related),
            contract=BAKED,
            observed=Observed("the launch succeeds, and writes into the memory of the address's next owner", "G-13")
            if variant in (FactVariant.STALE_FREED, FactVariant.STALE_RECYCLED)
            else None,
            fix=_fix(line, variant, f"update the graph (cudaGraphExecUpdate) with the address that replaces {memory}"),
        )


def _may_not_run(fact: Fact) -> bool:
    """Tell whether the node that uses the memory is in a conditional body that a launch may leave out."""
    return any(role is RelatedRole.USE and node.flags & SlotFlag.CONDITIONAL for role, node in fact.related)


def _fix(line: int, variant: FactVariant, update: str) -> str:
    if variant is FactVariant.STALE_RESET:
        return "make the graph anew after the reset, with memory allocated after it"
    return f"move the free of line {line} behind the last launch, or {update}" if line else update


def _owner(case: Case) -> str:
    owner = case.first(RelatedRole.OWNER)
    label = case.names.site(owner.site).label if owner is not None else ""
    return f"`{label}`" if label else "another allocation"


def memory_of_graph(case: Case) -> str:
    """Return the name of a graph's own memory."""
    name = case.memory()
    return name if name != ANONYMOUS else "memory of the graph"
