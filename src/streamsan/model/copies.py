"""Copies and fills: what they touch, and what the host waits for."""

from __future__ import annotations

from collections.abc import Sequence

from streamsan.effects import Effect, Endpoint, Role
from streamsan.model.call import Call
from streamsan.model.core import ModelCore
from streamsan.model.handlers import handles
from streamsan.model.operands import (
    CopyOperands,
    address_of,
    copy_operands,
    copy_work,
    extent,
    fill_operands,
    fill_work,
    first_byte,
    gaps,
    named_extent,
    rows_of,
)
from streamsan.model.ranges import copy_status, fill_status
from streamsan.model.statuses import SUCCESS
from streamsan.model.streams import status_of, stream_argument
from streamsan.model.streams_and_graphs import Stream
from streamsan.model.values import Outcome, Value
from streamsan.model.work import CopyForm, CopyWork, Work
from streamsan.platforms import CUDA
from streamsan.trace.references import Reference
from streamsan.vocabulary import AccessMode, OperationKind, WaitClass

DEFAULT_KIND = 4
_DIRECTIONS = {
    0: "host_to_host",
    1: "host_to_device",
    2: "device_to_host",
    3: "device_to_device",
}


@handles(Effect.COPY)
def copy(core: ModelCore, call: Call) -> Outcome:
    """Copy; the destination first, then the source. 2D and 3D copies have rows (STRIDED: with gaps)."""
    return copy_of(core, call, copy_operands(core, call))


def copy_of(core: ModelCore, call: Call, operands: CopyOperands) -> Outcome:
    """Copy what the operands say."""
    stream = stream_argument(core, call)
    to, source = operands.to, operands.source
    wait = wait_of(core, call, to.value, source.value)
    status = status_of(stream) or copy_status(core, call, operands, stream)
    if not status:
        status = wait_before(core, call, stream, wait)
    references = copy_references(core, call, operands)
    by_host = not status and _by_host(core, call, stream, wait, to.value, source.value)
    core.say(
        call,
        OperationKind.COPY,
        stream=stream.handle,
        references=[] if by_host else references,
        detail=wait,
        status=status,
    )
    if by_host:
        say_access(core, call, references)
    if not status:
        work = copy_work(core, call, operands, _form(call))
        _say_overruns(core, call, operands, work)
        core.executor.enqueue(call.thread, stream, work, wait)
        status = error_after(core, call, wait)
    return Outcome(status)


def _say_overruns(core: ModelCore, call: Call, operands: CopyOperands, work: Work) -> None:
    """Emit that a copy reaches past the end of a host buffer whose size is known (SS602)."""
    if not isinstance(work, CopyWork):
        return
    for side, place, verb, mode in (
        (operands.to, work.to, "writes", AccessMode.WRITE),
        (operands.source, work.source, "reads", AccessMode.READ),
    ):
        beyond = place.address + (extent(side, operands.shape) or 0) - place.end if place.end else 0
        if beyond > 0:
            reason = f"{verb} {beyond} bytes past the end of its buffer in host memory"
            core.say_overrun(call, reason, mode)


@handles(Effect.MEMSET)
def memset(core: ModelCore, call: Call) -> Outcome:
    """Fill memory. On device memory even the call without Async returns at once."""
    stream = stream_argument(core, call)
    target, shape, element = fill_operands(core, call)
    wait = CUDA.waits.of_memset(call.api.wait or "asynchronous", _endpoint(core, call, target.value))
    reference = core.reference(
        call.thread,
        address_of(core, call, target),
        named_extent(call, target, shape, element),
        AccessMode.WRITE,
        call.site,
        gaps(target, shape, element) or first_byte(target, shape, element),
        rows_of(target, shape, element),
    )
    status = status_of(stream) or fill_status(core, call, target, shape, element, stream)
    if not status:
        status = wait_before(core, call, stream, wait)
    references = [] if reference is None else [reference]
    by_host = not status and _by_host(core, call, stream, wait, target.value)
    core.say(
        call,
        OperationKind.MEMSET,
        stream=stream.handle,
        references=[] if by_host else references,
        detail=wait,
        status=status,
    )
    if by_host:
        say_access(core, call, references)
    if not status:
        core.executor.enqueue(call.thread, stream, fill_work(core, call, target, shape, element), wait)
        status = error_after(core, call, wait)
    return Outcome(status)


def _by_host(core: ModelCore, call: Call, stream: Stream, wait: WaitClass, *values: Value) -> bool:
    """Return whether a call is the host's own access, in the order of a stream: all memory is the host's, and it waits.

    What other streams have under way there is then in flight (SS108), as for any access of the host.
    """
    if core.machine is None or not core.issues or stream.capture is not None or wait is not WaitClass.COMPLETE:
        return False
    ends = {_endpoint(core, call, value) for value in values}
    return Endpoint.PINNED in ends and ends <= {Endpoint.PINNED, Endpoint.PAGEABLE}


def say_access(core: ModelCore, call: Call, references: Sequence[Reference]) -> None:
    """Emit that the host itself accesses memory during a call."""
    core.say(call, OperationKind.HOST_ACCESS, references=references)


def copy_references(core: ModelCore, call: Call, operands: CopyOperands) -> list[Reference]:
    """Return the memory that a copy writes, then what it reads."""
    shape = operands.shape
    to, source = (
        core.reference(
            call.thread,
            address_of(core, call, side),
            named_extent(call, side, shape),
            mode,
            call.site,
            gaps(side, shape) or first_byte(side, shape),
            rows_of(side, shape),
        )
        for side, mode in ((operands.to, AccessMode.WRITE), (operands.source, AccessMode.READ))
    )
    return _two(to, source)


def wait_before(core: ModelCore, call: Call, stream: Stream, wait: WaitClass) -> int:
    """Let the host wait for the stream's earlier work, where the call does; return the error that it met, or 0."""
    if wait not in (WaitClass.BEFORE, WaitClass.COMPLETE) or stream.capture is not None:
        return SUCCESS
    core.executor.synchronize_stream(call.thread, stream)
    return core.sticky_error(call.thread)


def error_after(core: ModelCore, call: Call, wait: WaitClass) -> int:
    """Return the error that the call's own work met, where the call waits for it."""
    return core.sticky_error(call.thread) if wait is WaitClass.COMPLETE else SUCCESS


def wait_of(core: ModelCore, call: Call, to: Value, source: Value) -> WaitClass:
    """Return what the host waits for, from the direction the program named and the kinds of memory in view."""
    column = call.api.wait or "asynchronous"
    direction = _direction(call)
    from_end, to_end = _endpoint(core, call, source), _endpoint(core, call, to)
    if direction:
        source_word, _, to_word = direction.partition("_to_")
        from_end = Endpoint.DEVICE if source_word == "device" else _host_side(from_end)
        to_end = Endpoint.DEVICE if to_word == "device" else _host_side(to_end)
        if direction == "host_to_host":
            return WaitClass.COMPLETE
    elif column == "synchronous" and from_end is Endpoint.UNKNOWN and to_end in (Endpoint.PINNED, Endpoint.PAGEABLE):
        # Whatever it reads: from the device to the host, or within the host, it is complete when it returns.
        from_end = Endpoint.DEVICE
    elif Endpoint.UNKNOWN in (from_end, to_end) or from_end is to_end is Endpoint.MANAGED:
        return CUDA.waits.of_copy(column, Endpoint.UNKNOWN, Endpoint.UNKNOWN)
    return CUDA.waits.of_copy(column, from_end, to_end)


def _form(call: Call) -> CopyForm:
    """Return how a copy was asked for."""
    source, _, to = _direction(call).partition("_to_")
    return CopyForm(call.api.wait != "synchronous", to_host=to == "host", from_host=source == "host")


def _direction(call: Call) -> str:
    """Return the direction that the program named, "" if the driver is to find it."""
    return call.api.direction or _DIRECTIONS.get(_kind(call), "")


def _host_side(end: Endpoint) -> Endpoint:
    """The side that the program says is the host's: memory of another kind there is of unknown kind."""
    return Endpoint.UNKNOWN if end is Endpoint.DEVICE else end


def _kind(call: Call) -> int:
    """Return the cudaMemcpyKind of a call, DEFAULT_KIND where it has none or nobody knows it."""
    if call.has(Role.KIND):
        kind = call.number(Role.KIND)
        return DEFAULT_KIND if kind is None else kind
    for fields in call.structures.values():
        if isinstance(named := fields.get("kind"), int):
            return named
    return DEFAULT_KIND


def _endpoint(core: ModelCore, call: Call, value: Value) -> Endpoint:
    pointer = core.pointer_of(call.thread, value, call.site)
    allocation = core.allocation_of(call.thread, pointer)
    if allocation is None:
        surely_host = core.executor.unknown_is_pageable and pointer is not None
        return Endpoint.PAGEABLE if surely_host else Endpoint.UNKNOWN
    return Endpoint.PINNED if allocation.registration else CUDA.side(allocation.kind)


def _two(to: Reference | None, source: Reference | None) -> list[Reference]:
    """Return destination and source in their places: a copy's first reference is always the destination."""
    nowhere = Reference(0)
    if source is None:
        return [] if to is None else [to]
    return [nowhere if to is None else to, source]
