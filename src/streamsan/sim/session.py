"""One run of a program on the simulated device: its model, its memory, its trace."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import threading
from collections.abc import Callable, Sequence
from functools import partial
from typing import NoReturn, Unpack

from streamsan.model import pool_blocks
from streamsan.model.call import CallDetails
from streamsan.model.device_model import DeviceModel
from streamsan.model.host_function_body import HostCall
from streamsan.model.process_state import HostThread
from streamsan.model.resources import Context
from streamsan.model.statuses import INITIALIZATION_ERROR, SUCCESS
from streamsan.model.values import Outcome, Value
from streamsan.platforms import CUDA
from streamsan.python_program.call_text import PythonSources
from streamsan.sim.call_lock import CallLock
from streamsan.sim.device_variables import DeviceVariables
from streamsan.sim.driver_thread import DriverThread
from streamsan.sim.executor.scheduler import DeadlockError
from streamsan.sim.executor.simulated_device import SimulatedDevice
from streamsan.sim.executor.tasks import Underway
from streamsan.sim.executor.works import run_quietly
from streamsan.sim.fault_files import note_fault
from streamsan.sim.freed_buffers import freed_buffers
from streamsan.sim.host_buffers import HostBuffers
from streamsan.sim.loaded_kernels import Kernels
from streamsan.sim.options import SimulationOptions
from streamsan.sim.program_threads import Threads
from streamsan.sim.sites import CallSites
from streamsan.sim.spool import Birth, Spool, claim
from streamsan.sim.trace_parts import collect
from streamsan.sim.turns import Turns
from streamsan.trace import Trace
from streamsan.trace.builder import TraceBuilder
from streamsan.vocabulary import ExitKind, OperationKind

NOT_PERMITTED = 800
"""cudaErrorNotPermitted: a host function called CUDA"""
UNLOADING = 4
"""cudaErrorCudartUnloading: a call after the end of the process"""
HANDLES_OF_PROCESS = 40
GENERATIONS_OF_PROCESS = 20
"""bits: each process of a family counts in a range of its own"""


TURN = 0.005
"""seconds for which another process's wish waits for the end of a call"""
MOST_SHOWN = 10
"""faults that are shown on standard error"""


class NeverReturnsError(RuntimeError):
    """The program made a call that would never return. `str()` says where, and what it waits for."""


class Session:
    """What the bindings talk to. Calls of several Python threads come one after the other."""

    def __init__(self, options: SimulationOptions, path: str, folder: str = "") -> None:
        """Begin a run; `path` is the program's name in the trace.

        `folder`: all processes of the program write their parts of the trace there as they go. Without it the trace
        is in memory only, until the program forks.
        """
        self.options = options
        self.lock = CallLock()
        self.driver = DriverThread(self.lock)
        self.executor = SimulatedDevice(options)
        self.executor.works.begin_host_call = self._begin_host_call
        self.executor.on_fault = self._fault
        self.executor.host_buffers = HostBuffers().end
        self.memory = self.executor.memory
        self.builder = TraceBuilder(path, origin="simulation", metadata=_metadata(options))
        self.model = DeviceModel(self.builder, executor=self.executor)
        self.sources = PythonSources()
        self.sites = CallSites(self.builder, self.sources)
        self.threads = Threads(self.model)
        self.turns = Turns(self.lock, self.driver)
        self.executor.on_stuck(self._let_others_run)
        self.executor.exchange.serve = self._serve
        self.faults: list[str] = []
        """What work of the program did wrong on the device (errors 700, 719), one line each with the call's place."""
        self.on_hang: Callable[[str], None] | None = None
        """Called with a line when a call can never return; None, or if it returns: NeverReturnsError is raised."""
        self.exit_kind = ExitKind.NORMAL
        """how the program ends; ABORTED: not all that it would have done at its end was reached"""
        self.variables = DeviceVariables(self.model, self.memory, self.sites, self.threads)
        self.kernels = Kernels(
            self.model.core.fresh_handle, self.guarded, self.not_understood, self.variables.place_all
        )
        self.is_forked = False
        """this process is a child of the one that began the session"""
        self._in_host_function = threading.local()
        self._finished = False
        self._folder = folder
        self._own_folder = False
        self._spool: Spool | None = None
        self._number = 0
        self._forking: HostThread | None = None
        self._birth = Birth()
        if folder:
            self._begin_spool(Birth())
        self.model.main_begin(self.model.main_thread)

    # -- calls ------------------------------------------------------------------------------------
    def call(self, api: str, arguments: Sequence[Value], **details: Unpack[CallDetails]) -> Outcome:
        """Make an API call for the running Python thread; see `DeviceModel.call`.

        A payload that can be called is the body of a host function: CUDA calls that it makes fail with 800. The
        `name` of another payload, if it has one, is the kernel's and labels the site.
        """
        with self.lock:
            if self._finished:
                return Outcome(UNLOADING, {})
            untouched = freed_buffers()
            site = self.sites.here()
            is_refused = bool(getattr(self._in_host_function, "depth", 0))
            if not is_refused:
                self.executor.scheduler.settle()
            thread = self.threads.calling(site)
            if is_refused:
                self.model.core.emit(OperationKind.CALL, thread, site, api, status=NOT_PERMITTED)
                return Outcome(NOT_PERMITTED, {})
            payload = details.get("payload")
            if callable(payload):
                details["payload"] = partial(self.guarded, payload)
            elif name := getattr(payload, "name", ""):
                site = self.sites.labelled(site, name)
            self.executor.scheduler.site = site
            try:
                return self.model.call(thread, api, arguments, site, **details)
            except DeadlockError as error:
                self._never_returns(api, site, error)
            finally:
                self.turns.made_call()
                if self._spool is not None:
                    self._spool.after_call()
                del untouched

    def answer(self, api: str, status: int) -> int:
        """Note a call that the session itself answered with a status; return what the program gets.

        That is the model's status where the device has one to tell (a sticky error, a forked child).
        """
        with self.lock:
            row = CUDA.effects.find(api)
            if row is None:
                return status
            if status == SUCCESS:
                return self.call(api, [1] * len(row.versions[0].parameters)).status
            site = self.sites.here()
            thread = self.threads.calling(site)
            status = INITIALIZATION_ERROR if thread.process.poisoned else status
            self.model.core.emit(OperationKind.CALL, thread, site, api, status=status)
            if row.domain == "runtime":
                thread.last_error = status
            return status

    def hand_out(self, address: int, size: int, stream: int = 0) -> None:
        """Note that a pool of the program gives the bytes at an address to somebody."""
        self._said(pool_blocks.hand_out, "hand_out", address, size, stream)

    def take_back(self, address: int, stream: int = 0) -> None:
        """Note that a pool of the program has the block at an address again."""
        self._said(pool_blocks.take_back, "take_back", address, stream)

    def record_stream(self, address: int, stream: int) -> None:
        """Note that a pool of the program was told of a stream that uses its block."""
        self._said(pool_blocks.record_stream, "record_stream", address, stream)

    def _said(self, say: Callable[..., None], name: str, *words: int) -> None:
        with self.lock:
            site = self.sites.here()
            say(self.model.core, self.threads.calling(site), site, f"streamsan.pools.{name}", *words)

    def asked(self, api: str, error: int) -> None:
        """Note that the program asks what an error is called: it looks at errors (SS601)."""
        with self.lock:
            if self.threads.current().process.initialised:
                self.call(api, [error, 1])

    def not_understood(self, reason: str) -> None:
        """Note that something the program did here is not followed (SS603)."""
        with self.lock:
            site = self.sites.here()
            self.model.not_understood(self.threads.calling(site), site, reason)

    def object_of(self, handle: int) -> object:
        """Return what the running process knows under a handle, None where it is none."""
        with self.lock:
            return self.threads.current().process.handles.get(handle)

    def current_context(self) -> Context | None:
        """Return the context that is current to the running Python thread, None when there is none yet."""
        with self.lock:
            stack = self.threads.current().stack
            return stack[-1] if stack else None

    def guarded(self, body: Callable[[], None]) -> None:
        """Run what the driver runs, the body of a host function or of a kernel: its CUDA calls are refused."""
        local = self._in_host_function
        local.depth = getattr(local, "depth", 0) + 1
        try:
            body()
        finally:
            local.depth -= 1

    def _begin_host_call(self, call: HostCall) -> Underway:
        """Begin a host function's body on the driver's thread."""
        worker = call.begin()

        def body() -> None:
            self.threads.become(worker)
            run_quietly(call.body)

        def ended() -> None:
            self.threads.body_ended(worker)
            call.end(worker)

        return self.driver.begin(body, ended)

    def progress(self, run: Callable[[], None]) -> None:
        """Let the device go on (`run`: how far) while the program is outside of CUDA; not while a call does so."""
        if self.lock.acquire(blocking=False):
            self._go_on(run)

    def _serve(self, run: Callable[[], None]) -> bool:
        """Let the device go on for another process, which waits for it; False: a call is being made."""
        is_free = self.lock.acquire(timeout=TURN)
        if is_free:
            self._go_on(run)
        return is_free

    def _go_on(self, run: Callable[[], None]) -> None:
        """Let the device go on, and release the lock."""
        try:
            if not self._finished:
                run()
                if self._spool is not None:
                    self._spool.after_call()
        finally:
            self.lock.release()

    def place(self, site: int) -> str:
        """Return file and line of a site, "" where they are not known."""
        where = self.builder.site_at(site)
        return f"{where.file}:{where.line}" if where.line else ""

    def _fault(self, message: str, site: int) -> None:
        place = self.place(site)
        line = f"{place}: {message}" if place else message
        self.faults.append(line)
        if len(self.faults) <= MOST_SHOWN:
            print(f"streamsan: {line}", file=sys.stderr)
            note_fault(self._folder, line)
        if len(self.faults) == MOST_SHOWN:
            print("streamsan: more errors of device work are not shown", file=sys.stderr)

    def _let_others_run(self) -> bool:
        """Let other threads make calls while this one waits inside one; return whether there is any that may."""
        site = self.executor.scheduler.site
        if not self.turns.give(self.executor.exchange.go_on_elsewhere()):
            return False
        self.executor.scheduler.site = site
        self.threads.calling(site)
        return True

    def _never_returns(self, api: str, site: int, error: DeadlockError) -> NoReturn:
        """End what cannot go on: the program would hang in this call for ever."""
        self.exit_kind = ExitKind.ABORTED
        place, issued = self.place(site), self.place(error.site)
        line = f"{place}: `{api}` never returns: {error}" if place else f"`{api}` never returns: {error}"
        line += f" (issued at {issued})" if issued else ""
        if self.on_hang is not None:
            self.on_hang(line)
        raise NeverReturnsError(line) from None

    # -- threads ----------------------------------------------------------------------------------
    def thread_starting(self, child: threading.Thread) -> None:
        """The running Python thread is about to start another one."""
        with self.lock:
            self.threads.starting(child, self.sites.here())

    def thread_joined(self, child: threading.Thread) -> None:
        """The running Python thread has waited for the end of another one."""
        with self.lock:
            self.threads.joined(child, self.sites.here())

    # -- processes --------------------------------------------------------------------------------
    def before_fork(self) -> None:
        """The process is about to fork: nobody else is inside a call, and all that was done is known."""
        self.lock.acquire()
        if self._finished:
            return
        if not self._folder:
            self._folder = tempfile.mkdtemp(prefix="streamsan-")
            self._own_folder = True
            self._number = claim(self._folder)
        site = self.sites.here()
        thread = self.threads.calling(site)
        self._forking = self.model.fork(thread, site)
        threads = self.builder.lengths.threads
        self._birth = Birth(f"{self._number:04}.sst", self.builder.operations, threads, self.place(site))
        if self._spool is not None:
            self._spool.flush()

    def after_fork(self) -> None:
        """The parent goes on."""
        self._forking = None
        self.lock.release()

    def become_child(self) -> None:
        """This process is a forked child now: its one thread goes on with what the parent knew."""
        thread, self._forking = self._forking, None
        self.lock = CallLock()
        self.driver = DriverThread(self.lock)
        self.turns = Turns(self.lock, self.driver)
        self.executor.scheduler.abandon()
        self._in_host_function = threading.local()
        self.executor.exchange.forget()
        if thread is None:
            return
        self.is_forked = True
        self._own_folder = False
        self.threads.forked(thread)
        if self._spool is not None:
            self._spool.abandon()
            self._spool = None
        try:
            self._begin_spool(self._birth)
        except OSError:
            self._finished = True  # the folder is gone: the program that was to be checked has ended

    def before_telling(self) -> None:
        """The process is about to tell another one something: what it did so far is written first.

        A pool ends its workers from outside as soon as it has their results.
        """
        if self._spool is not None and self.lock.acquire(timeout=1):
            try:
                if not self._finished:
                    self._spool.flush()
            finally:
                self.lock.release()

    def _begin_spool(self, birth: Birth) -> None:
        self._number = claim(self._folder)
        self._spool = Spool(self._folder, self._number, self.builder, birth)
        if self._number:
            self.model.core.number_from(self._number << HANDLES_OF_PROCESS, self._number << GENERATIONS_OF_PROCESS)

    # -- the end ----------------------------------------------------------------------------------
    def trace(self) -> Trace:
        """Return the trace so far, with what child processes have written."""
        with self.lock:
            trace = self.builder.finish()
            if not self._folder or self._spool is not None:
                return trace
            return collect(self._folder, trace, f"{self._number:04}.sst") or trace

    def end_process(self, kind: ExitKind | None = None) -> None:
        """End this process's part, once, as `exit_kind` says. At a normal exit what is still pending runs."""
        with self.lock:
            if self._finished:
                return
            kind = self.exit_kind if kind is None else kind
            thread = self.threads.current()
            if kind is ExitKind.NORMAL:
                if not thread.process.poisoned:  # what a forked child finds pending is its parent's
                    self.executor.drain(self.turns.give_to_host_function)
                self.model.main_end(thread)
            self.model.process_exit(thread, kind=kind)
            self.executor.end_process()
            self._finished = True
            if self._spool is not None:
                self._spool.close()
            self.driver.stop()

    def finish(self, kind: ExitKind | None = None) -> Trace:
        """End the program, once, and return its trace."""
        self.end_process(kind)
        return self.trace()

    def discard(self) -> None:
        """Remove what child processes wrote."""
        if self._own_folder and os.path.isdir(self._folder):
            shutil.rmtree(self._folder, ignore_errors=True)


def _metadata(options: SimulationOptions) -> dict[str, str | int]:
    return {
        "schedule": str(options.schedule),
        "simulated_driver": str(options.driver),
        "devices": options.devices,
        "driver": f"simulated ({options.driver})",
    }
