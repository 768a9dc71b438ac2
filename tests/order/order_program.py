"""A short way to write a trace: one call, one operation, each on a line (site) of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from streamsan.order.engine import Analysis, analyse
from streamsan.order.facts import Fact
from streamsan.trace import Reference, Site, Trace, TraceBuilder
from streamsan.trace.reference_bounds import Bounds
from streamsan.trace.rows import Rows
from streamsan.vocabulary import (
    AccessMode,
    ContextKind,
    EdgeClass,
    ExitKind,
    FreeClass,
    HandleKind,
    MemoryKind,
    NodeKind,
    SlotFlag,
    StreamKind,
)
from streamsan.vocabulary import OperationKind as Kind

READ_WRITE = AccessMode.READ_WRITE
READ, WRITE, OPAQUE = AccessMode.READ, AccessMode.WRITE, AccessMode.OPAQUE
PRIMARY = 100


@dataclass(frozen=True)
class Node:
    """A node of a graph's body."""

    kind: NodeKind
    references: tuple[Reference, ...] = ()
    object: int = 0
    flags: int = 0
    since: int = 0
    """sequence of the latest operation when it was made; 0: it is made with its executable graph"""


def kernel(address: int, mode: AccessMode = OPAQUE, *, touches: bool = False, generation: int = 0) -> Node:
    """A kernel node with one argument."""
    flags = SlotFlag.TOUCHES if touches else 0
    return Node(NodeKind.KERNEL, (Reference(address, 0, generation, mode, flags),))


def memory_node(kind: NodeKind, address: int) -> Node:
    """An allocation or free node."""
    return Node(kind, (Reference(address, 256),))


class Program:
    """Builds a trace, with these non-blocking streams; every method returns the line of its operation."""

    def __init__(
        self, *streams: int, whole: bool = True, processes: tuple[int, ...] = (0,), origin: str = "source"
    ) -> None:
        self.builder = TraceBuilder("program", origin=origin)
        for process in processes:
            self.builder.thread(process, "thread")
        self.line = 0
        if whole:
            self.op(Kind.MAIN_BEGIN, api="")
        self.context(PRIMARY)
        for stream in streams:
            self.stream(stream)

    def op(
        self,
        kind: Kind,
        *,
        thread: int = 0,
        api: str = "call",
        at: int = 0,
        mode: AccessMode = OPAQUE,
        reference_flags: int = 0,
        rows: Rows | None = None,
        bounds: Bounds | None = None,
        **fields: object,
    ) -> int:
        self.line += 1
        line = at or self.line
        memory = fields.pop("memory", ())
        addresses = memory if isinstance(memory, tuple) else (memory,)
        if rows is not None:
            fields["bytes"], reference_flags = rows.extent, reference_flags | SlotFlag.STRIDED
        size, generation = int(fields.pop("bytes", 0)), int(fields.pop("generation", 0))  # type: ignore[call-overload]
        self.builder.append(
            kind,
            thread=thread,
            api=api,
            site=self.builder.site(Site("program", line)),
            references=[
                Reference(address, size, generation, mode, reference_flags, rows, bounds) for address in addresses
            ],
            **fields,  # type: ignore[arg-type]
        )
        return line

    def context(self, handle: int, kind: ContextKind = ContextKind.PRIMARY, thread: int = 0) -> int:
        self.op(Kind.CONTEXT_CREATE, api="", object=handle, detail=kind, thread=thread)
        return self.current(handle, thread)

    def current(self, handle: int, thread: int = 0) -> int:
        return self.op(Kind.CONTEXT_CURRENT, api="", object=handle, thread=thread)

    def stream(self, handle: int, kind: StreamKind = StreamKind.NON_BLOCKING, **fields: object) -> int:
        return self.op(Kind.STREAM_CREATE, object=handle, detail=kind, **fields)  # type: ignore[arg-type]

    def unknown_stream(self, handle: int, apart: int = 0) -> int:
        return self.op(Kind.STREAM_CREATE, api="", object=handle, size=apart, detail=StreamKind.UNKNOWN, flags=8)

    def alloc(self, address: int, kind: MemoryKind = MemoryKind.PLAIN, stream: int = 0, **fields: object) -> int:
        fields.setdefault("bytes", 256)
        return self.op(Kind.ALLOC, memory=address, detail=kind, stream=stream, **fields)  # type: ignore[arg-type]

    def free(self, address: int, family: FreeClass = FreeClass.DEVICE, stream: int = 0, **fields: object) -> int:
        return self.op(Kind.FREE, memory=address, detail=family, stream=stream, **fields)  # type: ignore[arg-type]

    def launch(self, stream: int, *memory: int, **fields: object) -> int:
        return self.op(Kind.LAUNCH, stream=stream, memory=memory, **fields)  # type: ignore[arg-type]

    def copy(self, stream: int, memory: int, mode: AccessMode, **fields: object) -> int:
        return self.op(Kind.COPY, stream=stream, memory=memory, mode=mode, **fields)  # type: ignore[arg-type]

    def sync(self, stream: int, **fields: object) -> int:
        return self.op(Kind.STREAM_SYNCHRONIZE, stream=stream, **fields)  # type: ignore[arg-type]

    def sync_all(self, **fields: object) -> int:
        return self.op(Kind.CONTEXT_SYNCHRONIZE, object=PRIMARY, **fields)  # type: ignore[arg-type]

    def record(self, event: int, stream: int, **fields: object) -> int:
        return self.op(Kind.EVENT_RECORD, object=event, stream=stream, **fields)  # type: ignore[arg-type]

    def wait(self, stream: int, event: int, **fields: object) -> int:
        return self.op(Kind.STREAM_WAIT_EVENT, object=event, stream=stream, **fields)  # type: ignore[arg-type]

    def graph(
        self,
        exec_handle: int,
        nodes: Sequence[Node],
        edges: Sequence[tuple[int, int]] = (),
        *,
        graph: int = 0,
        kind: Kind = Kind.GRAPH_INSTANTIATE,
        **fields: object,
    ) -> int:
        """An executable graph with its body; nodes are numbered from 1 and have the lines after the one returned."""
        line = self.op(kind, object=exec_handle, address=graph, size=len(nodes) + len(edges), **fields)
        for number, node in enumerate(nodes, 1):
            self.line += 1
            self.builder.append(
                Kind.GRAPH_NODE,
                thread=0,
                api="node",
                site=self.builder.site(Site("program", self.line)),
                stream=exec_handle,
                object=number,
                address=node.object,
                time=node.since,
                detail=node.kind,
                flags=node.flags,
                references=node.references,
            )
        for before, after in edges:
            self.builder.append(Kind.GRAPH_EDGE, thread=0, stream=exec_handle, object=before, address=after)
        return line

    def graph_launch(self, exec_handle: int, stream: int, **fields: object) -> int:
        return self.op(Kind.GRAPH_LAUNCH, object=exec_handle, stream=stream, **fields)  # type: ignore[arg-type]

    def graph_destroy(self, exec_handle: int) -> int:
        return self.op(Kind.HANDLE_DESTROY, object=exec_handle, detail=HandleKind.GRAPH_EXEC)

    def hand_over(self, giver: int, taker: int, edge: EdgeClass = EdgeClass.CONTRACT, key: int = 7) -> None:
        self.op(Kind.HOST_RELEASE, thread=giver, object=key, detail=edge, api="")
        self.op(Kind.HOST_ACQUIRE, thread=taker, object=key, detail=edge, api="")

    def exit(self, kind: ExitKind = ExitKind.NORMAL) -> int:
        self.op(Kind.MAIN_END, api="")
        return self.op(Kind.PROCESS_EXIT, api="", detail=kind)

    def trace(self) -> Trace:
        return self.builder.finish()

    def analysis(self) -> Analysis:
        return analyse(self.trace())

    def facts(self, *codes: int) -> list[Fact]:
        return [fact for fact in self.analysis().facts if not codes or fact.code in codes]

    def found(self) -> list[tuple[int, str, int]]:
        """Code, variant and line of every fact."""
        return [(fact.code, fact.variant.name, line_of(fact)) for fact in self.facts()]


def line_of(fact: Fact) -> int:
    """Sites are added in the order of their lines, without gaps only when no line is named twice."""
    return fact.operation.site
