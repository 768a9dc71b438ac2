"""A copy of all that a kernel can reach, beside the kernel: likely. What nobody knows is said at least (SS109)."""

from __future__ import annotations

import pytest
from order_program import OPAQUE, READ, READ_WRITE, WRITE, Node, Program

from streamsan.order.facts import Fact
from streamsan.trace import Reference
from streamsan.trace.reference_bounds import Bounds
from streamsan.vocabulary import AccessMode, MemoryKind, NodeKind, SlotFlag
from streamsan.vocabulary import OperationKind as Kind

S, T = 10, 11
G, E = 70, 30
P, SIZE = 0x100000, 4096
TOUCHES, ATOMIC, ASSUMED = SlotFlag.TOUCHES, SlotFlag.ATOMIC, SlotFlag.ASSUMED
NOTE, LIKELY, SURE = (True, False), (True, True), (False, False)


def program(kind: MemoryKind = MemoryKind.PLAIN, origin: str = "source") -> Program:
    p = Program(S, T, origin=origin)
    p.op(Kind.EVENT_CREATE, object=E)
    p.alloc(P, kind, bytes=SIZE)
    return p


def sureness(p: Program) -> list[tuple[bool, bool]]:
    facts: list[Fact] = p.facts(109)
    return [(fact.assumed, fact.likely) for fact in facts]


@pytest.mark.parametrize(
    ("copy", "kernel", "found"),
    [
        ((P, SIZE, READ), (P, WRITE, 0), [LIKELY]),
        ((P, SIZE, WRITE), (P, READ, 0), [LIKELY]),
        ((P, SIZE, WRITE), (P + 128, READ_WRITE, 0), [LIKELY]),
        ((P + 128, SIZE - 128, WRITE), (P + 128, READ, 0), [LIKELY]),
        ((P, SIZE, READ), (P, READ, 0), []),
        ((P, SIZE, WRITE), (P, READ, TOUCHES), [SURE]),
        ((P, SIZE, WRITE), (P, OPAQUE, 0), [NOTE]),
        ((P, SIZE, READ), (P, OPAQUE, 0), [NOTE]),
        ((P, SIZE, WRITE), (P, READ, ASSUMED), [NOTE]),
        ((P, SIZE // 2, WRITE), (P, READ, 0), [NOTE]),  # the kernel may be about the other half
        ((P, SIZE // 2, READ), (P, OPAQUE, 0), [NOTE]),
        ((P, SIZE // 2, READ), (P + SIZE // 2, OPAQUE, 0), []),
        ((P, SIZE, READ), (P, READ_WRITE, ATOMIC), [NOTE]),  # sums that are looked at while they grow
    ],
)
@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("origin", ["source", "recording"])
@pytest.mark.parametrize("ordered", [False, True])
def test_a_copy_beside_a_kernel(
    copy: tuple[int, int, AccessMode],
    kernel: tuple[int, AccessMode, int],
    found: list[tuple[bool, bool]],
    turned: bool,
    origin: str,
    ordered: bool,
) -> None:
    p = program(origin=origin)
    steps = [(Kind.COPY, copy[0], copy[1], copy[2], 0), (Kind.LAUNCH, kernel[0], 0, kernel[1], kernel[2])]
    for stream, (kind, memory, size, mode, flags) in zip((S, T), steps[::-1] if turned else steps, strict=True):
        p.op(kind, stream=stream, memory=memory, bytes=size, mode=mode, reference_flags=flags)
        if ordered:
            p.record(E, S)
            p.wait(T, E)
    assert sureness(p) == ([] if ordered else found)


@pytest.mark.parametrize(
    ("one", "other", "found"),
    [
        ((P, WRITE, TOUCHES), (P, READ, TOUCHES), [SURE]),
        ((P, WRITE, 0), (P, READ, 0), [NOTE]),  # parts that an argument numbers
        ((P, WRITE, TOUCHES), (P, WRITE, 0), [NOTE]),  # an interior, and its halo
        ((P, OPAQUE, 0), (P, OPAQUE, 0), []),  # a table that nobody made const
        ((P, READ_WRITE, ATOMIC | TOUCHES), (P, READ_WRITE, ATOMIC | TOUCHES), []),  # a histogram
        ((P, WRITE, 0), (P + SIZE // 2, READ, 0), []),  # halves by pointers
    ],
)
def test_kernels_are_no_more_than_possible_unless_they_surely_meet(
    one: tuple[int, AccessMode, int], other: tuple[int, AccessMode, int], found: list[tuple[bool, bool]]
) -> None:
    p = program()
    for stream, (memory, mode, flags) in zip((S, T), (one, other), strict=True):
        p.launch(stream, memory, mode=mode, reference_flags=flags)
    assert sureness(p) == found


@pytest.mark.parametrize(
    ("one", "other", "found"),
    [
        ((P, 1024, 0), (P + 512, 1024, 0), [SURE]),
        ((P, 1024, 0), (P + 1024, 1024, 0), []),
        ((P, 1024, ASSUMED), (P + 512, 1024, 0), [NOTE]),  # a bound only
        ((P, 1024, ASSUMED), (P + 1024, 1024, 0), []),
    ],
)
@pytest.mark.parametrize("in_a_graph", [False, True])
def test_kernels_whose_extent_is_known(
    one: tuple[int, int, int], other: tuple[int, int, int], found: list[tuple[bool, bool]], in_a_graph: bool
) -> None:
    p = program()
    references = [Reference(memory, size, 0, WRITE, flags) for memory, size, flags in (one, other)]
    if in_a_graph:
        p.graph(G, [Node(NodeKind.KERNEL, (each,)) for each in references])
    else:
        for stream, each in zip((S, T), references, strict=True):
            p.builder.append(Kind.LAUNCH, thread=0, stream=stream, references=[each])
    assert sureness(p) == found


@pytest.mark.parametrize(
    ("size", "mode", "edges", "found"),
    [
        (SIZE, READ, [], [LIKELY]),
        (SIZE, WRITE, [], [LIKELY]),
        (SIZE // 2, READ, [], [NOTE]),
        (SIZE, READ, [(1, 2)], []),
    ],
)
def test_no_node_looks_at_a_sum_that_another_node_of_its_graph_makes_grow(
    size: int, mode: AccessMode, edges: list[tuple[int, int]], found: list[tuple[bool, bool]]
) -> None:
    p = program(origin="recording")
    counts = Node(NodeKind.KERNEL, (Reference(P, 0, 0, READ_WRITE, ATOMIC),))
    p.graph(G, [counts, Node(NodeKind.COPY, (Reference(P, size, 0, mode),))], edges)
    assert sureness(p) == found


def test_managed_memory_and_a_copy_that_takes_all() -> None:
    for kind in (MemoryKind.MANAGED, MemoryKind.PINNED):
        p = program(kind)
        p.copy(S, P, READ, bytes=SIZE)
        p.launch(T, P, mode=WRITE)
        assert sureness(p) == [LIKELY]


def test_memory_of_unknown_size_is_never_taken_whole() -> None:
    p = Program(S, T)
    p.alloc(P, MemoryKind.UNKNOWN, bytes=0, flags=ASSUMED)
    p.copy(S, P, READ, bytes=SIZE)
    p.launch(T, P, mode=WRITE)
    assert sureness(p) == [NOTE]


def test_a_host_function_may_have_told_somebody() -> None:
    p = program()
    p.copy(S, P, READ, bytes=SIZE)
    p.op(Kind.HOST_FUNCTION, stream=S)
    p.launch(T, P, mode=WRITE)
    assert sureness(p) == [NOTE]


@pytest.mark.parametrize(
    ("whole", "part", "found"),
    [
        ((P, SIZE, READ), (P, WRITE, 0), [LIKELY]),  # a scatter by indices in memory, and a sum over all
        ((P, SIZE, WRITE), (P + 128, READ, 0), [LIKELY]),
        ((P, SIZE, WRITE), (P, READ_WRITE, ATOMIC), [LIKELY]),  # counters that are cleared while they grow
        ((P, SIZE, READ), (P, READ_WRITE, ATOMIC), [NOTE]),  # ... and that are looked at
        ((P, SIZE // 2, READ), (P, WRITE, 0), [NOTE]),
        ((P, SIZE, READ), (P, WRITE, ASSUMED), [NOTE]),
    ],
)
@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("ordered", [False, True])
def test_a_kernel_that_takes_all_beside_one_of_unknown_extent(
    whole: tuple[int, int, AccessMode],
    part: tuple[int, AccessMode, int],
    found: list[tuple[bool, bool]],
    turned: bool,
    ordered: bool,
) -> None:
    p = program(origin="recording")
    steps = [(whole[0], whole[1], whole[2], 0), (part[0], 0, part[1], part[2])]
    for stream, (memory, size, mode, flags) in zip((S, T), steps[::-1] if turned else steps, strict=True):
        p.op(Kind.LAUNCH, stream=stream, memory=memory, bytes=size, mode=mode, reference_flags=flags)
        if ordered:
            p.record(E, S)
            p.wait(T, E)
    assert sureness(p) == ([] if ordered else found)


@pytest.mark.parametrize(
    ("kind", "size"), [(MemoryKind.PLAIN, 64), (MemoryKind.MANAGED, SIZE), (MemoryKind.PINNED, SIZE)]
)
def test_flags_and_memory_that_kernels_meet_in_are_no_more_than_a_note(kind: MemoryKind, size: int) -> None:
    p = Program(S, T, origin="recording")
    p.alloc(P, kind, bytes=size)
    p.op(Kind.LAUNCH, stream=S, memory=P, bytes=size, mode=READ)
    p.op(Kind.LAUNCH, stream=T, memory=P, mode=WRITE)
    assert sureness(p) == [NOTE]


@pytest.mark.parametrize("origin", ["source", "recording"])
@pytest.mark.parametrize(
    ("copied", "bounds", "found"),
    [
        ((P, 256), Bounds(0, 256), [LIKELY]),  # a row, and a kernel that reads some of it
        ((P, 512), Bounds(0, 256), [LIKELY]),
        ((P, 256), Bounds(0, 512), [NOTE]),
        ((P, 256), None, [NOTE]),
        ((P, 32), Bounds(0, 32), [NOTE]),  # a few words may be what work talks by
        ((P + 512, 256), Bounds(0, 256), []),
    ],
)
@pytest.mark.parametrize("ordered", [False, True])
def test_a_copy_of_all_that_lies_in_a_kernels_bounds(
    origin: str, copied: tuple[int, int], bounds: Bounds | None, found: list[tuple[bool, bool]], ordered: bool
) -> None:
    p = program(origin=origin)
    p.op(Kind.COPY, stream=S, memory=copied[0], bytes=copied[1], mode=WRITE)
    if ordered:
        p.record(E, S)
        p.wait(T, E)
    p.op(Kind.LAUNCH, stream=T, memory=P, mode=READ, bounds=bounds)
    assert sureness(p) == ([] if ordered else found)


HALF = SIZE // 2


@pytest.mark.parametrize(
    ("parts", "mode", "flags", "found"),
    [
        ([(P, HALF), (P + HALF, HALF)], READ, 0, [LIKELY]),  # whatever it reads, one of them writes
        ([(P + HALF, HALF), (P, HALF)], READ, 0, [LIKELY]),
        ([(P, HALF), (P + HALF, HALF)], READ_WRITE, ATOMIC, [LIKELY]),
        ([(P, HALF), (P + HALF, HALF - 4)], READ, 0, [NOTE]),  # it may be about the rest
        ([(P, HALF), (P + HALF + 4, HALF - 4)], READ, 0, [NOTE]),
        ([(P, HALF), (P + HALF, HALF)], OPAQUE, 0, [NOTE]),
        ([(P, HALF), (P + HALF, HALF)], READ, ASSUMED, [NOTE]),
    ],
)
@pytest.mark.parametrize("waits_for", [0, 1, 2])
def test_copies_that_take_all_together(
    parts: list[tuple[int, int]], mode: AccessMode, flags: int, found: list[tuple[bool, bool]], waits_for: int
) -> None:
    p = program(origin="recording")
    for number, (address, size) in enumerate(parts, 1):
        p.op(Kind.COPY, stream=S, memory=address, bytes=size, mode=WRITE)
        if number == waits_for:
            p.record(E, S)
    if waits_for:
        p.wait(T, E)
    p.op(Kind.LAUNCH, stream=T, memory=P, mode=mode, reference_flags=flags)
    if waits_for == 1:  # what is left is in another part than where the kernel's pointer leads, or it is not all
        found = [NOTE] if parts[1][0] == P else []
    assert sureness(p) == ([] if waits_for == 2 else found)
