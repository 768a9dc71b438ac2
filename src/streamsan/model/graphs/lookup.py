"""How values become graphs, nodes and executable graphs; those nobody knows are assumed to exist, once."""

from __future__ import annotations

from collections.abc import Sequence

from streamsan.effects import Role
from streamsan.model.call import Call
from streamsan.model.core import ModelCore
from streamsan.model.process_state import HostThread, Process
from streamsan.model.statuses import INVALID_VALUE, SUCCESS
from streamsan.model.streams_and_graphs import Graph, GraphExec, Node
from streamsan.model.values import Handle, Outcome, RefusalError, Symbol, Value
from streamsan.trace.references import Reference
from streamsan.vocabulary import AccessMode, HandleKind, OperationKind


def graph_of(core: ModelCore, thread: HostThread, value: Value, site: int) -> Graph | None:
    """Return the graph that a value means; None for NULL. An unknown one is assumed to exist."""
    if value == 0 or _never_made(thread.process, value):
        return None
    return core.known_or_assumed(
        thread, "graph", Graph, value, site, lambda: Graph(core.fresh_handle(), None, assumed=True)
    )


def exec_of(core: ModelCore, thread: HostThread, value: Value, site: int) -> GraphExec | None:
    """Return the executable graph that a value means; None for NULL. An unknown one is assumed to exist."""
    if value == 0 or _never_made(thread.process, value):
        return None
    return core.known_or_assumed(
        thread, "graph_exec", GraphExec, value, site, lambda: GraphExec(core.fresh_handle(), None, None, assumed=True)
    )


def _never_made(process: Process, value: Value) -> bool:
    """Return whether a variable still holds what it was declared with, since a broken capture gave no graph (SS302)."""
    return process.graphs.broken and isinstance(value, Symbol) and value.origin == "uninitialised"


def node_of(process: Process, value: Value) -> Node | None:
    """Return the node that a value means; None for one that nobody knows, and for NULL."""
    return process.graphs.nodes.get(value.value) if isinstance(value, Handle) else None


def graph_argument(core: ModelCore, call: Call) -> Graph | None:
    """Return the graph that a call is about, None for NULL."""
    core.current(call.thread, call.site)
    return graph_of(core, call.thread, call.value(Role.HANDLE, "graph"), call.site)


def exec_argument(core: ModelCore, call: Call) -> GraphExec | None:
    """Return the executable graph that a call is about, None for NULL."""
    core.current(call.thread, call.site)
    return exec_of(core, call.thread, call.value(Role.HANDLE, "graph_exec"), call.site)


def live_graph(core: ModelCore, call: Call) -> Graph:
    """Return the graph that a call is about. Raises RefusalError for NULL and for one that was destroyed."""
    graph = graph_argument(core, call)
    if graph is None or not graph.alive:
        raise RefusalError(refuse(core, call, graph).status)
    return graph


def live_exec(core: ModelCore, call: Call) -> GraphExec:
    """Return the executable graph that a call is about. Raises RefusalError as `live_graph` does."""
    executable = exec_argument(core, call)
    if executable is None or not executable.alive:
        raise RefusalError(refuse(core, call, executable).status)
    return executable


def named_node(core: ModelCore, call: Call) -> tuple[Node, Graph] | None:
    """Return the node that a call names, and its graph; None: nobody knows the node. Raises RefusalError."""
    value = call.value(Role.HANDLE, "node")
    node = node_of(call.thread.process, value)
    core.current(call.thread, call.site)
    if node is None and value != 0:
        return None
    if node is None or node.graph is None or not node.graph.alive:
        raise RefusalError(refuse(core, call, None if node is None else node.graph).status)
    return node, node.graph


def node_list(call: Call, name: str) -> list[Node] | None:
    """Return the nodes of a list argument, whose number is the `value` argument after it; None: not all are known."""
    names = [parameter.name for parameter in call.signature.parameters]
    count_name = next((each for each in names if each.startswith("num")), "")
    number = call.values.get(count_name)
    if number == 0 or call.values.get(name) == 0:
        return []
    entries = call.structures.get(name, {})
    if not isinstance(number, int) or not 0 < number <= len(entries):
        return None
    nodes = [node_of(call.thread.process, entries.get(str(position))) for position in range(number)]
    known = [node for node in nodes if node is not None]
    return known if len(known) == number else None


def refuse(core: ModelCore, call: Call, graph: Graph | GraphExec | None, status: int = INVALID_VALUE) -> Outcome:
    """Say in the trace that a call on a graph failed: that its handle was destroyed before (SS205), or why not."""
    if graph is None:
        core.say(call, status=status)
    else:
        kind = HandleKind.GRAPH if isinstance(graph, Graph) else HandleKind.GRAPH_EXEC
        core.say(call, OperationKind.HANDLE_USE, object=graph.handle, detail=kind, status=status)
    return Outcome(status)


def accept(core: ModelCore, call: Call, **outputs: Value) -> Outcome:
    """Say in the trace that a call was made which changes a description only, and give its results."""
    core.say(call)
    return Outcome(SUCCESS, dict(outputs))


def listed(name: str, values: Sequence[Value]) -> dict[str, Value]:
    """Return the outputs that give a list."""
    return {f"{name}.{position}": value for position, value in enumerate(values)}


def node_handle(node: Node) -> Handle:
    """Return a node as the program sees it."""
    return Handle("node", node.handle)


def graph_handle(graph: Graph) -> Handle:
    """Return a graph as the program sees it."""
    return Handle("graph", graph.handle)


def known_references(process: Process) -> list[Reference]:
    """Return all memory that the graphs of a process use: what an executable graph nobody knows may touch."""
    found: dict[tuple[int, int], Reference] = {}
    for node in process.graphs.nodes.values():
        for reference in node.references:
            key = (reference.generation, reference.address)
            found[key] = Reference(reference.address, reference.size, reference.generation, AccessMode.OPAQUE)
    return list(found.values())
