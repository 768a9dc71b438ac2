"""Memory that graphs make and free themselves: its nodes, its life from launch to launch, how much of it is in use.

Contract: an allocation lives from its node's execution to its free node, or until it is freed outside; its address is
fixed; a graph with such nodes has one executable graph, no clone, and loses no node or edge (cudaGraphAddMemAllocNode).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from streamsan.model.core import ModelCore
from streamsan.model.process_state import HostThread, Process
from streamsan.model.resources import Allocation, Context, Lifetime
from streamsan.model.statuses import INVALID_VALUE, SUCCESS
from streamsan.model.streams_and_graphs import Graph, GraphExec, GraphMemory, MemoryNode, Node
from streamsan.model.values import Pointer, Value
from streamsan.trace.references import Reference
from streamsan.vocabulary import AccessMode, FreeClass, MemoryKind, NodeKind, OperationKind

GRANULE = 32 << 20
"""Graphs get memory from the device in pieces of this size (Q-05; it is not documented)."""


def reserve(
    core: ModelCore, thread: HostThread, size: Value, context: Context, site: int, api: str
) -> Allocation | None:
    """Make the memory of an allocation node: an address, not usable before a launch. None: there is none left."""
    allocation = core.new_allocation(thread, size, MemoryKind.GRAPH, context)
    if allocation is None:
        return None
    allocation.lifetime = Lifetime.RESERVED
    core.say_allocation(thread, allocation, site, api)
    return allocation


def own(process: Process, node: Node, allocation: Allocation) -> None:
    """Make a node the one that allocates this memory."""
    node.allocation = allocation
    node.references = (Reference(allocation.address, allocation.size, allocation.generation, AccessMode.WRITE),)
    process.graphs.allocations[allocation.generation] = MemoryNode(allocation, node)


def free_target(
    core: ModelCore, thread: HostThread, value: Value, graph: Graph, site: int, api: str
) -> tuple[int, Pointer | None, Allocation | None]:
    """Judge what a free node of a graph is given, and say so in the trace.

    Return status, address and memory (None: unknown).
    """
    pointer = core.pointer_of(thread, value, site, api)
    if pointer is None:
        return (INVALID_VALUE if value == 0 else SUCCESS), None, None
    allocation = core.allocation_of(thread, pointer)
    status = _free_status(thread.process, pointer, allocation, graph)
    generation = pointer.generation if allocation is None else allocation.generation
    core.emit(
        OperationKind.FREE,
        thread,
        site,
        api,
        references=[Reference(pointer.address, 0, generation)],
        detail=FreeClass.GRAPH_NODE,
        status=status,
    )
    return status, pointer, allocation


def _free_status(process: Process, pointer: Pointer, allocation: Allocation | None, graph: Graph) -> int:
    if allocation is None:
        return INVALID_VALUE if pointer.exact else SUCCESS
    if allocation.assumed or allocation.kind is MemoryKind.UNKNOWN or not pointer.exact:
        return SUCCESS
    made = process.graphs.allocations.get(allocation.generation)
    if made is None or pointer.address != allocation.address:
        return INVALID_VALUE  # memory from outside (G-09), or not the start of it
    # G-20: one free node in a graph, and none beside one in its own graph. Several others may each have one.
    return INVALID_VALUE if graph in made.freed_in or made.node.graph in made.freed_in else SUCCESS


def set_free(process: Process, node: Node, pointer: Pointer | None, allocation: Allocation | None) -> None:
    """Make a node the one that frees this memory."""
    if pointer is None:
        return
    node.allocation = allocation
    size, generation = (0, pointer.generation) if allocation is None else (allocation.size, allocation.generation)
    node.references = (Reference(pointer.address, size, generation, AccessMode.WRITE),)
    made = None if allocation is None else process.graphs.allocations.get(allocation.generation)
    if made is not None and node.graph is not None:
        made.freed_in.append(node.graph)


def has_memory_nodes(graph: Graph) -> bool:
    """Return whether a graph, or a graph in it, allocates or frees."""
    return any(
        node.kind in (NodeKind.ALLOC, NodeKind.FREE) or any(has_memory_nodes(inner) for inner in inner_graphs(node))
        for node in graph.nodes
    )


def has_conditionals(graph: Graph) -> bool:
    """Return whether a graph, or a child in it, has a conditional node."""
    return any(node.bodies or (node.child is not None and has_conditionals(node.child)) for node in graph.nodes)


def inner_graphs(node: Node) -> Iterator[Graph]:
    """Yield the child graph or the bodies of a node."""
    if node.child is not None:
        yield node.child
    yield from node.bodies


def launch_status(process: Process, executable: GraphExec) -> int:
    """Return what a launch returns as far as its memory is concerned."""
    if not executable.auto_free and any(each.lifetime is Lifetime.LIVE for each in executable.unfreed):
        return INVALID_VALUE  # G-01
    own_memory = {node.allocation for node in executable.changing if node.kind is NodeKind.ALLOC}
    for node in executable.changing:
        if node.kind is NodeKind.FREE and node.allocation is not None and node.allocation not in own_memory:
            made = node.allocation
            if not made.assumed and not node.conditional and made.lifetime not in (Lifetime.LIVE, Lifetime.UNCLEAR):
                return INVALID_VALUE  # G-17: another graph's memory that is not alive
    return SUCCESS


def launched(process: Process, executable: GraphExec) -> None:
    """A launch was issued: what it allocates is alive, what it frees is not."""
    freed = {node.allocation for node in executable.changing if node.kind is NodeKind.FREE and node.allocation}
    executable.unfreed = []
    peak: dict[int, int] = {}
    for node in executable.changing:
        if node.kind is not NodeKind.ALLOC or node.allocation is None:
            continue
        ordinal = _ordinal(node.allocation)
        peak[ordinal] = peak.get(ordinal, 0) + node.allocation.size
        if node.allocation in freed:
            node.allocation.lifetime = Lifetime.RESERVED
        else:
            # Whether a conditional body ran nobody knows.
            node.allocation.lifetime = Lifetime.UNCLEAR if node.conditional else Lifetime.LIVE
            executable.unfreed.append(node.allocation)
    before = {ordinal: used(process, ordinal, without=executable.unfreed) for ordinal in peak}
    for node in executable.changing:
        if node.kind is NodeKind.FREE and node.allocation is not None and node.allocation.kind is MemoryKind.GRAPH:
            node.allocation.lifetime = Lifetime.RESERVED
    for ordinal, more in peak.items():
        _account(process, ordinal, before[ordinal] + more)


def _account(process: Process, ordinal: int, highest: int) -> None:
    memory = process.graphs.memory.setdefault(ordinal, GraphMemory())
    memory.reserved = max(memory.reserved, -(-highest // GRANULE) * GRANULE)
    memory.used_high = max(memory.used_high, memory.reserved)
    memory.reserved_high = max(memory.reserved_high, memory.reserved)


def used(process: Process, ordinal: int, without: Iterable[Allocation] = ()) -> int:
    """Return the bytes of graph memory that are alive on a device (G-03: also of graphs that were destroyed)."""
    left_out = set(without)
    return sum(
        made.allocation.size
        for made in process.graphs.allocations.values()
        if made.allocation.lifetime is Lifetime.LIVE
        and made.allocation not in left_out
        and _ordinal(made.allocation) == ordinal
    )


def trim(process: Process, ordinal: int) -> None:
    """Give back what the graphs of a device do not use (G-04: what is alive stays)."""
    memory = process.graphs.memory.setdefault(ordinal, GraphMemory())
    memory.reserved = -(-used(process, ordinal) // GRANULE) * GRANULE


def _ordinal(allocation: Allocation) -> int:
    return 0 if allocation.context is None else allocation.context.ordinal
