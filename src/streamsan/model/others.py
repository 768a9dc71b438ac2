"""Calls with no effect, calls whose effect is not modelled, and handles that are known by name only."""

from __future__ import annotations

from collections.abc import Iterable

from streamsan.effects import Effect, Role
from streamsan.model.call import Call
from streamsan.model.core import ModelCore
from streamsan.model.handlers import handles
from streamsan.model.state import HostThread, Lifetime, OtherHandle
from streamsan.model.statuses import INVALID_VALUE, SUCCESS
from streamsan.model.streams import stream_argument, use_stream
from streamsan.model.values import Handle, HandleType, Outcome, Pointer, Symbol, Value
from streamsan.trace.references import Reference
from streamsan.vocabulary import AccessMode, HandleKind, OperationKind

_KINDS = {
    "event": HandleKind.EVENT,
    "context": HandleKind.CONTEXT,
    "pool": HandleKind.POOL,
    "graph": HandleKind.GRAPH,
    "graph_exec": HandleKind.GRAPH_EXEC,
}
_TYPES: dict[str, HandleType] = {
    "pool": "pool",
    "graph": "graph",
    "graph_exec": "graph_exec",
    "array": "array",
    "ipc": "ipc",
    "event": "event",
    "context": "context",
    "stream": "stream",
}


_CAPTURE = frozenset({Effect.CAPTURE_BEGIN, Effect.CAPTURE_END})


@handles(Effect.PURE)
def pure(core: ModelCore, call: Call) -> Outcome:
    """Nothing happens."""
    return Outcome(SUCCESS, {})


@handles(Effect.CALL)
def plain_call(core: ModelCore, call: Call) -> Outcome:
    """A call that only initialises CUDA."""
    core.emit(OperationKind.CALL, call.thread, call.site, call.api.name)
    return Outcome(SUCCESS, {})


@handles(Effect.UNMODELLED)
def unmodelled(core: ModelCore, call: Call) -> Outcome:
    """Say that the call is not understood, and that what it was given may be used, ordered or freed."""
    core.current(call.thread, call.site)
    say_unmodelled(core, call)
    values = list(call.values.values()) + [value for value, _ in call.kernel_arguments or ()]
    for fields in call.structures.values():
        values += fields.values()
    captured = call.thread.process.captured if call.has(Role.HANDLE, "graph_exec") else ()
    opaque(core, call.thread, values, call.site, call.api.name, captured)
    return Outcome(SUCCESS, {})


@handles(Effect.HANDLE_CREATE, Effect.HANDLE_FETCH)
def handle_create(core: ModelCore, call: Call) -> Outcome:
    """Make or fetch a handle that the model knows by name only: a pool, physical memory, a level of an array."""
    context = core.current(call.thread, call.site)
    out = call.out(Role.OUT_HANDLE)
    if out is None or out.handle == "event":
        core.emit(OperationKind.CALL, call.thread, call.site, call.api.name)
        # An imported event: another process records it.
        return Outcome(SUCCESS, {} if out is None else {out.name: core.fresh_symbol("event")})
    owned = call.api.effect is Effect.HANDLE_CREATE
    made = OtherHandle(core.fresh_handle(), out.handle, context, outlives_reset=out.handle == "pool", owned=owned)
    call.thread.process.handles[made.handle] = made
    if owned:
        _emit_handle(core, call, OperationKind.HANDLE_CREATE, made)
    else:
        core.emit(OperationKind.CALL, call.thread, call.site, call.api.name)
    return Outcome(SUCCESS, {out.name: Handle(_TYPES.get(out.handle, "other"), made.handle)})


@handles(Effect.HANDLE_DESTROY)
def handle_destroy(core: ModelCore, call: Call) -> Outcome:
    """Destroy a handle that the model knows by name only. A pool's memory outlives it (A-07)."""
    value = call.value(Role.HANDLE)
    found = call.thread.process.handles.get(value.value) if isinstance(value, Handle) else None
    if not isinstance(found, OtherHandle) or not found.owned:
        core.emit(OperationKind.CALL, call.thread, call.site, call.api.name)
        return Outcome(SUCCESS, {})
    status = _emit_handle(core, call, OperationKind.HANDLE_DESTROY, found)
    found.alive = False
    return Outcome(status, {})


@handles(Effect.HANDLE_USE)
def handle_use(core: ModelCore, call: Call) -> Outcome:
    """Use a handle: it must be alive."""
    candidates = call.signature.with_role(Role.HANDLE)
    parameter = next((p for p in candidates if p.handle == "stream" or p.handle in _KINDS), None)
    if parameter is None:
        return plain_call(core, call)
    value = call.values.get(parameter.name)
    if parameter.handle == "stream":
        use_stream(core, call, stream_argument(core, call))
    elif (used := other_handle(call, value)) is not None:
        return Outcome(_emit_handle(core, call, OperationKind.HANDLE_USE, used), {})
    elif isinstance(value, Handle) and value.value in call.thread.process.handles:
        core.current(call.thread, call.site)
        core.emit(
            OperationKind.HANDLE_USE,
            call.thread,
            call.site,
            call.api.name,
            object=value.value,
            detail=_KINDS[parameter.handle],
        )
    else:
        core.emit(OperationKind.CALL, call.thread, call.site, call.api.name)
    return Outcome(SUCCESS, {})


def other_handle(call: Call, value: Value) -> OtherHandle | None:
    """Return what a value names if it is a pool, graph, ..., known by handle only."""
    found = call.thread.process.handles.get(value.value) if isinstance(value, Handle) else None
    return found if isinstance(found, OtherHandle) else None


def stale_pool(core: ModelCore, call: Call) -> int:
    """Return the status of a call that is given a pool; one that was destroyed is said in the trace (SS205)."""
    pool = other_handle(call, call.value(Role.HANDLE, "pool"))
    return SUCCESS if pool is None or pool.alive else _emit_handle(core, call, OperationKind.HANDLE_USE, pool)


def _emit_handle(core: ModelCore, call: Call, kind: OperationKind, handle: OtherHandle) -> int:
    """Emit what happens to a handle, a plain call for those the trace has no word for, and return its status."""
    core.current(call.thread, call.site)
    status = SUCCESS if handle.alive else INVALID_VALUE
    if (detail := _KINDS.get(handle.type)) is None:
        core.emit(OperationKind.CALL, call.thread, call.site, call.api.name, status=status)
    else:
        core.emit(kind, call.thread, call.site, call.api.name, object=handle.handle, detail=detail, status=status)
    return status


def say_unmodelled(core: ModelCore, call: Call) -> None:
    """Emit that a call is not followed: once for graphs and captures together, once for each other API."""
    subject = "graph" if call.api.family == "graph" or call.api.effect in _CAPTURE else call.api.name
    if subject in call.thread.process.said:
        return
    call.thread.process.said.add(subject)
    reason = f"what `{call.api.name}` does is not modelled"
    if subject == "graph":
        reason = f"graphs are not modelled: what `{call.api.name}` makes, captures or launches is not checked"
    core.emit(OperationKind.NOT_UNDERSTOOD, call.thread, core.labelled(call.site, reason), call.api.name)


def opaque(
    core: ModelCore,
    thread: HostThread,
    values: Iterable[Value],
    site: int,
    api: str = "",
    further: Iterable[Reference] = (),
) -> None:
    """Emit that code nobody can see ran and was given these values: it may have used, ordered or freed them."""
    references = list(further)
    for value in values:
        if isinstance(value, Symbol) and value not in thread.process.assumed_memory:
            continue
        reference = core.reference(thread, value, None, AccessMode.OPAQUE, site)
        if reference is None or not isinstance(value, Pointer | Symbol):
            continue
        references.append(reference)
        allocation = thread.process.allocations.get(reference.generation)
        if allocation is not None and allocation.lifetime is Lifetime.LIVE:
            allocation.lifetime = Lifetime.UNCLEAR
    core.emit(OperationKind.OPAQUE_CALL, thread, site, api, references=references)
