"""SS503: waits for more than what follows needs."""

from __future__ import annotations

import pytest
from order_program import READ, WRITE, Program

from streamsan.order.consumers import unconsumed_waits
from streamsan.order.facts import Fact
from streamsan.order.wide_waits import wide_waits
from streamsan.vocabulary import FreeClass, MemoryKind, RelatedRole
from streamsan.vocabulary import OperationKind as Kind

S, T = 10, 11
P, Q, H = 0x10000, 0x20000, 0x30000


def wide(p: Program) -> list[Fact]:
    trace, analysis = p.trace(), p.analysis()
    return wide_waits(trace, analysis, unconsumed_waits(trace, analysis))


def two_streams() -> Program:
    p = Program(S, T)
    p.alloc(P)
    p.alloc(Q)
    p.alloc(H, MemoryKind.PINNED)
    return p


def ending(p: Program) -> Program:
    p.sync(S)
    p.sync(T)
    p.free(H, FreeClass.PINNED)
    p.free(P)
    p.free(Q)
    p.exit()
    return p


def test_the_whole_device_for_one_stream() -> None:
    p = two_streams()
    copied = p.op(Kind.COPY, stream=S, memory=H, mode=WRITE)
    other = p.launch(T, Q)
    waited = p.sync_all()
    p.op(Kind.HOST_ACCESS, memory=H, mode=READ)
    p.launch(T, Q)  # the wait at the end covers both launches
    (fact,) = wide(ending(p))
    assert (fact.code, fact.operation.site, fact.extra) == (503, waited, {"exact": 1})
    assert [(role, other.site) for role, other in fact.related] == [
        (RelatedRole.USE, copied),
        (RelatedRole.OTHER, other),
    ]
    assert fact.related[0][1].stream == S
    assert fact.related[0][1].stream_site != 0


def test_the_whole_device_for_two_of_three_streams() -> None:
    p = two_streams()
    p.stream(12)
    p.alloc(4 * P)
    one = p.op(Kind.COPY, stream=S, memory=H, mode=WRITE)
    two = p.op(Kind.COPY, stream=T, memory=H + 128, mode=WRITE)
    other = p.launch(12, 4 * P)
    waited = p.sync_all()
    p.op(Kind.HOST_ACCESS, memory=H, mode=READ)
    p.launch(12, 4 * P)
    p.sync(12)
    p.free(4 * P)
    (fact,) = wide(ending(p))
    assert (fact.operation.site, fact.extra) == (waited, {"exact": 1})
    uses = {related.site for role, related in fact.related if role is RelatedRole.USE}
    assert (uses, fact.related[-1][0], fact.related[-1][1].site) == ({one, two}, RelatedRole.OTHER, other)


def test_a_stream_for_the_first_of_its_operations() -> None:
    p = two_streams()
    copied = p.op(Kind.COPY, stream=S, memory=H, mode=WRITE)
    behind = p.launch(S, P)
    waited = p.sync(S)
    p.op(Kind.HOST_ACCESS, memory=H, mode=READ)
    p.launch(S, P)
    (fact,) = wide(ending(p))
    assert (fact.code, fact.operation.site, fact.extra) == (503, waited, {"exact": 0})
    assert [(role, other.site) for role, other in fact.related] == [
        (RelatedRole.USE, copied),
        (RelatedRole.OTHER, behind),
    ]


@pytest.mark.parametrize("needs", ["free", "read"])
def test_all_that_is_covered_is_needed(needs: str) -> None:
    p = two_streams()
    p.op(Kind.COPY, stream=S, memory=H, mode=WRITE)
    if needs == "free":
        p.launch(T, Q)
    else:
        p.op(Kind.COPY, stream=T, memory=H + 128, mode=WRITE)
    p.sync_all()
    p.op(Kind.HOST_ACCESS, memory=H, mode=READ)
    p.free(H, FreeClass.PINNED)
    p.free(Q)
    p.free(P)
    p.exit()
    assert wide(p) == []


def test_nothing_else_is_pending() -> None:
    p = two_streams()
    p.launch(T, Q)
    p.sync(T)
    p.op(Kind.COPY, stream=S, memory=H, mode=WRITE)
    p.sync_all()
    p.op(Kind.HOST_ACCESS, memory=H, mode=READ)
    assert wide(ending(p)) == []


def test_a_wait_of_one_stream_for_its_last_work() -> None:
    p = two_streams()
    p.launch(T, Q)
    p.op(Kind.COPY, stream=S, memory=H, mode=WRITE)
    p.sync(S)
    p.op(Kind.HOST_ACCESS, memory=H, mode=READ)
    assert wide(ending(p)) == []


def test_recordings_are_not_asked() -> None:
    p = Program(S, origin="recording")
    p.launch(S)
    p.sync_all()
    p.exit()
    assert wide(p) == []
