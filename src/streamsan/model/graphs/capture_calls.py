"""The calls that begin, end, query and steer a capture."""

from __future__ import annotations

from streamsan.effects import Effect, Role
from streamsan.model.call import Call
from streamsan.model.core import ModelCore
from streamsan.model.graphs import (
    capturing,
    legality,
    lookup,
    node_calls,
    structure,
)
from streamsan.model.graphs.legality import invalidate, refuse_call
from streamsan.model.handlers import handles
from streamsan.model.process_state import Process
from streamsan.model.statuses import (
    CAPTURE_IMPLICIT,
    CAPTURE_INVALIDATED,
    CAPTURE_UNJOINED,
    CAPTURE_UNMATCHED,
    CAPTURE_UNSUPPORTED,
    CAPTURE_WRONG_THREAD,
    ILLEGAL_STATE,
    INVALID_VALUE,
    SUCCESS,
)
from streamsan.model.streams import status_of, stream_argument, use_stream
from streamsan.model.streams_and_graphs import LEGACY_HANDLE, Capture, Graph, Node, Stream
from streamsan.model.values import Outcome, Value
from streamsan.vocabulary import CaptureMode, OperationKind

_MODES = (CaptureMode.GLOBAL, CaptureMode.THREAD_LOCAL, CaptureMode.RELAXED)
_SET_DEPENDENCIES = 1
_ACTIVE, _INVALIDATED = 1, 2
"""cudaStreamCaptureStatus"""


# -- a capture begins and ends ----------------------------------------------------------------------


@handles(Effect.CAPTURE_BEGIN)
def capture_begin(core: ModelCore, call: Call) -> Outcome:
    """Begin a capture: what is issued to the stream from here on is not executed."""
    stream = stream_argument(core, call)
    process = call.thread.process
    status = status_of(stream)
    if stream.handle == LEGACY_HANDLE:
        status = CAPTURE_UNSUPPORTED  # C-13
    elif stream.capture is not None:
        status = ILLEGAL_STATE  # C-12
    into: Graph | None = None
    if not status and call.has(Role.HANDLE, "graph"):
        into = lookup.graph_argument(core, call)
        if into is None or not into.alive:
            return lookup.refuse(core, call, into)
    if status:
        return refuse_call(core, call, status, stream)
    graph, recapture = into, "Recapture" in call.api.name
    if into is not None and recapture:
        # It sets the parameters of nodes that are there already: which ones is not followed.
        into.assumed, graph = True, None
    if graph is None:
        graph = Graph(core.fresh_handle(), None)
        process.handles[graph.handle] = graph
    mode = _mode(call)
    capture = Capture(core.fresh_handle(), stream, call.thread.index, mode, graph, into=graph is into)
    dependencies: list[Node] | None = []
    if capture.into and (parameter := call.signature.first(Role.LIST)) is not None:
        dependencies = lookup.node_list(call, parameter.name)
        if dependencies is None:
            dependencies = node_calls.sinks(graph)
    capturing.join(capture, stream, dependencies or [])
    process.graphs.captures.append(capture)
    process.graphs.captured = True
    core.say(call, OperationKind.CAPTURE_BEGIN, stream=stream.handle, object=capture.handle, detail=mode)
    return Outcome()


def _mode(call: Call) -> CaptureMode:
    """Return the mode of a capture: global where the call has none (10.0), relaxed where nobody knows it."""
    parameter = next((each for each in call.signature.parameters if each.name == "mode"), None)
    if parameter is None:
        return CaptureMode.GLOBAL
    return _mode_of(call.values.get(parameter.name))


def _mode_of(value: Value) -> CaptureMode:
    return _MODES[value] if isinstance(value, int) and 0 <= value < len(_MODES) else CaptureMode.RELAXED


@handles(Effect.CAPTURE_END)
def capture_end(core: ModelCore, call: Call) -> Outcome:
    """End a capture on every stream that takes part, and give its graph."""
    stream = stream_argument(core, call)
    capture = stream.capture or _guessed(call.thread.process, stream)
    out = call.out(Role.OUT_HANDLE)
    if capture is None:
        if stream.assumed:
            core.say_once(
                call,
                "graph",
                f"`{call.api.name}` ends a capture that began in code that is not visible",
            )
            return call.gives(core.fresh_symbol("graph"))
        return refuse_call(core, call, status_of(stream) or ILLEGAL_STATE, stream)  # C-12
    status = _end_status(call, stream, capture)
    core.say(
        call,
        OperationKind.CAPTURE_END,
        stream=capture.origin.handle,
        object=capture.handle,
        address=capture.graph.handle,
        status=status,
    )
    if status == CAPTURE_UNMATCHED:
        invalidate([capture])  # C-16
        return Outcome(status)
    capturing.release(call.thread.process, capture)
    if status:
        call.thread.process.graphs.broken = True
        if not capture.into:
            structure.bury(capture.graph)
        # A capture that was invalidated gives NULL for its graph.
        return Outcome(status, {} if out is None else {out.name: 0})
    return call.gives(lookup.graph_handle(capture.graph))


def _guessed(process: Process, stream: Stream) -> Capture | None:
    """Return the capture that a stream nobody knows stands for, when there is only one that it can be."""
    if not stream.assumed:
        return None
    candidates = [capture for capture in process.graphs.captures if capture.origin.assumed]
    return candidates[0] if len(candidates) == 1 else None


def _end_status(call: Call, stream: Stream, capture: Capture) -> int:
    if stream is not capture.origin and not stream.assumed:
        return CAPTURE_UNMATCHED
    if capture.mode is not CaptureMode.RELAXED and call.thread.index != capture.thread:
        return CAPTURE_WRONG_THREAD  # C-18; the capture is over all the same
    if capture.invalid:
        return CAPTURE_INVALIDATED
    return SUCCESS if capture.unclear or _joined(capture) else CAPTURE_UNJOINED  # C-17


def _joined(capture: Capture) -> bool:
    """Return whether the origin depends on the last nodes of every stream that takes part."""
    reached: set[int] = set()
    ahead = list(capture.ends[capture.origin.handle])
    while ahead:
        node = ahead.pop()
        if node.handle not in reached:
            reached.add(node.handle)
            ahead += node.dependencies
    return all(node.handle in reached for ends in capture.ends.values() for node in ends if node.graph is not None)


# -- questions and settings -------------------------------------------------------------------------


@handles(Effect.CAPTURE_INFO)
def capture_info(core: ModelCore, call: Call) -> Outcome:
    """Say whether a stream captures; asking does not harm a capture."""
    stream = stream_argument(core, call)
    if stream.handle == LEGACY_HANDLE and legality.implicit(call.thread.process, stream):
        return refuse_call(core, call, CAPTURE_IMPLICIT)
    use_stream(core, call, stream)
    if status := status_of(stream):
        return Outcome(status)
    capture = stream.capture
    if capture is None and stream.assumed:
        return Outcome()
    state = 0 if capture is None else _INVALIDATED if capture.invalid else _ACTIVE
    found: dict[str, Value] = {}
    for parameter in call.signature.outs:
        name = parameter.name
        if name not in call.values or call.values[name] == 0:
            continue
        if "aptureStatus" in name:
            found[name] = state
        elif capture is None or capture.invalid:
            found[name] = 0
        elif name in ("id_out", "pId"):
            found[name] = capture.handle
        elif parameter.handle == "graph":
            found[name] = lookup.graph_handle(capture.graph)
        elif name == "dependencies_out":
            found |= lookup.listed(name, [lookup.node_handle(node) for node in capture.ends[stream.handle]])
        elif name == "numDependencies_out":
            found[name] = len(capture.ends[stream.handle])
    return Outcome(SUCCESS, found)


@handles(Effect.CAPTURE_UPDATE)
def capture_update(core: ModelCore, call: Call) -> Outcome:
    """Change what the next captured node depends on."""
    stream = stream_argument(core, call)
    use_stream(core, call, stream)
    if status := status_of(stream):
        return Outcome(status)
    capture = stream.capture
    if capture is None:
        return Outcome() if stream.assumed else refuse_call(core, call, ILLEGAL_STATE)
    if capture.invalid:
        return refuse_call(core, call, CAPTURE_INVALIDATED)
    named = lookup.node_list(call, "dependencies")
    if named is None:
        named = node_calls.sinks(capture.graph)
    elif any(node.graph is not capture.graph for node in named):
        return refuse_call(core, call, INVALID_VALUE)
    elif call.number(Role.FLAGS) == _SET_DEPENDENCIES:
        capture.ends[stream.handle] = []
    capturing.join(capture, stream, named)
    return Outcome()


@handles(Effect.CAPTURE_MODE)
def capture_mode(core: ModelCore, call: Call) -> Outcome:
    """Exchange the thread's mode. What it is given is `structures["mode"] = {"value": mode}`."""
    core.say(call)
    before = call.thread.capture_mode
    call.thread.capture_mode = _mode_of(call.structures.get("mode", {}).get("value"))
    return Outcome(SUCCESS, {parameter.name: before - 1 for parameter in call.signature.outs})
