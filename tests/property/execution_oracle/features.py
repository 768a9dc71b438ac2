"""What a program has: every kind, class and flag of the vocabulary that it uses, and what is told of several together.

A generator can lose a part of the vocabulary without anybody noticing, for a program without it is judged alike by all.
So what random programs contain is counted, and `test_what_random_programs_contain` says what must be there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from enum import IntEnum

from execution_oracle.lifetimes import ON_EVENT
from execution_oracle.program import DETAILS, LEGACY, NOT_READY, PER_THREAD, Op, Program
from streamsan.trace import Reference
from streamsan.vocabulary import (
    AccessMode,
    CaptureMode,
    ContextKind,
    EdgeClass,
    FreeClass,
    GraphExecFlag,
    HandleKind,
    MemoryKind,
    NodeKind,
    SlotFlag,
    StreamKind,
    WaitClass,
)
from streamsan.vocabulary import OperationKind as Kind

VOCABULARY: tuple[type[IntEnum], ...] = (
    Kind, MemoryKind, FreeClass, WaitClass, StreamKind, ContextKind, HandleKind, EdgeClass, CaptureMode, NodeKind,
    AccessMode,
)  # fmt: skip
"""the enumerations of which members are counted"""
MORE_DETAILS: dict[Kind, type[IntEnum]] = {
    Kind.PREFETCH: WaitClass, Kind.HANDLE_CREATE: HandleKind, Kind.HANDLE_DESTROY: HandleKind,
    Kind.HANDLE_USE: HandleKind, Kind.CAPTURE_BEGIN: CaptureMode,
}  # fmt: skip
ENDS = (Kind.DEVICE_RESET, Kind.CONTEXT_DESTROY)


def every_feature() -> frozenset[str]:
    """Return the names of all members of the vocabulary, whether a program can have them or not."""
    return frozenset(f"{each.__name__}.{member.name}" for each in VOCABULARY for member in each)


def features(program: Program) -> frozenset[str]:
    """Return the names of what the program has."""
    return frozenset(_features(program))


def count(programs: Iterable[Program]) -> Counter[str]:
    """Return how many programs have each feature."""
    total: Counter[str] = Counter()
    for program in programs:
        total.update(features(program))
    return total


def _features(program: Program) -> Iterator[str]:
    yield f"origin {program.origin}"
    for op in program.ops:
        yield f"OperationKind.{op.kind.name}"
        sort = DETAILS.get(op.kind) or MORE_DETAILS.get(op.kind)
        if sort is not None and (op.detail or sort is WaitClass or op.kind is Kind.ALLOC):
            yield f"{sort.__name__}.{sort(op.detail).name}"
        if op.kind is Kind.GRAPH_INSTANTIATE and op.detail & GraphExecFlag.AUTO_FREE:
            yield "AutoFreeOnLaunch"
        if op.status and op.status != NOT_READY:
            yield "failed call"
        if op.status:
            yield f"{op.kind.name} with status {op.status}"
        for reference in op.references:
            yield from _of_reference(op, reference)
        if op.body is not None:
            for node in op.body.nodes:
                yield f"NodeKind.{node.kind.name}"
    yield from _contexts(program.ops)
    yield from _unknown(program.ops)
    yield from _default_streams(program.ops)
    yield from _graphs(program.ops)


def _of_reference(op: Op, reference: Reference) -> Iterator[str]:
    yield f"AccessMode.{reference.mode.name}"
    if op.kind is Kind.STREAM_MEMORY_OP:
        yield f"value {reference.mode.name.lower()}"
    if reference.bounds is not None:
        yield "bounded"
    if reference.flags & SlotFlag.ATOMIC:
        yield "strided" if op.kind in (Kind.COPY, Kind.MEMSET) else "atomic"


def _contexts(ops: tuple[Op, ...]) -> Iterator[str]:
    current: dict[int, int] = {}
    used: dict[int, set[int]] = {}
    ended: set[int] = set()
    for op in ops:
        if op.kind is Kind.CONTEXT_CURRENT:
            current[op.thread] = op.object
        if op.stream == LEGACY:
            used.setdefault(current.get(op.thread, 0), set()).add(op.thread)
        if op.kind in ENDS:
            name = "reset" if op.kind is Kind.DEVICE_RESET else "destroyed context"
            ended.add(op.object)
            yield name
            if len({thread for thread, at in current.items() if at == op.object}) > 1:
                yield f"{name} that two threads use"
        elif ended and (op.stream > PER_THREAD or op.kind in (Kind.LAUNCH, Kind.COPY)):
            yield "work after a context's end"
    if len(used) > 1:
        yield "legacy stream of several contexts"
    if any(len(threads) > 1 for threads in used.values()):
        yield "legacy stream of several threads"


def _unknown(ops: tuple[Op, ...]) -> Iterator[str]:
    streams: set[int] = {0, LEGACY, PER_THREAD}
    events: set[int] = set()
    for op in ops:
        assumed = bool(op.flags & SlotFlag.ASSUMED)
        if op.kind is Kind.STREAM_CREATE:
            streams.add(op.object)
            if assumed:
                yield "stream of an unknown caller"
        elif op.kind is Kind.EVENT_CREATE:
            events.add(op.object)
            if assumed:
                yield "event of an unknown caller"
        elif op.kind is Kind.ALLOC and assumed:
            yield "memory of an unknown caller"
        elif op.kind in ON_EVENT and op.object not in events:
            yield "event first seen in use"
        if op.body is None and op.stream not in streams and op.kind is not Kind.CAPTURE_BEGIN:
            yield "stream first seen in use"


def _default_streams(ops: tuple[Op, ...]) -> Iterator[str]:
    threads = {op.thread for op in ops if op.stream == PER_THREAD}
    if len(threads) > 1:
        yield "per-thread streams of several threads"


def _graphs(ops: tuple[Op, ...]) -> Iterator[str]:
    own: dict[int, int] = {}
    auto: set[int] = set()
    users: dict[int, set[int]] = {}
    launched: dict[int, int] = {}
    for op in ops:
        if op.body is not None:
            for node in op.body.nodes:
                for reference in node.references:
                    at = reference.address
                    if node.kind is NodeKind.ALLOC:
                        own[at] = op.object
                        if op.detail & GraphExecFlag.AUTO_FREE:
                            auto.add(at)
                    elif node.kind is NodeKind.FREE:
                        if own.get(at) != op.object:
                            yield "free by another graph's node"
                    elif at in own and own[at] != op.object:
                        yield "use by another graph's node"
                    else:
                        users.setdefault(at, set()).add(op.object)
        elif op.kind is Kind.GRAPH_LAUNCH:
            launched[op.object] = op.stream
        elif op.stream and op.kind is not Kind.ALLOC:
            for reference in op.references:
                if reference.address in auto and launched.get(own[reference.address], op.stream) != op.stream:
                    yield "AutoFreeOnLaunch with a consumer on another stream"
    if any(len(each) > 1 for each in users.values()):
        yield "memory that two graphs use"
