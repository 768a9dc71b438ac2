"""The device model: the API's transitions over symbolic handles and allocations.

A caller (the source reader, a simulated device) says what the program does; the model answers with statuses and
values, and writes the operations into a trace. One handler for each effect of the table; `docs/architecture.md` says
what the fields of an operation mean.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping, Sequence

from streamsan.effects import Api, Effect, Effects, Role, Signature
from streamsan.model import (
    batches,
    captures,
    contexts,
    copies,
    events,
    host,
    launches,
    memory,
    others,
    peers,
    processes,
    queries,
    registrations,
    stream_memory_ops,
    streams,
    vmm,
)
from streamsan.model.call import Call, bind_values, hints
from streamsan.model.core import ModelCore, OutOfMemoryError
from streamsan.model.error_calls import note_error
from streamsan.model.executor import Executor
from streamsan.model.guards import refusal, say_refusal
from streamsan.model.handlers import HANDLERS
from streamsan.model.launches import HostFunctionBody
from streamsan.model.process_state import HostThread, Phase, Process
from streamsan.model.statuses import INITIALIZATION_ERROR, OUT_OF_MEMORY, SUCCESS
from streamsan.model.streams_and_graphs import Event, Stream
from streamsan.model.values import Fields, Handle, KernelArguments, Outcome, Pointer, RefusalError, Value
from streamsan.platforms import CUDA
from streamsan.trace.builder import TraceBuilder
from streamsan.trace.references import Reference
from streamsan.vocabulary import (
    AccessMode,
    EdgeClass,
    ExitKind,
    FreeClass,
    LostKind,
    MemoryKind,
    OperationKind,
)

LAUNCH_API = "cudaLaunchKernel"


class DeviceModel:
    """One program run on the model. `site` is always a site id of the builder, `thread` a thread of this model."""

    def __init__(
        self,
        builder: TraceBuilder,
        *,
        per_thread_default: bool = False,
        executor: Executor | None = None,
    ) -> None:
        self.core = ModelCore(builder, per_thread_default=per_thread_default, executor=executor)
        self.on_host_function: HostFunctionBody | None = None
        """Called with (driver's thread, function, user data) to run the body of a host function; None: bodies are not
        in view. Raise nothing. The order around the body is the model's."""
        self.main_thread: HostThread = processes.start_thread(self.core, self.core.new_process(), "main", 0)

    @property
    def builder(self) -> TraceBuilder:
        """Where the operations go."""
        return self.core.builder

    @property
    def threads(self) -> Sequence[HostThread]:
        """All host threads, by index in the trace."""
        return self.core.threads

    def copy(self) -> DeviceModel:
        """Return a model, with a builder, that goes on from here on its own (for a path that forks).

        A thread of this model is `copy.threads[thread.index]` in the other. `on_host_function` is not taken along.
        """
        hook, self.on_host_function = self.on_host_function, None
        try:
            return copy.deepcopy(self, {id(self.core.builder): self.core.builder.copy()})
        finally:
            self.on_host_function = hook

    # -- host threads and processes ---------------------------------------------------------------
    def thread(self, name: str, process: Process | None = None, site: int = 0) -> HostThread:
        """Return a new host thread without any order to the others (for a thread nobody saw start)."""
        return processes.start_thread(self.core, process or self.main_thread.process, name, site)

    def spawn(self, thread: HostThread, name: str, site: int) -> HostThread:
        """Start a host thread; it sees all that `thread` has seen."""
        return processes.spawn(self.core, thread, name, site)

    def join(self, thread: HostThread, other: HostThread, site: int) -> None:
        """`thread` waits for `other` to end."""
        processes.join(self.core, thread, other, site)

    def sync_key(self) -> int:
        """Return a new key for `release` and `acquire` (a mutex, an atomic, a promise)."""
        return self.core.fresh_handle()

    def release(self, thread: HostThread, key: int, edge: EdgeClass = EdgeClass.CONTRACT, site: int = 0) -> None:
        """Publish all that the thread has seen under `key`."""
        processes.release(self.core, thread, key, edge, site)

    def acquire(self, thread: HostThread, key: int, edge: EdgeClass = EdgeClass.CONTRACT, site: int = 0) -> None:
        """Join what was published under `key`."""
        processes.acquire(self.core, thread, key, edge, site)

    def fork(self, thread: HostThread, site: int, child: bool = True) -> HostThread:
        """Fork; return the thread that goes on: the child's, or the parent's if `child` is false.

        The child exists in the trace either way. A caller that follows both runs the child with what this returns, to
        its `process_exit`, and then goes on with `thread`.
        """
        started = processes.fork(self.core, thread, site)
        return started if child else thread

    def static_begin(self, thread: HostThread) -> None:
        """Static constructors run from here to `main_begin`: calls are outside main."""
        thread.process.phase = Phase.BEFORE_MAIN

    def main_begin(self, thread: HostThread, site: int = 0) -> None:
        """main() starts."""
        processes.main_begin(self.core, thread, site)

    def main_end(self, thread: HostThread, site: int = 0) -> None:
        """main() has returned, or exit() was called; what follows is outside main."""
        processes.main_end(self.core, thread, site)

    def process_exit(self, thread: HostThread, site: int = 0, kind: ExitKind = ExitKind.NORMAL) -> None:
        """The process ends."""
        processes.process_exit(self.core, thread, site, kind)

    # -- calls ------------------------------------------------------------------------------------
    def bind(self, api: Api, arguments: Sequence[Value]) -> Signature | None:
        """Return the argument list that these arguments mean; None: no published version takes as many."""
        return api.bind(len(arguments), hints(arguments))

    def call(
        self,
        thread: HostThread,
        api: str,
        arguments: Sequence[Value],
        site: int,
        *,
        signature: Signature | None = None,
        kernel_arguments: KernelArguments | None = None,
        structures: Mapping[str, Fields] | None = None,
        payload: object = None,
        user_data: AccessMode = AccessMode.OPAQUE,
        early_arguments: KernelArguments | None = None,
    ) -> Outcome:
        """Make an API call with positional arguments.

        What an out-argument points to does not matter: 0 says NULL was passed, anything else that a result is wanted;
        results are in `outputs` by parameter name, and in `outputs["return"]` where the returned status itself is not
        known (queries), or is no status (cudaGetErrorName). A structure's fields come as `outputs["attributes.type"]`,
        a list as `outputs["data.0"]`, bytes as latin-1 text. A call with a number of arguments that no version accepts
        is bound as far as possible; saying so is the caller's part (`malformed`). `kernel_arguments` are those behind
        a launch's `void**`; `structures` the known fields of structures and lists, by parameter name; `payload` how
        to compute a kernel (its `name` labels the site) or a host function (called without arguments); `user_data` how
        a host function uses what it is given;
        `early_arguments` what a kernel uses before it waits for the one before it, where it is known not to wait first.
        """
        row = CUDA.effects.find(api)
        if row is None:
            self.not_understood(thread, site, f"{api} is not an API that is known")
            self.opaque_call(thread, arguments, site, api)
            return Outcome()
        bound = signature or self.bind(row, arguments) or row.best_guess(len(arguments))
        call = Call(
            thread,
            row,
            bound,
            site,
            bind_values(bound, arguments),
            Effects.per_thread(api),
            kernel_arguments,
            structures or {},
            payload,
            user_data,
            early_arguments,
        )
        if row.effect is not Effect.PURE:
            if thread.process.poisoned:
                self.core.emit(OperationKind.CALL, thread, site, row.name, status=INITIALIZATION_ERROR)
                note_error(call, INITIALIZATION_ERROR)
                return Outcome(INITIALIZATION_ERROR)
            thread.process.initialised = True
        if status := refusal(self.core, call):
            say_refusal(self.core, call, status)
            note_error(call, status)
            return Outcome(status)
        try:
            outcome = self._handled(call)
        except RefusalError as refused:
            outcome = refused.outcome
        except OutOfMemoryError:
            self.core.emit(OperationKind.CALL, thread, site, row.name, status=OUT_OF_MEMORY)
            outcome = Outcome(OUT_OF_MEMORY)
        if row.domain == "runtime" and thread.stack:
            thread.stack[-1].used_by_runtime = True
        if row.effect is not Effect.PURE:
            note_error(call, outcome.status)
        return self._completed(call, outcome)

    def _handled(self, call: Call) -> Outcome:
        outcome = captures.captured_call(self.core, call)
        if outcome is not None:
            return outcome
        in_source = call.api.effect is Effect.HOST_FUNCTION and self.on_host_function is not None
        return self._host_function(call) if in_source else HANDLERS[call.api.effect](self.core, call)

    def _host_function(self, call: Call) -> Outcome:
        """Issue a host function, and run its body on a thread of the driver, ordered after the stream's work so far."""
        body = self.on_host_function
        outcome, key = launches.host_function_key(self.core, call, seen=body is not None)
        if body is not None and key:
            worker = processes.start_thread(self.core, call.thread.process, "host function", call.site)
            worker.conditional = call.thread.conditional
            self.acquire(worker, key, site=call.site)
            body(worker, call.value(Role.FUNCTION), call.value(Role.USER_DATA))
            self.release(worker, key, site=call.site)
        return outcome

    def _completed(self, call: Call, outcome: Outcome) -> Outcome:
        """Give every out-argument that the handler left alone an unknown value, unless the call failed."""
        if outcome.status > SUCCESS:
            return outcome
        missing = [
            parameter.name
            for parameter in call.signature.outs
            if parameter.name not in outcome.outputs
            and not any(name.startswith(f"{parameter.name}.") for name in outcome.outputs)
            and parameter.name in call.values
            and call.values[parameter.name] != 0
        ]
        if not missing:
            return outcome
        return Outcome(outcome.status, outcome.outputs | {name: self.core.fresh_symbol(name) for name in missing})

    def launch(
        self, thread: HostThread, kernel_name: str, arguments: KernelArguments, stream: Value, site: int
    ) -> Outcome:
        """Launch a kernel (`kernel<<<...>>>(...)`) on a stream; 0 is the default stream.

        `arguments` are those that may be memory (Pointer, Symbol), structures flattened, each with how the body uses
        it; numbers are ignored. `kernel_name` becomes the site's label if that has none.
        """
        core = self.core
        if thread.process.poisoned:
            core.emit(OperationKind.CALL, thread, site, LAUNCH_API, status=INITIALIZATION_ERROR)
            return Outcome(INITIALIZATION_ERROR)
        thread.process.initialised = True
        core.current(thread, site)
        found = core.stream_of(thread, stream, site)
        if kernel_name and not core.builder.site_at(site).label:
            site = core.labelled(site, kernel_name)
        captured = captures.captured_launch(core, thread, arguments, found, site)
        if captured is not None:
            return captured
        return launches.launch_kernel(core, thread, arguments, found, site, LAUNCH_API)

    def query_succeeded(self, thread: HostThread, handle: Value, site: int) -> None:
        """On this path the query of a stream or event returned success: the edge to the host.

        `handle` is what the query was given; 0 is the default stream.
        """
        known = thread.process
        if isinstance(handle, Handle):
            found = known.handles.get(handle.value)
        else:
            found = known.assumed_handles.get(("event", handle)) or known.assumed_handles.get(("stream", handle))
        if found is None and isinstance(handle, int):
            found = self.core.stream_of(thread, handle, site)
        if isinstance(found, Event):
            events.event_query_succeeded(self.core, thread, found, site)
        elif isinstance(found, Stream):
            streams.stream_query_succeeded(self.core, thread, found, site)

    # -- host memory ------------------------------------------------------------------------------
    def host_allocate(self, thread: HostThread, size: Value, kind: MemoryKind, site: int) -> Pointer:
        """Make host memory (HOST_HEAP, HOST_STACK, HOST_STATIC) or a device variable (DEVICE_SYMBOL)."""
        return host.host_allocate(self.core, thread, size, kind, site)

    def host_free(self, thread: HostThread, value: Value, family: FreeClass, site: int) -> None:
        """Release host memory: HOST_HEAP or HOST_SCOPE."""
        host.host_free(self.core, thread, value, family, site)

    def host_access(
        self,
        thread: HostThread,
        pointer: Value,
        size: Value,
        mode: AccessMode,
        site: int,
        certain: bool = True,
    ) -> None:
        """The host reads or writes `size` bytes itself (None: not known how many); `certain` false: perhaps."""
        host.host_access(self.core, thread, pointer, size, mode, site, certain)

    def host_clock(self, thread: HostThread, site: int) -> None:
        """The host reads a clock."""
        host.host_clock(self.core, thread, site)

    def pointer_lost(self, thread: HostThread, pointer: Pointer, kind: LostKind, site: int) -> None:
        """The last pointer to a live allocation is gone."""
        reference = Reference(pointer.base, 0, pointer.generation)
        self.core.emit(OperationKind.POINTER_LOST, thread, site, references=[reference], detail=kind)

    def memory_of(self, thread: HostThread, value: Value, site: int) -> Pointer | None:
        """Return the memory that a value leads to: an unknown pointer's assumed allocation (for arithmetic on it)."""
        return self.core.pointer_of(thread, value, site)

    # -- what could not be followed ---------------------------------------------------------------
    def opaque_call(self, thread: HostThread, values: Iterable[Value], site: int, name: str = "") -> None:
        """Code nobody can see ran with these values: it may have used, ordered or freed the memory."""
        known = list(values)
        others.opaque(self.core, thread, known, site, name)
        captures.unseen_code(self.core, thread, known, site, name)

    def not_understood(self, thread: HostThread, site: int, reason: str = "") -> None:
        """The source could not be followed here; `reason` becomes the site's label, if given."""
        self._note(OperationKind.NOT_UNDERSTOOD, thread, site, reason, "")

    def malformed(self, thread: HostThread, site: int, reason: str = "", api: str = "") -> None:
        """No published version accepts the arguments; `reason` (`Api.explain_mismatch`) becomes the label."""
        self._note(OperationKind.MALFORMED_CALL, thread, site, reason, api)

    def _note(self, kind: OperationKind, thread: HostThread, site: int, reason: str, api: str) -> None:
        labelled = self.core.labelled(site, reason) if reason else site
        self.core.emit(kind, thread, labelled, api)


HANDLER_MODULES = (
    batches,
    captures,
    contexts,
    copies,
    events,
    launches,
    memory,
    others,
    peers,
    queries,
    registrations,
    stream_memory_ops,
    streams,
    vmm,
)
"""Imported also for the handlers that they register."""
