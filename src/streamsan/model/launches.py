"""Kernels, host functions, prefetches."""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from streamsan.effects import Effect, Role
from streamsan.model.call import Call
from streamsan.model.core import ModelCore
from streamsan.model.handlers import handles
from streamsan.model.host_function_body import HostCall
from streamsan.model.launch_configuration import configuration_status
from streamsan.model.managed import prefetch_status, prefetched, remember_prefetch
from streamsan.model.process_state import HostThread
from streamsan.model.programmatic import combined, is_programmatic, record_events
from streamsan.model.statuses import INVALID_HANDLE, INVALID_VALUE, SUCCESS
from streamsan.model.streams import status_of, stream_argument
from streamsan.model.streams_and_graphs import Stream
from streamsan.model.values import KernelArguments, Outcome, Pointer, Stride, Symbol, Value
from streamsan.model.work import HostWork, KernelWork, NoWork, Work
from streamsan.trace.references import Reference
from streamsan.trace.rows import Rows
from streamsan.vocabulary import AccessMode, OperationKind, SlotFlag, WaitClass

HostFunctionBody = Callable[[HostThread, Value, Value], None]
"""Runs the body of a host function on a thread of the driver: (thread, function, user data)."""


def launch_kernel(
    core: ModelCore,
    thread: HostThread,
    arguments: KernelArguments,
    stream: Stream,
    site: int,
    api: str,
    payload: object = None,
    refused: int = 0,
    programmatic: bool = False,
    early: KernelArguments | None = None,
) -> Outcome:
    """Emit a launch and let it run; `refused` is the status of its arguments.

    `programmatic`: the kernel may begin before the one before it has ended; `early` as in `Call.early_arguments`.
    """
    status = status_of(stream) or refused
    all_references = kernel_references(core, thread, arguments, site)
    first = None if early is None else kernel_references(core, thread, early, site)
    references, wait = combined(all_references, first, programmatic)
    core.emit(
        OperationKind.LAUNCH,
        thread,
        site,
        api,
        stream=stream.handle,
        references=references,
        detail=wait,
        status=status,
    )
    if not status:
        core.executor.enqueue(thread, stream, kernel_work(core, references, site, payload), wait)
    return Outcome(status)


def kernel_references(core: ModelCore, thread: HostThread, arguments: KernelArguments, site: int) -> list[Reference]:
    """Return the memory that a kernel's arguments lead to.

    Numbers are no addresses, unless all others are known to be the host's and this one is CUDA's.
    """
    found = []
    for argument in arguments:
        value, mode = argument[:2]
        flags = argument[2] if len(argument) > 2 else 0
        size = argument[3] if len(argument) > 3 else None
        if isinstance(value, int) and core.executor.unknown_is_pageable:
            value = core.pointer_of(thread, value, site)
            if value is None or not value.generation:
                continue
        if isinstance(value, Pointer | Symbol):
            # A kernel reaches the whole allocation, before and after the pointer it is given.
            reference = core.reference(thread, value, size, mode, site, flags)
            if reference is not None:
                found.append(_in_steps(reference, argument[4]) if len(argument) > 4 else reference)
    return found


def _in_steps(reference: Reference, stride: Stride) -> Reference:
    """Return a reference of which only every so many bytes are touched; of unknown extent where they do not fit."""
    steps, rest = divmod(reference.size - stride.width, stride.pitch)
    if steps >= 0 and not rest:
        return replace(reference, rows=Rows(stride.width, stride.pitch, steps + 1).simplest)
    return replace(reference, size=0, flags=reference.flags & ~SlotFlag.TOUCHES)


def kernel_work(core: ModelCore, references: list[Reference], site: int, payload: object) -> Work:
    """Return what a launch does to bytes: the caller's payload knows."""
    used = tuple(each for each in references if not each.polls)
    return KernelWork(core.builder.site_at(site).label, used, payload)


def kernel_site(core: ModelCore, site: int, payload: object) -> int:
    """Return the site of a launch, labelled with the kernel's name where the payload says it."""
    name = getattr(payload, "name", "")
    if not isinstance(name, str) or not name or core.builder.site_at(site).label:
        return site
    return core.labelled(site, name)


@handles(Effect.LAUNCH)
def launch(core: ModelCore, call: Call) -> Outcome:
    """Launch by a call of the API; the arguments are those that the caller could follow."""
    stream = launch_stream(core, call)
    site = kernel_site(core, call.site, call.payload)
    arguments = call.kernel_arguments or ()
    refused = configuration_status(core, call) or _context_status(core, call.payload, stream)
    outcome = launch_kernel(
        core,
        call.thread,
        arguments,
        stream,
        site,
        call.api.name,
        call.payload,
        refused,
        is_programmatic(call),
        call.early_arguments,
    )
    if not outcome.status:
        record_events(core, call, stream)
    return outcome


def _context_status(core: ModelCore, payload: object, stream: Stream) -> int:
    """Return what a launch of one context's kernel in a stream of another returns."""
    context = getattr(payload, "context", None)
    if core.machine is None or context is None or stream.context is None or stream.context is context:
        return SUCCESS
    return INVALID_HANDLE


def launch_stream(core: ModelCore, call: Call) -> Stream:
    """Return the stream that a launch names, by an argument or in its configuration."""
    stream = stream_argument(core, call)
    for fields in call.structures.values():
        if "stream" in fields or "hStream" in fields:
            value = fields.get("stream", fields.get("hStream"))
            stream = core.stream_of(call.thread, value, call.site, call.per_thread)
    return stream


def host_function_key(core: ModelCore, call: Call, seen: bool) -> tuple[Outcome, int]:
    """Emit a host function on a stream; return its sync key, 0 if its body is not in view or it never runs."""
    stream = stream_argument(core, call)
    status = status_of(stream)
    if core.machine is not None and call.value(Role.FUNCTION) == 0:
        status = status or INVALID_VALUE
    key = core.fresh_handle() if seen and not status else 0
    core.say(
        call,
        OperationKind.HOST_FUNCTION,
        stream=stream.handle,
        object=key,
        references=_user_data(core, call),
        status=status,
    )
    if not status:
        core.executor.enqueue(call.thread, stream, host_work(core, call, key), WaitClass.NONE)
    return Outcome(status), key


def _user_data(core: ModelCore, call: Call) -> list[Reference]:
    """Return what a host function uses of what it is given."""
    given = call.value(Role.USER_DATA)
    used: list[tuple[Value, int | None, AccessMode]] = [(given, call.user_data_size, call.user_data)]
    if isinstance(given, Pointer) and given.exact and call.user_data_parts:
        used = [(replace(given, address=given.address + at), size, mode) for at, size, mode in call.user_data_parts]
    found = [core.reference(call.thread, value, size, mode, call.site) for value, size, mode in used]
    return [each for each in found if each is not None]


def host_work(core: ModelCore, call: Call, key: int) -> Work:
    """Return what runs a host function's payload on a thread of the driver, ordered by the sync key on both sides."""
    if call.payload is None or not callable(call.payload):
        return NoWork()
    return HostWork(HostCall(core, call.thread, call.payload, key, call.site), key)


@handles(Effect.HOST_FUNCTION)
def host_function(core: ModelCore, call: Call) -> Outcome:
    """A host function: its payload runs when the stream reaches it. `DeviceModel.call` runs bodies of source code."""
    return host_function_key(core, call, seen=call.payload is not None)[0]


@handles(Effect.PREFETCH)
def prefetch(core: ModelCore, call: Call) -> Outcome:
    """Migrate memory, or attach it to a stream: it must live until then, its contents stay."""
    stream = stream_argument(core, call)
    reference = core.reference(
        call.thread, call.value(Role.INSPECTED), call.value(Role.SIZE) or None, AccessMode.READ, call.site
    )
    status = status_of(stream) or prefetch_status(core, call)
    outcome = prefetched(core, call, stream, reference, status)
    if not status:
        remember_prefetch(core, call)
    return outcome
