"""What goes into the trace: fresh names, processes, host threads, operations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypedDict, Unpack

from msgspec.structs import replace

from streamsan.model.call import Call
from streamsan.model.process_state import HostThread, Phase, Process
from streamsan.model.streams_and_graphs import LEGACY_HANDLE, PER_THREAD_HANDLE, Stream
from streamsan.model.values import Origin, Outcome, Symbol
from streamsan.trace.builder import TraceBuilder
from streamsan.trace.references import Reference
from streamsan.vocabulary import AccessMode, OperationKind, SlotFlag, StreamKind

_NODES = (OperationKind.GRAPH_NODE, OperationKind.GRAPH_NODE_UPDATE)
FIRST_HANDLE = 0x1000
FIRST_SYMBOL = 1 << 32
"""Symbols that the model makes count from here, so that they differ from those of its caller."""


class OperationFields(TypedDict, total=False):
    """The fields of an operation that not every one has."""

    stream: int
    object: int
    references: Sequence[Reference]
    address: int
    size: int
    detail: int
    flags: int
    status: int


class Emission:
    """Appends operations to a trace and gives out names that were never used before."""

    def __init__(self, builder: TraceBuilder) -> None:
        self.builder = builder
        self.processes: list[Process] = []
        self.threads: list[HostThread] = []
        self._next_handle = FIRST_HANDLE
        self._next_symbol = FIRST_SYMBOL

    # -- fresh names ------------------------------------------------------------------------------
    def fresh_handle(self) -> int:
        """Return a handle value, or sync key, that was never given before."""
        self._next_handle += 1
        return self._next_handle

    def fresh_symbol(self, name: str, origin: Origin = "opaque") -> Symbol:
        """Return a new unknown."""
        self._next_symbol += 1
        return Symbol(self._next_symbol, name, origin)

    def new_process(self) -> Process:
        """Return a new process with its two default streams."""
        process = Process(len(self.processes))
        self.processes.append(process)
        process.handles[LEGACY_HANDLE] = Stream(LEGACY_HANDLE, StreamKind.LEGACY, None)
        process.handles[PER_THREAD_HANDLE] = Stream(PER_THREAD_HANDLE, StreamKind.PER_THREAD, None)
        return process

    def start_thread(self, process: Process, name: str, site: int) -> HostThread:
        """Make a host thread of a process and say so."""
        thread = HostThread(self.builder.thread(process.index, name), process, name)
        self.threads.append(thread)
        self.emit(OperationKind.THREAD_START, thread, site)
        return thread

    def labelled(self, site: int, label: str) -> int:
        """Return the id of the same site with another label."""
        return self.builder.site(replace(self.builder.site_at(site), label=label))

    # -- operations -------------------------------------------------------------------------------
    def emit(
        self, kind: OperationKind, thread: HostThread, site: int, api: str = "", **fields: Unpack[OperationFields]
    ) -> int:
        """Append one operation of a thread."""
        flags = fields.get("flags", 0)
        # Of a node of a graph the flag says that a launch may leave it out, wherever the graph was made.
        if thread.conditional and kind not in _NODES:
            flags |= SlotFlag.CONDITIONAL
        if thread.process.phase in (Phase.BEFORE_MAIN, Phase.AFTER_MAIN):
            flags |= SlotFlag.OUTSIDE
        fields["flags"] = flags
        return self.builder.append(kind, thread=thread.index, api=api, site=site, **fields)

    def say(self, call: Call, kind: OperationKind = OperationKind.CALL, **fields: Unpack[OperationFields]) -> Outcome:
        """Append the operation that a call is; return the call's outcome: the operation's status, and no outputs."""
        self.emit(kind, call.thread, call.site, call.api.name, **fields)
        return Outcome(fields.get("status", 0))

    def say_overrun(self, call: Call, reason: str, mode: AccessMode) -> None:
        """Emit that a call's arguments make it reach past a buffer; `reason` is what follows the call's name."""
        self.emit(
            OperationKind.MALFORMED_CALL, call.thread, self.labelled(call.site, reason), call.api.name, flags=mode
        )

    def say_once(self, call: Call, subject: str, reason: str) -> None:
        """Emit, once for each subject in a process, that something is not followed."""
        if subject not in call.thread.process.said:
            call.thread.process.said.add(subject)
            self.emit(OperationKind.NOT_UNDERSTOOD, call.thread, self.labelled(call.site, reason), call.api.name)
