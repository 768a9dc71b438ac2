"""Making, retaining and releasing objects, and other uses of them."""

from __future__ import annotations

from streamsan.effects import Effect, Role
from streamsan.model.call import Call
from streamsan.model.core import ModelCore
from streamsan.model.opencl.handling import (
    INVALID_OBJECTS,
    INVALID_VALUE,
    KINDS,
    handles,
    known,
    made,
    made_in,
    named_list,
    say_handle,
)
from streamsan.model.opencl.memory_objects import release_memory
from streamsan.model.opencl.objects import ClEvent, ClObject, Kernel, KernelText, MemoryObject, Queue
from streamsan.model.values import Outcome, Value
from streamsan.platforms import OPENCL
from streamsan.vocabulary import CallClass, ContextKind, OperationKind, StreamKind

_OUT_OF_ORDER = OPENCL.constants["CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE"]
_QUEUE_PROPERTIES = OPENCL.constants["CL_QUEUE_PROPERTIES"]
_ENDS = {
    "stream": OperationKind.STREAM_DESTROY,
    "event": OperationKind.EVENT_DESTROY,
    "context": OperationKind.CONTEXT_DESTROY,
}
_ASKS_FOR_TIMES = "clGetEventProfilingInfo"
"""It has an answer when the command is complete: whoever waits for that first waits for a reason."""
_BUILDS = frozenset({"clBuildProgram", "clCompileProgram", "clLinkProgram"})


@handles(Effect.CALL, Effect.INSPECT, Effect.DESTRUCTOR_CALLBACK, Effect.CONTEXT_TERMINATE)
def plain_call(core: ModelCore, call: Call) -> Outcome:
    """A call that only asks or sets something."""
    return core.say(call)


@handles(Effect.FUNCTION_ADDRESS)
def function_address(core: ModelCore, call: Call) -> Outcome:
    """The address of a function of an extension; the caller knows what a call of it is."""
    core.say(call)
    return Outcome(0, {"return": core.fresh_symbol(call.api.name)})


@handles(Effect.CONTEXT_CREATE)
def context_create(core: ModelCore, call: Call) -> Outcome:
    """Make a context. What is made in it outlives its last release."""
    thing = ClObject(core.fresh_handle(), "context", None)
    core.say(call, OperationKind.CONTEXT_CREATE, object=thing.handle, detail=ContextKind.CL)
    return made(core, call, thing)


@handles(Effect.STREAM_CREATE)
def queue_create(core: ModelCore, call: Call) -> Outcome:
    """Make a queue: in order, unless its properties say otherwise."""
    thing = Queue(core.fresh_handle(), "stream", None, out_of_order=_is_out_of_order(call))
    context = known(call, call.value(Role.HANDLE, "context"))
    core.say(
        call,
        OperationKind.STREAM_CREATE,
        object=thing.handle,
        address=0 if context is None else context.handle,
        detail=StreamKind.OUT_OF_ORDER if thing.out_of_order else StreamKind.NON_BLOCKING,
    )
    return made(core, call, thing)


def _is_out_of_order(call: Call) -> bool:
    flags: Value = call.value(Role.FLAGS)
    if not call.has(Role.FLAGS):
        pairs = named_list(call, "properties")
        flags = dict(zip(pairs[::2], pairs[1::2], strict=False)).get(_QUEUE_PROPERTIES, 0)
    return isinstance(flags, int) and bool(flags & _OUT_OF_ORDER)


@handles(Effect.HANDLE_CREATE, Effect.PROGRAM_CREATE, Effect.SEMAPHORE_CREATE)
def handle_create(core: ModelCore, call: Call) -> Outcome:
    """Make an object that the trace knows by its handle only, or not at all."""
    thing = ClObject(core.fresh_handle(), call.api.returns, None, made_in=made_in(call))
    say_handle(core, call, OperationKind.HANDLE_CREATE, thing)
    return made(core, call, thing)


@handles(Effect.KERNEL_CREATE)
def kernel_create(core: ModelCore, call: Call) -> Outcome:
    """Make a kernel object; several at once are not told apart."""
    if not call.api.returns:
        core.say(call)
        return Outcome()
    text = call.payload if isinstance(call.payload, KernelText) else KernelText("")
    program = known(call, call.value(Role.HANDLE, "program"))
    thing = Kernel(
        core.fresh_handle(), "kernel", None, text=text, made_in=program.made_in if program is not None else 0
    )
    say_handle(core, call, OperationKind.HANDLE_CREATE, thing)
    return made(core, call, thing)


@handles(Effect.KERNEL_CLONE)
def kernel_clone(core: ModelCore, call: Call) -> Outcome:
    """Make a kernel object that holds what another one holds."""
    thing = Kernel(core.fresh_handle(), "kernel", None)
    source = known(call, call.value(Role.HANDLE, "kernel"))
    if isinstance(source, Kernel):
        thing.text, thing.arguments, thing.held = source.text, dict(source.arguments), list(source.held)
        thing.numbers, thing.made_in = dict(source.numbers), source.made_in
    thing.unclear = not isinstance(source, Kernel) or source.unclear
    say_handle(core, call, OperationKind.HANDLE_CREATE, thing)
    return made(core, call, thing)


@handles(Effect.RETAIN)
def retain(core: ModelCore, call: Call) -> Outcome:
    """One reference more."""
    thing = known(call, _counted_value(call))
    if thing is None:
        return core.say(call)
    status = 0 if thing.alive else _invalid(thing)
    if not status:
        thing.count += 1
    if isinstance(thing, MemoryObject) and thing.whole is None:
        return core.say(call, status=status)
    return say_handle(core, call, OperationKind.HANDLE_USE, thing, status)


@handles(Effect.RELEASE)
def release(core: ModelCore, call: Call) -> Outcome:
    """One reference less."""
    value = _counted_value(call)
    if value == 0:
        return core.say(call, status=INVALID_VALUE)
    thing = known(call, value)
    if thing is None:
        return core.say(call)
    if isinstance(thing, MemoryObject):
        return release_memory(core, call, thing)
    status = 0 if thing.alive or not thing.counted else _invalid(thing)
    thing.count -= 0 if status else 1
    if thing.count > 0 or not thing.counted:
        return say_handle(core, call, OperationKind.HANDLE_USE, thing, status) if thing.alive else core.say(call)
    thing.alive = False
    if thing.type in _ENDS:
        return core.say(call, _ENDS[thing.type], object=thing.handle, status=status)
    return say_handle(core, call, OperationKind.HANDLE_DESTROY, thing, status)


def _counted_value(call: Call) -> Value:
    return next(iter(call.values.values()), None)


def _invalid(thing: ClObject) -> int:
    return INVALID_OBJECTS.get(thing.type, INVALID_VALUE)


@handles(Effect.HANDLE_USE)
def handle_use(core: ModelCore, call: Call) -> Outcome:
    """Use an object: it must be alive. Building a program may block."""
    detail = CallClass.BLOCKING if call.api.name in _BUILDS and call.value(Role.FUNCTION) == 0 else 0
    for parameter in call.signature.with_role(Role.HANDLE):
        thing = known(call, call.values.get(parameter.name))
        if isinstance(thing, ClEvent) and thing.alive and call.api.name == _ASKS_FOR_TIMES:
            return core.say(call, OperationKind.EVENT_ELAPSED, object=thing.handle, address=thing.handle)
        if thing is None or thing.alive or not thing.counted or parameter.handle not in KINDS:
            continue
        return say_handle(core, call, OperationKind.HANDLE_USE, thing, _invalid(thing))
    return core.say(call, detail=detail)
