"""Graphs as such: made, copied, destroyed; their edges; what they can be asked."""

from __future__ import annotations

from collections.abc import Callable

from streamsan.effects import Effect, Role
from streamsan.model.call import Call
from streamsan.model.core import ModelCore
from streamsan.model.graphs import memory_nodes
from streamsan.model.graphs.lookup import (
    graph_argument,
    graph_handle,
    listed,
    live_exec,
    live_graph,
    named_node,
    node_handle,
    node_list,
    node_of,
    refuse,
)
from streamsan.model.graphs.node_calls import copy_graph
from streamsan.model.handlers import handles
from streamsan.model.statuses import INVALID_VALUE, NOT_SUPPORTED, SUCCESS
from streamsan.model.streams_and_graphs import Condition, Graph, Node
from streamsan.model.values import Handle, Outcome, RefusalError, Value
from streamsan.vocabulary import HandleKind, OperationKind

_ASSIGN_DEFAULT = 1
"""cudaGraphCondAssignDefault"""


@handles(Effect.GRAPH_CREATE)
def create(core: ModelCore, call: Call) -> Outcome:
    """Make an empty graph. It describes work only, so it belongs to no context."""
    core.current(call.thread, call.site)
    graph = Graph(core.fresh_handle(), None)
    call.thread.process.handles[graph.handle] = graph
    core.say(call, OperationKind.HANDLE_CREATE, object=graph.handle, detail=HandleKind.GRAPH)
    return call.gives(graph_handle(graph))


@handles(Effect.GRAPH_DESTROY)
def destroy(core: ModelCore, call: Call) -> Outcome:
    """Destroy a graph. Executable graphs made from it, and memory that its allocation nodes made, stay (G-11)."""
    graph = graph_argument(core, call)
    if graph is None:
        return refuse(core, call, None)
    status = SUCCESS if graph.alive and graph.owner is None else INVALID_VALUE
    if graph.alive and status:
        return refuse(core, call, graph)  # the graph of a child or conditional node goes with its node
    core.say(call, OperationKind.HANDLE_DESTROY, object=graph.handle, detail=HandleKind.GRAPH, status=status)
    bury(graph)
    return Outcome(status)


def bury(graph: Graph) -> None:
    """A graph and those inside it are gone."""
    graph.alive = False
    for node in graph.nodes:
        for inner in memory_nodes.inner_graphs(node):
            bury(inner)


@handles(Effect.GRAPH_CLONE)
def clone(core: ModelCore, call: Call) -> Outcome:
    """Copy a graph; not one with memory nodes (G-07) or conditional nodes."""
    graph = live_graph(core, call)
    refused = memory_nodes.has_memory_nodes(graph) or memory_nodes.has_conditionals(graph)
    made = None if refused else copy_graph(core, call.thread.process, graph)
    core.say(
        call,
        OperationKind.GRAPH_CLONE,
        object=0 if made is None else made.handle,
        address=graph.handle,
        status=NOT_SUPPORTED if made is None else SUCCESS,
    )
    if made is None:
        return Outcome(NOT_SUPPORTED)
    return call.gives(graph_handle(made))


@handles(Effect.GRAPH_EDGES)
def edges(core: ModelCore, call: Call) -> Outcome:
    """Add or remove dependencies. Added ones that nobody knows: from there on the graph counts as one chain."""
    graph = live_graph(core, call)
    adds = "Add" in call.api.name
    before, after = node_list(call, "from"), node_list(call, "to")
    if before is None or after is None or len(before) != len(after):
        graph.ordered = graph.ordered or adds
        return core.say(call)
    if not adds and before and memory_nodes.has_memory_nodes(graph):
        return refuse(core, call, graph, NOT_SUPPORTED)  # G-16
    pairs = list(zip(before, after, strict=True))
    for near, far in pairs:
        known = near in far.dependencies
        foreign = not graph.assumed and (near.graph is not graph or far.graph is not graph)
        if foreign or near is far or known is adds:
            return refuse(core, call, graph)
    for near, far in pairs:
        if adds:
            far.dependencies.append(near)
        else:
            far.dependencies.remove(near)
    return core.say(call)


@handles(Effect.GRAPH_USE)
def use(core: ModelCore, call: Call) -> Outcome:
    """Print a graph: it must be alive."""
    live_graph(core, call)
    return core.say(call)


@handles(Effect.GRAPH_CONDITION)
def condition(core: ModelCore, call: Call) -> Outcome:
    """Make the handle by which kernels set a condition. Only with the flag it has its default at each launch."""
    live_graph(core, call)
    core.say(call)
    flags, default = call.number(Role.FLAGS), call.number(Role.VALUE)
    assigned = flags is not None and bool(flags & _ASSIGN_DEFAULT)
    made = Condition(core.fresh_handle(), default if assigned else None)
    call.thread.process.graphs.conditions[made.handle] = made
    return call.gives(Handle("other", made.handle))


@handles(Effect.USER_OBJECT)
def user_object(core: ModelCore, call: Call) -> Outcome:
    """Objects that graphs keep alive: nothing that orders device work."""
    if call.has(Role.HANDLE, "graph"):
        live_graph(core, call)
    core.current(call.thread, call.site)
    core.say(call)
    return call.gives(Handle("other", core.fresh_handle()))


# -- questions --------------------------------------------------------------------------------------


@handles(Effect.GRAPH_QUERY)
def query(core: ModelCore, call: Call) -> Outcome:
    """Answer a question about a graph, a node or an executable graph. What nobody knows stays unknown."""
    core.current(call.thread, call.site)
    word = call.api.name.removeprefix("cuda").removeprefix("cu").removeprefix("Graph")
    if call.has(Role.HANDLE, "graph_exec"):
        outcome = _exec_query(core, call, word)
    elif word == "NodeFindInClone":
        outcome = _find_in_clone(core, call)
    elif call.has(Role.HANDLE, "node"):
        named = named_node(core, call)
        outcome = Outcome() if named is None or word not in _NODE_ANSWERS else _NODE_ANSWERS[word](call, *named)
    else:
        outcome = _graph_query(call, live_graph(core, call), word)
    core.say(call)
    return outcome


def _exec_query(core: ModelCore, call: Call, word: str) -> Outcome:
    executable = live_exec(core, call)
    if executable.assumed:
        return Outcome()
    if word != "NodeGetEnabled":
        return call.gives(executable.flags if word == "ExecGetFlags" else executable.handle)
    node = node_of(call.thread.process, call.value(Role.HANDLE, "node"))
    found = [each for each in executable.body if each.node is node]
    if node is not None and not found:
        raise RefusalError(refuse(core, call, executable).status)
    return call.gives(int(found[0].enabled)) if found else Outcome()


def _graph_query(call: Call, graph: Graph, word: str) -> Outcome:
    if graph.assumed:
        return Outcome()
    if word == "GetId":
        return call.gives(graph.handle)
    if word == "GetEdges":
        return _edges(call, [(near, far) for far in graph.nodes for near in far.dependencies])
    return _list(call, graph.nodes if word == "GetNodes" else [node for node in graph.nodes if not node.dependencies])


def _find_in_clone(core: ModelCore, call: Call) -> Outcome:
    graph = live_graph(core, call)
    node = node_of(call.thread.process, call.value(Role.HANDLE, "node"))
    if node is None or graph.assumed:
        return Outcome()
    found = graph.originals.get(node.handle)
    if found is None or found.graph is None:
        raise RefusalError(refuse(core, call, graph).status)
    return call.gives(node_handle(found))


_NODE_ANSWERS: dict[str, Callable[[Call, Node, Graph], Outcome]] = {
    "NodeGetType": lambda call, node, graph: call.gives(node.type),
    "NodeGetDependencies": lambda call, node, graph: _list(call, node.dependencies),
    "NodeGetDependentNodes": lambda call, node, graph: _list(
        call, [each for each in graph.nodes if node in each.dependencies]
    ),
    "ChildGraphNodeGetGraph": lambda call, node, graph: (
        Outcome() if node.child is None else call.gives(graph_handle(node.child))
    ),
    "NodeGetContainingGraph": lambda call, node, graph: call.gives(graph_handle(graph)),
    "NodeGetLocalId": lambda call, node, graph: call.gives(graph.nodes.index(node)),
    "NodeGetToolsId": lambda call, node, graph: call.gives(node.handle),
}


def _wanted(call: Call, name: str) -> bool:
    """Return whether the program passed something for an out-argument."""
    return name in call.values and call.values[name] != 0


def _list(call: Call, nodes: list[Node]) -> Outcome:
    """Return what a call gives whose answer is nodes and their number."""
    names = [parameter.name for parameter in call.signature.outs]
    found: dict[str, Value] = {names[-1]: len(nodes)}
    if _wanted(call, names[0]):
        found |= listed(names[0], [node_handle(node) for node in nodes])
    return Outcome(SUCCESS, found)


def _edges(call: Call, pairs: list[tuple[Node, Node]]) -> Outcome:
    found: dict[str, Value] = {"numEdges": len(pairs)}
    if _wanted(call, "from"):
        found |= listed("from", [node_handle(near) for near, _ in pairs])
    if _wanted(call, "to"):
        found |= listed("to", [node_handle(far) for _, far in pairs])
    return Outcome(SUCCESS, found)
