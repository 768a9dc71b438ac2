"""Graphs as such: made, copied, destroyed; their edges; what they can be asked."""

from __future__ import annotations

from collections.abc import Callable

from streamsan.effects import Effect, Role
from streamsan.model.call import Call
from streamsan.model.core import ModelCore
from streamsan.model.graphs import memory_nodes
from streamsan.model.graphs.lookup import (
    accept,
    exec_argument,
    graph_argument,
    graph_handle,
    listed,
    node_handle,
    node_list,
    node_of,
    refuse,
)
from streamsan.model.graphs.node_calls import copy_graph
from streamsan.model.handlers import handles
from streamsan.model.statuses import INVALID_VALUE, NOT_SUPPORTED, SUCCESS
from streamsan.model.streams_and_graphs import Graph, Node
from streamsan.model.values import Handle, Outcome, Value
from streamsan.vocabulary import HandleKind, OperationKind


@handles(Effect.GRAPH_CREATE)
def create(core: ModelCore, call: Call) -> Outcome:
    """Make an empty graph. It describes work only, so it belongs to no context."""
    core.current(call.thread, call.site)
    graph = Graph(core.fresh_handle(), None)
    call.thread.process.handles[graph.handle] = graph
    core.say(call, OperationKind.HANDLE_CREATE, object=graph.handle, detail=HandleKind.GRAPH)
    out = call.out(Role.OUT_HANDLE)
    return Outcome(SUCCESS, {} if out is None else {out.name: graph_handle(graph)})


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
    graph = graph_argument(core, call)
    if graph is None or not graph.alive:
        return refuse(core, call, graph)
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
    out = call.out(Role.OUT_HANDLE)
    return Outcome(SUCCESS, {} if out is None else {out.name: graph_handle(made)})


@handles(Effect.GRAPH_EDGES)
def edges(core: ModelCore, call: Call) -> Outcome:
    """Add or remove dependencies. Added ones that nobody knows: from there on the graph counts as one chain."""
    graph = graph_argument(core, call)
    if graph is None or not graph.alive:
        return refuse(core, call, graph)
    adds = "Add" in call.api.name
    before, after = node_list(call, "from"), node_list(call, "to")
    if before is None or after is None or len(before) != len(after):
        graph.ordered = graph.ordered or adds
        return accept(core, call)
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
    return accept(core, call)


@handles(Effect.GRAPH_USE)
def use(core: ModelCore, call: Call) -> Outcome:
    """Print a graph: it must be alive."""
    graph = graph_argument(core, call)
    return accept(core, call) if graph is not None and graph.alive else refuse(core, call, graph)


@handles(Effect.GRAPH_CONDITION)
def condition(core: ModelCore, call: Call) -> Outcome:
    """Make the handle by which kernels set a condition."""
    graph = graph_argument(core, call)
    if graph is None or not graph.alive:
        return refuse(core, call, graph)
    out = call.out(Role.OUT_HANDLE)
    return accept(core, call, **({} if out is None else {out.name: Handle("other", core.fresh_handle())}))


@handles(Effect.USER_OBJECT)
def user_object(core: ModelCore, call: Call) -> Outcome:
    """Objects that graphs keep alive: nothing that orders device work."""
    if call.has(Role.HANDLE, "graph"):
        graph = graph_argument(core, call)
        if graph is None or not graph.alive:
            return refuse(core, call, graph)
    core.current(call.thread, call.site)
    out = call.out(Role.OUT_HANDLE)
    return accept(core, call, **({} if out is None else {out.name: Handle("other", core.fresh_handle())}))


# -- questions --------------------------------------------------------------------------------------


@handles(Effect.GRAPH_QUERY)
def query(core: ModelCore, call: Call) -> Outcome:
    """Answer a question about a graph, a node or an executable graph. What nobody knows stays unknown."""
    core.current(call.thread, call.site)
    word = call.api.name.removeprefix("cuda").removeprefix("cu").removeprefix("Graph")
    if call.has(Role.HANDLE, "graph_exec"):
        executable = exec_argument(core, call)
        if executable is None or not executable.alive:
            return refuse(core, call, executable)
        if executable.assumed:
            return accept(core, call)
        if word == "NodeGetEnabled":
            node = node_of(call.thread.process, call.value(Role.HANDLE, "node"))
            found = [each for each in executable.body if each.node is node]
            if node is not None and not found:
                return refuse(core, call, executable)
            return accept(core, call, **_first(call, int(found[0].enabled)) if found else {})
        return accept(core, call, **_first(call, executable.flags if word == "ExecGetFlags" else executable.handle))
    if call.has(Role.HANDLE, "node"):
        return _node_query(core, call, word)
    graph = graph_argument(core, call)
    if graph is None or not graph.alive:
        return refuse(core, call, graph)
    if graph.assumed:
        return accept(core, call)
    if word == "GetId":
        return accept(core, call, **_first(call, graph.handle))
    if word == "GetEdges":
        pairs = [(near, far) for far in graph.nodes for near in far.dependencies]
        return accept(core, call, **_edges(call, pairs))
    nodes = graph.nodes if word == "GetNodes" else [node for node in graph.nodes if not node.dependencies]
    return accept(core, call, **_list(call, nodes))


def _node_query(core: ModelCore, call: Call, word: str) -> Outcome:
    process = call.thread.process
    if word == "NodeFindInClone":
        return _find_in_clone(core, call)
    value = call.value(Role.HANDLE, "node")
    node = node_of(process, value)
    if node is None:
        return refuse(core, call, None) if value == 0 else accept(core, call)
    graph = node.graph
    if graph is None or not graph.alive:
        return refuse(core, call, graph)
    return accept(core, call, **_NODE_ANSWERS[word](call, node, graph)) if word in _NODE_ANSWERS else accept(core, call)


def _find_in_clone(core: ModelCore, call: Call) -> Outcome:
    graph = graph_argument(core, call)
    if graph is None or not graph.alive:
        return refuse(core, call, graph)
    node = node_of(call.thread.process, call.value(Role.HANDLE, "node"))
    if node is None or graph.assumed:
        return accept(core, call)
    found = graph.originals.get(node.handle)
    if found is None or found.graph is None:
        return refuse(core, call, graph)
    out = call.out(Role.OUT_HANDLE)
    return accept(core, call, **({} if out is None else {out.name: node_handle(found)}))


def _type(call: Call, node: Node, graph: Graph) -> dict[str, Value]:
    return _first(call, node.type)


def _dependencies(call: Call, node: Node, graph: Graph) -> dict[str, Value]:
    return _list(call, node.dependencies)


def _dependents(call: Call, node: Node, graph: Graph) -> dict[str, Value]:
    return _list(call, [each for each in graph.nodes if node in each.dependencies])


def _child(call: Call, node: Node, graph: Graph) -> dict[str, Value]:
    return {} if node.child is None else _first(call, graph_handle(node.child))


def _container(call: Call, node: Node, graph: Graph) -> dict[str, Value]:
    return _first(call, graph_handle(graph))


def _local_id(call: Call, node: Node, graph: Graph) -> dict[str, Value]:
    return _first(call, graph.nodes.index(node))


def _tools_id(call: Call, node: Node, graph: Graph) -> dict[str, Value]:
    return _first(call, node.handle)


_NODE_ANSWERS: dict[str, Callable[[Call, Node, Graph], dict[str, Value]]] = {
    "NodeGetType": _type,
    "NodeGetDependencies": _dependencies,
    "NodeGetDependentNodes": _dependents,
    "ChildGraphNodeGetGraph": _child,
    "NodeGetContainingGraph": _container,
    "NodeGetLocalId": _local_id,
    "NodeGetToolsId": _tools_id,
}


def _first(call: Call, value: Value) -> dict[str, Value]:
    outs = call.signature.outs
    return {outs[0].name: value} if outs else {}


def _wanted(call: Call, name: str) -> bool:
    """Return whether the program passed something for an out-argument."""
    return name in call.values and call.values[name] != 0


def _list(call: Call, nodes: list[Node]) -> dict[str, Value]:
    """Return the outputs of a call that gives nodes and their number."""
    names = [parameter.name for parameter in call.signature.outs]
    found: dict[str, Value] = {names[-1]: len(nodes)}
    if _wanted(call, names[0]):
        found |= listed(names[0], [node_handle(node) for node in nodes])
    return found


def _edges(call: Call, pairs: list[tuple[Node, Node]]) -> dict[str, Value]:
    found: dict[str, Value] = {"numEdges": len(pairs)}
    if _wanted(call, "from"):
        found |= listed("from", [node_handle(near) for near, _ in pairs])
    if _wanted(call, "to"):
        found |= listed("to", [node_handle(far) for _, far in pairs])
    return found
