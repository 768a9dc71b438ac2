"""Handles that another process made: they hold what the importer must know."""

from __future__ import annotations

import ctypes
import os
import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from kernels_source import ok

from streamsan.sim import device
from streamsan.sim.device_under_test import Device
from streamsan.vocabulary import MemoryKind, OperationKind

SIZE = 1 << 16


def codes(found: Device) -> list[str]:
    return [finding.code for finding in found.findings() if finding.severity != "note"]


def exported(word: str) -> bytes:
    """The bytes of a handle of memory or of an event that a process without relation to this one made."""
    with device():
        from cuda.bindings import runtime

        if word == "Mem":
            handle = ok(runtime.cudaIpcGetMemHandle(ok(runtime.cudaMalloc(SIZE))))
        else:
            flags = runtime.cudaEventInterprocess | runtime.cudaEventDisableTiming
            handle = ok(runtime.cudaIpcGetEventHandle(ok(runtime.cudaEventCreateWithFlags(flags))))
        return ctypes.string_at(handle.getPtr(), 64)


def handle_of(word: str, content: bytes) -> Any:
    from cuda.bindings import runtime

    handle = getattr(runtime, f"cudaIpc{word}Handle_t")()
    ctypes.memmove(handle.getPtr(), content, len(content))
    return handle


@pytest.mark.parametrize("pending", [True, False])
def test_memory_is_opened_and_closed(pending: bool) -> None:
    content = exported("Mem")
    with device(schedule="lazy") as found:
        from cuda.bindings import runtime

        pointer = ok(runtime.cudaIpcOpenMemHandle(handle_of("Mem", content), 1))
        stream = ok(runtime.cudaStreamCreateWithFlags(runtime.cudaStreamNonBlocking))
        ok(runtime.cudaMemsetAsync(pointer, 1, SIZE, stream))
        if not pending:
            ok(runtime.cudaStreamSynchronize(stream))
            assert found.read(pointer, SIZE) == b"\1" * SIZE
        ok(runtime.cudaIpcCloseMemHandle(pointer))
        if not pending:
            ok(runtime.cudaStreamDestroy(stream))
    assert codes(found) == (["SS104"] if pending else [])
    assert [each.code for each in found.findings()].count("SS603") == 1
    allocations = [
        (int(slot["detail"]), int(slot["size"]))
        for chunk in found.trace().chunks()
        for slot in chunk
        if slot["kind"] == OperationKind.ALLOC
    ]
    assert allocations == [(MemoryKind.IPC, SIZE)]


def test_imported_memory_is_closed_not_freed() -> None:
    content = exported("Mem")
    with device() as found:
        from cuda.bindings import runtime

        pointer = ok(runtime.cudaIpcOpenMemHandle(handle_of("Mem", content), 1))
        assert runtime.cudaFree(pointer) == (runtime.cudaError_t.cudaErrorInvalidValue,)
        ok(runtime.cudaIpcCloseMemHandle(pointer))
    assert "SS202" in codes(found)


def test_events() -> None:
    content = exported("Event")
    with device() as found:
        from cuda.bindings import driver, runtime

        event = ok(runtime.cudaIpcOpenEventHandle(handle_of("Event", content)))
        stream = ok(runtime.cudaStreamCreate())
        ok(runtime.cudaStreamWaitEvent(stream, event, 0))
        ok(runtime.cudaEventRecord(event, stream))
        ok(runtime.cudaEventSynchronize(event))
        ok(runtime.cudaEventDestroy(event))
        ok(runtime.cudaStreamDestroy(stream))
        memory = ctypes.create_string_buffer(content, 64)
        handle = driver.CUipcEventHandle(_ptr=ctypes.addressof(memory))
        assert ctypes.string_at(driver.CUipcEventHandle(_ptr=handle.getPtr()).getPtr(), 64) == content
        ok(driver.cuEventDestroy(ok(driver.cuIpcOpenEventHandle(handle))))
    assert codes(found) == []


@pytest.mark.parametrize("word", ["Mem", "Event"])
def test_what_is_no_handle_is_refused(word: str) -> None:
    memory, event = exported("Mem"), exported("Event")
    with device():
        from cuda.bindings import runtime

        invalid = runtime.cudaError_t.cudaErrorInvalidValue
        for content in (b"", os.urandom(64), event if word == "Mem" else memory, b"\xff" * 64):
            handle = handle_of(word, content)
            if word == "Mem":
                assert runtime.cudaIpcOpenMemHandle(handle, 1) == (invalid, None)
            else:
                assert runtime.cudaIpcOpenEventHandle(handle) == (invalid, None)


def test_in_the_same_process_it_fails_as_before() -> None:
    with device():
        from cuda.bindings import runtime

        memory = ok(runtime.cudaMalloc(SIZE))
        handle = ok(runtime.cudaIpcGetMemHandle(memory))
        again = handle_of("Mem", ctypes.string_at(handle.getPtr(), 64))
        for each in (handle, again):
            status, pointer = runtime.cudaIpcOpenMemHandle(each, 1)
            assert status == runtime.cudaError_t.cudaErrorDeviceUninitialized
            assert pointer is None
        ok(runtime.cudaFree(memory))
