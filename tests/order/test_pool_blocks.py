"""Blocks that a pool hands out of segments: uses of two generations of the same bytes against each other (SS105)."""

from __future__ import annotations

import pytest
from order_program import OPAQUE, PRIMARY, READ, WRITE, Program, kernel, line_of

from streamsan.order.facts import Fact
from streamsan.trace import Reference, Site
from streamsan.trace.reference_bounds import BOUNDED, Bounds
from streamsan.trace.rows import Rows
from streamsan.vocabulary import FactVariant, FreeClass, MemoryKind, RelatedRole, SlotFlag
from streamsan.vocabulary import OperationKind as Kind

LEGACY = 1
S, T, U = 10, 11, 12
SEGMENT = 0x100000
A, B = SEGMENT, SEGMENT + 0x1000
EVENT, EXEC = 30, 50
TOUCHES = SlotFlag.TOUCHES


def program(*streams: int) -> Program:
    p = Program(*(streams or (S, T)))
    p.alloc(SEGMENT, bytes=0x10000)
    return p


def hand_out(p: Program, address: int = A, stream: int = 0, size: int = 0x1000) -> int:
    return p.alloc(address, MemoryKind.POOL_BLOCK, stream, bytes=size)


def take_back(p: Program, address: int = A) -> int:
    return p.free(address, FreeClass.POOL_BLOCK)


def test_a_block_that_another_stream_still_uses_is_handed_out() -> None:
    p = program()
    made = hand_out(p)
    used = p.launch(T, A)
    released = take_back(p)
    owner = hand_out(p)
    first = p.launch(S, A)
    (fact,) = p.facts()
    assert (fact.code, line_of(fact)) == (105, released)
    assert [(role, operation.site) for role, operation in fact.related] == [
        (RelatedRole.ALLOC, made),
        (RelatedRole.USE, used),
        (RelatedRole.OWNER, owner),
        (RelatedRole.OTHER, first),
    ]
    assert not fact.assumed


def test_the_same_stream_needs_no_wait() -> None:
    p = program()
    for _ in range(3):
        hand_out(p)
        p.launch(S, A)
        take_back(p)
    assert p.found() == []


def test_free_then_wait_then_reuse() -> None:
    p = program()
    hand_out(p)
    p.launch(T, A)
    take_back(p)
    p.record(EVENT, T)
    p.wait(S, EVENT)
    hand_out(p)
    p.launch(S, A)
    assert p.found() == []


def test_handed_out_then_wait_then_use() -> None:
    """Being handed out is host bookkeeping: what counts is the first use."""
    p = program()
    hand_out(p)
    p.launch(T, A)
    take_back(p)
    hand_out(p)
    p.record(EVENT, T)
    p.wait(S, EVENT)
    p.launch(S, A)
    assert p.found() == []


def test_the_first_use_on_each_timeline_counts() -> None:
    p = program(S, T, U)
    hand_out(p)
    p.launch(T, A, mode=READ)
    released = take_back(p)
    hand_out(p)
    p.launch(T, A, mode=READ)
    p.launch(U, A, mode=WRITE)
    assert (105, "NONE", released) in p.found()


def test_two_owners_that_read_are_no_mistake() -> None:
    p = program()
    hand_out(p)
    p.launch(T, A, mode=READ)
    take_back(p)
    hand_out(p)
    p.launch(S, A, mode=READ)
    assert p.found() == []


def test_an_owner_that_never_uses_its_block_hands_the_question_on() -> None:
    p = program()
    hand_out(p)
    p.launch(T, A)
    released = take_back(p)
    hand_out(p)
    take_back(p)
    hand_out(p)
    p.launch(S, A)
    assert p.found() == [(105, "NONE", released)]


def test_a_use_behind_the_old_one_covers_it_for_those_after() -> None:
    p = program(S, T)
    hand_out(p)
    p.launch(T, A)
    take_back(p)
    hand_out(p)
    p.launch(T, A)
    released = take_back(p)
    hand_out(p)
    p.launch(S, A)
    assert p.found() == [(105, "NONE", released)]  # of the block between, not of the first one again


@pytest.mark.parametrize(("size", "at"), [(0x200, A), (0x200, A + 0xE00), (0x3000, A), (0x1000, A - 0x200 + 0x1000)])
def test_a_pool_splits_and_joins_blocks(size: int, at: int) -> None:
    p = program()
    hand_out(p, A)
    hand_out(p, B)
    p.launch(T, A)
    released = take_back(p, A)
    take_back(p, B)
    hand_out(p, at, size=size)
    p.launch(S, at)
    assert p.found() == [(105, "NONE", released)]


def test_what_is_left_of_a_split_block_still_has_its_uses() -> None:
    p = program()
    hand_out(p, A, size=0x3000)
    p.launch(T, A)
    released = take_back(p, A)
    hand_out(p, A, size=0x1000)
    p.sync(T)
    hand_out(p, A + 0x1000, size=0x1000)
    p.launch(S, A + 0x1000)
    assert p.found() == []
    q = program()
    hand_out(q, A, size=0x3000)
    q.launch(T, A)
    assert take_back(q, A) == released
    hand_out(q, A + 0x1000, size=0x1000)
    hand_out(q, A, size=0x1000)
    q.launch(S, A)
    hand_out(q, A + 0x2000, size=0x1000)
    q.launch(S, A + 0x2000)
    assert {(code, line) for code, _, line in q.found()} == {(105, released)}


def test_neighbours_in_a_segment_are_strangers() -> None:
    p = program()
    hand_out(p, A)
    hand_out(p, B)
    p.launch(S, A, mode=WRITE)
    p.launch(T, B, mode=WRITE)
    p.copy(T, B + 16, WRITE, bytes=16)
    assert p.found() == []


def test_two_streams_in_one_block_race_as_in_any_memory() -> None:
    p = program()
    hand_out(p)
    p.copy(S, A, WRITE, bytes=64)
    later = p.copy(T, A, READ, bytes=64)
    assert p.found() == [(109, "CONFLICT_READ_WRITE", later)]


def test_parts_that_do_not_meet_are_no_reuse() -> None:
    p = program()
    hand_out(p)
    p.copy(T, A, WRITE, bytes=64)
    take_back(p)
    hand_out(p)
    p.copy(S, A + 64, WRITE, bytes=64)
    assert p.found() == []


def test_a_pool_that_does_not_say_that_it_takes_a_block_back() -> None:
    p = program()
    hand_out(p)
    p.launch(T, A)
    again = hand_out(p)
    p.launch(S, A)
    assert p.found() == [(105, "NONE", again)]


def test_a_use_between_the_release_and_the_next_owner_counts_as_the_old_owners() -> None:
    p = program()
    hand_out(p)
    released = take_back(p)
    p.launch(T, A)
    hand_out(p)
    p.launch(S, A)
    assert p.found() == [(105, "NONE", released)]


def test_a_segment_that_is_released_waits_for_the_uses_of_its_blocks() -> None:
    p = Program(S, T)
    p.alloc(SEGMENT, MemoryKind.STREAM_ORDERED, S, bytes=0x10000)
    p.sync(S)
    hand_out(p)
    p.launch(T, A)
    take_back(p)
    freed = p.free(SEGMENT, FreeClass.ASYNC, S)
    assert p.found() == [(102, "FREE_ASYNC", freed)]


def test_after_its_segment_a_block_is_no_more() -> None:
    p = program()
    hand_out(p)
    take_back(p)
    p.free(SEGMENT)
    used = p.launch(S, A)
    assert p.found() == [(101, "AFTER_FREE", used)]


def test_a_graph_that_bakes_a_block_is_stale_when_another_owner_has_it() -> None:
    p = program()
    hand_out(p)
    p.graph(EXEC, [kernel(A, WRITE, touches=True)])
    p.graph_launch(EXEC, S)
    released = take_back(p)
    p.graph_launch(EXEC, S)
    hand_out(p)
    stale = p.graph_launch(EXEC, S)
    (fact,) = p.facts()
    assert (fact.code, fact.variant.name, line_of(fact)) == (303, "STALE_RECYCLED", stale)
    assert released in [operation.site for _, operation in fact.related]


def test_a_launch_of_a_graph_is_a_use_of_either_owner() -> None:
    p = program()
    hand_out(p)
    p.launch(T, A)
    released = take_back(p)
    hand_out(p)
    p.graph(EXEC, [kernel(A, WRITE, touches=True)])
    p.graph_launch(EXEC, S)
    assert p.found() == [(105, "NONE", released)]
    q = program()
    hand_out(q)
    q.graph(EXEC, [kernel(A, WRITE, touches=True)])
    q.graph_launch(EXEC, T)
    released = take_back(q)
    hand_out(q)
    q.launch(S, A)
    assert q.found() == [(105, "NONE", released)]


def test_an_address_that_may_be_a_leftover_gives_a_doubt() -> None:
    p = program()
    hand_out(p)
    p.launch(T, A, reference_flags=SlotFlag.ASSUMED)
    take_back(p)
    hand_out(p)
    p.launch(S, A, mode=OPAQUE)
    assert all(fact.assumed for fact in p.facts())


def test_record_stream_needs_no_model() -> None:
    """Its events are calls of the driver: the pool gives the block away when a query says that they are over."""
    p = program()
    hand_out(p)
    p.launch(T, A)
    p.record(EVENT, T)
    take_back(p)
    p.op(Kind.EVENT_QUERY, object=EVENT, status=0)
    hand_out(p)
    p.launch(S, A)
    assert p.found() == []


def test_pointers_into_a_segment_say_its_generation_and_not_the_blocks() -> None:
    p = Program(S, T)
    p.alloc(SEGMENT, bytes=0x10000, generation=7)
    p.alloc(A, MemoryKind.POOL_BLOCK, bytes=0x1000, generation=9)
    p.launch(S, A, generation=7)
    assert p.found() == []


def test_a_new_segment_has_no_blocks() -> None:
    p = program()
    hand_out(p)
    p.launch(T, A)
    p.alloc(SEGMENT, bytes=0x20000)
    p.launch(S, A)
    assert p.found() == []


def test_the_end_of_a_block_is_where_the_next_one_begins() -> None:
    p = program(S, T)
    hand_out(p, A)
    hand_out(p, B)
    p.launch(T, A, B)
    take_back(p, B)
    hand_out(p, B)
    p.launch(S, B)
    (fact,) = p.facts()
    assert (fact.code, fact.assumed) == (105, True)
    q = program(S, T)
    hand_out(q, A)
    hand_out(q, B)
    q.launch(T, A, B, mode=READ)  # its machine code was read: what it only compares is not there
    take_back(q, B)
    hand_out(q, B)
    q.launch(S, B, mode=WRITE)
    assert [fact.assumed for fact in q.facts()] == [False]


@pytest.mark.parametrize(
    ("second", "doubt"),
    [
        (Reference(B, mode=READ, bounds=Bounds(0, 512)), False),
        (Reference(B, BOUNDED, mode=READ), False),  # followed, nobody knows how far
        (Reference(B, mode=READ, bounds=Bounds(-512, 0)), True),  # it is an end, from which the kernel goes down
        (Reference(B, mode=READ), True),
    ],
)
def test_of_a_kernel_that_is_understood_in_part_what_it_follows_is_no_end(second: Reference, doubt: bool) -> None:
    p = program(S, T)
    hand_out(p, A)
    hand_out(p, B)
    site = p.builder.site(Site("program", 50))
    p.builder.append(Kind.LAUNCH, thread=0, api="call", site=site, stream=T, references=[Reference(A), second])
    take_back(p, B)
    hand_out(p, B)
    p.launch(S, B, mode=WRITE, reference_flags=TOUCHES)
    assert [fact.assumed for fact in p.facts()] == [doubt]


def test_what_a_new_owner_only_reads_it_does_not_care_for() -> None:
    p = program()
    hand_out(p)
    p.launch(T, A, mode=WRITE)
    take_back(p)
    hand_out(p)
    p.launch(S, A, mode=READ)
    assert [(fact.code, fact.assumed) for fact in p.facts()] == [(105, True)]


def test_columns_and_bounds_that_do_not_meet_are_no_reuse() -> None:
    columns = Rows(width=16, pitch=64, count=4)
    p = program()
    hand_out(p)
    p.launch(T, A, mode=WRITE, rows=columns)
    take_back(p)
    hand_out(p)
    p.launch(S, A + 16, mode=WRITE, rows=columns)
    assert p.found() == []
    q = program()
    hand_out(q)
    q.launch(T, A, mode=WRITE, bounds=Bounds(0, 512))
    take_back(q)
    hand_out(q)
    q.copy(S, A + 512, WRITE, bytes=64)
    assert q.found() == []


def test_a_write_of_a_part_says_nothing_of_the_rest() -> None:
    p = program(S, T, U)
    hand_out(p)
    p.launch(T, A, mode=WRITE)
    released = take_back(p)
    hand_out(p)
    p.record(EVENT, T)
    p.wait(S, EVENT)
    p.copy(S, A, WRITE, bytes=64)
    p.copy(U, A + 64, WRITE, bytes=64)
    assert p.found() == [(105, "NONE", released)]


def test_blocks_of_which_nobody_tells_any_more() -> None:
    p = program()
    hand_out(p, A)
    p.launch(T, A)
    p.op(Kind.FREE, memory=1, bytes=2**64 - 2, detail=FreeClass.POOL_BLOCK)
    hand_out(p, A)
    p.launch(S, A)
    assert p.found() == []
    take_back(p, B)
    assert p.found() == []


def test_what_a_pool_cuts_its_blocks_from_is_the_pools_to_keep() -> None:
    p = program()
    hand_out(p)
    other = p.alloc(2 * SEGMENT, bytes=0x1000)
    take_back(p)
    p.exit()
    assert p.found() == [(401, "LEAK_AT_EXIT", other)]


def test_after_a_reset_a_block_is_no_more() -> None:
    p = program()
    hand_out(p)
    p.op(Kind.DEVICE_RESET, object=PRIMARY)
    used = p.launch(LEGACY, A)
    assert (101, used) in {(code, line) for code, _, line in p.found()}


def told(p: Program, stream: int, address: int = A) -> int:
    return p.op(Kind.BLOCK_STREAM, stream=stream, memory=address, api="streamsan_record_stream")


OTHER = 2 * SEGMENT


def told_program() -> tuple[Program, int]:
    """Return a program in which a kernel of T uses a block in a way that nobody sees, and the line of that kernel."""
    p = program(S, T, U)
    p.alloc(OTHER, bytes=0x1000)
    hand_out(p)
    return p, p.launch(T, OTHER)


def test_a_stream_of_which_the_pool_was_told_has_to_be_over() -> None:
    p, used = told_program()
    said = told(p, T)
    released = take_back(p)
    hand_out(p)
    first = p.launch(S, A)
    (fact,) = p.facts()
    assert (fact.code, line_of(fact), fact.assumed) == (105, released, False)
    related = {role: operation.site for role, operation in fact.related}
    assert (related[RelatedRole.USE], related[RelatedRole.RECORD], related[RelatedRole.OTHER]) == (used, said, first)


def test_a_stream_told_of_and_waited_for() -> None:
    for wait in ("event", "query", "host", "late"):
        p, _ = told_program()
        told(p, T)
        if wait != "host":
            p.record(EVENT, T)
        p.launch(T, OTHER)  # what comes later does not use the block
        take_back(p)
        if wait == "event":
            p.wait(S, EVENT)
        elif wait == "query":
            p.op(Kind.EVENT_QUERY, object=EVENT, status=0)
        elif wait == "host":
            p.sync(T)
        hand_out(p)
        if wait == "late":
            p.wait(S, EVENT)
        p.launch(S, A)
        assert p.found() == [], wait


def test_a_use_that_was_seen_says_more_than_what_the_pool_was_told() -> None:
    for seen_first in (True, False):
        p, _ = told_program()
        if not seen_first:
            told(p, T)
        p.launch(T, A)
        p.record(EVENT, T)
        if seen_first:
            p.launch(T, OTHER)
            told(p, T)
        take_back(p)
        p.wait(S, EVENT)
        hand_out(p)
        p.launch(S, A)
        assert p.found() == [], seen_first


def test_a_pool_is_told_of_streams_that_have_nothing_to_do() -> None:
    p, _ = told_program()
    told(p, U)
    told(p, 0x7777)  # nobody made it here
    told(p, T, A + 0x100)  # no block begins there
    take_back(p)
    hand_out(p)
    p.launch(S, A)
    assert p.found() == []


def test_a_pool_is_told_of_a_stream_that_is_gone() -> None:
    p, _ = told_program()
    p.op(Kind.STREAM_DESTROY, object=T)
    told(p, T)
    take_back(p)
    hand_out(p)
    p.launch(S, A)
    assert p.found() == []


def test_what_was_told_goes_with_the_block_to_its_parts() -> None:
    p, _ = told_program()
    told(p, T)
    take_back(p)
    hand_out(p, A, size=0x200)
    hand_out(p, A + 0x200, size=0x200)
    p.launch(S, A + 0x200)
    assert [code for code, _, _ in p.found()] == [105]
    q, _ = told_program()
    told(q, T)
    take_back(q)
    hand_out(q)
    take_back(q)
    hand_out(q)
    q.launch(T, A)  # behind it
    assert q.found() == []


def test_an_owner_may_tell_of_a_stream_again() -> None:
    p, _ = told_program()
    told(p, T)
    p.sync(T)
    take_back(p)
    hand_out(p)
    p.launch(T, OTHER)
    told(p, T)
    released = take_back(p)
    hand_out(p)
    p.launch(S, A)
    assert p.found() == [(105, "NONE", released)]


def test_blocks_before_main_and_after_it_are_no_calls_of_cuda() -> None:
    p = Program(S)
    p.alloc(SEGMENT, bytes=0x10000)
    p.op(Kind.MAIN_BEGIN)
    p.op(Kind.MAIN_END)
    hand_out(p)
    told(p, S)
    take_back(p)
    assert [code for code, _, _ in p.found() if code == 207] == []


def test_blocks_that_a_pool_does_not_get_back() -> None:
    p = program()
    kept = hand_out(p, A)
    hand_out(p, B)
    take_back(p, B)
    p.exit()
    assert p.found() == [(401, "LEAK_AT_EXIT", kept)]
    q = program()
    hand_out(q, A)  # of a pool that takes nothing back nobody knows
    q.exit()
    assert q.found() == []
    r = program()
    hand_out(r, A)
    hand_out(r, B)
    take_back(r, B)
    r.free(SEGMENT)
    r.exit()
    assert r.found() == []


MADE = 900


def given_back(*joins: str) -> Program:
    """A block of `S` is used on `T`, of which the pool is told, and joined before it is given back; once for each."""
    p = program(S, T)
    for event, join in enumerate(joins, EVENT):
        p.alloc(A, MemoryKind.POOL_BLOCK, S, bytes=0x1000, at=MADE)
        p.launch(T, A, mode=WRITE)
        if join == "by a stream":
            p.record(EVENT + 70, T)
            p.wait(S, EVENT + 70)
        if join.startswith("by the host"):
            p.sync(T)
        take_back(p)
        if join.endswith("then a launch"):
            p.launch(S, B)
        p.op(Kind.EVENT_CREATE, object=event)
        p.op(Kind.EVENT_RECORD, stream=T, object=event, address=A)  # within the release, and the pool keeps the block
        p.op(Kind.EVENT_QUERY, object=event)
    return p


def told_needlessly(p: Program) -> list[Fact]:
    return [fact for fact in p.facts(504) if fact.variant is FactVariant.TOLD_NEEDLESSLY]


@pytest.mark.parametrize("join", ["by a stream", "by the host"])
def test_a_pool_is_told_of_a_stream_that_has_been_awaited(join: str) -> None:
    p = given_back(join, join)
    (fact,) = told_needlessly(p)
    assert [role for role, _ in fact.related] == [RelatedRole.ALLOC, RelatedRole.USE, RelatedRole.RECORD]
    assert (fact.count, fact.assumed) == (2, False)


@pytest.mark.parametrize("joins", [("",), ("by a stream", ""), ("by the host, then a launch",)])
def test_a_pool_is_told_for_a_reason(joins: tuple[str, ...]) -> None:
    """One instance is enough; and an event that is recorded after other calls is not the pool's."""
    assert told_needlessly(given_back(*joins)) == []


@pytest.mark.parametrize(
    ("asked", "filled", "likely"),
    [
        (320, 320, [True]),
        (320, 512, [True]),
        (320, 256, [False]),
        (512, 320, [False]),  # the rest is its owner's as well
        (32, 32, [False]),  # a few words may be what work talks by
    ],
)
@pytest.mark.parametrize("before", [None, 32, 512])
@pytest.mark.parametrize("ordered", [False, True])
def test_what_fills_all_that_a_blocks_owner_asked_for(
    asked: int, filled: int, likely: list[bool], before: int | None, ordered: bool
) -> None:
    """`before`: what an earlier owner of the block had asked for."""
    p = program()
    p.op(Kind.EVENT_CREATE, object=EVENT)
    if before is not None:
        p.alloc(A, MemoryKind.POOL_BLOCK, S, bytes=512, generation=512 - before << 32)
        take_back(p)
    p.alloc(A, MemoryKind.POOL_BLOCK, S, bytes=512, generation=512 - asked << 32)
    p.op(Kind.MEMSET, stream=S, memory=A, bytes=filled, mode=WRITE)
    if ordered:
        p.record(EVENT, S)
        p.wait(T, EVENT)
    p.launch(T, A, mode=READ)
    assert [fact.likely for fact in p.facts(109)] == ([] if ordered else likely)
