"""A program is what a trace says of it: operations in the order in which their calls were entered."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum

from streamsan.trace import Reference
from streamsan.vocabulary import ContextKind, EdgeClass, FreeClass, MemoryKind, NodeKind, StreamKind, WaitClass
from streamsan.vocabulary import OperationKind as Kind

LEGACY, PER_THREAD = 1, 2
"""handles of the default streams"""
SUCCESS, INVALID_VALUE, OUT_OF_MEMORY, NOT_READY = 0, 1, 2, 600
DETAILS: dict[Kind, type[IntEnum]] = {
    Kind.ALLOC: MemoryKind, Kind.FREE: FreeClass, Kind.STREAM_CREATE: StreamKind, Kind.COPY: WaitClass,
    Kind.MEMSET: WaitClass, Kind.LAUNCH: WaitClass, Kind.HOST_RELEASE: EdgeClass, Kind.HOST_ACQUIRE: EdgeClass,
    Kind.CONTEXT_CREATE: ContextKind,
}  # fmt: skip
"""what `detail` means"""


@dataclass(frozen=True, slots=True)
class Node:
    """A node of a graph's body."""

    kind: NodeKind
    references: tuple[Reference, ...] = ()
    object: int = 0
    """the event of an event node"""
    conditional: bool = False
    """a launch may leave it out"""


@dataclass(frozen=True, slots=True)
class Body:
    """What an executable graph runs; nodes are numbered from 1 and edges lead to higher numbers."""

    nodes: tuple[Node, ...]
    edges: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Op:
    """One operation; fields mean what those of a slot mean."""

    kind: Kind
    thread: int = 0
    stream: int = 0
    object: int = 0
    address: int = 0
    """where it is no memory: the graph of an instantiation, the node of an update"""
    detail: int = 0
    status: int = SUCCESS
    references: tuple[Reference, ...] = ()
    body: Body | None = None
    flags: int = 0
    """SlotFlag, less those of references"""


@dataclass(frozen=True, slots=True)
class Known:
    """A stream that somebody made before the program began, with work of theirs pending."""

    handle: int
    kind: StreamKind
    context: int
    stated: bool = False
    """that it was there is said in the trace; else it is seen when it is used"""


@dataclass(frozen=True, slots=True)
class Program:
    """Operations, and who made the trace of them ("source", "recording")."""

    ops: tuple[Op, ...]
    threads: int
    origin: str = "source"
    before: tuple[Known, ...] = ()
    everything: bool = False
    """what nobody can see covers all: events that unknown code records, and its calls; these leave work everywhere"""


def sequences(ops: Sequence[Op]) -> list[int]:
    """Return the number of each operation in the trace: a body's nodes and edges, behind it, have numbers too."""
    numbers = []
    following = 1
    for op in ops:
        numbers.append(following)
        following += 1 + (0 if op.body is None else len(op.body.nodes) + len(op.body.edges))
    return numbers


def listing(program: Program) -> Iterator[str]:
    """Yield the program as lines to read, each with the number of its operation."""
    yield f"{program.origin}, {program.threads} threads"
    for number, op in zip(sequences(program.ops), program.ops, strict=True):
        parts = [f"{number:3d}  t{op.thread} {op.kind.name}"]
        detail = DETAILS[op.kind](op.detail).name if op.kind in DETAILS and op.detail else op.detail
        parts += [
            f"{name}={value}"
            for name in ("stream", "object", "address", "status", "flags")
            if (value := getattr(op, name))
        ]
        parts += [f"{detail}"] if detail else []
        parts += [_reference(reference) for reference in op.references]
        yield " ".join(parts)
        if op.body is not None:
            for index, node in enumerate(op.body.nodes, 1):
                before = [earlier for earlier, later in op.body.edges if later == index]
                memory = " ".join(_reference(reference) for reference in node.references)
                what = f"{node.kind.name} {node.object or ''} {memory}"
                yield f"{number + index:3d}       node {index} {what} after {before}"


def _reference(reference: Reference) -> str:
    size = f"+{reference.size}" if reference.size else ""
    if reference.bounds is not None:
        size = f"[{reference.bounds.begin:#x}, {reference.bounds.end:#x})"
    generation = f"#{reference.generation}" if reference.generation else ""
    return f"{reference.address:#x}{size}{generation}:{reference.mode.name.lower()}/{reference.flags}"
