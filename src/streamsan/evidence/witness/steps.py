"""A witness step by step: who does what, where it goes wrong, and what comes of it. Six steps at most."""

from __future__ import annotations

from collections.abc import Iterator

from streamsan.evidence.witness.telling import Teller
from streamsan.order.facts import Operation
from streamsan.rules.wrong_execution import Harm, WrongExecution
from streamsan.vocabulary import FactVariant, OperationKind


def steps_of(plan: WrongExecution, teller: Teller) -> tuple[str, ...]:
    """Return the steps of the execution in which a plan's wrong order happens."""
    if plan.inside:
        return tuple(_inside(plan, teller))
    if plan.certain:
        return tuple(_certain(plan, teller))
    told = {Harm.NOT_YET: _not_yet, Harm.CONFLICT: _conflict, Harm.CHANGED: _changed}.get(plan.harm, _freed)
    return tuple(told(plan, teller))


def _issues(teller: Teller, *operations: Operation) -> Iterator[str]:
    """Say that work is issued, in the order of the calls; what the host does itself is told when it happens."""
    for operation in sorted(operations, key=lambda operation: operation.sequence):
        if operation.stream:
            yield teller.issued(operation)


# -- a free, and a use behind it ----------------------------------------------------------------------
def _freed(plan: WrongExecution, teller: Teller) -> Iterator[str]:
    free, use = plan.ahead, plan.behind
    is_issued = use.sequence < free.sequence
    if is_issued:
        yield from _issues(teller, use)
    deed = _release(teller, free)
    yield f"{deed} while {_pending(teller, use)}: {teller.gap(free, use)}" if is_issued else deed
    if teller.case.fact.variant is FactVariant.GRAPH_FREE and use.kind is OperationKind.GRAPH_LAUNCH:
        yield f"{teller.memory} is freed before the launch allocates it, or under the nodes that use it"
        return
    if teller.case.fact.variant is FactVariant.FREE_UNREGISTER:
        yield "the device may no longer access the pages"
    elif plan.harm is Harm.GONE:
        yield "the range has no memory behind it any more"
    else:
        yield teller.owner()
    if not is_issued:
        yield teller.issued(use)
    yield f"{teller.briefly(use)} runs: {_meets(plan, teller, use)}"


def _release(teller: Teller, free: Operation) -> str:
    if free.kind is OperationKind.GRAPH_LAUNCH:
        return f"{teller.issued(free)}, and the launch frees {teller.memory}"
    if free.stream:
        return f"{teller.stream(free)} reaches {teller.what(free)}{teller.at(free)}"
    return f"{teller.calls(free)}{teller.at(free)}"


def _pending(teller: Teller, use: Operation) -> str:
    if use.kind is OperationKind.GRAPH_LAUNCH:
        return f"{teller.stream(use)} has not run the graph"
    return (
        f"{teller.stream(use)} has not begun {teller.briefly(use)}" if use.stream else f"{teller.what(use)} is to come"
    )


def _meets(plan: WrongExecution, teller: Teller, use: Operation) -> str:
    if plan.harm is Harm.GONE:
        return "an illegal address"
    if teller.is_local:
        return f"it {teller.deed(use)} what is there now"
    if teller.reads(use):
        return "it reads what the next owner wrote"
    into = "writes into" if teller.deed(use) == "writes" else "accesses"
    return f"it {into} the next owner's memory"


# -- the program itself asks for it -------------------------------------------------------------------
def _certain(plan: WrongExecution, teller: Teller) -> Iterator[str]:
    free, use, memory = plan.ahead, plan.behind, teller.memory
    if plan.harm is Harm.NOT_YET:
        yield f"no launch of the graph has allocated {memory} yet"
        yield f"{teller.issued(use)}: the address names no memory"
        return
    yield _end(teller, free)
    if use.status > 0:
        yield f"{teller.issued(use)}, with the old address: the call fails"
        return
    if plan.harm is Harm.FREED:
        yield teller.owner()
    if use.kind is OperationKind.FREE:
        yield f"{teller.issued(use)}: the address is not that memory's any more"
        return
    inside = " in it" if use.kind is OperationKind.GRAPH_LAUNCH else ""
    yield f"{teller.issued(use)}, with the old address{inside}"
    if plan.harm is Harm.FREED:
        yield f"{teller.briefly(use)} runs: {_meets(plan, teller, _access(teller, use))}"
    else:
        yield f"{teller.briefly(use)} runs: the address names no memory"


def _end(teller: Teller, free: Operation) -> str:
    """Return how the memory comes to its end."""
    host, at, memory = teller.host(free), teller.at(free), teller.memory
    if free.kind is OperationKind.DEVICE_RESET:
        return f"{host} resets the device{at}, and {memory} is gone"
    if free.kind is OperationKind.CONTEXT_DESTROY:
        return f"{host} destroys the context{at}, and {memory} goes with it"
    if free.kind is OperationKind.GRAPH_NODE:
        return f"each launch of the graph frees {memory} again{at}"
    reached = f", and {teller.stream(free)} reaches it" if free.stream else ""
    return f"{teller.issued(free)}{reached}"


def _access(teller: Teller, use: Operation) -> Operation:
    """Return the operation that says how a launch uses the memory: its node, where the fact names one."""
    nodes = [each for _, each in teller.case.fact.related if each.kind is OperationKind.GRAPH_NODE]
    return nodes[0] if use.kind is OperationKind.GRAPH_LAUNCH and nodes else use


# -- a use, and the allocation behind it --------------------------------------------------------------
def _not_yet(plan: WrongExecution, teller: Teller) -> Iterator[str]:
    use, made, memory = plan.ahead, plan.behind, teller.memory
    graph = made.kind is OperationKind.GRAPH_LAUNCH
    yield from _issues(teller, use, made)
    busy = "has not run the graph" if graph else "has not reached the allocation"
    begins = f"{teller.stream(use)} begins {teller.briefly(use)}" if use.stream else teller.issued(use)
    yield f"{begins} while {teller.stream(made)} {busy}: {teller.gap(use, made)}"
    if teller.deed(use) == "reads":
        yield f"{memory} is not allocated yet: it reads what the former owner of the block left"
        return
    yield f"{memory} is not allocated yet: it {teller.deed(use)} what may still be its former owner's"
    yield f"{teller.stream(made)} {'runs the graph' if graph else 'reaches the allocation'}: what was written is lost"


# -- two accesses -------------------------------------------------------------------------------------
def _conflict(plan: WrongExecution, teller: Teller) -> Iterator[str]:
    later, earlier = plan.ahead, plan.behind
    yield from _issues(teller, later, earlier)
    begins = "begins" if plan.overtakes else "runs"
    runs = f"{teller.stream(later)} {begins} {teller.briefly(later)}" if later.stream else teller.issued(later)
    if plan.overtakes:
        # It begins once every block of the kernel before it has triggered or ended: that one has begun for sure.
        yield f"{runs} while {teller.briefly(earlier)} has not ended: {teller.gap(later, earlier)}"
    else:
        yield f"{runs} while {_pending(teller, earlier)}: {teller.gap(later, earlier)}"
    yield from _outcome(teller, later, earlier, overtakes=plan.overtakes)


def _outcome(teller: Teller, later: Operation, earlier: Operation, *, overtakes: bool = False) -> Iterator[str]:
    memory, first, second = teller.memory, teller.briefly(later), teller.briefly(earlier)
    if overtakes and teller.reads(later):
        yield f"{first} reads {memory} before what {second} writes there is complete and visible"
    elif overtakes:
        yield f"both access {memory} at the same time"
    elif teller.reads(later):
        yield f"{first} reads {memory} as it was before {second} writes it"
    elif teller.reads(earlier):
        yield f"then {second} runs, and reads what {first} has written over {memory}"
    else:
        yield f"then {second} runs: its words stay in {memory}, not those of {first}"


def _changed(plan: WrongExecution, teller: Teller) -> Iterator[str]:
    last, use, memory = plan.ahead, plan.behind, teller.memory
    yield from _issues(teller, use)
    reads = teller.case.fact.variant is FactVariant.HOST_READ
    deed = f"{teller.host(last)} {'reads' if reads else 'overwrites'} {memory}{teller.at(last)}"
    yield f"{deed} while {_pending(teller, use)}: {teller.gap(last, use)}"
    if reads:
        yield f"the host has {memory} as it was before {teller.briefly(use)} writes it"
    else:
        yield f"{teller.briefly(use)} runs: it accesses what the host has put there"


# -- nodes of one graph -------------------------------------------------------------------------------
def _inside(plan: WrongExecution, teller: Teller) -> Iterator[str]:
    ahead, behind, memory = plan.ahead, plan.behind, teller.memory
    first = f"{teller.what(ahead)}{teller.at(ahead)}"
    yield "a launch of the graph begins every node that no edge holds back"
    if plan.harm is Harm.FREED:
        pending = f"{teller.what(behind)}{teller.at(behind)} has not begun"
        yield f"the free node{teller.at(ahead)} frees {memory} while {pending}: {teller.gap(ahead, behind)}"
        yield f"{teller.briefly(behind)} runs: the memory is not the graph's any more"
    elif plan.harm is Harm.NOT_YET:
        made = f"the node that allocates {memory}{teller.at(behind)}"
        yield f"{first} runs while {made} has not: no path of edges leads from it"
        yield f"{teller.briefly(ahead)} {teller.deed(ahead)} memory that does not exist yet"
    else:
        yield f"{first} runs while {teller.what(behind)}{teller.at(behind)} has not begun: {teller.gap(ahead, behind)}"
        yield from _outcome(teller, ahead, behind)
