"""What a call returns before it does anything: not initialised, no context, a destroyed one, an earlier error, handles
that never were. Only where the machine is known; a reader of source assumes that what it cannot see exists."""

from __future__ import annotations

from streamsan.effects import Effect, Role
from streamsan.model.call import Call
from streamsan.model.core import ModelCore
from streamsan.model.resources import Context, OtherHandle
from streamsan.model.statuses import (
    CONTEXT_IS_DESTROYED,
    INITIALIZATION_ERROR,
    INVALID_CONTEXT,
    INVALID_DEVICE,
    INVALID_HANDLE,
    INVALID_VALUE,
    NO_DEVICE,
    SUCCESS,
)
from streamsan.model.streams_and_graphs import Event, Stream
from streamsan.model.values import Handle, HandleType
from streamsan.platforms import CUDA
from streamsan.vocabulary import ContextKind, HandleKind, MemoryKind, OperationKind

_NEEDS_CONTEXT = frozenset(
    {
        Effect.COPY,
        Effect.COPY_BATCH,
        Effect.MEMSET,
        Effect.PREFETCH,
        Effect.PREFETCH_BATCH,
        Effect.LAUNCH,
        Effect.STREAM_CREATE,
        Effect.EVENT_CREATE,
        Effect.REGISTER,
        Effect.HOST_POINTER,
        Effect.CONTEXT_SYNCHRONIZE,
        Effect.CONTEXT_POP,
        Effect.HOST_FUNCTION,
        Effect.EVENT_RECORD,
        Effect.STREAM_SYNCHRONIZE,
        Effect.STREAM_QUERY,
        Effect.STREAM_WAIT_EVENT,
        Effect.STREAM_MEMORY_OP,
        Effect.ALLOC,
        Effect.FREE,
    }
)
_WORKS_AFTER_ERRORS = frozenset(
    {
        Effect.PURE,
        Effect.SET_DEVICE,
        Effect.GET_DEVICE,
        Effect.DEVICE_COUNT,
        Effect.DEVICE_HANDLE,
        Effect.DEVICE_RESET,
        Effect.PRIMARY_RETAIN,
        Effect.PRIMARY_RELEASE,
        Effect.PRIMARY_RESET,
        Effect.CONTEXT_CREATE,
        Effect.CONTEXT_DESTROY,
        Effect.CONTEXT_SET,
        Effect.CONTEXT_GET,
        Effect.CONTEXT_PUSH,
        Effect.CONTEXT_POP,
    }
)
MAKES_CURRENT = frozenset(
    {Effect.CONTEXT_CREATE, Effect.CONTEXT_DESTROY, Effect.CONTEXT_SET, Effect.CONTEXT_PUSH, Effect.CONTEXT_POP}
)
"""What changes which context is current; nothing else of the driver's does."""
_HANDLES: dict[str, tuple[HandleType, type, int]] = {
    "stream": ("stream", Stream, INVALID_HANDLE),
    "event": ("event", Event, INVALID_HANDLE),
    "context": ("context", Context, INVALID_CONTEXT),
    "pool": ("pool", OtherHandle, INVALID_VALUE),
}
"""what a handle is, as the model knows it, and the status for one that never was"""


def refusal(core: ModelCore, call: Call) -> int:
    """Return the status with which a call is refused, 0 when it goes on; makes handles of numbers that name one."""
    if core.machine is None:
        return SUCCESS
    process, thread, driver = call.thread.process, call.thread, call.api.domain == "driver"
    if core.machine.count == 0 and call.api.effect is not Effect.PURE and call.api.effect is not Effect.DEVICE_COUNT:
        return NO_DEVICE
    if not driver:
        process.driver_initialised = process.driver_initialised or call.api.effect is not Effect.PURE
    elif call.api.name == "cuInit":
        process.driver_initialised = True
    elif not process.driver_initialised and not call.api.name.startswith(CUDA.calls_before_init):
        return INITIALIZATION_ERROR
    if driver and not thread.stack and _needs_context(call) and call.api.name not in CUDA.calls_without_context:
        return INVALID_CONTEXT
    if status := _handles(call):
        return status
    if call.api.effect in _WORKS_AFTER_ERRORS or not thread.stack:
        return _devices(core, call)
    top = thread.stack[-1]
    # The runtime makes a primary context anew that was released.
    if not top.alive and (_needs_context(call) if driver else top.kind is not ContextKind.PRIMARY):
        return CONTEXT_IS_DESTROYED
    if not driver:
        thread.lost_context = None  # the runtime makes the new one current
    elif thread.lost_context is thread.stack[-1] and _needs_context(call):
        return CONTEXT_IS_DESTROYED
    if driver and call.api.name.startswith(("cuDevice", "cuInit")):
        return _devices(core, call)
    return core.sticky_error(thread) or _devices(core, call)


def say_refusal(core: ModelCore, call: Call, status: int) -> None:
    """Emit a refused call; a destroyed context that is current is said by its use (SS205)."""
    if call.api.effect is Effect.PURE:
        return
    if status == CONTEXT_IS_DESTROYED and call.thread.stack:
        core.say(
            call,
            OperationKind.HANDLE_USE,
            object=call.thread.stack[-1].handle,
            detail=HandleKind.CONTEXT,
            status=status,
        )
        return
    core.say(call, status=status)


def _needs_context(call: Call) -> bool:
    if call.api.name.startswith(CUDA.calls_of_a_context):
        return len(call.values) < 2 or call.api.name != "cuCtxGetDevice"
    if call.api.effect not in _NEEDS_CONTEXT or call.api.memory is MemoryKind.MAPPED or call.api.name == "cuMemUnmap":
        return False
    # A stream of its own knows its context.
    return not isinstance(call.value(Role.HANDLE, "stream"), Handle)


def _devices(core: ModelCore, call: Call) -> int:
    """Refuse devices that are not there. What is asked of kernels is answered by who loaded them."""
    if core.machine is None or call.api.family in ("launch", "module"):
        return SUCCESS
    for parameter in call.signature.with_role(Role.DEVICE):
        value = call.values.get(parameter.name)
        # -1 is the host, where a device is a place to send memory to.
        if isinstance(value, int) and not core.machine.has(value) and call.api.effect is not Effect.PREFETCH:
            if value == -1 and call.api.effect is Effect.INSPECT:
                continue
            return INVALID_DEVICE
    return SUCCESS


def _handles(call: Call) -> int:
    """Make handles of numbers that name one; return the status for one that names nothing."""
    known = call.thread.process.handles
    for parameter in call.signature.with_role(Role.HANDLE):
        if parameter.handle not in _HANDLES or parameter.name not in call.values:
            continue
        word, kind, wrong = _HANDLES[parameter.handle]
        value = call.values[parameter.name]
        if isinstance(value, int) and value in known and value > CUDA.per_thread_stream:
            value = call.values[parameter.name] = Handle(word, value)
        if word == "stream" and value in (0, CUDA.legacy_stream, CUDA.per_thread_stream):
            continue
        if value == 0 and word in ("context", "pool"):
            if word == "context" and call.api.effect is not Effect.CONTEXT_DESTROY:
                continue
            return INVALID_VALUE
        if not isinstance(known.get(value.value) if isinstance(value, Handle) else None, kind):
            return wrong
    return SUCCESS
