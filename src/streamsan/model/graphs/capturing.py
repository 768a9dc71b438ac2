"""What a stream under capture is given becomes nodes; events carry the capture to other streams."""

from __future__ import annotations

from streamsan.effects import Effect, Role
from streamsan.model.call import Call
from streamsan.model.core import ModelCore
from streamsan.model.graphs import descriptions, memory_nodes
from streamsan.model.graphs.legality import invalidate, refuse_call
from streamsan.model.graphs.node_calls import new_node
from streamsan.model.graphs.recording import work_of
from streamsan.model.process_state import Process
from streamsan.model.statuses import (
    CAPTURE_INVALIDATED,
    CAPTURE_ISOLATION,
    CAPTURE_MERGE,
    CAPTURE_UNSUPPORTED,
    INVALID_HANDLE,
    INVALID_VALUE,
    OUT_OF_MEMORY,
    SUCCESS,
)
from streamsan.model.streams_and_graphs import Capture, Event, Node, Stream
from streamsan.model.values import Outcome
from streamsan.vocabulary import NodeKind

EXTERNAL = 1
"""cudaEventRecordExternal, cudaEventWaitExternal"""

TYPES = {
    NodeKind.KERNEL: descriptions.KERNEL,
    NodeKind.COPY: descriptions.MEMCPY,
    NodeKind.MEMSET: descriptions.MEMSET,
    NodeKind.HOST: descriptions.HOST,
    NodeKind.STREAM_MEMORY_OP: descriptions.BATCH_MEM_OP,
}

WORK = frozenset(
    {
        Effect.COPY,
        Effect.MEMSET,
        Effect.LAUNCH,
        Effect.HOST_FUNCTION,
        Effect.STREAM_MEMORY_OP,
        Effect.UNMODELLED,
    }
)


def issue(core: ModelCore, call: Call, stream: Stream, capture: Capture) -> Outcome | None:
    """Take what is issued to a capturing stream; None: the call has nothing to do with the capture."""
    effect = call.api.effect
    take = _TAKES.get(effect)
    if take is None and effect not in WORK and effect not in _NEVER:
        return None
    if capture.invalid:
        return refuse_call(core, call, CAPTURE_INVALIDATED, stream)  # G-05
    if capture.unclear and (effect in _NEVER or _is_synchronous(call)):
        # No program that works calls this during a capture: code that is not visible has ended it.
        release(call.thread.process, capture)
        capture.graph.assumed = True
        return None
    if effect in _NEVER or _is_synchronous(call):
        # C-01: a wait for, or query of, what does not run. C-14: what no graph can hold.
        invalidate([capture])
        return refuse_call(core, call, CAPTURE_UNSUPPORTED, stream)
    return (take or _work)(core, call, stream, capture)


_NEVER = frozenset({Effect.STREAM_SYNCHRONIZE, Effect.STREAM_QUERY, Effect.GRAPH_LAUNCH, Effect.PREFETCH})


def _is_synchronous(call: Call) -> bool:
    """Return whether a call would make the host wait for the stream, or is a callback, which no graph has."""
    if call.api.effect is Effect.HOST_FUNCTION:
        return "AddCallback" in call.api.name
    return call.api.effect in (Effect.COPY, Effect.MEMSET) and call.api.wait == "synchronous"


def add(core: ModelCore, process: Process, capture: Capture, stream: Stream, site: int, api: str) -> Node:
    """Add a node after what the stream depends on; what it is given next depends on the node."""
    node = new_node(core, process, capture.graph, capture.ends[stream.handle], site, api)
    capture.ends[stream.handle] = [node]
    return node


def release(process: Process, capture: Capture) -> None:
    """End a capture on every stream that takes part."""
    capture.active = False
    process.graphs.captures.remove(capture)
    for member in capture.streams.values():
        if member.capture is capture:
            member.capture = None


def join(capture: Capture, stream: Stream, nodes: list[Node]) -> None:
    """Make a stream take part, after these nodes."""
    stream.capture = capture
    capture.streams[stream.handle] = stream
    known = capture.ends.setdefault(stream.handle, [])
    known += [node for node in nodes if node not in known and node.graph is not None]


def _work(core: ModelCore, call: Call, stream: Stream, capture: Capture) -> Outcome:
    status, recorded = work_of(core, call)
    if status:
        return Outcome(status)
    chained = recorded and recorded[0].kind in (NodeKind.COPY, NodeKind.MEMSET)
    for part in [[each] for each in recorded] if chained else [recorded] if recorded else []:
        node = add(core, call.thread.process, capture, stream, part[0].site, call.api.name)
        type = TYPES.get(part[0].kind, descriptions.EMPTY)
        description = descriptions.Description(type, part[0].kind, descriptions.captured_parameters(call, type))
        description.kernel_arguments, description.payload = call.kernel_arguments, call.payload
        descriptions.put_work(description, part)
        description.put_into(node)
    return Outcome()


def _allocate(core: ModelCore, call: Call, stream: Stream, capture: Capture) -> Outcome:
    size = call.value(Role.SIZE)
    out = call.out(Role.OUT_POINTER)
    if size == 0:
        return Outcome(SUCCESS, {} if out is None else {out.name: 0})
    context = stream.context or core.current(call.thread, call.site)
    allocation = memory_nodes.reserve(core, call.thread, size, context, call.site, call.api.name)
    if allocation is None:
        return refuse_call(core, call, OUT_OF_MEMORY, stream)
    node = add(core, call.thread.process, capture, stream, call.site, call.api.name)
    node.kind, node.type = NodeKind.ALLOC, descriptions.MEM_ALLOC
    node.parameters = {"bytesize": size, "dptr": allocation.pointer}
    memory_nodes.own(call.thread.process, node, allocation)
    return Outcome(SUCCESS, {} if out is None else {out.name: allocation.pointer})


def _free(core: ModelCore, call: Call, stream: Stream, capture: Capture) -> Outcome:
    """Capture a free: of this graph's memory, or another's (G-17); of memory from outside it fails (G-09)."""
    value = call.value(Role.FREED)
    if value == 0:
        return Outcome()
    status, pointer, allocation = memory_nodes.free_target(
        core, call.thread, value, capture.graph, call.site, call.api.name
    )
    if status:
        return Outcome(status)
    node = add(core, call.thread.process, capture, stream, call.site, call.api.name)
    node.kind, node.type, node.parameters = NodeKind.FREE, descriptions.MEM_FREE, {"dptr": value}
    memory_nodes.set_free(call.thread.process, node, pointer, allocation)
    return Outcome()


def _record(core: ModelCore, call: Call, stream: Stream, capture: Capture) -> Outcome:
    event = core.event_of(call.thread, call.value(Role.HANDLE, "event"), call.site)
    if not event.alive:
        return refuse_call(core, call, INVALID_HANDLE, stream, event)
    if is_external(call):
        node = add(core, call.thread.process, capture, stream, call.site, call.api.name)
        node.kind, node.type, node.event = NodeKind.EVENT_RECORD, descriptions.EVENT_RECORD, event
        return Outcome()
    event.recorded, event.capture = True, capture
    capture.events[event.handle] = list(capture.ends[stream.handle])
    return Outcome()


def _wait(core: ModelCore, call: Call, stream: Stream, capture: Capture) -> Outcome:
    event = core.event_of(call.thread, call.value(Role.HANDLE, "event"), call.site)
    if not event.alive:
        return refuse_call(core, call, INVALID_HANDLE, stream, event)
    if is_external(call):
        node = add(core, call.thread.process, capture, stream, call.site, call.api.name)
        node.kind, node.type, node.event = NodeKind.EVENT_WAIT, descriptions.EVENT_WAIT, event
        return Outcome()
    other = event.capture
    if other is capture:
        join(capture, stream, capture.events.get(event.handle, []))
    elif other is not None and other.active:
        invalidate([capture, other])
        return refuse_call(core, call, CAPTURE_MERGE, stream, event)  # C-19
    elif other is not None:
        return refuse_call(core, call, INVALID_VALUE, stream, event)  # C-20
    elif event.recorded and not event.assumed:
        invalidate([capture])
        return refuse_call(core, call, CAPTURE_ISOLATION, stream, event)  # C-11
    return Outcome()


_TAKES = {
    Effect.ALLOC: _allocate,
    Effect.FREE: _free,
    Effect.EVENT_RECORD: _record,
    Effect.STREAM_WAIT_EVENT: _wait,
}


def is_external(call: Call) -> bool:
    """Return whether an event call asks for a node of its own."""
    flags = call.number(Role.FLAGS)
    return flags is not None and bool(flags & EXTERNAL)


def forked_to(core: ModelCore, call: Call, stream: Stream, event: Event) -> Outcome | None:
    """Let a stream that waits for a captured event join the capture; None: the event was not captured."""
    capture = event.capture
    if capture is None or not event.alive or not stream.alive:
        return None
    if not capture.active:
        return refuse_call(core, call, INVALID_VALUE, stream, event)  # C-20
    if capture.invalid:
        return refuse_call(core, call, CAPTURE_INVALIDATED, stream, event)
    join(capture, stream, capture.events.get(event.handle, []))
    return Outcome()


def add_unseen(
    core: ModelCore, process: Process, capture: Capture, node_work: descriptions.Description, site: int, api: str
) -> None:
    """Code nobody can see ran during a capture: it may have issued work to any stream that takes part."""
    for stream in list(capture.streams.values()):
        node_work.put_into(add(core, process, capture, stream, site, api))
