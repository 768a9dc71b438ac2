"""Calls with no effect, calls whose effect is not modelled, and handles that are known by name only."""

from __future__ import annotations

from collections.abc import Iterable

from streamsan.effects import Effect, Role
from streamsan.model.answers import answer
from streamsan.model.call import Call
from streamsan.model.core import ModelCore
from streamsan.model.handlers import handles
from streamsan.model.makers import MAKERS
from streamsan.model.opencl.unseen_objects import given_away
from streamsan.model.process_state import HostThread
from streamsan.model.resources import Lifetime, OtherHandle, Physical, Pool
from streamsan.model.statuses import INVALID_VALUE, SUCCESS
from streamsan.model.streams import status_of, stream_argument, use_stream
from streamsan.model.values import Handle, HandleType, Outcome, Pointer, Symbol, Value
from streamsan.model.vmm import release_physical
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


@handles(Effect.PURE)
def pure(core: ModelCore, call: Call) -> Outcome:
    """Nothing happens."""
    return answer(core, call)


@handles(Effect.CALL)
def plain_call(core: ModelCore, call: Call) -> Outcome:
    """A call that only asks or sets something, and initialises CUDA."""
    outcome = answer(core, call)
    core.say(call, status=max(outcome.status, SUCCESS))
    return outcome


@handles(Effect.UNMODELLED)
def unmodelled(core: ModelCore, call: Call) -> Outcome:
    """Say that the call is not understood, and that what it was given may be used, ordered or freed."""
    core.current(call.thread, call.site)
    core.say_once(call, call.api.name, f"what `{call.api.name}` does is not modelled")
    values = list(call.values.values()) + [each[0] for each in call.kernel_arguments or ()]
    for fields in call.structures.values():
        values += fields.values()
    opaque(core, call.thread, values, call.site, call.api.name)
    return Outcome()


@handles(Effect.HANDLE_CREATE, Effect.HANDLE_FETCH)
def handle_create(core: ModelCore, call: Call) -> Outcome:
    """Make or fetch a handle that the model knows by name only, or little more: a pool, physical memory, ..."""
    context = core.current(call.thread, call.site) if core.machine is None or call.thread.stack else None
    out = call.out(Role.OUT_HANDLE)
    if out is None or out.handle == "event":
        outcome = answer(core, call)
        core.say(call, status=max(outcome.status, SUCCESS))
        if outcome.status or outcome.outputs or out is None:
            return outcome
        # An imported event: another process records it.
        return Outcome(SUCCESS, {out.name: core.fresh_symbol("event")})
    owned = call.api.effect is Effect.HANDLE_CREATE
    maker = MAKERS.get(call.api.name)
    made: OtherHandle | int
    if maker is not None:
        made = maker(core, call, core.fresh_handle())
    else:
        made = OtherHandle(core.fresh_handle(), out.handle, context, outlives_reset=out.handle == "pool", owned=owned)
    if isinstance(made, int):
        return core.say(call, status=made)
    call.thread.process.handles[made.handle] = made
    if owned:
        _emit_handle(core, call, OperationKind.HANDLE_CREATE, made)
    else:
        core.say(call)
    return Outcome(SUCCESS, {out.name: Handle(_TYPES.get(out.handle, "other"), made.handle)})


@handles(Effect.HANDLE_DESTROY)
def handle_destroy(core: ModelCore, call: Call) -> Outcome:
    """Destroy a handle that the model knows by name only. A pool's memory outlives it (A-07)."""
    value = call.value(Role.HANDLE)
    number = value.value if isinstance(value, Handle) else value
    found = call.thread.process.handles.get(number) if isinstance(number, int) else None
    if isinstance(found, Physical):
        status = release_physical(core, found)
        return core.say(call, status=status)
    if not isinstance(found, OtherHandle) or not found.owned:
        # A default pool is not the program's to destroy.
        status = INVALID_VALUE if core.machine is not None and isinstance(found, Pool) else SUCCESS
        return core.say(call, status=status)
    status = _emit_handle(core, call, OperationKind.HANDLE_DESTROY, found)
    found.alive = False
    if isinstance(found, Pool) and not status:
        core.executor.trim(found, 0)  # what is in use stays until it is freed
    return Outcome(status)


@handles(Effect.HANDLE_USE)
def handle_use(core: ModelCore, call: Call) -> Outcome:
    """Use a handle: it must be alive."""
    candidates = call.signature.with_role(Role.HANDLE)
    parameter = next((p for p in candidates if p.handle == "stream" or p.handle in _KINDS), None)
    if parameter is None:
        return plain_call(core, call)
    value = call.values.get(parameter.name)
    if parameter.handle == "stream":
        stream = stream_argument(core, call)
        use_stream(core, call, stream)
        return Outcome(status) if (status := status_of(stream)) else answer(core, call)
    outcome = answer(core, call)
    status = max(outcome.status, SUCCESS)
    if (used := other_handle(call, value)) is not None:
        return _refused_or(outcome, _emit_handle(core, call, OperationKind.HANDLE_USE, used, status))
    if isinstance(value, Handle) and value.value in call.thread.process.handles:
        core.current(call.thread, call.site)
        core.say(call, OperationKind.HANDLE_USE, object=value.value, detail=_KINDS[parameter.handle], status=status)
    else:
        core.say(call, status=status)
    return outcome


def _refused_or(outcome: Outcome, status: int) -> Outcome:
    return Outcome(status) if status else outcome


def other_handle(call: Call, value: Value) -> OtherHandle | None:
    """Return what a value names if it is a pool, graph, ..., known by handle only."""
    found = call.thread.process.handles.get(value.value) if isinstance(value, Handle) else None
    return found if isinstance(found, OtherHandle) else None


def stale_pool(core: ModelCore, call: Call) -> int:
    """Return the status of a call that is given a pool; one that was destroyed is said in the trace (SS205)."""
    pool = other_handle(call, call.value(Role.HANDLE, "pool"))
    return SUCCESS if pool is None or pool.alive else _emit_handle(core, call, OperationKind.HANDLE_USE, pool)


def _emit_handle(core: ModelCore, call: Call, kind: OperationKind, handle: OtherHandle, status: int = 0) -> int:
    """Emit what happens to a handle, a plain call for those the trace has no word for, and return its status."""
    if core.machine is None or call.thread.stack:
        core.current(call.thread, call.site)
    status = status or (SUCCESS if handle.alive else INVALID_VALUE)
    if (detail := _KINDS.get(handle.type)) is None:
        core.say(call, status=status)
    else:
        core.say(call, kind, object=handle.handle, detail=detail, status=status)
    return status


def opaque(
    core: ModelCore,
    thread: HostThread,
    values: Iterable[Value],
    site: int,
    api: str = "",
) -> None:
    """Emit that code nobody can see ran and was given these values: it may have used, ordered or freed them."""
    values = list(values)
    references = given_away(thread, values)
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
