"""What a piece of work does when it runs, as a function without arguments."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

from streamsan.model.work import CopyWork, FillWork, HostWork, KernelWork, ValueWork, Work
from streamsan.sim.executor import transfers
from streamsan.sim.executor.memory import SimulatedMemory
from streamsan.sim.executor.tasks import Body
from streamsan.sim.payloads import Bytes, HostCall, IllegalAddressError, KernelCall, LaunchFailedError

if TYPE_CHECKING:
    from streamsan.model.state import Context


def label_of(work: Work) -> str:
    """Return what a work is called in messages."""
    match work:
        case KernelWork():
            return f"kernel `{work.name}`"
        case CopyWork():
            return f"a copy from {work.source.address:#x} to {work.to.address:#x}"
        case FillWork():
            return f"a fill of {work.to.address:#x}"
        case HostWork():
            return "a host function"
        case ValueWork():
            if work.condition == "write":
                return f"a stream's write to {work.address:#x}"
            return f"a stream's wait until the value at {work.address:#x} is {work.condition} {work.value:#x}"
        case _:
            return "a marker"


def body_of(memory: SimulatedMemory, work: Work, running: Context | None) -> Body | None:
    """Return what runs on a device for a work; None: nothing. It raises IllegalAddressError, LaunchFailedError."""
    match work:
        case KernelWork():
            return lambda: _kernel(memory, work, running)
        case CopyWork():
            # Decided when the work is issued: addresses that were the device's must not become the host's meanwhile,
            # where a copy would overwrite whatever Python has put there.
            from_host, to_host = memory.is_pageable(work.source.address), memory.is_pageable(work.to.address)
            return lambda: transfers.copy(memory, work, from_host, to_host)
        case FillWork():
            return lambda: transfers.fill(memory, work)
        case HostWork():
            return None if work.payload is None else lambda: _host_function(work)
        case ValueWork() if work.condition == "write":
            return lambda: transfers.write_value(memory, work)
        case ValueWork():
            return lambda: _touch(memory, work)
        case _:
            return None


def staged_body(memory: SimulatedMemory, work: CopyWork) -> Body:
    """Return the rest of a copy whose pageable source is read now, since the host may change it after the call."""
    try:
        staged: Bytes = transfers.stage(work)
    except IllegalAddressError as error:
        message = str(error)
        return lambda: _refuse(message)
    return lambda: transfers.put(memory, work, staged)


def condition_of(memory: SimulatedMemory, work: Work) -> Callable[[], bool] | None:
    """Return what a stream memory wait waits for; None: the work waits for nothing but its predecessors."""
    if not isinstance(work, ValueWork) or work.condition == "write":
        return None

    def met() -> bool:
        try:
            return transfers.is_met(memory, work)
        except IllegalAddressError:
            return True  # its body meets the same error, where it is a fault of the context

    return met


def _kernel(memory: SimulatedMemory, work: KernelWork, running: Context | None) -> None:
    # Only kernels are bound to their device: copies and fills go where the address is (W-05).
    memory.running = running
    try:
        if work.payload is None:
            for reference in work.references:
                memory.view(reference.address, reference.size)
            return
        cast(KernelCall, work.payload).run(memory)
    except (IllegalAddressError, LaunchFailedError):
        raise
    except Exception as error:
        raise LaunchFailedError(f"its body raised {type(error).__name__}: {error}") from error
    finally:
        memory.running = None


def _host_function(work: HostWork) -> None:
    try:
        cast(HostCall, work.payload)()
    except Exception as error:
        # As ctypes does with a callback's exception: there is no caller that could take it.
        sys.unraisablehook(
            SimpleNamespace(
                exc_type=type(error),
                exc_value=error,
                exc_traceback=error.__traceback__,
                err_msg="Exception ignored in a host function",
                object=None,
            )
        )


def _touch(memory: SimulatedMemory, work: ValueWork) -> None:
    memory.view(work.address, work.size)


def _refuse(message: str) -> None:
    raise IllegalAddressError(message)
