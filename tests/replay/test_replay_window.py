from __future__ import annotations

from streamsan.replay.window import shortened, start_of_window
from streamsan.trace import Reference, Site, Trace, TraceBuilder
from streamsan.trace.view import iterate
from streamsan.vocabulary import FreeClass, MemoryKind
from streamsan.vocabulary import OperationKind as Kind


def churn(rounds: int) -> Trace:
    """Two operations that make something, then rounds of allocation, launch and free at one address."""
    builder = TraceBuilder("program")
    builder.thread(0, "main")
    site = builder.site(Site("program", 1))

    def op(kind: Kind, **fields: object) -> None:
        builder.append(kind, thread=0, api="call", site=site, **fields)  # type: ignore[arg-type]

    op(Kind.STREAM_CREATE, object=10)
    op(Kind.ALLOC, detail=MemoryKind.PLAIN, references=[Reference(0x5000, 256)])
    for _ in range(rounds):
        op(Kind.ALLOC, detail=MemoryKind.PLAIN, references=[Reference(0x1000, 256)])
        op(Kind.LAUNCH, stream=10, references=[Reference(0x1000), Reference(0x5000), Reference(0x5000)])
        op(Kind.FREE, detail=FreeClass.DEVICE, references=[Reference(0x1000)])
    return builder.finish()


def kinds(trace: Trace) -> list[str]:
    return [Kind(view.kind).name for view in iterate(trace)]


def test_a_short_trace_is_taken_whole() -> None:
    assert start_of_window(churn(3), 11, 11) == 0


def test_the_window_has_as_many_operations_as_allowed() -> None:
    begins_at = start_of_window(churn(10), 32, 6)
    assert begins_at == 27
    assert len([view for view in iterate(churn(10)) if view.sequence >= begins_at]) == 6


def test_operations_behind_the_last_do_not_count() -> None:
    assert start_of_window(churn(10), 8, 8) == 0
    assert start_of_window(churn(10), 9, 8) == 2


def test_before_the_window_only_what_is_still_there_is_made() -> None:
    trace = shortened(churn(10), 27, 32)
    assert kinds(trace) == [
        "STREAM_CREATE",
        "ALLOC",
        "ALLOC",
        "FREE",
        "ALLOC",
        "LAUNCH",
        "FREE",
        "ALLOC",
        "LAUNCH",
        "FREE",
    ]
    assert [view.sequence for view in iterate(trace)][:4] == [1, 2, 24, 26]


def test_references_stay_with_their_operation() -> None:
    last = list(iterate(shortened(churn(10), 30, 31)))[-1]
    assert [reference.address for reference in last.references] == [0x1000, 0x5000, 0x5000]
