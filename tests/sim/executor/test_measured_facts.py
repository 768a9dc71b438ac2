"""`--driver h200` does what docs/facts.md observed: one program for each row that a simulation can show.

Work counts as pending as long as an event behind it does: the lazy schedule runs nothing that no wait needs.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from streamsan.testing import device

SIZE = 4 << 20
WORDS = SIZE // 4
INVALID, NOT_READY, ILLEGAL_ADDRESS, NOT_SUPPORTED = 1, 600, 700, 801
UNSUPPORTED, INVALIDATED, MERGE, UNMATCHED, UNJOINED, ISOLATION, IMPLICIT, CAPTURED, WRONG_THREAD = range(900, 909)
GLOBAL, THREAD_LOCAL, RELAXED = range(3)

FACTS: dict[str, Callable[[Any], None]] = {}


def fact(*numbers: str) -> Callable[[Callable[[Any], None]], Callable[[Any], None]]:
    """Register the program that shows some rows."""

    def register(function: Callable[[Any], None]) -> Callable[[Any], None]:
        for number in numbers:
            assert number not in FACTS
            FACTS[number] = function
        return function

    return register


class Program:
    """The bindings, with fewer words."""

    def __init__(self) -> None:
        from cuda.bindings import driver, runtime

        self.cuda, self.cu = runtime, driver
        self.kinds = runtime.cudaMemcpyKind
        ok(runtime.cudaFree(0))

    def stream(self, blocking: bool = False) -> Any:
        return ok(self.cuda.cudaStreamCreateWithFlags(0 if blocking else self.cuda.cudaStreamNonBlocking))

    def malloc(self, size: int = SIZE) -> Any:
        return ok(self.cuda.cudaMalloc(size))

    def malloc_async(self, stream: Any, size: int = SIZE) -> Any:
        return ok(self.cuda.cudaMallocAsync(size, stream))

    def free_async(self, pointer: Any, stream: Any) -> int:
        return int(self.cuda.cudaFreeAsync(pointer, stream)[0])

    def free(self, pointer: Any) -> int:
        return int(self.cuda.cudaFree(pointer)[0])

    def busy(self, stream: Any, on: Any = None) -> Any:
        """Issue work; return an event behind it."""
        target = self.malloc() if on is None else on
        ok(self.cuda.cudaMemsetAsync(target, 7, SIZE, stream))
        event = ok(self.cuda.cudaEventCreate())
        ok(self.cuda.cudaEventRecord(event, stream))
        return event

    def waited(self, event: Any) -> bool:
        """Return whether the work before an event is done. Ask once: asking makes progress."""
        return int(self.cuda.cudaEventQuery(event)[0]) == 0

    def read_later(self, source: Any, stream: Any) -> Any:
        """Issue work that reads 4 MiB; return where its result will be."""
        out = self.malloc()
        ok(self.cuda.cudaMemcpyAsync(out, source, SIZE, self.kinds.cudaMemcpyDeviceToDevice, stream))
        return out

    def wrong_words(self, out: Any, byte: int) -> int:
        """Wait for all, and count the words that are not made of a byte."""
        ok(self.cuda.cudaDeviceSynchronize())
        host = np.empty(WORDS, np.uint32)
        ok(self.cuda.cudaMemcpy(host.ctypes.data, out, SIZE, self.kinds.cudaMemcpyDeviceToHost))
        return int((host != byte * 0x01010101).sum())

    def filled(self, pointer: Any, byte: int, stream: Any) -> Any:
        ok(self.cuda.cudaMemsetAsync(pointer, byte, SIZE, stream))
        ok(self.cuda.cudaDeviceSynchronize())
        return pointer

    def begin(self, stream: Any, mode: int = GLOBAL) -> None:
        ok(self.cuda.cudaStreamBeginCapture(stream, self.cuda.cudaStreamCaptureMode(mode)))

    def end(self, stream: Any) -> Any:
        return ok(self.cuda.cudaStreamEndCapture(stream))

    def refused_end(self, stream: Any) -> int:
        return int(self.cuda.cudaStreamEndCapture(stream)[0])

    def instantiate(self, graph: Any, flags: int = 0) -> Any:
        return ok(self.cuda.cudaGraphInstantiate(graph, flags))

    def launch(self, executable: Any, stream: Any) -> int:
        return int(self.cuda.cudaGraphLaunch(executable, stream)[0])

    def capture_memory(self, stream: Any, frees: bool = False) -> tuple[Any, Any]:
        """Capture an allocation and its use; return the graph and the pointer."""
        self.begin(stream)
        pointer = self.malloc_async(stream)
        ok(self.cuda.cudaMemsetAsync(pointer, 1, SIZE, stream))
        if frees:
            assert self.free_async(pointer, stream) == 0
        return self.end(stream), pointer


def ok(result: Any) -> Any:
    status, *rest = result
    assert int(status) == 0, status
    return rest[0] if len(rest) == 1 else tuple(rest)


def status(result: Any) -> int:
    return int(result[0])


# -- free -----------------------------------------------------------------------------------------------
@fact("F-01")
def free_waits_for_the_context(p: Program) -> None:
    other = p.malloc()
    event = p.busy(p.stream())
    assert p.free(other) == 0
    assert p.waited(event)


@fact("F-02")
def free_of_null_returns_at_once(p: Program) -> None:
    event = p.busy(p.stream())
    assert p.free(0) == 0
    assert not p.waited(event)


@fact("F-03", "F-04", "L-19")
def free_of_pool_memory_does_not_wait(p: Program) -> None:
    reading, other = p.stream(), p.stream()
    block = p.filled(p.malloc_async(reading), 5, reading)
    out = p.read_later(block, reading)
    event = ok(p.cuda.cudaEventCreate())
    ok(p.cuda.cudaEventRecord(event, reading))
    assert p.free(block) == 0
    again = p.malloc_async(other)
    assert int(again) == int(block)
    ok(p.cuda.cudaMemsetAsync(again, 9, SIZE, other))
    ok(p.cuda.cudaStreamSynchronize(other))
    assert not p.waited(event)
    assert p.wrong_words(out, 5) == WORDS


@fact("F-05")
def a_free_in_another_stream_hands_the_block_out(p: Program) -> None:
    s1, s2 = p.stream(), p.stream()
    block = p.filled(p.malloc_async(s1), 5, s1)
    out = p.read_later(block, s1)
    assert p.free_async(block, s2) == 0
    again = p.malloc_async(s2)
    assert int(again) == int(block)
    ok(p.cuda.cudaMemsetAsync(again, 9, SIZE, s2))
    ok(p.cuda.cudaStreamSynchronize(s2))
    assert p.wrong_words(out, 5) == WORDS


@fact("F-06")
def an_event_makes_it_right(p: Program) -> None:
    s1, s2 = p.stream(), p.stream()
    block = p.filled(p.malloc_async(s1), 5, s1)
    out = p.read_later(block, s1)
    event = ok(p.cuda.cudaEventCreate())
    ok(p.cuda.cudaEventRecord(event, s1))
    ok(p.cuda.cudaStreamWaitEvent(s2, event, 0))
    assert p.free_async(block, s2) == 0
    again = p.malloc_async(s2)
    assert int(again) == int(block)
    ok(p.cuda.cudaMemsetAsync(again, 9, SIZE, s2))
    ok(p.cuda.cudaStreamSynchronize(s2))
    assert p.wrong_words(out, 5) == 0


@fact("F-07")
def an_asynchronous_free_of_plain_memory(p: Program) -> None:
    plain, stream = p.malloc(), p.stream()
    event = p.busy(stream)
    assert p.free_async(plain, stream) == 0
    assert not p.waited(event)
    assert p.free(plain) == INVALID


def _free_on_the_default_stream(p: Program, blocking: bool) -> int:
    reading = p.stream(blocking)
    block = p.filled(p.malloc_async(reading), 5, reading)
    out = p.read_later(block, reading)
    assert p.free_async(block, 0) == 0
    again = p.malloc_async(0)
    ok(p.cuda.cudaMemsetAsync(again, 9, SIZE, 0))
    ok(p.cuda.cudaStreamSynchronize(0))
    return p.wrong_words(out, 5)


@fact("F-08")
def the_default_stream_is_behind_blocking_streams(p: Program) -> None:
    assert _free_on_the_default_stream(p, blocking=True) == 0


@fact("F-09")
def and_not_behind_others(p: Program) -> None:
    assert _free_on_the_default_stream(p, blocking=False) == WORDS


@fact("F-10")
def free_of_managed_memory_waits(p: Program) -> None:
    managed = ok(p.cuda.cudaMallocManaged(SIZE, p.cuda.cudaMemAttachGlobal))
    event = p.busy(p.stream())
    assert p.free(managed) == 0
    assert p.waited(event)


@fact("F-11", "L-18")
def free_of_pinned_memory_waits(p: Program) -> None:
    pinned, stream = ok(p.cuda.cudaMallocHost(SIZE)), p.stream()
    event = p.busy(stream)
    assert status(p.cuda.cudaFreeHost(pinned)) == 0
    assert p.waited(event)


@fact("F-12", "L-17", "L-16")
def unregistering_waits_and_registering_does_not(p: Program) -> None:
    page = np.zeros(SIZE + 4096, np.uint8)
    event = p.busy(p.stream())
    ok(p.cuda.cudaHostRegister(page.ctypes.data, SIZE, 0))
    assert not p.waited(event)
    event = p.busy(p.stream())
    ok(p.cuda.cudaHostUnregister(page.ctypes.data))
    assert p.waited(event)


@fact("F-13")
def an_unmapped_range_is_illegal_to_write(p: Program) -> None:
    size = 2 << 20
    properties = p.cu.CUmemAllocationProp()
    properties.type = p.cu.CUmemAllocationType.CU_MEM_ALLOCATION_TYPE_PINNED
    properties.location.type = p.cu.CUmemLocationType.CU_MEM_LOCATION_TYPE_DEVICE
    physical = ok(p.cu.cuMemCreate(size, properties, 0))
    start = ok(p.cu.cuMemAddressReserve(size, 0, 0, 0))
    ok(p.cu.cuMemMap(start, size, 0, physical, 0))
    access = p.cu.CUmemAccessDesc()
    access.location, access.flags = properties.location, p.cu.CUmemAccess_flags(3)
    ok(p.cu.cuMemSetAccess(start, size, [access], 1))
    stream = p.stream()
    ok(p.cu.cuMemsetD8Async(start, 1, size, int(stream)))
    assert status(p.cu.cuMemUnmap(start, size)) == 0
    for _ in range(2):
        assert status(p.cuda.cudaStreamSynchronize(stream)) == ILLEGAL_ADDRESS


@fact("F-15")
def the_wait_covers_the_owner_s_context(p: Program) -> None:
    event = p.busy(p.stream())
    other = ok(p.cu.cuCtxCreate(None, 0, 0))
    idle = ok(p.cu.cuMemAlloc(SIZE))
    ok(p.cu.cuCtxPopCurrent())
    assert status(p.cu.cuMemFree(idle)) == 0
    assert not p.waited(event)
    ok(p.cu.cuCtxDestroy(other))


@fact("F-14", "F-16", "L-20", "L-21")
def making_things_does_not_wait(p: Program) -> None:
    work = p.stream()
    event = p.busy(work)
    p.malloc(64 << 20)
    p.malloc_async(p.stream())
    ok(p.cuda.cudaMallocHost(SIZE))
    ok(p.cuda.cudaStreamDestroy(p.stream()))
    assert not p.waited(event)


# -- wrong calls ----------------------------------------------------------------------------------------
@fact("W-01")
def pointers_that_no_allocation_begins_at(p: Program) -> None:
    plain, stream = p.malloc(), p.stream()
    pooled = p.malloc_async(stream)
    for wrong in (int(plain) + 1, int(plain) + 256, int(pooled) + 256, 0x1234560):
        assert p.free(wrong) == INVALID
        assert p.free_async(wrong, stream) == INVALID
    ok(p.cuda.cudaDeviceSynchronize())


@fact("W-02")
def second_frees(p: Program) -> None:
    plain, stream = p.malloc(), p.stream()
    assert [p.free(plain), p.free(plain)] == [0, INVALID]
    pooled = p.malloc_async(stream)
    assert [p.free_async(pooled, stream), p.free_async(pooled, stream)] == [0, INVALID]


@fact("W-03")
def a_stale_pointer_frees_the_new_owner(p: Program) -> None:
    first = p.malloc()
    assert p.free(first) == 0
    second = p.malloc()
    assert int(second) == int(first)
    assert p.free(first) == 0
    assert status(p.cuda.cudaMemsetAsync(int(second), 0, SIZE, 0)) == INVALID


@fact("W-04", "W-05")
def memory_of_another_context(p: Program) -> None:
    other = ok(p.cu.cuCtxCreate(None, 0, 0))
    foreign = ok(p.cu.cuMemAlloc(SIZE))
    ok(p.cu.cuCtxPopCurrent())
    assert status(p.cu.cuMemsetD8(foreign, 1, SIZE)) == 0
    assert [status(p.cu.cuMemFree(foreign)), status(p.cu.cuMemFree(foreign))] == [0, INVALID]
    ok(p.cu.cuCtxDestroy(other))


@fact("W-06")
def memory_of_a_destroyed_context(p: Program) -> None:
    other = ok(p.cu.cuCtxCreate(None, 0, 0))
    foreign = ok(p.cu.cuMemAlloc(SIZE))
    ok(p.cu.cuCtxDestroy(other))
    assert status(p.cu.cuMemFree(foreign)) == INVALID


@fact("W-10")
def freed_pool_memory_is_illegal_only_once_trimmed(p: Program) -> None:
    stream, pool = p.stream(), ok(p.cuda.cudaDeviceGetDefaultMemPool(0))
    threshold = p.cuda.cudaMemPoolAttr.cudaMemPoolAttrReleaseThreshold
    ok(p.cuda.cudaMemPoolSetAttribute(pool, threshold, p.cu.cuuint64_t(1 << 40)))
    block = int(p.malloc_async(stream))
    assert p.free_async(block, stream) == 0
    # Work that the driver does not look into: fills it would refuse.
    ok(p.cu.cuStreamWriteValue32(int(stream), block, 1, 0))
    ok(p.cuda.cudaStreamSynchronize(stream))
    assert status(p.cuda.cudaMemsetAsync(block, 1, SIZE, stream)) == INVALID
    ok(p.cuda.cudaMemPoolTrimTo(pool, 0))
    ok(p.cu.cuStreamWriteValue32(int(stream), block, 1, 0))
    assert status(p.cuda.cudaStreamSynchronize(stream)) == ILLEGAL_ADDRESS


@fact("W-11")
def frees_of_the_wrong_family(p: Program) -> None:
    pinned, page = ok(p.cuda.cudaMallocHost(SIZE)), np.zeros(SIZE, np.uint8)
    assert p.free(pinned) == INVALID
    ok(p.cuda.cudaHostRegister(page.ctypes.data, SIZE, 0))
    assert status(p.cuda.cudaFreeHost(page.ctypes.data)) == INVALID
    ok(p.cuda.cudaHostUnregister(page.ctypes.data))


# -- allocation order, streams, events --------------------------------------------------------------------
@fact("A-01")
def memory_is_usable_at_once(p: Program) -> None:
    busy, other = p.stream(), p.stream()
    p.busy(busy)
    block = p.malloc_async(busy)
    ok(p.cuda.cudaMemsetAsync(block, 3, SIZE, other))
    ok(p.cuda.cudaStreamSynchronize(other))
    assert p.wrong_words(block, 3) == 0


@fact("A-02")
def no_early_reuse_in_another_stream(p: Program) -> None:
    s1, s2 = p.stream(), p.stream()
    block = p.malloc_async(s1)
    p.busy(s1)
    assert p.free_async(block, s1) == 0
    assert int(p.malloc_async(s2)) != int(block)


@fact("A-03")
def complete_frees_are_reused(p: Program) -> None:
    s1, s2 = p.stream(), p.stream()
    block = p.malloc_async(s1)
    assert p.free_async(block, s1) == 0
    ok(p.cuda.cudaStreamSynchronize(s1))
    assert int(p.malloc_async(s2)) == int(block)


@fact("A-04")
def destroying_a_stream_does_not_wait(p: Program) -> None:
    stream, target = p.stream(), p.malloc()
    event = p.busy(stream, target)
    ok(p.cuda.cudaStreamDestroy(stream))
    assert not p.waited(event)
    assert p.wrong_words(target, 7) == 0


@fact("A-05")
def a_wait_outlives_its_event(p: Program) -> None:
    s1, s2 = p.stream(), p.stream()
    target = p.malloc()
    event = p.busy(s1, target)
    ok(p.cuda.cudaStreamWaitEvent(s2, event, 0))
    ok(p.cuda.cudaEventDestroy(event))
    out = p.read_later(target, s2)
    ok(p.cuda.cudaStreamSynchronize(s2))
    assert p.wrong_words(out, 7) == 0


@fact("A-06")
def a_wait_for_what_was_never_recorded(p: Program) -> None:
    s1, s2 = p.stream(), p.stream()
    event = ok(p.cuda.cudaEventCreate())
    ok(p.cuda.cudaStreamWaitEvent(s2, event, 0))
    pending = p.busy(s1)
    ok(p.cuda.cudaEventRecord(event, s1))
    ok(p.cuda.cudaStreamSynchronize(s2))
    assert not p.waited(pending)


@fact("A-07")
def a_pool_s_memory_outlives_it(p: Program) -> None:
    properties = p.cuda.cudaMemPoolProps()
    properties.allocType = p.cuda.cudaMemAllocationType.cudaMemAllocationTypePinned
    properties.location.type = p.cuda.cudaMemLocationType.cudaMemLocationTypeDevice
    pool, stream = ok(p.cuda.cudaMemPoolCreate(properties)), p.stream()
    block = ok(p.cuda.cudaMallocFromPoolAsync(SIZE, pool, stream))
    ok(p.cuda.cudaMemPoolDestroy(pool))
    ok(p.cuda.cudaMemsetAsync(block, 4, SIZE, stream))
    assert p.wrong_words(block, 4) == 0
    assert p.free_async(block, stream) == 0


@fact("A-08")
def trimming_does_not_wait(p: Program) -> None:
    stream = p.stream()
    block = p.malloc_async(stream)
    event = p.busy(stream, block)
    assert p.free_async(block, stream) == 0
    ok(p.cuda.cudaMemPoolTrimTo(ok(p.cuda.cudaDeviceGetDefaultMemPool(0)), 0))
    assert not p.waited(event)


# -- reset --------------------------------------------------------------------------------------------------
@fact("R-01", "R-03", "R-04")
def reset(p: Program) -> None:
    stream = p.stream()
    plain, pooled, freed = p.malloc(), p.malloc_async(stream), p.malloc_async(stream)
    ran: list[int] = []
    p.busy(stream)
    body = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(lambda data: ran.append(1))
    address = ctypes.cast(body, ctypes.c_void_p).value
    ok(p.cuda.cudaLaunchHostFunc(stream, p.cuda.cudaHostFn_t(address), 0))
    assert p.free_async(freed, stream) == 0
    assert not ran
    ok(p.cuda.cudaDeviceReset())
    assert ran
    assert p.free(plain) == INVALID
    assert p.free_async(pooled, 0) == 0


# -- implicit waits -----------------------------------------------------------------------------------------
@fact("L-01", "L-03", "L-04")
def the_default_stream_covers_blocking_streams(p: Program) -> None:
    event = p.busy(p.stream(blocking=True))
    assert status(p.cuda.cudaStreamQuery(0)) == NOT_READY
    ok(p.cuda.cudaStreamSynchronize(0))
    assert p.waited(event)
    event, mark = p.busy(p.stream(blocking=True)), ok(p.cuda.cudaEventCreate())
    ok(p.cuda.cudaEventRecord(mark, 0))
    ok(p.cuda.cudaEventSynchronize(mark))
    assert p.waited(event)


@fact("L-02", "L-05")
def and_no_others(p: Program) -> None:
    event, mark = p.busy(p.stream()), ok(p.cuda.cudaEventCreate())
    ok(p.cuda.cudaStreamSynchronize(0))
    ok(p.cuda.cudaEventRecord(mark, 0))
    ok(p.cuda.cudaEventSynchronize(mark))
    assert not p.waited(event)


def _copy_from(p: Program, address: int, blocking: bool) -> bool:
    target = p.malloc()
    event = p.busy(p.stream(blocking))
    ok(p.cuda.cudaMemcpy(target, address, 1024, p.kinds.cudaMemcpyHostToDevice))
    return p.waited(event)


@fact("L-06", "L-07")
def copies_from_pageable_memory(p: Program) -> None:
    page = np.zeros(1024, np.uint8)
    assert _copy_from(p, page.ctypes.data, blocking=True)
    assert not _copy_from(p, page.ctypes.data, blocking=False)


@fact("L-08")
def copies_from_pinned_memory(p: Program) -> None:
    assert _copy_from(p, ok(p.cuda.cudaMallocHost(1024)), blocking=True)


@fact("L-10")
def an_asynchronous_copy_to_pageable_memory_waits(p: Program) -> None:
    stream, page, source = p.stream(), np.zeros(1024, np.uint8), p.malloc()
    event = p.busy(stream, source)
    ok(p.cuda.cudaMemcpyAsync(page.ctypes.data, source, 1024, p.kinds.cudaMemcpyDeviceToHost, stream))
    assert p.waited(event)
    assert (page == 7).all()


@fact("L-11", "L-12")
def device_memory_does_not_wait(p: Program) -> None:
    one, other = p.malloc(), p.malloc()
    event = p.busy(p.stream(blocking=True))
    ok(p.cuda.cudaMemcpy(one, other, SIZE, p.kinds.cudaMemcpyDeviceToDevice))
    ok(p.cuda.cudaMemset(one, 0, SIZE))
    assert not p.waited(event)


@fact("L-13", "L-14")
def fills_of_pinned_and_managed_memory_wait(p: Program) -> None:
    for memory in (
        ok(p.cuda.cudaMallocHost(SIZE)),
        ok(p.cuda.cudaMallocManaged(SIZE, p.cuda.cudaMemAttachGlobal)),
    ):
        event = p.busy(p.stream(blocking=True))
        ok(p.cuda.cudaMemset(memory, 0, SIZE))
        assert p.waited(event)


@fact("L-15")
def a_copy_is_behind_the_default_stream_itself(p: Program) -> None:
    page, target = np.zeros(4, np.uint8), p.malloc()
    event = p.busy(0)
    ok(p.cuda.cudaMemcpy(target, page.ctypes.data, 4, p.kinds.cudaMemcpyHostToDevice))
    assert p.waited(event)


# -- graphs ---------------------------------------------------------------------------------------------------
@fact("G-01", "G-02", "G-22")
def relaunches_with_live_memory(p: Program) -> None:
    stream = p.stream()
    graph, pointer = p.capture_memory(stream)
    executable = p.instantiate(graph)
    assert [p.launch(executable, stream), p.launch(executable, stream)] == [0, INVALID]
    graph, pointer = p.capture_memory(stream)
    executable = p.instantiate(graph, 1)
    assert [p.launch(executable, stream), p.launch(executable, stream)] == [0, 0]
    assert p.free_async(pointer, stream) == 0


@fact("G-05")
def a_wait_breaks_a_capture(p: Program) -> None:
    stream, target = p.stream(), p.malloc()
    p.begin(stream)
    assert status(p.cuda.cudaStreamSynchronize(stream)) == UNSUPPORTED
    assert status(p.cuda.cudaMemsetAsync(target, 0, SIZE, stream)) == INVALIDATED
    assert p.refused_end(stream) == INVALIDATED


@fact("G-06", "C-05")
def allocations_during_a_capture(p: Program) -> None:
    stream, known = p.stream(), p.malloc()
    for call in (lambda: p.cuda.cudaMalloc(64), lambda: p.cuda.cudaFree(known), lambda: p.cuda.cudaMallocHost(64)):
        p.begin(stream)
        assert status(call()) == UNSUPPORTED
        assert p.refused_end(stream) == INVALIDATED
    p.begin(stream, RELAXED)
    assert status(p.cuda.cudaMalloc(64)) == 0
    p.end(stream)


@fact("G-07", "G-16", "G-19")
def one_instance_of_a_graph_with_memory(p: Program) -> None:
    stream = p.stream()
    graph, _ = p.capture_memory(stream, frees=True)
    executable = p.instantiate(graph)
    assert status(p.cuda.cudaGraphInstantiate(graph, 0)) == NOT_SUPPORTED
    assert status(p.cuda.cudaGraphClone(graph)) == NOT_SUPPORTED
    parent = ok(p.cuda.cudaGraphCreate(0))
    assert status(p.cuda.cudaGraphAddChildGraphNode(parent, None, 0, graph)) == NOT_SUPPORTED
    ok(p.cuda.cudaGraphExecDestroy(executable))
    p.instantiate(graph)


@fact("G-08", "G-15")
def memory_that_is_not_alive(p: Program) -> None:
    stream = p.stream()
    graph, pointer = p.capture_memory(stream, frees=True)
    executable = p.instantiate(graph)
    for _ in range(2):
        assert p.free_async(pointer, stream) == INVALID
        assert p.free(pointer) == INVALID
        assert p.launch(executable, stream) == 0
        ok(p.cuda.cudaStreamSynchronize(stream))


@fact("G-09", "C-07")
def a_captured_free_of_outside_memory(p: Program) -> None:
    stream = p.stream()
    pooled, plain = p.malloc_async(stream), p.malloc()
    p.begin(stream)
    assert p.free_async(pooled, stream) == INVALID
    assert p.free_async(plain, stream) == INVALID
    p.end(stream)


@fact("G-10", "G-18")
def memory_freed_outside(p: Program) -> None:
    stream = p.stream()
    graph, pointer = p.capture_memory(stream)
    executable = p.instantiate(graph)
    assert p.launch(executable, stream) == 0
    assert [p.free_async(pointer, stream), p.free_async(pointer, stream)] == [0, INVALID]
    assert p.launch(executable, stream) == 0
    assert p.free(pointer) == 0
    assert p.launch(executable, stream) == 0


@fact("G-11", "G-12")
def destroyed_graphs_go_on(p: Program) -> None:
    stream = p.stream()
    graph, pointer = p.capture_memory(stream)
    executable = p.instantiate(graph)
    assert p.launch(executable, stream) == 0
    event = ok(p.cuda.cudaEventCreate())
    ok(p.cuda.cudaEventRecord(event, stream))
    ok(p.cuda.cudaGraphExecDestroy(executable))
    assert not p.waited(event)
    assert p.wrong_words(pointer, 1) == 0
    assert p.free_async(pointer, stream) == 0


@fact("G-13")
def a_graph_writes_to_the_new_owner(p: Program) -> None:
    stream = p.stream()
    first = p.malloc()
    p.begin(stream)
    ok(p.cuda.cudaMemsetAsync(first, 6, SIZE, stream))
    executable = p.instantiate(p.end(stream))
    assert p.free(first) == 0
    second = p.malloc()
    assert int(second) == int(first)
    assert p.launch(executable, stream) == 0
    assert p.wrong_words(second, 6) == 0


@fact("G-17", "G-20")
def a_free_node_of_another_graph(p: Program) -> None:
    stream = p.stream()
    graph, pointer = p.capture_memory(stream)
    p.begin(stream)
    assert p.free_async(pointer, stream) == 0
    assert p.free_async(pointer, stream) == INVALID
    freeing = p.instantiate(p.end(stream))
    executable = p.instantiate(graph)
    assert [p.launch(executable, stream), p.launch(freeing, stream)] == [0, 0]
    assert [p.launch(executable, stream), p.launch(freeing, stream), p.launch(freeing, stream)] == [0, 0, INVALID]


# -- calls while a stream captures ----------------------------------------------------------------------------
@fact("C-01")
def waits_during_a_capture(p: Program) -> None:
    stream = p.stream()
    for call in (
        lambda: p.cuda.cudaStreamSynchronize(stream),
        lambda: p.cuda.cudaStreamQuery(stream),
        lambda: p.cuda.cudaDeviceSynchronize(),
    ):
        p.begin(stream, RELAXED)
        assert status(call()) == UNSUPPORTED
        assert p.refused_end(stream) == INVALIDATED


@fact("C-02", "C-03", "C-20")
def captured_events(p: Program) -> None:
    stream, event = p.stream(), ok(p.cuda.cudaEventCreate())
    for call in (p.cuda.cudaEventSynchronize, p.cuda.cudaEventQuery):
        p.begin(stream)
        ok(p.cuda.cudaEventRecord(event, stream))
        assert status(call(event)) == CAPTURED
        assert p.refused_end(stream) == INVALIDATED
    p.begin(stream)
    ok(p.cuda.cudaEventRecord(event, stream))
    assert status(p.cuda.cudaEventElapsedTime(event, event)) == CAPTURED
    p.end(stream)
    assert status(p.cuda.cudaStreamWaitEvent(stream, event, 0)) == INVALID
    assert status(p.cuda.cudaEventQuery(event)) == INVALID


@fact("C-08", "C-10")
def what_a_capture_leaves_alone(p: Program) -> None:
    stream, other, target = p.stream(), p.stream(), p.malloc()
    page = np.zeros(64, np.uint8)
    p.begin(stream)
    ok(p.cuda.cudaMemset(target, 0, SIZE))
    ok(p.cuda.cudaMemcpy(target, page.ctypes.data, 64, p.kinds.cudaMemcpyHostToDevice))
    ok(p.cuda.cudaMemsetAsync(target, 0, SIZE, other))
    ok(p.cuda.cudaMemcpyAsync(target, page.ctypes.data, 64, p.kinds.cudaMemcpyHostToDevice, stream))
    p.end(stream)


@fact("C-09")
def the_default_stream_while_a_blocking_stream_captures(p: Program) -> None:
    stream, target = p.stream(blocking=True), p.malloc()
    for call in (
        lambda: p.cuda.cudaMemsetAsync(target, 0, SIZE, 0),
        lambda: p.cuda.cudaStreamSynchronize(0),
        lambda: p.cuda.cudaStreamQuery(0),
    ):
        p.begin(stream)
        assert status(call()) == IMPLICIT
        assert p.refused_end(stream) == INVALIDATED


@fact("C-11")
def events_from_outside(p: Program) -> None:
    stream, event = p.stream(), p.busy(p.stream())
    p.begin(stream)
    assert status(p.cuda.cudaStreamWaitEvent(stream, event, 0)) == ISOLATION
    assert p.refused_end(stream) == INVALIDATED
    p.begin(stream)
    ok(p.cuda.cudaStreamWaitEvent(stream, event, 1))
    ok(p.cuda.cudaStreamWaitEvent(stream, ok(p.cuda.cudaEventCreate()), 0))
    p.end(stream)


@fact("C-12", "C-13")
def captures_that_cannot_begin_or_end(p: Program) -> None:
    stream = p.stream()
    mode = p.cuda.cudaStreamCaptureMode(GLOBAL)
    assert p.refused_end(stream) == 401
    p.begin(stream)
    assert status(p.cuda.cudaStreamBeginCapture(stream, mode)) == 401
    assert status(p.cuda.cudaStreamBeginCapture(0, mode)) == UNSUPPORTED
    p.end(stream)


@fact("C-16", "C-17")
def joined_streams(p: Program) -> None:
    origin, joined, target = p.stream(), p.stream(), p.malloc()
    event = ok(p.cuda.cudaEventCreate())
    for last in (joined, origin):
        p.begin(origin)
        ok(p.cuda.cudaEventRecord(event, origin))
        ok(p.cuda.cudaStreamWaitEvent(joined, event, 0))
        ok(p.cuda.cudaMemsetAsync(target, 0, SIZE, joined))
        if last is joined:
            assert p.refused_end(joined) == UNMATCHED
            assert p.refused_end(origin) == INVALIDATED
        else:
            assert p.refused_end(origin) == UNJOINED
    ok(p.cuda.cudaMemsetAsync(target, 0, SIZE, joined))


@fact("C-19")
def two_captures_do_not_merge(p: Program) -> None:
    one, other, event = p.stream(), p.stream(), ok(p.cuda.cudaEventCreate())
    p.begin(one)
    p.begin(other)
    ok(p.cuda.cudaEventRecord(event, one))
    assert status(p.cuda.cudaStreamWaitEvent(other, event, 0)) == MERGE
    assert [p.refused_end(one), p.refused_end(other)] == [INVALIDATED, INVALIDATED]


@pytest.mark.parametrize("number", FACTS)
def test_the_simulated_driver_does_what_was_observed(number: str) -> None:
    with device(driver="h200", schedule="lazy"):
        FACTS[number](Program())


def test_every_number_is_a_row_of_the_facts() -> None:
    text = (Path(__file__).resolve().parents[3] / "docs" / "facts.md").read_text()
    assert set(FACTS) <= set(re.findall(r"^\| ([A-Z]-\d\d) \|", text, re.MULTILINE))
    assert len(FACTS) >= 60
