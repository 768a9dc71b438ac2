"""Programs as traces: each operation, and each node of a body, at a place of its own, so that facts stay apart."""

from __future__ import annotations

from functools import cache

from execution_oracle.program import Node, Op, Program
from streamsan.trace import Site, Trace, TraceBuilder
from streamsan.vocabulary import OperationKind as Kind
from streamsan.vocabulary import SlotFlag


@cache
def _site(line: int) -> Site:
    return Site("program", line)


def trace_of(program: Program) -> Trace:
    """Return the program's trace; the site of an operation is its number."""
    builder = TraceBuilder("program", origin=program.origin)
    for thread in range(program.threads):
        builder.thread(0, f"thread {thread}")
    for op in program.ops:
        _append(builder, op)
        if op.body is not None:
            for number, node in enumerate(op.body.nodes, 1):
                _append_node(builder, op, number, node)
            for earlier, later in op.body.edges:
                builder.append(Kind.GRAPH_EDGE, thread=op.thread, site=_next(builder), stream=op.object, object=earlier,
                               address=later)  # fmt: skip
    return builder.finish()


def _next(builder: TraceBuilder) -> int:
    return builder.site(_site(builder.operations + 1))


def _append(builder: TraceBuilder, op: Op) -> None:
    parts = 0 if op.body is None else len(op.body.nodes) + len(op.body.edges)
    builder.append(
        op.kind,
        thread=op.thread,
        # A recording says by the name which operations were calls; what has none restates what was there before.
        api="" if op.kind in (Kind.MAIN_BEGIN, Kind.HOST_RELEASE, Kind.HOST_ACQUIRE) else "call",
        site=_next(builder),
        stream=op.stream,
        object=op.object,
        address=op.address,
        size=parts,
        detail=op.detail,
        flags=op.flags,
        status=op.status,
        references=op.references,
    )


def _append_node(builder: TraceBuilder, op: Op, number: int, node: Node) -> None:
    builder.append(
        Kind.GRAPH_NODE,
        thread=op.thread,
        api="node",
        site=_next(builder),
        stream=op.object,
        object=number,
        address=node.object,
        detail=node.kind,
        flags=SlotFlag.CONDITIONAL if node.conditional else 0,
        references=node.references,
    )
