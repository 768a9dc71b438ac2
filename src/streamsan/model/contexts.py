"""Devices and contexts: which one is current, how they begin and end."""

from __future__ import annotations

from streamsan.effects import Effect, Role
from streamsan.model.call import Call
from streamsan.model.core import ModelCore
from streamsan.model.handlers import handles
from streamsan.model.process_state import HostThread, Process
from streamsan.model.resources import Context, Lifetime
from streamsan.model.statuses import INVALID_CONTEXT, INVALID_DEVICE, SUCCESS
from streamsan.model.values import Handle, Outcome, Value
from streamsan.platforms import CUDA
from streamsan.vocabulary import ContextKind, OperationKind


@handles(Effect.SET_DEVICE)
def set_device(core: ModelCore, call: Call) -> Outcome:
    """Make the device's primary context current, whatever was current before."""
    device = call.value(Role.DEVICE)
    if isinstance(device, int) and device < 0:
        return core.say(call, status=INVALID_DEVICE)
    call.thread.device = device
    context = core.primary(call.thread, device, call.site)
    context.used_by_runtime = True
    core.say(call)
    _replace_current(core, call, context)
    return Outcome()


@handles(Effect.GET_DEVICE)
def get_device(core: ModelCore, call: Call) -> Outcome:
    """Return the current device, or that of the context named, as the program itself named it."""
    core.say(call)
    device = current_device(call.thread)
    if call.values.get("ctx") not in (None, 0):
        named = core.context_of(call.thread, call.values.get("ctx"), call.site)
        device = device if named is None else named.device
    return call.gives(device)


@handles(Effect.DEVICE_COUNT)
def device_count(core: ModelCore, call: Call) -> Outcome:
    """Return as many devices as the executor says."""
    core.say(call)
    return call.gives(core.executor.device_count(core.fresh_symbol("devices", "input")))


@handles(Effect.DEVICE_HANDLE)
def device_handle(core: ModelCore, call: Call) -> Outcome:
    """A CUdevice is its ordinal."""
    core.say(call)
    return call.gives(call.value(Role.DEVICE))


@handles(Effect.DEVICE_RESET)
def device_reset(core: ModelCore, call: Call) -> Outcome:
    """Reset the current device; with a created context current only the runtime's own state goes."""
    context = core.current(call.thread, call.site)
    if context.kind is ContextKind.PRIMARY:
        _reset(core, call, context)
    else:
        core.say(call)
    return Outcome()


@handles(Effect.PRIMARY_RESET)
def primary_reset(core: ModelCore, call: Call) -> Outcome:
    """Reset a device's primary context."""
    _reset(core, call, core.primary(call.thread, call.value(Role.DEVICE), call.site))
    return Outcome()


@handles(Effect.PRIMARY_RETAIN)
def primary_retain(core: ModelCore, call: Call) -> Outcome:
    """Give the device's primary context, made if it is the first use; does not make it current."""
    context = core.primary(call.thread, call.value(Role.DEVICE), call.site)
    context.retained += 1
    context.flags = call.thread.process.device_flags.get(context.ordinal, context.flags)
    core.say(call)
    return call.gives(Handle("context", context.handle))


@handles(Effect.PRIMARY_RELEASE)
def primary_release(core: ModelCore, call: Call) -> Outcome:
    """Drop one use; the last one destroys the context. That the runtime uses it is one, which this may drop, too."""
    ordinal = call.value(Role.DEVICE)
    known = call.thread.process.primaries.get(ordinal) if isinstance(ordinal, int) else None
    unused = known is None or not known.alive or not (known.retained or known.used_by_runtime)
    if core.machine is not None and unused:
        return core.say(call, status=INVALID_CONTEXT)
    context = core.primary(call.thread, ordinal, call.site)
    if context.retained or (core.machine is not None and context.used_by_runtime):
        if context.retained:
            context.retained -= 1
        else:
            context.used_by_runtime = False
        if not context.retained and not context.used_by_runtime:
            _destroy(core, call, context)
            return Outcome()
    return core.say(call)


@handles(Effect.CONTEXT_CREATE)
def context_create(core: ModelCore, call: Call) -> Outcome:
    """Make a context and push it."""
    context = core.create_context(call.thread, call.value(Role.DEVICE), call.site, call.api.name)
    context.flags = call.number(Role.FLAGS) or 0
    call.thread.stack.append(context)
    core.say_current(call.thread, context, call.site)
    return call.gives(Handle("context", context.handle))


@handles(Effect.CONTEXT_DESTROY)
def context_destroy(core: ModelCore, call: Call) -> Outcome:
    """Destroy a context; if it is current to the calling thread it is popped, other threads keep a dead one."""
    value = call.value(Role.HANDLE, "context")
    context = None if value is None else core.context_of(call.thread, value, call.site)
    if context is not None and core.machine is not None and context.kind is ContextKind.PRIMARY:
        # A primary context is released, not destroyed.
        return core.say(call, status=INVALID_CONTEXT)
    if context is None or not context.alive:
        stale = context.handle if context else 0
        status = SUCCESS if value is None else INVALID_CONTEXT
        kind = OperationKind.CONTEXT_DESTROY if context else OperationKind.CALL
        return core.say(call, kind, object=stale, status=status)
    _destroy(core, call, context)
    if context in call.thread.stack:
        # It is popped where it is current; below that it can never become current again either.
        call.thread.stack = [each for each in call.thread.stack if each is not context]
        _say_top(core, call)
    return Outcome()


@handles(Effect.CONTEXT_PUSH)
def context_push(core: ModelCore, call: Call) -> Outcome:
    """Push a context."""
    context, status = _named(core, call)
    if context is not None and not status:
        call.thread.stack.append(context)
        core.say_current(call.thread, context, call.site)
    return Outcome(status)


@handles(Effect.CONTEXT_SET)
def context_set(core: ModelCore, call: Call) -> Outcome:
    """Replace the current context; NULL pops it."""
    if call.value(Role.HANDLE, "context") == 0:
        core.say(call)
        if call.thread.stack:
            call.thread.stack.pop()
            _say_top(core, call)
        return Outcome()
    context, status = _named(core, call)
    if context is not None and not status:
        _replace_current(core, call, context)
    return Outcome(status)


@handles(Effect.CONTEXT_POP)
def context_pop(core: ModelCore, call: Call) -> Outcome:
    """Pop the current context and give it."""
    core.say(call)
    if not call.thread.stack:
        return call.gives(core.fresh_symbol("context"))
    context = call.thread.stack.pop()
    _say_top(core, call)
    return call.gives(Handle("context", context.handle))


@handles(Effect.CONTEXT_GET)
def context_get(core: ModelCore, call: Call) -> Outcome:
    """Give the current context; an unknown one where nothing in view made one current."""
    core.say(call)
    if call.thread.stack:
        return call.gives(Handle("context", call.thread.stack[-1].handle))
    return call.gives(core.fresh_symbol("context") if core.machine is None else 0)


@handles(Effect.CONTEXT_SYNCHRONIZE)
def context_synchronize(core: ModelCore, call: Call) -> Outcome:
    """Wait for all work of the current context, or of the one named."""
    context = None
    if call.has(Role.HANDLE):
        context = core.context_of(call.thread, call.value(Role.HANDLE, "context"), call.site)
    context = context or core.current(call.thread, call.site)
    status = SUCCESS if context.alive else INVALID_CONTEXT
    if not status:
        core.executor.synchronize_context(call.thread, context)
        status = core.executor.sticky_error(context)
    return core.say(call, OperationKind.CONTEXT_SYNCHRONIZE, object=context.handle, status=status)


def current_device(thread: HostThread) -> Value:
    """Return the device of a thread's current context."""
    return thread.stack[-1].device if thread.stack else thread.device


def kill_members(process: Process, context: Context) -> None:
    """Everything that a context owned is gone."""
    for handled in process.owned_by(context):
        if not getattr(handled, "outlives_reset", False) and not isinstance(handled, Context):
            handled.alive = False
    for allocation in process.live():
        if allocation.context is context and CUDA.dies_with_context(allocation.kind):
            allocation.lifetime = Lifetime.DEAD


def _named(core: ModelCore, call: Call) -> tuple[Context | None, int]:
    """Return the context that a call names, and the status of naming it; emits the call."""
    value = call.value(Role.HANDLE, "context")
    context = core.context_of(call.thread, value, call.site)
    stale = context is not None and not context.alive
    status = INVALID_CONTEXT if stale or value == 0 else SUCCESS
    if stale and context is not None:
        # The trace says the attempt by the operation itself, so that the stale handle is seen (SS205).
        core.say(call, OperationKind.CONTEXT_CURRENT, object=context.handle, status=status)
    else:
        core.say(call, status=status)
    return context, status


def _replace_current(core: ModelCore, call: Call, context: Context) -> None:
    call.thread.stack[-1:] = [context]
    core.say_current(call.thread, context, call.site)


def _say_top(core: ModelCore, call: Call) -> None:
    """After a pop: say what is current now. With nothing left the next call that needs a context says it."""
    call.thread.said_context = 0
    if call.thread.stack:
        core.say_current(call.thread, call.thread.stack[-1], call.site)


def _reset(core: ModelCore, call: Call, context: Context) -> None:
    core.say(call, OperationKind.DEVICE_RESET, object=context.handle)
    _end(core, call, context)
    for thread in core.threads:
        if thread is not call.thread and thread.stack and thread.stack[-1] is context:
            thread.lost_context = context


def _destroy(core: ModelCore, call: Call, context: Context) -> None:
    core.say(call, OperationKind.CONTEXT_DESTROY, object=context.handle)
    context.alive = False
    _end(core, call, context)


def _end(core: ModelCore, call: Call, context: Context) -> None:
    """Everything that the context owned, and what was set for it, is gone."""
    kill_members(call.thread.process, context)
    context.settings.clear()
    context.peers.clear()
    for other in call.thread.process.handles.values():
        if isinstance(other, Context):
            other.peers.discard(context.handle)
    if context.kind is ContextKind.PRIMARY:
        call.thread.process.current_pools.pop(context.ordinal, None)
        call.thread.process.device_flags.pop(context.ordinal, None)
    core.executor.end_context(call.thread, context)
