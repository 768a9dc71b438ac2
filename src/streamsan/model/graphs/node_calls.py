"""Nodes: added to a graph, copied, removed, asked for, given other parameters."""

from __future__ import annotations

from collections.abc import Iterable

from streamsan.effects import Effect, Role
from streamsan.model.call import Call
from streamsan.model.core import ModelCore
from streamsan.model.graphs import descriptions, memory_nodes
from streamsan.model.graphs.descriptions import Description, describe, fields_of, type_of
from streamsan.model.graphs.lookup import (
    accept,
    graph_handle,
    graph_of,
    listed,
    live_graph,
    named_node,
    node_handle,
    node_list,
    node_of,
    refuse,
)
from streamsan.model.graphs.parameters import parameters_of
from streamsan.model.handlers import handles
from streamsan.model.process_state import Process
from streamsan.model.statuses import INVALID_VALUE, NOT_SUPPORTED, OUT_OF_MEMORY, SUCCESS
from streamsan.model.streams_and_graphs import Graph, Node
from streamsan.model.values import Handle, Outcome, Value
from streamsan.vocabulary import NodeKind

MOST_BODIES = 1 << 10
_OWNERSHIP_MOVED = 1
"""cudaGraphChildGraphOwnershipMove"""
_CANNOT_BE_SET = (descriptions.MEM_ALLOC, descriptions.MEM_FREE, descriptions.EMPTY, descriptions.CONDITIONAL)


def new_node(
    core: ModelCore, process: Process, graph: Graph, dependencies: Iterable[Node], site: int, api: str
) -> Node:
    """Add a node to a graph; what it does is for the caller to say."""
    node = Node(core.fresh_handle(), NodeKind.EMPTY, site, api, dependencies=list(dependencies), graph=graph)
    node.type = descriptions.EMPTY
    graph.nodes.append(node)
    process.graphs.nodes[node.handle] = node
    return node


def sinks(graph: Graph) -> list[Node]:
    """Return the nodes that no other node depends on."""
    inner = {each.handle for node in graph.nodes for each in node.dependencies}
    return [node for node in graph.nodes if node.handle not in inner]


def copy_graph(core: ModelCore, process: Process, graph: Graph, owner: Node | None = None) -> Graph:
    """Return a copy of a graph with nodes of its own."""
    made = Graph(core.fresh_handle(), graph.context, assumed=graph.assumed, owner=owner, ordered=graph.ordered)
    process.handles[made.handle] = made
    for node in graph.nodes:
        copied = new_node(core, process, made, (), node.site, node.api)
        made.originals[node.handle] = copied
        _copy_content(node, copied)
        if node.child is not None:
            copied.child = copy_graph(core, process, node.child, copied)
        copied.bodies = tuple(copy_graph(core, process, body, copied) for body in node.bodies)
    for node in graph.nodes:
        copied = made.originals[node.handle]
        copied.dependencies = [made.originals[each.handle] for each in node.dependencies]
    return made


def _copy_content(node: Node, copied: Node) -> None:
    copied.kind, copied.type, copied.parameters = node.kind, node.type, dict(node.parameters)
    copied.references, copied.work, copied.further = node.references, node.work, node.further
    copied.event, copied.allocation, copied.condition = node.event, node.allocation, node.condition
    copied.kernel_arguments, copied.payload = node.kernel_arguments, node.payload
    copied.attributes = {key: dict(fields) for key, fields in node.attributes.items()}


@handles(Effect.GRAPH_ADD_NODE)
def add_node(core: ModelCore, call: Call) -> Outcome:
    """Add a node. Dependencies that nobody knows: it is ordered after every node so far."""
    graph = live_graph(core, call)
    dependencies = _dependencies(call, graph)
    if dependencies is None:
        return refuse(core, call, graph)
    type = type_of(call)
    if type is None:
        return _give(call, _add_opaque(core, call, graph, dependencies), {})
    if type == descriptions.CHILD:
        return _add_child(core, call, graph, dependencies)
    if type == descriptions.CONDITIONAL:
        return _add_conditional(core, call, graph, dependencies)
    if type == descriptions.MEM_ALLOC:
        return _add_allocation(core, call, graph, dependencies)
    if type == descriptions.MEM_FREE:
        return _add_free(core, call, graph, dependencies)
    status, description = describe(core, call, type)
    if status:
        return refuse(core, call, graph, status)
    node = new_node(core, call.thread.process, graph, dependencies, call.site, call.api.name)
    description.put_into(node)
    return _give(call, node, {})


def _dependencies(call: Call, graph: Graph) -> list[Node] | None:
    """Return what a new node depends on; None: a list that no graph accepts."""
    parameter = call.signature.first(Role.LIST)
    named = [] if parameter is None else node_list(call, parameter.name)
    if named is None:
        return sinks(graph)
    foreign = any(node.graph is not graph for node in named) and not graph.assumed
    twice = len({node.handle for node in named}) < len(named)
    return None if foreign or twice else named


def _give(call: Call, node: Node, more: dict[str, Value]) -> Outcome:
    out = call.out(Role.OUT_HANDLE)
    given: dict[str, Value] = {} if out is None else {out.name: node_handle(node)}
    return Outcome(SUCCESS, given | more)


def _structure(call: Call) -> str:
    """Return the name of the structure that describes a node."""
    names = [each.name for each in call.signature.with_role(Role.STRUCTURE)]
    return next((each for each in names if each not in ("dependencyData", "edgeData")), "")


def _member(call: Call, type: int) -> str:
    """Return the prefix of a field's name in the outputs of a call."""
    generic = not any(word in call.api.name for word in descriptions.TYPE_IN_NAME)
    return f"{_structure(call)}.{descriptions.MEMBER[type]}." if generic else f"{_structure(call)}."


def _add_opaque(core: ModelCore, call: Call, graph: Graph, dependencies: list[Node]) -> Node:
    node = new_node(core, call.thread.process, graph, dependencies, call.site, call.api.name)
    node.kind = NodeKind.OPAQUE
    return node


def _add_child(core: ModelCore, call: Call, graph: Graph, dependencies: list[Node]) -> Outcome:
    process = call.thread.process
    fields = fields_of(call, descriptions.CHILD)
    value = fields.get("graph") if "graph" in fields else call.values.get("childGraph")
    child = graph_of(core, call.thread, value, call.site)
    if child is None or not child.alive:
        return refuse(core, call, child)
    moved = fields.get("ownership") == _OWNERSHIP_MOVED
    if moved and (child is graph or child.owner is not None or _inside(graph, child)):
        return refuse(core, call, graph)
    if not moved and (memory_nodes.has_memory_nodes(child) or memory_nodes.has_conditionals(child)):
        return refuse(core, call, child, NOT_SUPPORTED)  # G-16
    node = new_node(core, process, graph, dependencies, call.site, call.api.name)
    node.type, node.parameters = descriptions.CHILD, fields
    if child.assumed:
        node.kind = NodeKind.OPAQUE
    if moved:
        child.owner = node
        node.child = child
    else:
        node.child = copy_graph(core, process, child, node)
    return _give(call, node, {})


def _inside(graph: Graph, container: Graph) -> bool:
    """Return whether a graph belongs to a node, of whatever depth, of another."""
    owner = graph.owner
    while owner is not None and owner.graph is not None:
        if owner.graph is container:
            return True
        owner = owner.graph.owner
    return False


def _add_conditional(core: ModelCore, call: Call, graph: Graph, dependencies: list[Node]) -> Outcome:
    process = call.thread.process
    fields = fields_of(call, descriptions.CONDITIONAL)
    size = fields.get("size")
    count = size if isinstance(size, int) else 1
    if not 0 < count <= MOST_BODIES:
        return refuse(core, call, graph)
    node = new_node(core, process, graph, dependencies, call.site, call.api.name)
    node.type, node.parameters = descriptions.CONDITIONAL, fields
    handle = fields.get("handle")
    number = handle.value if isinstance(handle, Handle) else handle
    node.condition = process.graphs.conditions.get(number) if isinstance(number, int) else None
    bodies = [Graph(core.fresh_handle(), graph.context, owner=node) for _ in range(count)]
    for body in bodies:
        process.handles[body.handle] = body
    node.bodies = tuple(bodies)
    prefix = _member(call, descriptions.CONDITIONAL)
    return _give(call, node, listed(f"{prefix}phGraph_out", [graph_handle(body) for body in bodies]))


def _add_allocation(core: ModelCore, call: Call, graph: Graph, dependencies: list[Node]) -> Outcome:
    fields = fields_of(call, descriptions.MEM_ALLOC)
    size = fields.get("bytesize")
    if size == 0:
        return refuse(core, call, graph)
    device = fields.get("poolProps.location.id")
    context = core.current(call.thread, call.site)
    if isinstance(device, int) and device >= 0:
        context = core.primary(call.thread, device, call.site)
    allocation = memory_nodes.reserve(core, call.thread, size, context, call.site, call.api.name)
    if allocation is None:
        return refuse(core, call, graph, OUT_OF_MEMORY)
    node = new_node(core, call.thread.process, graph, dependencies, call.site, call.api.name)
    node.type, node.kind = descriptions.MEM_ALLOC, NodeKind.ALLOC
    node.parameters = fields | {"dptr": allocation.pointer}
    memory_nodes.own(call.thread.process, node, allocation)
    return _give(call, node, {f"{_member(call, descriptions.MEM_ALLOC)}dptr": allocation.pointer})


def _add_free(core: ModelCore, call: Call, graph: Graph, dependencies: list[Node]) -> Outcome:
    value = fields_of(call, descriptions.MEM_FREE).get("dptr")
    status, pointer, allocation = memory_nodes.free_target(core, call.thread, value, graph, call.site, call.api.name)
    if status:
        return refuse(core, call, graph) if pointer is None else Outcome(status)
    node = new_node(core, call.thread.process, graph, dependencies, call.site, call.api.name)
    node.type, node.kind, node.parameters = descriptions.MEM_FREE, NodeKind.FREE, {"dptr": value}
    memory_nodes.set_free(call.thread.process, node, pointer, allocation)
    return _give(call, node, {})


@handles(Effect.GRAPH_NODE_DESTROY)
def destroy_node(core: ModelCore, call: Call) -> Outcome:
    """Remove a node and its edges; not from a graph with memory nodes (G-16)."""
    named = named_node(core, call)
    if named is None:
        return core.say(call)
    node, graph = named
    if memory_nodes.has_memory_nodes(graph):
        return refuse(core, call, graph, NOT_SUPPORTED)
    graph.nodes.remove(node)
    for other in graph.nodes:
        if node in other.dependencies:
            other.dependencies.remove(node)
    node.graph = None
    del call.thread.process.graphs.nodes[node.handle]
    return core.say(call)


@handles(Effect.GRAPH_NODE_SET)
def set_node(core: ModelCore, call: Call) -> Outcome:
    """Set what a node of a graph does. Executable graphs that were made before do not change."""
    named = named_node(core, call)
    if named is None:
        return core.say(call)
    node, graph = named
    status, description = new_description(core, call, node)
    if status:
        return refuse(core, call, graph, status)
    if description is None:
        node.kind = NodeKind.OPAQUE
    else:
        description.put_into(node)
    return core.say(call)


def new_description(core: ModelCore, call: Call, node: Node) -> tuple[int, Description | None]:
    """Return status and description that a call sets for a node; no description: nobody knows what it does then."""
    type = type_of(call)
    if type is None:
        return SUCCESS, None
    if type != node.type and node.kind is not NodeKind.OPAQUE:
        return INVALID_VALUE, None
    if type in _CANNOT_BE_SET:
        return INVALID_VALUE, None
    status, description = describe(core, call, type, before=node)
    if type == descriptions.CHILD:
        description.parameters = node.parameters
    return status, description


@handles(Effect.GRAPH_NODE_GET)
def get_node(core: ModelCore, call: Call) -> Outcome:
    """Give what a node does, under the names of the structure that the call fills."""
    named = named_node(core, call)
    if named is None:
        return core.say(call)
    node, graph = named
    wanted = type_of(call)
    if wanted is not None and wanted != node.type and node.kind is not NodeKind.OPAQUE:
        return refuse(core, call, graph)
    outs = call.signature.outs
    if not outs:
        return core.say(call)
    name = outs[0].name
    if node.type in (descriptions.EVENT_RECORD, descriptions.EVENT_WAIT) and outs[0].handle == "event":
        return accept(core, call, **({} if node.event is None else {name: Handle("event", node.event.handle)}))
    if node.type == descriptions.MEM_FREE and wanted is not None:
        return accept(core, call, **{name: node.parameters.get("dptr")})
    if wanted is None:
        prefix = f"{name}.{descriptions.MEMBER[node.type]}." if node.type in descriptions.MEMBER else f"{name}."
        found: dict[str, Value] = {f"{name}.type": node.type}
    else:
        prefix, found = f"{name}.", {}
    found |= {prefix + key: value for key, value in parameters_of(call.thread.process, node, call.api.domain).items()}
    return accept(core, call, **found)


@handles(Effect.GRAPH_NODE_ATTRIBUTE)
def node_attribute(core: ModelCore, call: Call) -> Outcome:
    """Attributes of a kernel node: kept, and given back."""
    nodes = [
        node_of(call.thread.process, call.values.get(parameter.name))
        for parameter in call.signature.with_role(Role.HANDLE)
        if parameter.handle == "node"
    ]
    core.current(call.thread, call.site)
    if any(node is not None and node.type != descriptions.KERNEL for node in nodes):
        return refuse(core, call, None)
    attribute = call.values.get("attr")
    first = nodes[0] if nodes else None
    if first is None:
        return core.say(call)
    if len(nodes) > 1 and nodes[1] is not None:
        first.attributes = {key: dict(fields) for key, fields in nodes[1].attributes.items()}
    elif call.signature.outs:
        name = call.signature.outs[0].name
        known = first.attributes.get(attribute, {})
        return accept(core, call, **{f"{name}.{key}": value for key, value in known.items()})
    else:
        first.attributes[attribute] = dict(call.structures.get("value", {}))
    return core.say(call)
