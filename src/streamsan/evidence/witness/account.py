"""A witness step by step: who does what, where it goes wrong, and what comes of it. Six steps at most."""

from __future__ import annotations

from collections.abc import Iterator

from streamsan.evidence.witness.narration import Narrator
from streamsan.findings.move import Act, Move
from streamsan.order.facts import Operation
from streamsan.rules.wrong_execution import Harm, WrongExecution
from streamsan.vocabulary import FactVariant, OperationKind


def moves_of(plan: WrongExecution, narrator: Narrator) -> tuple[Move, ...]:
    """Return the steps of the execution in which a plan's wrong order happens."""
    if plan.inside:
        return tuple(_inside(plan, narrator))
    if plan.certain:
        return tuple(_certain(plan, narrator))
    told = {Harm.NOT_YET: _not_yet, Harm.CONFLICT: _conflict, Harm.CHANGED: _changed}.get(plan.harm, _freed)
    return tuple(told(plan, narrator))


def _issue(narrator: Narrator, operation: Operation, more: str = "") -> Move:
    """Say that the host puts work on a stream, which runs later; what it does itself, it does then."""
    act = Act.ISSUED if operation.stream else Act.DONE
    return Move(narrator.issued(operation) + more, act, operation.sequence)


def _run(text: str, operation: Operation) -> Move:
    return Move(text, Act.DONE, operation.sequence)


def _outcome_of(text: str) -> Move:
    """Say what has come of it, where no operation of the trace is what happens."""
    return Move(text, Act.OUTCOME)


def _issues(narrator: Narrator, *operations: Operation) -> Iterator[Move]:
    """Say that work is issued, in the order of the calls; what the host does itself is told when it happens."""
    for operation in sorted(operations, key=lambda operation: operation.sequence):
        if operation.stream:
            yield _issue(narrator, operation)


# -- a free, and a use behind it ----------------------------------------------------------------------
def _freed(plan: WrongExecution, narrator: Narrator) -> Iterator[Move]:
    free, use = plan.ahead, plan.behind
    is_issued = use.sequence < free.sequence
    if is_issued:
        yield from _issues(narrator, use)
    deed = _release(narrator, free)
    yield _run(f"{deed} while {_pending(narrator, use)}: {narrator.gap(free, use)}" if is_issued else deed, free)
    if narrator.case.fact.variant is FactVariant.GRAPH_FREE and use.kind is OperationKind.GRAPH_LAUNCH:
        yield _outcome_of(f"{narrator.memory} is freed before the launch allocates it, or under the nodes that use it")
        return
    if narrator.case.fact.variant is FactVariant.FREE_UNREGISTER:
        yield _outcome_of("the device may no longer access the pages")
    elif plan.harm is Harm.GONE:
        yield _outcome_of("the range has no memory behind it any more")
    else:
        yield _outcome_of(narrator.owner())
    if not is_issued:
        yield _issue(narrator, use)
    yield _run(f"{narrator.briefly(use)} runs: {_meets(plan, narrator, use)}", use)


def _release(narrator: Narrator, free: Operation) -> str:
    if free.kind is OperationKind.GRAPH_LAUNCH:
        return f"{narrator.issued(free)}, and the launch frees {narrator.memory}"
    if free.stream:
        return f"{narrator.stream(free)} reaches {narrator.what(free)}{narrator.at(free)}"
    return f"{narrator.calls(free)}{narrator.at(free)}"


def _pending(narrator: Narrator, use: Operation) -> str:
    if use.kind is OperationKind.GRAPH_LAUNCH:
        return f"{narrator.stream(use)} has not run the graph"
    if not use.stream:
        return f"{narrator.what(use)} is to come"
    return f"{narrator.stream(use)} has not begun {narrator.briefly(use)}"


def _meets(plan: WrongExecution, narrator: Narrator, use: Operation) -> str:
    if plan.harm is Harm.GONE:
        return "an illegal address"
    if narrator.is_local:
        return f"it {narrator.deed(use)} what is there now"
    if narrator.reads(use):
        return "it reads what the next owner wrote"
    into = "writes into" if narrator.deed(use) == "writes" else "accesses"
    return f"it {into} the next owner's memory"


# -- the program itself asks for it -------------------------------------------------------------------
def _certain(plan: WrongExecution, narrator: Narrator) -> Iterator[Move]:
    free, use, memory = plan.ahead, plan.behind, narrator.memory
    if plan.harm is Harm.NOT_YET:
        yield _outcome_of(f"no launch of the graph has allocated {memory} yet")
        yield _run(f"{narrator.issued(use)}: the address names no memory", use)
        return
    yield _run(_end(narrator, free), free)
    if use.failed:
        yield _run(f"{narrator.issued(use)}, with the old address: the call fails", use)
        return
    if narrator.is_mapped:
        yield _run(f"{narrator.issued(use)}: the pointer leads nowhere any more", use)
        return
    if plan.harm is Harm.FREED:
        yield _outcome_of(narrator.owner())
    if use.kind is OperationKind.FREE:
        yield _run(f"{narrator.issued(use)}: the address is not that memory's any more", use)
        return
    inside = " in it" if use.kind is OperationKind.GRAPH_LAUNCH else ""
    yield _issue(narrator, use, f", with the old address{inside}")
    if plan.harm is Harm.FREED:
        yield _run(f"{narrator.briefly(use)} runs: {_meets(plan, narrator, _access(narrator, use))}", use)
    else:
        yield _run(f"{narrator.briefly(use)} runs: the address names no memory", use)


def _end(narrator: Narrator, free: Operation) -> str:
    """Return how the memory comes to its end."""
    host, at, memory = narrator.host(free), narrator.at(free), narrator.memory
    if free.kind is OperationKind.DEVICE_RESET:
        return f"{host} resets the device{at}, and {memory} is gone"
    if free.kind is OperationKind.CONTEXT_DESTROY:
        return f"{host} destroys the context{at}, and {memory} goes with it"
    if free.kind is OperationKind.GRAPH_NODE:
        return f"each launch of the graph frees {memory} again{at}"
    reached = f", and {narrator.stream(free)} reaches it" if free.stream and not narrator.is_mapped else ""
    return f"{narrator.issued(free)}{reached}"


def _access(narrator: Narrator, use: Operation) -> Operation:
    """Return the operation that says how a launch uses the memory: its node, where the fact names one."""
    nodes = [each for _, each in narrator.case.fact.related if each.kind is OperationKind.GRAPH_NODE]
    return nodes[0] if use.kind is OperationKind.GRAPH_LAUNCH and nodes else use


# -- a use, and the allocation behind it --------------------------------------------------------------
def _not_yet(plan: WrongExecution, narrator: Narrator) -> Iterator[Move]:
    use, made, memory = plan.ahead, plan.behind, narrator.memory
    graph = made.kind is OperationKind.GRAPH_LAUNCH
    yield from _issues(narrator, use, made)
    what = "the map" if narrator.is_mapped else "the allocation"
    busy = "has not run the graph" if graph else f"has not reached {what}"
    begins = f"{narrator.stream(use)} begins {narrator.briefly(use)}" if use.stream else narrator.issued(use)
    yield _run(f"{begins} while {narrator.stream(made)} {busy}: {narrator.gap(use, made)}", use)
    if narrator.is_mapped:
        if narrator.deed(use) == "reads":
            yield _outcome_of(f"{memory} has not got the region's words yet: it reads what was there before")
        else:
            yield _run(f"the map brings the region's words to {memory}: what was written there is lost", made)
        return
    if narrator.deed(use) == "reads":
        yield _outcome_of(f"{memory} is not allocated yet: it reads what the former owner of the block left")
        return
    yield _outcome_of(f"{memory} is not allocated yet: it {narrator.deed(use)} what may still be its former owner's")
    reaches = "runs the graph" if graph else "reaches the allocation"
    yield _run(f"{narrator.stream(made)} {reaches}: what was written is lost", made)


# -- two accesses -------------------------------------------------------------------------------------
def _conflict(plan: WrongExecution, narrator: Narrator) -> Iterator[Move]:
    later, earlier = plan.ahead, plan.behind
    yield from _issues(narrator, later, earlier)
    begins = "begins" if plan.overtakes else "runs"
    runs = f"{narrator.stream(later)} {begins} {narrator.briefly(later)}" if later.stream else narrator.issued(later)
    if plan.overtakes:
        # It begins once every block of the kernel before it has triggered or ended: that one has begun for sure.
        yield _run(f"{runs} while {narrator.briefly(earlier)} has not ended: {narrator.gap(later, earlier)}", later)
    else:
        yield _run(f"{runs} while {_pending(narrator, earlier)}: {narrator.gap(later, earlier)}", later)
    yield from _outcome(narrator, later, earlier, overtakes=plan.overtakes)


def _outcome(narrator: Narrator, later: Operation, earlier: Operation, *, overtakes: bool = False) -> Iterator[Move]:
    memory, first, second = narrator.memory, narrator.briefly(later), narrator.briefly(earlier)
    if overtakes and narrator.reads(later):
        yield _outcome_of(f"{first} reads {memory} before what {second} writes there is complete and visible")
    elif overtakes:
        yield _outcome_of(f"both access {memory} at the same time")
    elif narrator.reads(later):
        yield _run(f"{first} reads {memory} as it was before {second} writes it", earlier)
    elif narrator.reads(earlier):
        yield _run(f"then {second} runs, and reads what {first} has written over {memory}", earlier)
    else:
        yield _run(f"then {second} runs: its words stay in {memory}, not those of {first}", earlier)


def _changed(plan: WrongExecution, narrator: Narrator) -> Iterator[Move]:
    last, use, memory = plan.ahead, plan.behind, narrator.memory
    yield from _issues(narrator, use)
    reads = narrator.case.fact.variant is FactVariant.HOST_READ
    deed = f"{narrator.host(last)} {'reads' if reads else 'overwrites'} {memory}{narrator.at(last)}"
    yield _run(f"{deed} while {_pending(narrator, use)}: {narrator.gap(last, use)}", last)
    if reads:
        yield _run(f"the host has {memory} as it was before {narrator.briefly(use)} writes it", use)
    else:
        yield _run(f"{narrator.briefly(use)} runs: it accesses what the host has put there", use)


# -- nodes of one graph -------------------------------------------------------------------------------
def _inside(plan: WrongExecution, narrator: Narrator) -> Iterator[Move]:
    ahead, behind, memory = plan.ahead, plan.behind, narrator.memory
    first = f"{narrator.what(ahead)}{narrator.at(ahead)}"
    yield _outcome_of("a launch of the graph begins every node that no edge holds back")
    if plan.harm is Harm.FREED:
        pending = f"{narrator.what(behind)}{narrator.at(behind)} has not begun"
        gap = narrator.gap(ahead, behind)
        yield _run(f"the free node{narrator.at(ahead)} frees {memory} while {pending}: {gap}", ahead)
        yield _run(f"{narrator.briefly(behind)} runs: the memory is not the graph's any more", behind)
    elif plan.harm is Harm.NOT_YET:
        made = f"the node that allocates {memory}{narrator.at(behind)}"
        yield _run(f"{first} runs while {made} has not: no path of edges leads from it", ahead)
        yield _outcome_of(f"{narrator.briefly(ahead)} {narrator.deed(ahead)} memory that does not exist yet")
    else:
        pending = f"{narrator.what(behind)}{narrator.at(behind)} has not begun"
        yield _run(f"{first} runs while {pending}: {narrator.gap(ahead, behind)}", ahead)
        yield from _outcome(narrator, ahead, behind)
