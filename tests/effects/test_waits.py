"""What copies and fills make the host wait for."""

from __future__ import annotations

import pytest

from streamsan.effects import Endpoint
from streamsan.platforms import CUDA
from streamsan.vocabulary import MemoryKind, WaitClass

D, M, P, H, U = Endpoint.DEVICE, Endpoint.MANAGED, Endpoint.PINNED, Endpoint.PAGEABLE, Endpoint.UNKNOWN


@pytest.mark.parametrize(
    ("column", "source", "destination", "wait"),
    [
        ("synchronous", H, D, WaitClass.BEFORE),
        ("synchronous", U, D, WaitClass.BEFORE),
        ("synchronous", P, D, WaitClass.COMPLETE),
        ("synchronous", D, H, WaitClass.COMPLETE),
        ("synchronous", D, P, WaitClass.COMPLETE),
        ("synchronous", D, U, WaitClass.COMPLETE),
        ("synchronous", D, D, WaitClass.BETWEEN_CONTEXTS),
        ("synchronous", H, P, WaitClass.COMPLETE),
        ("synchronous", U, U, WaitClass.MAYBE_COMPLETE),
        ("asynchronous", H, D, WaitClass.MAYBE_COMPLETE),
        ("asynchronous", D, H, WaitClass.OBSERVED_COMPLETE),
        ("asynchronous", P, D, WaitClass.NONE),
        ("asynchronous", D, P, WaitClass.NONE),
        ("asynchronous", D, D, WaitClass.NONE),
        ("asynchronous", H, H, WaitClass.COMPLETE),
        ("asynchronous", U, U, WaitClass.NONE),
    ],
)
def test_copies(column: str, source: Endpoint, destination: Endpoint, wait: WaitClass) -> None:
    assert CUDA.waits.of_copy(column, source, destination) is wait


@pytest.mark.parametrize("column", ["synchronous", "asynchronous"])
@pytest.mark.parametrize("source", list(Endpoint))
@pytest.mark.parametrize("destination", list(Endpoint))
def test_every_pair_has_a_wait(column: str, source: Endpoint, destination: Endpoint) -> None:
    assert CUDA.waits.of_copy(column, source, destination) in WaitClass
    assert CUDA.waits.of_memset(column, source) in WaitClass


def test_fills() -> None:
    assert CUDA.waits.of_memset("synchronous", D) is WaitClass.NONE
    assert CUDA.waits.of_memset("synchronous", P) is WaitClass.COMPLETE
    assert CUDA.waits.of_memset("asynchronous", P) is WaitClass.NONE


@pytest.mark.parametrize("kind", list(MemoryKind))
def test_every_kind_of_memory_is_a_side(kind: MemoryKind) -> None:
    assert CUDA.side(kind) in Endpoint


def test_sides() -> None:
    assert CUDA.side(None) is CUDA.side(MemoryKind.UNKNOWN) is U
    assert CUDA.side(MemoryKind.STREAM_ORDERED) is D
    assert CUDA.side(MemoryKind.HOST_STACK) is H
    assert CUDA.side(MemoryKind.REGISTERED) is P
