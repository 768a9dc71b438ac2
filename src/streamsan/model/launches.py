"""Kernels, host functions, prefetches, stream memory operations."""

from __future__ import annotations

from collections.abc import Callable

from streamsan.effects import Effect, Role
from streamsan.model.call import Call, KernelArguments
from streamsan.model.core import ModelCore
from streamsan.model.handlers import handles
from streamsan.model.state import HostThread, Stream
from streamsan.model.streams import status_of, stream_argument
from streamsan.model.values import Outcome, Pointer, Symbol, Value
from streamsan.trace.references import Reference
from streamsan.vocabulary import AccessMode, OperationKind, WaitClass

HostFunctionBody = Callable[[HostThread, Value, Value], None]
"""Runs the body of a host function on a thread of the driver: (thread, function, user data)."""


def launch_kernel(
    core: ModelCore, thread: HostThread, arguments: KernelArguments, stream: Stream, site: int, api: str
) -> Outcome:
    """Emit a launch."""
    status = status_of(stream)
    core.emit(
        OperationKind.LAUNCH,
        thread,
        site,
        api,
        stream=stream.handle,
        references=kernel_references(core, thread, arguments, site),
        detail=WaitClass.NONE,
        status=status,
    )
    return Outcome(status, {})


def kernel_references(core: ModelCore, thread: HostThread, arguments: KernelArguments, site: int) -> list[Reference]:
    """Return the memory that a kernel's arguments lead to. Numbers are no addresses here."""
    found = []
    for value, mode in arguments:
        if isinstance(value, Pointer | Symbol):
            # A kernel reaches the whole allocation, before and after the pointer it is given.
            reference = core.reference(thread, value, None, mode, site)
            if reference is not None:
                found.append(reference)
    return found


@handles(Effect.LAUNCH)
def launch(core: ModelCore, call: Call) -> Outcome:
    """Launch by a call of the API; the arguments are those that the caller could follow."""
    stream = stream_argument(core, call)
    for fields in call.structures.values():
        if "stream" in fields or "hStream" in fields:
            value = fields.get("stream", fields.get("hStream"))
            stream = core.stream_of(call.thread, value, call.site, call.per_thread)
    arguments = call.kernel_arguments or ()
    return launch_kernel(core, call.thread, arguments, stream, call.site, call.api.name)


def host_function_key(core: ModelCore, call: Call, seen: bool) -> tuple[Outcome, int]:
    """Emit a host function on a stream; return its sync key, 0 if its body is not in view or it never runs."""
    stream = stream_argument(core, call)
    status = status_of(stream)
    key = core.fresh_handle() if seen and not status else 0
    data = core.reference(call.thread, call.value(Role.USER_DATA), None, AccessMode.OPAQUE, call.site)
    core.emit(
        OperationKind.HOST_FUNCTION,
        call.thread,
        call.site,
        call.api.name,
        stream=stream.handle,
        object=key,
        references=[] if data is None else [data],
        status=status,
    )
    return Outcome(status, {}), key


@handles(Effect.HOST_FUNCTION)
def host_function(core: ModelCore, call: Call) -> Outcome:
    """A host function whose body nobody can see. `DeviceModel.call` runs bodies that are in view."""
    return host_function_key(core, call, seen=False)[0]


@handles(Effect.PREFETCH)
def prefetch(core: ModelCore, call: Call) -> Outcome:
    """Migrate memory, or attach it to a stream: it must live until then, its contents stay."""
    stream = stream_argument(core, call)
    reference = core.reference(
        call.thread, call.value(Role.INSPECTED), call.value(Role.SIZE) or None, AccessMode.READ, call.site
    )
    status = status_of(stream)
    core.emit(
        OperationKind.PREFETCH,
        call.thread,
        call.site,
        call.api.name,
        stream=stream.handle,
        references=[] if reference is None else [reference],
        detail=WaitClass.NONE,
        status=status,
    )
    return Outcome(status, {})


@handles(Effect.STREAM_MEMORY_OP)
def stream_memory_op(core: ModelCore, call: Call) -> Outcome:
    """Wait for, or write, a value in memory: orders execution, which does not justify reuse of memory."""
    stream = stream_argument(core, call)
    writes = call.has(Role.WRITE)
    value = call.value(Role.WRITE if writes else Role.READ)
    mode = AccessMode.WRITE if writes else AccessMode.READ
    reference = core.reference(call.thread, value, None, mode, call.site)
    status = status_of(stream)
    core.emit(
        OperationKind.STREAM_MEMORY_OP,
        call.thread,
        call.site,
        call.api.name,
        stream=stream.handle,
        references=[] if reference is None else [reference],
        status=status,
    )
    return Outcome(status, {})
