"""A part of a trace is judged: what came before is known, and no news."""

from __future__ import annotations

import pytest
from order_program import Program, line_of

from streamsan.order.engine import analyse
from streamsan.vocabulary import FreeClass, MemoryKind

A, B = 0x1000, 0x2000
S, T = 10, 11


def used_when_freed(p: Program, address: int) -> tuple[int, int]:
    p.alloc(address, MemoryKind.STREAM_ORDERED, S)
    p.sync(S)
    return p.launch(T, address), p.free(address, FreeClass.ASYNC, S)


@pytest.mark.parametrize(("part", "found"), [("all", [0, 1]), ("second use", [1]), ("second free", [1]), ("rest", [])])
def test_what_ends_before_the_part_is_no_news(part: str, found: list[int]) -> None:
    p = Program(S, T)
    places = [used_when_freed(p, A), used_when_freed(p, B)]
    trace = p.trace()
    sequences = {int(slot["site"]): int(slot["sequence"]) for chunk in trace.chunks() for slot in chunk}
    (use, free) = (sequences[site] for site in places[1])
    first = {"all": 0, "second use": use, "second free": free, "rest": free + 1}[part]
    if first:
        trace.judge_from(first)
    facts = [fact for fact in analyse(trace).facts if fact.code == 102]
    assert [line_of(fact) for fact in facts] == [places[number][1] for number in found]


def test_one_place_counts_from_where_the_part_begins() -> None:
    p = Program(S, T)
    used_when_freed(p, A)
    trace = p.trace()
    trace.problems.append("partial result: the writer was cut off")
    trace.judge_from(1)
    assert trace.complete
    assert trace.problems == []
    assert [fact.count for fact in analyse(trace).facts if fact.code == 102] == [1]
