"""Executable graphs: made, updated, launched, destroyed."""

from __future__ import annotations

from streamsan.effects import Effect, Role
from streamsan.model.call import Call
from streamsan.model.core import ModelCore
from streamsan.model.graphs import descriptions, memory_nodes
from streamsan.model.graphs.bodies import flatten, reduced, say_body, say_node, size_in_trace
from streamsan.model.graphs.lookup import (
    exec_argument,
    graph_of,
    known_references,
    live_exec,
    live_graph,
    node_handle,
    node_of,
    refuse,
)
from streamsan.model.graphs.node_calls import new_description
from streamsan.model.graphs.shape_difference import Difference, difference
from streamsan.model.handlers import handles
from streamsan.model.process_state import HostThread
from streamsan.model.resources import Lifetime
from streamsan.model.statuses import GRAPH_EXEC_UPDATE_FAILURE, INVALID_VALUE, NOT_SUPPORTED, SUCCESS
from streamsan.model.streams import status_of, stream_argument
from streamsan.model.streams_and_graphs import BodyNode, Graph, GraphExec
from streamsan.model.values import Handle, Outcome, Value
from streamsan.vocabulary import GraphExecFlag, HandleKind, MemoryKind, NodeKind, OperationKind

_AUTO_FREE = 1
_CAN_BE_DISABLED = (NodeKind.KERNEL, NodeKind.COPY, NodeKind.MEMSET)


# -- made and destroyed -----------------------------------------------------------------------------


@handles(Effect.GRAPH_INSTANTIATE)
def instantiate(core: ModelCore, call: Call) -> Outcome:
    """Make an executable graph. With memory nodes there is only one at a time (G-07, G-19)."""
    graph = live_graph(core, call)
    flags = _flags(call)
    if graph.assumed:
        return _instantiate_unknown(core, call, graph)
    body = flatten(graph)
    status = SUCCESS if body is not None else INVALID_VALUE
    if graph.instantiated and memory_nodes.has_memory_nodes(graph):
        status = NOT_SUPPORTED
    executable = GraphExec(
        0 if status else core.fresh_handle(), graph, core.current(call.thread, call.site), body or []
    )
    # Flags nobody knows: with AutoFreeOnLaunch a relaunch is never wrong.
    executable.flags = flags if flags is not None else 0
    executable.auto_free = flags is None or bool(flags & _AUTO_FREE)
    edges = reduced(executable.body) if not status else []
    known = executable.flags & (GraphExecFlag.AUTO_FREE | GraphExecFlag.UPLOAD | GraphExecFlag.DEVICE)
    core.say(
        call,
        OperationKind.GRAPH_INSTANTIATE,
        object=executable.handle,
        address=graph.handle,
        size=0 if status else size_in_trace(executable.body, edges),
        detail=known | (GraphExecFlag.AUTO_FREE if executable.auto_free else 0),
        status=status,
    )
    if status:
        return Outcome(status)
    executable.take_body(executable.body)
    say_body(core, call.thread, executable, edges, call.site)
    graph.instantiated = True
    return _give(call, executable)


def _flags(call: Call) -> int | None:
    """Return the flags of an instantiation, None when nobody knows them."""
    if call.has(Role.FLAGS):
        return call.number(Role.FLAGS)
    if (parameter := call.signature.first(Role.STRUCTURE)) is not None:
        found = call.structures.get(parameter.name, {}).get("flags")
        return found if isinstance(found, int) else None
    return 0


def _instantiate_unknown(core: ModelCore, call: Call, graph: Graph) -> Outcome:
    executable = GraphExec(core.fresh_handle(), graph, core.current(call.thread, call.site), assumed=True)
    executable.take_body(flatten(graph) or [])
    core.say(call, OperationKind.HANDLE_CREATE, object=executable.handle, detail=HandleKind.GRAPH_EXEC)
    return _give(call, executable)


def _give(call: Call, executable: GraphExec) -> Outcome:
    call.thread.process.handles[executable.handle] = executable
    out = call.out(Role.OUT_HANDLE)
    outputs: dict[str, Value] = {} if out is None else {out.name: Handle("graph_exec", executable.handle)}
    if (parameter := call.signature.first(Role.STRUCTURE)) is not None:
        outputs |= {f"{parameter.name}.result_out": 0, f"{parameter.name}.{_error_node(call)}": 0}
    for parameter in call.signature.outs[1:]:
        if parameter.name in call.values and call.values[parameter.name] != 0:
            outputs[parameter.name] = 0  # no error node, an empty log
    return Outcome(SUCCESS, outputs)


def _error_node(call: Call) -> str:
    return "hErrNode_out" if call.api.domain == "driver" else "errNode_out"


@handles(Effect.GRAPH_EXEC_DESTROY)
def destroy(core: ModelCore, call: Call) -> Outcome:
    """Destroy an executable graph: a launch under way goes on (G-12), its memory stays (G-11)."""
    executable = exec_argument(core, call)
    if executable is None:
        return refuse(core, call, None)
    status = SUCCESS if executable.alive else INVALID_VALUE
    core.say(call, OperationKind.HANDLE_DESTROY, object=executable.handle, detail=HandleKind.GRAPH_EXEC, status=status)
    executable.alive = False
    if not status and executable.graph is not None:
        executable.graph.instantiated = False
    return Outcome(status)


# -- updated ----------------------------------------------------------------------------------------


@handles(Effect.GRAPH_EXEC_UPDATE)
def update(core: ModelCore, call: Call) -> Outcome:
    """Take over what the nodes of a graph of the same shape do."""
    executable, graph = live_exec(core, call), live_graph(core, call)
    if executable.assumed or graph.assumed:
        executable.assumed = True
        return core.say(call)
    found = difference(executable, graph)
    if found is not None:
        core.say(
            call,
            OperationKind.GRAPH_UPDATE,
            object=executable.handle,
            address=graph.handle,
            status=GRAPH_EXEC_UPDATE_FAILURE,
        )
        # The one call whose outputs matter when it fails: they say why.
        return Outcome(GRAPH_EXEC_UPDATE_FAILURE, _update_result(call, found))
    _take_body(executable, flatten(graph) or [])
    # What earlier launches left alive may be other memory: nothing is claimed about it.
    executable.unfreed = []
    _say_update(core, call, executable, graph)
    return Outcome(SUCCESS, _update_result(call, None))


def _take_body(executable: GraphExec, body: list[BodyNode]) -> None:
    for old, new in zip(executable.body, body, strict=True):
        # Which node of the first graph it stands for, and whether it is enabled, stays.
        old.kind, old.references, old.work, old.further = new.kind, new.references, new.work, new.further
        old.event, old.allocation, old.dependencies = new.event, new.allocation, new.dependencies
        old.conditional = new.conditional
    executable.take_body(executable.body)


def _say_update(core: ModelCore, call: Call, executable: GraphExec, graph: Graph) -> None:
    edges = reduced(executable.body)
    core.say(
        call,
        OperationKind.GRAPH_UPDATE,
        object=executable.handle,
        address=graph.handle,
        size=size_in_trace(executable.body, edges),
    )
    say_body(core, call.thread, executable, edges, call.site)


def _update_result(call: Call, found: Difference | None) -> dict[str, Value]:
    """Return the outputs of an update, in the form that the program's version of the call has."""
    result = 0 if found is None else found.result
    node: Value = 0 if found is None or found.node is None else node_handle(found.node)
    before: Value = 0 if found is None or found.before is None else node_handle(found.before)
    outs = [parameter.name for parameter in call.signature.outs]
    if len(outs) == 1:
        if call.values.get(outs[0]) == 0:
            return {}
        return {
            f"{outs[0]}.result": result,
            f"{outs[0]}.errorNode": node,
            f"{outs[0]}.errorFromNode": before,
        }
    values = {"hErrorNode_out": node, "updateResult_out": result}
    return {name: value for name, value in values.items() if name in outs and call.values.get(name) != 0}


@handles(Effect.GRAPH_EXEC_NODE_SET)
def set_node(core: ModelCore, call: Call) -> Outcome:
    """Set what a node does from the next launch on; the node of the graph stays as it is."""
    executable = live_exec(core, call)
    node = node_of(call.thread.process, call.value(Role.HANDLE, "node"))
    if node is None or executable.assumed:
        # Any node may do anything from now on.
        executable.assumed = True
        return core.say(call)
    if node.child is not None and descriptions.type_of(call) == descriptions.CHILD:
        return _set_child(core, call, executable)
    places = [each for each in executable.body if each.node is node]
    if not places or node.graph is None:
        return refuse(core, call, executable)
    status, description = new_description(core, call, node)
    if status:
        return refuse(core, call, executable, status)
    for each in places:
        if description is None:
            each.kind = NodeKind.OPAQUE
        else:
            each.references, each.work, each.further = description.references, description.work, description.further
            each.event = description.event
        say_node(core, call.thread, executable, each, call.site, call.api.name)
    return Outcome()


def _set_child(core: ModelCore, call: Call, executable: GraphExec) -> Outcome:
    node = node_of(call.thread.process, call.value(Role.HANDLE, "node"))
    fields = descriptions.fields_of(call, descriptions.CHILD)
    value = fields.get("graph") if "graph" in fields else call.values.get("childGraph")
    graph = graph_of(core, call.thread, value, call.site)
    if graph is None or not graph.alive or node is None or node.child is None:
        return refuse(core, call, executable)
    start = next((index + 1 for index, each in enumerate(executable.body) if each.node is node), None)
    if start is None:
        return refuse(core, call, executable)
    new = flatten(graph)
    if graph.assumed or new is None:
        executable.assumed = True
        return core.say(call)
    part = executable.body[start : start + len(flatten(node.child) or [])]
    if len(part) != len(new) or any(
        old.kind is not each.kind or len(old.dependencies) != len(each.dependencies or (start,))
        for old, each in zip(part, new, strict=True)
    ):
        return refuse(core, call, executable)
    for old, each in zip(part, new, strict=True):
        old.references, old.work, old.further, old.event = each.references, each.work, each.further, each.event
        say_node(core, call.thread, executable, old, call.site, call.api.name)
    return Outcome()


@handles(Effect.GRAPH_EXEC_NODE_ENABLE)
def enable(core: ModelCore, call: Call) -> Outcome:
    """Enable or disable a kernel, copy or fill; disabled it only orders."""
    executable = live_exec(core, call)
    node = node_of(call.thread.process, call.value(Role.HANDLE, "node"))
    wanted = call.values.get("isEnabled")
    if node is None or executable.assumed or not isinstance(wanted, int):
        executable.assumed = True
        return core.say(call)
    places = [each for each in executable.body if each.node is node]
    if not places or node.kind not in _CAN_BE_DISABLED:
        return refuse(core, call, executable)
    for each in places:
        each.enabled = wanted != 0
        say_node(core, call.thread, executable, each, call.site, call.api.name)
    return Outcome()


# -- launched ---------------------------------------------------------------------------------------


@handles(Effect.GRAPH_UPLOAD)
def upload(core: ModelCore, call: Call) -> Outcome:
    """Prepare a launch; orders nothing that memory depends on."""
    executable = live_exec(core, call)
    status = status_of(stream_argument(core, call))
    return refuse(core, call, executable, status) if status else core.say(call)


@handles(Effect.GRAPH_LAUNCH)
def launch(core: ModelCore, call: Call) -> Outcome:
    """Run the body on a stream: one operation, however many nodes there are."""
    executable = exec_argument(core, call)
    if executable is None:
        return refuse(core, call, None)
    stream = stream_argument(core, call)
    status = SUCCESS if executable.alive else INVALID_VALUE
    status = status or status_of(stream)
    if executable.assumed and not status:
        return _launch_unknown(core, call, executable)
    status = status or memory_nodes.launch_status(call.thread.process, executable)
    core.say(call, OperationKind.GRAPH_LAUNCH, stream=stream.handle, object=executable.handle, status=status)
    if status:
        return Outcome(status)
    executable.launches += 1
    memory_nodes.launched(call.thread.process, executable)
    for node in executable.changing:
        if node.kind is NodeKind.EVENT_RECORD and node.event is not None:
            node.event.recorded, node.event.capture = True, None
    core.executor.launch_graph(call.thread, executable, stream)
    return Outcome()


def _launch_unknown(core: ModelCore, call: Call, executable: GraphExec) -> Outcome:
    """Launch what nobody knows: it may use whatever graphs here were made to use, and free what they allocate."""
    core.say_once(
        call,
        "graph",
        f"what `{call.api.name}` launches is not known: a graph made by code that is not visible is not checked",
    )
    references = known_references(call.thread.process)
    references += [reference for node in executable.body for reference in node.references]
    core.say(call, OperationKind.OPAQUE_CALL, references=references)
    lose_sight(call.thread)
    return Outcome()


def lose_sight(thread: HostThread) -> None:
    """Code nobody can see may have launched a graph: whether its own memory is alive is not known."""
    for allocation in thread.process.allocations.values():
        if allocation.kind is MemoryKind.GRAPH and allocation.lifetime in (Lifetime.LIVE, Lifetime.RESERVED):
            allocation.lifetime = Lifetime.UNCLEAR
