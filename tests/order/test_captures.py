"""Calls that a capture forbids (SS302)."""

from __future__ import annotations

import pytest
from order_program import Program, line_of

from streamsan.vocabulary import CaptureMode, FreeClass, RelatedRole
from streamsan.vocabulary import OperationKind as Kind

S, T = 10, 11
P = 0x10000


def capturing() -> Program:
    p = Program(S, T)
    p.op(Kind.CAPTURE_BEGIN, stream=S, object=1, detail=CaptureMode.GLOBAL)
    return p


@pytest.mark.parametrize(
    ("kind", "status", "variant"),
    [
        (Kind.STREAM_SYNCHRONIZE, 900, "CAPTURE_WAIT"),
        (Kind.STREAM_QUERY, 900, "CAPTURE_WAIT"),
        (Kind.EVENT_SYNCHRONIZE, 907, "CAPTURE_WAIT"),
        (Kind.CONTEXT_SYNCHRONIZE, 900, "CAPTURE_WAIT"),
        (Kind.ALLOC, 900, "CAPTURE_UNSAFE"),
        (Kind.LAUNCH, 906, "CAPTURE_LEGACY"),
        (Kind.STREAM_WAIT_EVENT, 902, "CAPTURE_STRUCTURE"),
        (Kind.CAPTURE_END, 904, "CAPTURE_STRUCTURE"),
    ],
)
def test_the_first_failure_of_a_capture_speaks(kind: Kind, status: int, variant: str) -> None:
    p = capturing()
    begin = p.line
    failed = p.op(kind, stream=S, object=1, status=status)
    p.op(Kind.LAUNCH, stream=S, status=901)
    p.op(Kind.STREAM_SYNCHRONIZE, stream=S, status=900)
    if kind is not Kind.CAPTURE_END:
        p.op(Kind.CAPTURE_END, stream=S, object=1, status=901)
    facts = p.facts()
    assert (facts[0].code, facts[0].variant.name, line_of(facts[0])) == (302, variant, failed)
    assert [(role, other.site) for role, other in facts[0].related] == [(RelatedRole.CREATE, begin)]
    assert len(facts) == (
        2 if kind is Kind.CAPTURE_END else 1
    )  # then the capture is over, and nothing explains the next


def test_each_capture_speaks_for_itself() -> None:
    p = capturing()
    p.op(Kind.CAPTURE_BEGIN, stream=T, object=2, detail=CaptureMode.GLOBAL)
    p.op(Kind.STREAM_SYNCHRONIZE, stream=S, status=900)
    p.op(Kind.STREAM_SYNCHRONIZE, stream=T, status=900)
    assert len(p.facts(302)) == 2


def test_a_free_that_a_capture_refuses_frees_nothing() -> None:
    p = capturing()
    p.alloc(P)
    p.free(P, FreeClass.DEVICE, status=900)
    p.op(Kind.CAPTURE_END, stream=S, object=1, status=901)
    p.free(P)
    assert [(fact.code, fact.variant.name) for fact in p.facts()] == [(302, "CAPTURE_UNSAFE")]


def test_a_capture_that_ends_well() -> None:
    p = capturing()
    p.op(Kind.CAPTURE_END, stream=S, object=1, address=60)
    assert p.facts() == []
