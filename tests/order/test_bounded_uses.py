"""Of a kernel it may be known only outside of which bytes it touches nothing: what is bounded apart does not meet."""

from __future__ import annotations

import pytest
from order_program import OPAQUE, READ, READ_WRITE, WRITE, Node, Program

from streamsan.evidence.fix.steps import touches
from streamsan.order.facts import Fact, Touch
from streamsan.trace import Reference
from streamsan.trace.reference_bounds import BOUNDED, Bounds, bounds_of
from streamsan.trace.view import iterate
from streamsan.vocabulary import AccessMode, MemoryKind, NodeKind, SlotFlag
from streamsan.vocabulary import OperationKind as Kind

S, T = 10, 11
P, SIZE = 0x100000, 1024
LOW, HIGH, ALL = Bounds(0, SIZE // 2), Bounds(SIZE // 2, SIZE), Bounds(0, SIZE)
TOUCHES, ATOMIC = SlotFlag.TOUCHES, SlotFlag.ATOMIC
Side = tuple[Kind, int, int | Bounds | None, AccessMode, int]


def kernel(
    bounds: Bounds | None, mode: AccessMode = WRITE, flags: int = 0, at: int = P, kind: Kind = Kind.LAUNCH
) -> Side:
    return kind, at, bounds, mode, flags


def copy(begin: int, end: int, mode: AccessMode = WRITE) -> Side:
    return Kind.COPY, P + begin, end - begin, mode, 0


def program(kind: MemoryKind = MemoryKind.PLAIN) -> Program:
    p = Program(S, T, origin="recording")
    p.alloc(P, kind, bytes=SIZE)
    return p


def does(p: Program, stream: int, side: Side) -> int:
    kind, at, extent, mode, flags = side
    bounds = extent if isinstance(extent, Bounds) else None
    size = extent if isinstance(extent, int) else 0
    return p.op(kind, stream=stream, memory=at, bytes=size, mode=mode, reference_flags=flags, bounds=bounds)


def sureness(p: Program) -> list[tuple[bool, bool]]:
    facts: list[Fact] = p.facts(109)
    return [(fact.assumed, fact.likely) for fact in facts]


NOTE, LIKELY, SURE = (True, False), (True, True), (False, False)


@pytest.mark.parametrize(
    ("one", "other", "found"),
    [
        (kernel(LOW), kernel(HIGH), []),
        (kernel(LOW), kernel(ALL), [NOTE]),
        (kernel(LOW), kernel(Bounds(SIZE // 2 - 1, SIZE)), [NOTE]),
        (kernel(LOW), kernel(None), [NOTE]),
        (kernel(LOW, READ), kernel(HIGH, READ_WRITE), []),
        (kernel(LOW, WRITE, TOUCHES), kernel(LOW, READ, TOUCHES), [SURE]),
        # Of buffers that begin elsewhere nobody knows more than before.
        (kernel(ALL), kernel(Bounds(-8, 64), at=P + 64), []),
        (kernel(HIGH), copy(0, 64), []),
        (kernel(HIGH), copy(0, SIZE // 2), []),
        (kernel(HIGH), copy(0, SIZE // 2 + 1), [NOTE]),
        (kernel(HIGH), copy(0, SIZE), [LIKELY]),
        (kernel(HIGH, READ), copy(0, SIZE, READ), []),
        (kernel(HIGH, OPAQUE), copy(0, SIZE // 2, READ), []),
        (kernel(LOW, OPAQUE), copy(0, SIZE // 2, READ), [NOTE]),
        # Sums, and another half.
        (kernel(LOW, READ_WRITE, ATOMIC | TOUCHES), kernel(HIGH, READ), []),
        (kernel(LOW, READ_WRITE, ATOMIC | TOUCHES), kernel(ALL, READ), [NOTE]),
    ],
)
@pytest.mark.parametrize("turned", [False, True])
def test_two_uses(one: Side, other: Side, found: list[tuple[bool, bool]], turned: bool) -> None:
    p = program()
    for stream, side in zip((S, T), (other, one) if turned else (one, other), strict=True):
        does(p, stream, side)
    assert sureness(p) == found


@pytest.mark.parametrize("flags", [0, TOUCHES])
@pytest.mark.parametrize(("last", "found"), [(LOW, [NOTE]), (HIGH, [NOTE]), (Bounds(SIZE, SIZE + 8), [])])
def test_a_use_of_another_part_does_not_hide_an_earlier_one(
    last: Bounds, found: list[tuple[bool, bool]], flags: int
) -> None:
    p = program()
    for _ in range(3):
        does(p, S, kernel(LOW, WRITE, flags))
        does(p, S, kernel(HIGH, WRITE))
    does(p, T, kernel(last, READ))
    assert sureness(p)[:1] == found


def test_many_parts_in_turn_are_each_remembered_once() -> None:
    p = program()
    parts = [Bounds(begin, begin + 64) for begin in range(0, SIZE, 64)]
    for _ in range(20):
        for part in parts:
            does(p, S, kernel(part))
    does(p, T, kernel(parts[3], READ))
    assert sureness(p) == [NOTE]


@pytest.mark.parametrize("kind", [MemoryKind.MANAGED, MemoryKind.PINNED])
@pytest.mark.parametrize(("bounds", "found"), [(LOW, 1), (HIGH, 0)])
@pytest.mark.parametrize("behind", [None, HIGH])
def test_the_host_beside_a_kernel(kind: MemoryKind, bounds: Bounds, found: int, behind: Bounds | None) -> None:
    p = program(kind)
    does(p, S, kernel(bounds, WRITE))
    if behind is not None:
        does(p, S, kernel(behind, WRITE))
    p.op(Kind.HOST_ACCESS, memory=P, bytes=64, mode=READ)
    assert len(p.facts(108)) == found


@pytest.mark.parametrize(("bounds", "found"), [(LOW, []), (Bounds(0, SIZE // 2 + 4), [NOTE])])
def test_nodes_of_a_graph_and_its_launch(bounds: Bounds, found: list[tuple[bool, bool]]) -> None:
    for beside in ("node", "kernel"):
        p = program()
        nodes = [Node(NodeKind.KERNEL, (Reference(P, 0, 0, WRITE, 0, bounds=each),)) for each in (bounds, HIGH)]
        p.graph(70, nodes if beside == "node" else nodes[:1])
        p.op(Kind.GRAPH_LAUNCH, stream=S, object=70)
        if beside == "kernel":
            does(p, T, kernel(HIGH, READ))
        assert sureness(p) == found


def test_a_fact_says_the_bounds() -> None:
    p = program()
    does(p, S, kernel(LOW, WRITE))
    does(p, T, kernel(Bounds(-64, 64), READ, at=P + 128 - 128))
    (fact,) = p.facts(109)
    assert fact.touches == (Touch(P, 0, within=(P - 64, P + 64)), Touch(P, 0, within=(P, P + SIZE // 2)))


def test_bounds_and_the_word_that_says_them() -> None:
    for bounds in (LOW, Bounds(-(1 << 30), 1), Bounds((1 << 30) - 1, (1 << 30) + 7), Bounds(-3, (1 << 32) - 4)):
        assert bounds.word >> 63 == 1
        assert bounds_of(bounds.word) == bounds
    for bounds in (Bounds(1 << 30, 1 << 31), Bounds(-(1 << 30) - 1, 0), Bounds(0, 1 << 32), Bounds(4, 4), Bounds(8, 4)):
        assert bounds.word == 0
    assert bounds_of(4096) is None
    assert bounds_of(BOUNDED) is None


def test_a_view_has_them_of_kernels_only() -> None:
    p = program()
    does(p, S, kernel(HIGH))
    p.copy(S, P, WRITE, bytes=HIGH.word)
    *_, launch, copied = iterate(p.builder.finish())
    assert launch.references == (Reference(P, 0, 0, WRITE, bounds=HIGH),)
    assert copied.references == (Reference(P, HIGH.word, 0, WRITE),)


def test_the_second_pass_takes_them_for_no_size() -> None:
    p = program()
    does(p, S, kernel(LOW))
    (slots,) = p.trace().chunks()
    assert [touches(slots, len(slots) - 1, address, 64) for address in (P, P + SIZE)] == [True, False]


@pytest.mark.parametrize("at", [16, (1 << 64) - 16])
def test_bounds_beyond_all_addresses_are_none(at: int) -> None:
    p = Program(S, T, origin="recording")
    p.alloc(at, bytes=8)
    for stream in (S, T):
        does(p, stream, kernel(Bounds(-64, 32) if at == 16 else Bounds(0, 64), at=at))
    assert sureness(p) == [NOTE]
    assert p.analysis().problems == 2
