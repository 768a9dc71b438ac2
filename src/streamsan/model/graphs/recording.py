"""What a call would put on a stream, without putting it there: the work of a node.

A node does what the same call on a stream would do. So the handler of that call runs on a core that keeps the device
work it emits, and all else (a context, memory nobody knows) goes into the trace as ever.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Unpack, cast

from msgspec import Struct, field

from streamsan.model.call import Call
from streamsan.model.core import ModelCore
from streamsan.model.emission import OperationFields
from streamsan.model.executor import Executor
from streamsan.model.handlers import HANDLERS
from streamsan.model.process_state import HostThread
from streamsan.model.resources import Context
from streamsan.model.statuses import SUCCESS
from streamsan.model.streams_and_graphs import Event, Stream
from streamsan.model.values import Fields, KernelArguments, Value
from streamsan.model.work import Work
from streamsan.platforms import CUDA
from streamsan.trace.references import Reference
from streamsan.vocabulary import NodeKind, OperationKind, WaitClass

NODE_KINDS = {
    OperationKind.LAUNCH: NodeKind.KERNEL,
    OperationKind.COPY: NodeKind.COPY,
    OperationKind.MEMSET: NodeKind.MEMSET,
    OperationKind.HOST_FUNCTION: NodeKind.HOST,
    OperationKind.PREFETCH: NodeKind.EMPTY,
    OperationKind.STREAM_MEMORY_OP: NodeKind.STREAM_MEMORY_OP,
    OperationKind.OPAQUE_CALL: NodeKind.OPAQUE,
}


class Recorded(Struct):
    """One operation that a handler would have issued."""

    kind: NodeKind
    references: tuple[Reference, ...]
    site: int
    work: list[Work] = field(default_factory=list)


class _RecordingExecutor:
    """Keeps the work of the operation emitted last; everything else is the executor's own matter."""

    def __init__(self, executor: Executor, recorded: list[Recorded]) -> None:
        self._executor = executor
        self._recorded = recorded

    def enqueue(self, thread: HostThread, stream: Stream, work: Work, wait: WaitClass) -> None:
        """Keep the work."""
        self.run_now(thread, work)

    def run_now(self, thread: HostThread, work: Work) -> None:
        """Keep the work: a node does it on the device."""
        if self._recorded:
            self._recorded[-1].work.append(work)

    def synchronize_stream(self, thread: HostThread, stream: Stream) -> None:
        """Wait for nothing: making a node does not wait, whatever the same call on a stream would do."""

    def synchronize_event(self, thread: HostThread, event: Event) -> None:
        """Wait for nothing."""

    def synchronize_context(self, thread: HostThread, context: Context) -> None:
        """Wait for nothing."""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._executor, name)


class RecordingCore(ModelCore):
    """The core itself (same state), except that device work is kept and not issued."""

    __slots__ = ("_stand_in", "recorded")
    issues = False

    def __init__(self, core: ModelCore) -> None:
        # No state of its own: fresh handles and generations must count on in the core.
        self.__dict__ = core.__dict__
        self.recorded: list[Recorded] = []
        self._stand_in = cast(Executor, _RecordingExecutor(core.__dict__["executor"], self.recorded))

    @property
    def executor(self) -> Executor:  # type: ignore[override]
        """The executor that keeps work."""
        return self._stand_in

    def emit(
        self, kind: OperationKind, thread: HostThread, site: int, api: str = "", **fields: Unpack[OperationFields]
    ) -> int:
        """Keep device work that would succeed; append everything else to the trace."""
        if kind in NODE_KINDS and not fields.get("status"):
            self.recorded.append(Recorded(NODE_KINDS[kind], tuple(fields.get("references", ())), site))
            return 0
        return super().emit(kind, thread, site, api, **fields)


def work_of(core: ModelCore, call: Call) -> tuple[int, list[Recorded]]:
    """Return the status of a call, and what it would have issued."""
    recording = RecordingCore(core)
    outcome = HANDLERS[call.api.effect](recording, call)
    return max(outcome.status, SUCCESS), recording.recorded


def same_call(
    call: Call,
    api: str,
    values: Mapping[str, Value],
    *,
    structures: Mapping[str, Fields] | None = None,
    kernel_arguments: KernelArguments | None = None,
) -> Call:
    """Return the call on the default stream that does what a node does. What `values` lacks nobody knows."""
    row = CUDA.effects.find(api)
    assert row is not None
    signature = row.versions[0]
    bound: dict[str, Value] = {parameter.name: None for parameter in signature.parameters}
    bound |= {parameter.name: 0 for parameter in signature.parameters if parameter.handle == "stream"}
    bound |= {name: value for name, value in values.items() if name in bound}
    return Call(
        call.thread,
        row,
        signature,
        call.site,
        bound,
        per_thread=False,
        kernel_arguments=kernel_arguments,
        structures=structures or {},
        payload=call.payload,
    )
