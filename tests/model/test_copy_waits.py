"""The host's wait for copies and fills, by memory kinds and direction."""

from __future__ import annotations

import pytest
from model_program import Program

from streamsan.model.values import Symbol, Value
from streamsan.vocabulary import MemoryKind, WaitClass

H2H, H2D, D2H, D2D, DEFAULT = range(5)


def memory(program: Program, name: str) -> Value:
    if name == "pageable":
        return program.model.host_allocate(program.main, 64, MemoryKind.HOST_HEAP, program.site())
    if name == "unknown":
        return Symbol(len(name), program.site().__str__(), "parameter")
    api = {"device": "cudaMalloc", "pinned": "cudaMallocHost", "managed": "cudaMallocManaged"}[name]
    return program.make(api, 1, 64)


@pytest.mark.parametrize(
    ("source", "destination", "kind", "synchronous", "asynchronous"),
    [
        ("pageable", "device", H2D, WaitClass.BEFORE, WaitClass.MAYBE_COMPLETE),
        ("pageable", "device", DEFAULT, WaitClass.BEFORE, WaitClass.MAYBE_COMPLETE),
        ("pinned", "device", H2D, WaitClass.COMPLETE, WaitClass.NONE),
        ("unknown", "device", H2D, WaitClass.BEFORE, WaitClass.NONE),
        ("unknown", "unknown", H2D, WaitClass.BEFORE, WaitClass.NONE),
        ("managed", "device", H2D, WaitClass.MAYBE_COMPLETE, WaitClass.NONE),
        ("device", "pageable", D2H, WaitClass.COMPLETE, WaitClass.OBSERVED_COMPLETE),
        ("device", "pinned", D2H, WaitClass.COMPLETE, WaitClass.NONE),
        ("device", "unknown", D2H, WaitClass.COMPLETE, WaitClass.NONE),
        ("device", "pinned", DEFAULT, WaitClass.COMPLETE, WaitClass.NONE),
        ("device", "managed", DEFAULT, WaitClass.COMPLETE, WaitClass.NONE),
        ("device", "device", D2D, WaitClass.BETWEEN_CONTEXTS, WaitClass.NONE),
        ("device", "device", DEFAULT, WaitClass.BETWEEN_CONTEXTS, WaitClass.NONE),
        ("pageable", "pinned", H2H, WaitClass.COMPLETE, WaitClass.COMPLETE),
        ("pageable", "pageable", DEFAULT, WaitClass.COMPLETE, WaitClass.COMPLETE),
        ("unknown", "unknown", H2H, WaitClass.COMPLETE, WaitClass.COMPLETE),
        ("unknown", "unknown", DEFAULT, WaitClass.MAYBE_COMPLETE, WaitClass.NONE),
        ("unknown", "device", None, WaitClass.MAYBE_COMPLETE, WaitClass.NONE),
        ("managed", "managed", DEFAULT, WaitClass.MAYBE_COMPLETE, WaitClass.NONE),
    ],
)
def test_copy(source: str, destination: str, kind: Value, synchronous: WaitClass, asynchronous: WaitClass) -> None:
    program = Program()
    to, from_ = memory(program, destination), memory(program, source)
    program.call("cudaMemcpy", to, from_, 64, kind)
    assert program.last.detail == synchronous
    program.call("cudaMemcpyAsync", to, from_, 64, kind, 0)
    assert program.last.detail == asynchronous


@pytest.mark.parametrize(
    ("api", "source", "destination", "wait"),
    [
        ("cuMemcpyHtoD", "pageable", "device", WaitClass.BEFORE),
        ("cuMemcpyHtoD", "pinned", "device", WaitClass.COMPLETE),
        ("cuMemcpyDtoH_v2", "device", "pageable", WaitClass.COMPLETE),
        ("cuMemcpyDtoD", "device", "device", WaitClass.BETWEEN_CONTEXTS),
        ("cuMemcpyDtoHAsync", "device", "pinned", WaitClass.NONE),
        ("cuMemcpy", "device", "pageable", WaitClass.COMPLETE),
    ],
)
def test_driver_copies(api: str, source: str, destination: str, wait: WaitClass) -> None:
    program = Program()
    to, from_ = memory(program, destination), memory(program, source)
    program.call(api, to, from_, 64, 0)
    assert program.last.detail == wait


@pytest.mark.parametrize(
    ("api", "more", "wait"),
    [
        ("cudaMemcpyPeer", (), WaitClass.BETWEEN_CONTEXTS),
        ("cudaMemcpyPeerAsync", (0,), WaitClass.NONE),
        ("cuMemcpyPeer", (), WaitClass.BETWEEN_CONTEXTS),
        ("cuMemcpyPeerAsync", (0,), WaitClass.NONE),
    ],
)
def test_copies_between_devices(api: str, more: tuple[int, ...], wait: WaitClass) -> None:
    program = Program()
    program.call(api, memory(program, "device"), 0, memory(program, "device"), 1, 64, *more)
    assert program.last.detail == wait


@pytest.mark.parametrize(
    ("target", "synchronous"),
    [("device", WaitClass.NONE), ("unknown", WaitClass.NONE), ("pinned", WaitClass.COMPLETE)],
)
def test_fill(target: str, synchronous: WaitClass) -> None:
    program = Program()
    to = memory(program, target)
    program.call("cudaMemset", to, 0, 64)
    assert program.last.detail == synchronous
    program.call("cudaMemsetAsync", to, 0, 64, 0)
    assert program.last.detail == WaitClass.NONE
