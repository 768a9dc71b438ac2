"""The device model: the API's transitions over symbolic handles and allocations.

A caller (the source reader, a simulated device) says what the program does; the model answers with statuses and
values, and writes the operations into a trace. One handler for each effect of the table, registered by the modules that
are imported here, or in `rarer_calls`; `docs/architecture.md` says what the fields of an operation mean.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Unpack

from streamsan.effects import Api, Effect, Effects, Role, Signature
from streamsan.model import captures, events, launches, others, streams
from streamsan.model import contexts as contexts
from streamsan.model import copies as copies
from streamsan.model import memory as memory
from streamsan.model import vmm as vmm
from streamsan.model.call import Call, CallDetails, bind_values, hints
from streamsan.model.core import ModelCore, OutOfMemoryError
from streamsan.model.error_calls import note_error
from streamsan.model.executor import Executor
from streamsan.model.guards import MAKES_CURRENT, refusal, say_refusal
from streamsan.model.handlers import HANDLERS
from streamsan.model.host import HostSide
from streamsan.model.host_function_body import HostCall
from streamsan.model.launches import HostFunctionBody
from streamsan.model.opencl.objects import ClEvent
from streamsan.model.process_state import HostThread
from streamsan.model.statuses import INITIALIZATION_ERROR, OUT_OF_MEMORY, SUCCESS
from streamsan.model.streams_and_graphs import Event, Stream
from streamsan.model.values import Handle, KernelArguments, Outcome, Pointer, RefusalError, Value
from streamsan.platforms import CUDA, OPENCL
from streamsan.trace.builder import TraceBuilder
from streamsan.vocabulary import (
    OperationKind,
)

LAUNCH_API = "cudaLaunchKernel"


class DeviceModel(HostSide):
    """One program run on the model. `site` is always a site id of the builder, `thread` a thread of this model."""

    def __init__(
        self,
        builder: TraceBuilder,
        *,
        per_thread_default: bool = False,
        executor: Executor | None = None,
    ) -> None:
        super().__init__(ModelCore(builder, per_thread_default=per_thread_default, executor=executor))
        self.on_host_function: HostFunctionBody | None = None
        """Called with (driver's thread, function, user data) to run the body of a host function; None: bodies are not
        in view. Raise nothing. The order around the body is the model's."""

    @property
    def builder(self) -> TraceBuilder:
        """Where the operations go."""
        return self.core.builder

    @property
    def threads(self) -> Sequence[HostThread]:
        """All host threads, by index in the trace."""
        return self.core.threads

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
        **details: Unpack[CallDetails],
    ) -> Outcome:
        """Make an API call with positional arguments.

        What an out-argument points to does not matter: 0 says NULL was passed, anything else that a result is wanted;
        results are in `outputs` by parameter name, and in `outputs["return"]` where the returned status itself is not
        known (queries), or is no status (cudaGetErrorName). A structure's fields come as `outputs["attributes.type"]`,
        a list as `outputs["data.0"]`, bytes as latin-1 text. A call with a number of arguments that no version accepts
        is bound as far as possible; saying so is the caller's part (`malformed`).
        """
        row = CUDA.effects.find(api)
        if row is None and (of_opencl := OPENCL.effects.find(api)) is not None:
            return self._opencl_call(thread, of_opencl, arguments, site, signature, details)
        if row is None:
            self.not_understood(thread, site, f"{api} is not an API that is known")
            self.opaque_call(thread, arguments, site, api)
            return Outcome()
        bound = signature or self.bind(row, arguments) or row.best_guess(len(arguments))
        values = bind_values(bound, arguments)
        call = Call(thread, row, bound, site, values, Effects.per_thread(api), **details)
        outcome = self._refused(call)
        had_context = bool(thread.stack)
        if outcome is None:
            outcome = self._handled(call)
            if row.domain == "driver" and not had_context and row.effect not in MAKES_CURRENT and self.core.machine:
                # What the handler needed one for is done. The driver makes none current by itself.
                thread.stack.clear()
            if row.domain == "runtime" and thread.stack:
                thread.stack[-1].used_by_runtime = True
            if row.effect is Effect.PURE:
                return self._completed(call, outcome)
        note_error(call, outcome.status)
        return self._completed(call, outcome)

    def _opencl_call(
        self,
        thread: HostThread,
        row: Api,
        arguments: Sequence[Value],
        site: int,
        signature: Signature | None,
        details: CallDetails,
    ) -> Outcome:
        """Make a call of OpenCL: nothing is current to a thread, and no call refuses one that comes later."""
        # Imported late: most programs use one platform only.
        from streamsan.model.opencl.registered_calls import HANDLERS

        bound = signature or row.best_guess(len(arguments))
        call = Call(thread, row, bound, site, bind_values(bound, arguments), False, **details)
        try:
            outcome = HANDLERS[row.effect](self.core, call)
        except OutOfMemoryError:
            outcome = self.core.say(call, status=OPENCL.status.out_of_memory)
        status = call.out(Role.OUT_STATUS)
        if status is not None and status.name in call.values:
            outcome.outputs.setdefault(status.name, outcome.status)
        return self._completed(call, outcome)

    def _refused(self, call: Call) -> Outcome | None:
        """Refuse a call before it does anything; None: it goes on."""
        if call.api.effect is not Effect.PURE:
            if call.thread.process.poisoned:
                return self.core.say(call, status=INITIALIZATION_ERROR)
            call.thread.process.initialised = True
        status = refusal(self.core, call)
        if not status:
            return None
        say_refusal(self.core, call, status)
        return Outcome(status)

    def _handled(self, call: Call) -> Outcome:
        if call.api.effect not in HANDLERS:
            # Imported late: a third of the model, and most programs need none of it.
            from streamsan.model import rarer_calls as rarer_calls

        in_source = call.api.effect is Effect.HOST_FUNCTION and self.on_host_function is not None
        try:
            outcome = captures.captured_call(self.core, call)
            if outcome is not None:
                return outcome
            return self._host_function(call) if in_source else HANDLERS[call.api.effect](self.core, call)
        except RefusalError as refused:
            return refused.outcome
        except OutOfMemoryError:
            return self.core.say(call, status=OUT_OF_MEMORY)

    def _host_function(self, call: Call) -> Outcome:
        """Issue a host function, and run its body on a thread of the driver, ordered after the stream's work so far."""
        body = self.on_host_function
        outcome, key = launches.host_function_key(self.core, call, seen=body is not None)
        if body is not None and key:
            started = HostCall(self.core, call.thread, lambda: None, key, call.site)
            worker = started.begin()
            body(worker, call.value(Role.FUNCTION), call.value(Role.USER_DATA))
            started.end(worker)
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
        if isinstance(found, ClEvent):
            from streamsan.model.opencl.order import status_seen_complete

            status_seen_complete(self.core, thread, found, site)
        elif isinstance(found, Event):
            events.event_query_succeeded(self.core, thread, found, site)
        elif isinstance(found, Stream):
            streams.stream_query_succeeded(self.core, thread, found, site)

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
