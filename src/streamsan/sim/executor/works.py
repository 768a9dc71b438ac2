"""What a piece of work does when it runs, as a function without arguments."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

from streamsan.model.host_function_body import HostCall
from streamsan.model.work import CopyWork, FillWork, HostWork, KernelWork, ValueWork, Work
from streamsan.sim.executor import transfers
from streamsan.sim.executor.simulated_memory import SimulatedMemory
from streamsan.sim.executor.tasks import Body, Underway
from streamsan.sim.payloads import Bytes, HostBody, IllegalAddressError, KernelCall, LaunchFailedError

if TYPE_CHECKING:
    from streamsan.model.resources import Context


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


class Works:
    """Makes of a work what runs on the device, and what it waits for."""

    def __init__(self, memory: SimulatedMemory, host_is_free: Callable[[], bool]) -> None:
        self.begin_host_call: Callable[[HostCall], Underway] | None = None
        """Begins the body of a host function on the driver's thread; without it bodies run where they are reached."""
        self._memory = memory
        self._host_is_free = host_is_free

    def body(self, work: Work, running: Context | None) -> Body | None:
        """Return what runs on a device; None: nothing. It raises IllegalAddressError, LaunchFailedError."""
        memory = self._memory
        match work:
            case KernelWork():
                return lambda: _kernel(memory, work, running)
            case CopyWork():
                # Decided when the work is issued: addresses that were the device's must not become the host's
                # meanwhile, where a copy would overwrite whatever Python has put there.
                from_host, to_host = memory.is_pageable(work.source.address), memory.is_pageable(work.to.address)
                return lambda: transfers.copy(memory, work, from_host, to_host)
            case FillWork():
                return lambda: transfers.fill(memory, work)
            case HostWork():
                return self._host_body(work)
            case ValueWork() if work.condition == "write":
                return lambda: transfers.write_value(memory, work)
            case ValueWork():
                return lambda: _touch(memory, work)
            case _:
                return None

    def condition(self, work: Work) -> Callable[[], bool] | None:
        """Return what a work waits for besides its predecessors; None: nothing."""
        if isinstance(work, HostWork):
            return self._host_is_free
        if not isinstance(work, ValueWork) or work.condition == "write":
            return None
        memory = self._memory

        def met() -> bool:
            try:
                return transfers.is_met(memory, work)
            except IllegalAddressError:
                return True  # its body meets the same error, where it is a fault of the context

        return met

    def _host_body(self, work: HostWork) -> Body | None:
        call, begin = work.payload, self.begin_host_call
        if call is None:
            return None
        if begin is not None and isinstance(call, HostCall):
            return lambda: begin(call)
        return lambda: run_quietly(cast(HostBody, call))


def staged_body(memory: SimulatedMemory, work: CopyWork) -> Body:
    """Return the rest of a copy whose pageable source is read now, since the host may change it after the call."""
    try:
        staged: Bytes = transfers.stage(memory, work)
    except IllegalAddressError as error:
        message = str(error)
        return lambda: _refuse(message)
    return lambda: transfers.put(memory, work, staged)


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


def run_quietly(body: HostBody) -> None:
    """Run the body of a host function. What it raises has no caller that could take it: ctypes does the same."""
    try:
        body()
    except Exception as error:
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
