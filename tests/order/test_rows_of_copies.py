"""Copies in rows: column tiles, blocks of a volume, and what is between the rows (SS109, SS108)."""

from __future__ import annotations

import random
from itertools import product

import pytest
from order_program import OPAQUE, READ, READ_WRITE, WRITE, Node, Program

from streamsan.order.facts import Fact
from streamsan.trace import Reference
from streamsan.trace.rows import Rows
from streamsan.vocabulary import AccessMode, MemoryKind, NodeKind, SlotFlag
from streamsan.vocabulary import OperationKind as Kind

S, T = 10, 11
P, SIZE = 0x100000, 0x10000
G = 70
PITCH = 256
LEFT, WIDE = Rows(128, PITCH, 64), Rows(160, PITCH, 64)
RIGHT = P + 128
TOUCHES, ATOMIC = SlotFlag.TOUCHES, SlotFlag.ATOMIC


def program(kind: MemoryKind = MemoryKind.PLAIN) -> Program:
    p = Program(S, T)
    p.alloc(P, kind, bytes=SIZE)
    return p


def copy(p: Program, stream: int, at: int, rows: Rows | None, mode: AccessMode = WRITE, size: int = 0) -> int:
    return p.op(Kind.COPY, stream=stream, memory=at, mode=mode, rows=rows, bytes=size)


def sureness(facts: list[Fact]) -> list[tuple[int, bool]]:
    return [(fact.code, not fact.assumed) for fact in facts]


@pytest.mark.parametrize("kind", [MemoryKind.PLAIN, MemoryKind.STREAM_ORDERED, MemoryKind.PINNED, MemoryKind.MANAGED])
@pytest.mark.parametrize(("rows", "found"), [(LEFT, []), (WIDE, [(109, True)])])
def test_column_tiles_of_two_streams(kind: MemoryKind, rows: Rows, found: list[tuple[int, bool]]) -> None:
    p = Program(S, T)
    p.alloc(P, kind, stream=S if kind is MemoryKind.STREAM_ORDERED else 0, bytes=SIZE)
    p.sync(S)
    copy(p, S, P, rows)
    copy(p, T, RIGHT, LEFT)
    assert sureness(p.facts(109)) == found


@pytest.mark.parametrize(("rows", "found"), [(LEFT, []), (WIDE, [(109, True)])])
def test_column_tiles_in_branches_of_a_graph(rows: Rows, found: list[tuple[int, bool]]) -> None:
    def node(at: int, each: Rows) -> Node:
        return Node(NodeKind.COPY, (Reference(at, each.extent, 0, WRITE, SlotFlag.STRIDED, each),))

    p = program()
    p.graph(G, [node(P, rows), node(RIGHT, LEFT)])
    assert sureness(p.facts(109)) == found


@pytest.mark.parametrize(("rows", "found"), [(LEFT, []), (WIDE, [(109, True)])])
def test_a_graph_against_a_stream_and_another_graph(rows: Rows, found: list[tuple[int, bool]]) -> None:
    for second in ("copy", "graph"):
        p = program()
        tile = Reference(P, rows.extent, 0, WRITE, SlotFlag.STRIDED, rows)
        other = Reference(RIGHT, LEFT.extent, 0, WRITE, SlotFlag.STRIDED, LEFT)
        p.graph(G, [Node(NodeKind.COPY, (tile,))])
        p.graph_launch(G, S)
        if second == "copy":
            copy(p, T, RIGHT, LEFT)
        else:
            p.graph(G + 1, [Node(NodeKind.MEMSET, (other,))])
            p.graph_launch(G + 1, T)
        assert sureness(p.facts(109)) == found


def bytes_of(at: int, rows: Rows) -> set[int]:
    starts = (at + s * rows.slice_pitch + r * rows.pitch for s, r in product(range(rows.slices), range(rows.count)))
    return {start + byte for start in starts for byte in range(rows.width)}


def some_rows(choose: random.Random) -> Rows:
    while True:
        rows = Rows(
            choose.randint(1, 9),
            choose.choice((4, 8, 8, 8, 12, 16, 17)),
            choose.randint(1, 6),
            choose.choice((24, 32, 48, 48, 96)),
            choose.choice((1, 1, 2, 3, 4)),
        )
        if rows.sensible:
            return rows


@pytest.mark.parametrize("seed", range(4))
def test_two_sets_of_rows_meet_when_they_share_a_byte(seed: int) -> None:
    choose = random.Random(seed)
    p, meet = Program(S, T), {}
    for pair in range(1500):
        base = (pair + 1) * 0x10000
        p.alloc(base, bytes=0x1000)
        one, other = some_rows(choose), some_rows(choose)
        begin, second = base + choose.randint(0, 60), base + choose.randint(0, 60)
        copy(p, S, begin, one)
        line = copy(p, T, second, other)
        meet[line] = bool(bytes_of(begin, one) & bytes_of(second, other))
    said = {fact.operation.site: not fact.assumed for fact in p.facts(109)}
    assert said == {line: True for line, meets in meet.items() if meets}
    assert 200 < len(said) < 1300


@pytest.mark.parametrize("seed", range(2))
def test_a_later_copy_on_the_stream_stands_for_what_it_holds(seed: int) -> None:
    """Whatever the later copy makes superfluous, a third one on another stream is told of all that it meets."""
    choose = random.Random(seed)
    p, meet = Program(S, T), {}
    for trio in range(800):
        base = (trio + 1) * 0x10000
        p.alloc(base, bytes=0x1000)
        first, second, third = (some_rows(choose) for _ in range(3))
        places = [base + choose.randint(0, 20) for _ in range(3)]
        earlier = copy(p, S, places[0], first), copy(p, S, places[1], second)
        copy(p, T, places[2], third, READ)
        touched = bytes_of(places[2], third)
        held = bytes_of(places[0], first) <= bytes_of(places[1], second)
        meet[earlier[0]] = bool(bytes_of(places[0], first) & touched), held
        meet[earlier[1]] = bool(bytes_of(places[1], second) & touched), False
    said = {fact.related[1][1].site: fact for fact in p.facts(109)}
    assert not any(fact.assumed for fact in said.values())
    for line, (meets, held) in meet.items():
        assert meets or line not in said
        assert not meets or held or line in said


@pytest.mark.parametrize(
    ("at", "size", "found"),
    [
        (P, 128, [(109, True)]),
        (P + 128, 128, []),  # between the first two rows
        (P + 128, 129, [(109, True)]),
        (P + 63 * PITCH + 128, 128, []),  # behind the last row
        (P, 0, [(109, True)]),  # a copy of unknown extent touches its first byte
        (P + 128, 0, [(109, False)]),
    ],
)
def test_rows_and_a_range(at: int, size: int, found: list[tuple[int, bool]]) -> None:
    for turned in (False, True):
        p = program()
        steps = [(P, LEFT, 0), (at, None, size)]
        for stream, (place, rows, length) in zip((S, T), steps[::-1] if turned else steps, strict=True):
            p.op(Kind.COPY, stream=stream, memory=place, mode=WRITE, rows=rows, bytes=length,
                 reference_flags=0 if length or rows else TOUCHES)  # fmt: skip
        assert sureness(p.facts(109)) == found


@pytest.mark.parametrize(("at", "sure"), [(P, True), (P + PITCH + 5, True), (P + 128, False)])
def test_rows_and_a_kernel(at: int, sure: bool) -> None:
    p = program()
    p.op(Kind.MEMSET, stream=S, memory=P, mode=WRITE, rows=LEFT)
    p.launch(T, at, mode=READ_WRITE, reference_flags=TOUCHES)
    assert sureness(p.facts(109)) == [(109, sure)]


@pytest.mark.parametrize(("rows", "found"), [(LEFT, []), (WIDE, [(109, True)])])
def test_kernels_may_have_rows(rows: Rows, found: list[tuple[int, bool]]) -> None:
    p = program()
    for stream, at, each in ((S, P, rows), (T, RIGHT, LEFT)):
        flags = TOUCHES
        p.builder.append(Kind.LAUNCH, thread=0, stream=stream, site=0,
                         references=[Reference(at, each.extent, 0, WRITE, flags, each)])  # fmt: skip
    assert sureness(p.facts(109)) == found


def test_atomic_kernels_in_the_same_rows_are_no_conflict() -> None:
    p = program()
    for stream in (S, T):
        p.launch(stream, P, mode=READ_WRITE, rows=LEFT, reference_flags=TOUCHES | ATOMIC)
    assert p.facts() == []
    copy(p, T, P, LEFT)
    assert sureness(p.facts()) == [(109, True)]


def test_an_unknown_mode_is_no_more_than_possible() -> None:
    p = program()
    copy(p, S, P, WIDE)
    p.launch(T, RIGHT, mode=OPAQUE, rows=LEFT)
    assert sureness(p.facts(109)) == [(109, False)]


@pytest.mark.parametrize("way", ["stream", "graph"])
@pytest.mark.parametrize(
    ("at", "size", "found"),
    [
        (P + 5 * PITCH, 128, [(108, True)]),  # row 5
        (P + 5 * PITCH + 100, 4, [(108, True)]),
        (P + 5 * PITCH + 128, 128, []),  # the other tile of row 5
        (P + 5 * PITCH + 120, 16, [(108, True)]),
        (P + 128, 0, [(108, False)]),  # from there on, nobody knows how far
        (P + 64 * PITCH, 128, []),
    ],
)
def test_the_host_reads_a_row_under_a_copy(way: str, at: int, size: int, found: list[tuple[int, bool]]) -> None:
    p = program(MemoryKind.PINNED)
    if way == "stream":
        copy(p, S, P, LEFT)
    else:
        p.graph(G, [Node(NodeKind.COPY, (Reference(P, LEFT.extent, 0, WRITE, SlotFlag.STRIDED, LEFT),))])
        p.graph_launch(G, S)
    p.op(Kind.HOST_ACCESS, memory=at, bytes=size, mode=READ)
    assert sureness(p.facts()) == found
    p.sync(S)
    p.op(Kind.HOST_ACCESS, memory=at, bytes=size, mode=READ)
    assert len(p.facts()) == len(found)


def test_a_copy_in_rows_by_the_host_itself() -> None:
    for at, found in ((RIGHT, []), (P + 64, [(108, True)])):
        p = program(MemoryKind.PINNED)
        copy(p, S, P, LEFT)
        p.op(Kind.HOST_ACCESS, memory=at, mode=READ, rows=LEFT)
        assert sureness(p.facts()) == found


def test_rows_without_sense_count_as_problems_and_as_bounds() -> None:
    for wrong in (
        Rows(0, 1, 1),
        Rows(8, 4, 64),
        Rows(128, PITCH, 1 << 60),
        Rows(1, 1 << 60, 1 << 60, 1 << 60, 1 << 60),
    ):
        p = program()
        reference = Reference(P, LEFT.extent, 0, WRITE, SlotFlag.STRIDED, wrong)
        p.builder.append(Kind.COPY, thread=0, stream=S, references=[reference])
        copy(p, T, RIGHT, LEFT)
        assert sureness(p.facts()) == [(109, False)]
        assert p.analysis().problems == 1


def test_rows_that_would_take_long_are_possible() -> None:
    """A pattern that meets another's gaps very often before it meets a row."""
    p = Program(S, T)
    p.alloc(P, bytes=1 << 40)
    copy(p, S, P, Rows(1, 1000, 1 << 20))
    copy(p, T, P + 1, Rows(1, 1002, 1 << 20))
    facts = p.facts(109)
    assert len(facts) == 1
    assert facts[0].assumed
