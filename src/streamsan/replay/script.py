"""A witness as a list of things to do: calls to make, work to run, the memory's next owner."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import Enum

from msgspec import Struct
from msgspec.structs import replace

from streamsan.evidence.witness.witness import Witness
from streamsan.replay.replayed_graphs import with_update
from streamsan.replay.replayed_program import read_program
from streamsan.replay.replayed_steps import Memory, Node, NoReplayError, Step
from streamsan.rules.wrong_execution import NODES, Harm
from streamsan.vocabulary import NodeKind, OperationKind

NEW_STREAM = (1 << 64) - 1
"""handle of a stream that no program has"""
_ENDS = (OperationKind.CONTEXT_DESTROY, OperationKind.DEVICE_RESET)


class Do(Enum):
    """One thing to do."""

    ISSUE = "make the call"
    TRY = "make the call, unless its thread waits for something, or has been held back"
    CATCH_UP = "make the call, if it has not been made"
    FINISH = "run the work of an operation"
    BEGIN = "begin a launch: free what the last one left, where it is made so; of a kernel what it does without waiting"
    NODE = "run a node of the graph that was launched last"
    PENDING = "an operation is not complete yet, or the script is none of this program"
    LOOK = "note what the memory holds now"
    OWNER = "somebody else gets the memory that was freed"


class Action(Struct, frozen=True):
    """What to do, and with which operation (or node)."""

    do: Do
    sequence: int


class Script(Struct, frozen=True):
    """A witness, ready to be run."""

    steps: dict[int, Step]
    memory: Memory | None
    """what the finding is about"""
    wrong: tuple[Action, ...]
    """the execution that goes wrong"""
    in_order: tuple[Action, ...]
    """the same calls, each operation complete before the next begins, and none that should not be there"""
    ahead: frozenset[int]
    """sequence number of the operation that goes ahead; of a launch those of its nodes too"""
    behind: frozenset[int]
    pending: int
    """sequence number of the one behind; where that is a mapped pointer, of the map's command"""


def script_of(witness: Witness) -> Script:
    """Return the script of a witness. Raises NoReplayError, TraceError."""
    plan = witness.plan
    if plan.behind.failed:
        raise NoReplayError("the call itself fails, and touches nothing")
    # What waited for a user event needs calls that come later in the trace.
    needed = (witness.ahead.calls | witness.behind.calls) if not plan.inside else ()
    last = max(plan.ahead.sequence, plan.behind.sequence, *needed)
    first = min(plan.ahead.sequence, plan.behind.sequence)
    program = read_program(witness.trace, last, first=first, node=_node_of(witness) if plan.inside else 0)
    steps = program.steps
    by_number = {step.sequence: step for step in steps}
    memory = _memory_of(witness, steps)
    if plan.inside:
        ahead, behind, wrong, in_order, launch = _inside(witness, steps, memory)
        by_number[launch.sequence] = launch
    else:
        ahead, behind = plan.ahead.sequence, plan.behind.sequence
        if plan.ahead.kind in NODES:
            ahead = behind  # every launch frees what it allocates: there is no one free that goes ahead
        if ahead not in by_number or behind not in by_number:
            raise NoReplayError("one of its operations is no call of its own")
        wrong, in_order = _calls(witness, by_number, ahead, program.begins_at)
    return Script(
        by_number,
        memory,
        tuple(wrong),
        tuple(in_order),
        frozenset(_with_nodes(ahead, steps)),
        frozenset(_with_nodes(behind, steps)),
        _command_of(by_number, behind),
    )


def _command_of(steps: dict[int, Step], sequence: int) -> int:
    """Return the operation that is complete when another is: the command of the map that gave a pointer."""
    return (steps[sequence].mapped_by if sequence in steps else 0) or sequence


# -- operations of streams and the host ---------------------------------------------------------------
def _calls(witness: Witness, steps: dict[int, Step], ahead: int, begins_at: int) -> tuple[list[Action], list[Action]]:
    plan, behind = witness.plan, witness.plan.behind.sequence
    known = witness.ahead if ahead != behind else witness.behind
    before = (known.calls | known.works | _until_made(steps[ahead], steps)) & steps.keys()
    wrong: list[Action] = []
    look = Action(Do.LOOK, behind)
    # Calls keep the order of the trace, since what a call is ordered after depends on the calls before it. But a host
    # thread that nothing ahead depends on may be held back by its waits.
    last = max((ahead, *before))
    for number in sorted(number for number in steps if number <= last):
        needed = number in before or number == ahead or number < begins_at
        wrong.append(Action(Do.ISSUE if needed else Do.TRY, number))
        if number == ahead and plan.overtakes:
            wrong.append(Action(Do.BEGIN, number))
        elif number in known.works or number == ahead or number < begins_at:
            wrong.append(Action(Do.FINISH, number))
    if ahead != behind:
        wrong.append(Action(Do.PENDING, _command_of(steps, behind)))
        if plan.harm is Harm.FREED:
            wrong.append(Action(Do.OWNER, ahead))
        made = _until_made(steps[behind], steps)
        for number in sorted({*witness.behind.calls, *witness.behind.works, *made, behind} & steps.keys()):
            wrong.append(Action(Do.CATCH_UP, number))
            if number in witness.behind.works or number == behind:
                wrong.append(Action(Do.FINISH, number))
    # Where the free comes first in the trace as well, the right order is one without it; and so where one use is all.
    # Without ends of contexts and resets, too: what one of them ends another may end as well.
    # What waited for a user event is later than its number.
    left_out = {ahead} if ahead <= behind and last == ahead else set()
    if left_out and plan.harm in (Harm.FREED, Harm.GONE):
        left_out |= {number for number, step in steps.items() if step.kind in _ENDS and number < behind}
    return [*wrong, look], [*_one_by_one(sorted(steps.keys() - left_out)), look]


def _until_made(step: Step, steps: dict[int, Step]) -> set[int]:
    """Return the calls up to the one that makes the stream of an operation.

    A new stream is behind all that its creator had done, but the engine has no point for the creation itself; and of a
    handle that was there before, the replay would take another stream.
    """
    kind, earlier = OperationKind.STREAM_CREATE, (each for each in steps.values() if each.sequence < step.sequence)
    creations = [each for each in earlier if each.kind is kind and each.succeeded and each.object == step.stream]
    if not step.stream or not creations:
        return set()
    made = max(creations, key=lambda each: each.sequence)
    return {number for number, each in steps.items() if each.thread == made.thread and number <= made.sequence}


def _one_by_one(numbers: Sequence[int]) -> Iterator[Action]:
    for number in numbers:
        yield Action(Do.ISSUE, number)
        yield Action(Do.FINISH, number)


# -- nodes of one graph -------------------------------------------------------------------------------
def _node_of(witness: Witness) -> int:
    """Return the later one of the two that is a node."""
    return max(each.sequence for each in (witness.plan.ahead, witness.plan.behind) if each.kind in NODES)


def _inside(
    witness: Witness, steps: Sequence[Step], memory: Memory | None
) -> tuple[int, int, list[Action], list[Action], Step]:
    before, launch, body, behind = _launched(witness, steps, memory)
    ahead = witness.plan.ahead.sequence
    first = list(_one_by_one([step.sequence for step in before]))
    first += [Action(Do.ISSUE, launch.sequence), Action(Do.BEGIN, launch.sequence)]
    end = [Action(Do.LOOK, launch.sequence), Action(Do.FINISH, launch.sequence)]
    nodes = [Action(Do.NODE, number) for number in (*_ordered(witness.ahead.works, body, steps), ahead)]
    wrong = [*first, *nodes, Action(Do.PENDING, behind), *_nodes_before(behind, body), *end]
    in_order = [*first, *_nodes_before(behind, body), *nodes, *end]
    return ahead, behind, wrong, in_order, launch


def _launched(
    witness: Witness, steps: Sequence[Step], memory: Memory | None
) -> tuple[Sequence[Step], Step, tuple[Node, ...], int]:
    """Return the launch of a body with both nodes, what comes before it, the body, and the number of the node behind.

    Where the program has no such launch, one is put where the body has both nodes: the graph is there to be launched.
    """
    last: tuple[int, Step, tuple[Node, ...], int] | None = None
    bodies: dict[tuple[int, int], tuple[Node, ...]] = {}
    for index, step in enumerate(steps):
        key = step.process, step.object
        if step.kind is OperationKind.GRAPH_NODE_UPDATE:
            bodies[key] = with_update(bodies.get(key, ()), step)
        elif step.nodes:
            bodies[key] = step.nodes
        elif step.kind is not OperationKind.GRAPH_LAUNCH or not step.succeeded:
            continue
        body = bodies.get(key, ())
        behind = _behind(witness, body, memory)
        if behind and any(node.sequence == witness.plan.ahead.sequence for node in body):
            if step.kind is OperationKind.GRAPH_LAUNCH:
                return steps[:index], step, body, behind
            last = index, step, body, behind
    if last is None:
        raise NoReplayError("a node that it is about is in no body that can be launched")
    index, step, body, behind = last
    number = 1 + max(step.sequence, *(node.sequence for node in body))
    launch = replace(step, sequence=number, kind=OperationKind.GRAPH_LAUNCH, stream=NEW_STREAM, accesses=(), nodes=())
    return steps[: index + 1], launch, body, behind


def _behind(witness: Witness, body: Sequence[Node], memory: Memory | None) -> int:
    """Return the number of the node behind, 0 where the body has none: named, or the one that allocates the memory."""
    named = witness.plan.behind
    if named.kind in NODES:
        return named.sequence if any(node.sequence == named.sequence for node in body) else 0
    return next((node.sequence for node in body if _allocates(node, memory)), 0)


def _ordered(sequences: frozenset[int], body: Sequence[Node], steps: Sequence[Step]) -> list[int]:
    """Return nodes of a body in an order that its edges allow; updates may have given them other sequence numbers."""
    numbers = {node.number for step in steps for node in step.nodes if node.sequence in sequences}
    updates = (step for step in steps if step.kind is OperationKind.GRAPH_NODE_UPDATE)
    numbers.update(step.address for step in updates if step.sequence in sequences)
    return [node.sequence for node in body if node.number in numbers]


def _allocates(node: Node, memory: Memory | None) -> bool:
    return node.kind is NodeKind.ALLOC and bool(node.accesses) and node.accesses[0].memory is memory


def _nodes_before(last: int, body: Sequence[Node]) -> Iterator[Action]:
    """Yield the nodes that a node depends on, and itself behind them."""
    by_number = {node.number: node for node in body}
    needed: set[int] = set()
    pending = [node.number for node in body if node.sequence == last]
    while pending:
        number = pending.pop()
        if number in by_number and number not in needed:
            needed.add(number)
            pending.extend(by_number[number].dependencies)
    for number in sorted(needed):
        yield Action(Do.NODE, by_number[number].sequence)


# -- what it is about ---------------------------------------------------------------------------------
def _memory_of(witness: Witness, steps: Sequence[Step]) -> Memory | None:
    """Return the memory of the fact: what the operations it names use at its address."""
    allocation = witness.case.fact.allocation
    named = {witness.plan.ahead.sequence, witness.plan.behind.sequence}
    named |= {operation.sequence for _, operation in witness.case.fact.related}
    candidates: list[Memory] = []
    for step in steps:
        if step.sequence in named:
            candidates.extend([] if step.memory is None else [step.memory])
            candidates.extend(access.memory for access in step.accesses)
        for node in step.nodes:
            if node.sequence in named:
                candidates.extend(access.memory for access in node.accesses)
    if allocation is None:  # nobody knows more of it than that commands use it
        return next((each for each in candidates if each.is_hosts_own), next(iter(candidates), None))
    at = [memory for memory in candidates if memory.base <= allocation.address < memory.end]
    same = [memory for memory in at if memory.generation == allocation.generation or not allocation.generation]
    return next(iter(same or at), None)


def _with_nodes(sequence: int, steps: Sequence[Step]) -> Iterator[int]:
    """Yield an operation's number; of a launch those of the nodes of its graph as well, as it was launched."""
    yield sequence
    bodies: dict[tuple[int, int], tuple[Node, ...]] = {}
    for step in steps:
        if step.nodes:
            bodies[step.process, step.object] = step.nodes
        if step.kind is OperationKind.GRAPH_NODE_UPDATE:
            bodies[step.process, step.object] = with_update(bodies.get((step.process, step.object), ()), step)
        if step.sequence == sequence and step.kind is OperationKind.GRAPH_LAUNCH:
            yield from (node.sequence for node in bodies.get((step.process, step.object), ()))
            return
