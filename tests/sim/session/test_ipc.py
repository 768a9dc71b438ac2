"""Processes that exchange IPC handles share bytes, lifetimes and the order of events."""

from __future__ import annotations

import ctypes
import multiprocessing
import os
from typing import Any

import numpy as np
import pytest
from kernels_source import launch, loaded
from other_process import Other, bytes_at, content_of, exported_memory, handle_of, opened_memory, other_process
from simulated_cuda import driver, ok, runtime

from streamsan.sim import active
from streamsan.testing import device
from streamsan.testing.device_under_test import Device
from streamsan.vocabulary import MemoryKind, OperationKind

SIZE = 1 << 16
DRIVERS = ["contract", "h200"]
SCHEDULES = ["lazy", "eager", 3]


def codes(found: Device) -> list[str]:
    return [finding.code for finding in found.findings() if finding.severity != "note"]


def export(size: int = SIZE, byte: int = 5) -> tuple[Any, str]:
    return exported_memory(size, byte)


def opening(content: str) -> str:
    """The name of the status of an attempt."""
    return str(runtime.cudaIpcOpenMemHandle(handle_of("Mem", content), 1)[0].name)


def keep_memory(other: Other) -> None:
    """Export memory, and live until told to end."""
    _, content = export()
    other.send(content)
    other.receive()


# -- bytes ----------------------------------------------------------------------------------------
@pytest.mark.parametrize("driver", DRIVERS)
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_words_go_both_ways(schedule: Any, driver: str) -> None:
    def exporter(other: Other) -> None:
        memory, content = export()
        other.send(content)
        other.receive()
        other.send(sorted(bytes_at(memory, SIZE)))
        words = np.arange(SIZE // 4, dtype=np.uint32)
        ok(runtime.cudaMemcpy(memory, words.ctypes.data, SIZE, runtime.cudaMemcpyKind.cudaMemcpyHostToDevice))
        ok(runtime.cudaDeviceSynchronize())
        other.send("copied")
        other.receive()

    with device(schedule=schedule, driver=driver) as found, other_process(exporter) as other:
        memory = opened_memory(other.receive())
        assert bytes_at(memory, SIZE) == {5}
        ok(runtime.cudaMemset(memory, 6, SIZE))
        ok(runtime.cudaDeviceSynchronize())
        other.send("filled")
        assert other.receive() == [6]
        assert other.receive() == "copied"
        assert found.read(memory, SIZE) == np.arange(SIZE // 4, dtype=np.uint32).tobytes()
        ok(runtime.cudaIpcCloseMemHandle(memory))
        other.send("end")
        assert other.wait() == 0
    assert codes(found) == []


def test_kernels_use_imported_memory() -> None:
    def fill(x: Any, n: int, value: float) -> None:
        x[:n] = value

    def exporter(other: Other) -> None:
        memory, content = export(1024)
        other.send(content)
        other.receive()
        other.send(np.frombuffer(active.session().executor.read(int(memory), 16), np.float32).tolist())

    with device(kernels={"fill": fill}), other_process(exporter) as other:
        module, _ = loaded()
        memory = opened_memory(other.receive())
        function = ok(driver.cuModuleGetFunction(module, b"fill"))
        ok(launch(function, ((int(memory), 4, 2.5), (ctypes.c_void_p, ctypes.c_int, ctypes.c_float))))
        ok(runtime.cudaDeviceSynchronize())
        other.send("filled")
        assert other.receive() == [2.5] * 4


def test_neighbours_on_one_page_are_told_apart() -> None:
    def exporter(other: Other) -> None:
        memories = [export(64, byte) for byte in (1, 2, 3)]
        other.send([content for _, content in memories])
        other.receive()
        other.send([sorted(bytes_at(memory, 64)) for memory, _ in memories])

    with device(), other_process(exporter) as other:
        first, second, third = (opened_memory(content) for content in other.receive())
        assert [bytes_at(each, 64) for each in (first, second, third)] == [{1}, {2}, {3}]
        ok(runtime.cudaMemset(second, 9, 64))
        ok(runtime.cudaDeviceSynchronize())
        other.send("written")
        assert other.receive() == [[1], [9], [3]]
        assert runtime.cudaMemset(second, 0, 65)[0] == runtime.cudaError_t.cudaErrorInvalidValue
        ok(runtime.cudaMemset(second, 0, 64))


def test_a_handle_of_a_large_block_is_cheap_and_whole() -> None:
    size = 192 << 20

    def exporter(other: Other) -> None:
        memory = ok(runtime.cudaMalloc(size))
        ok(runtime.cudaMemset(int(memory) + size - 64, 7, 64))
        ok(runtime.cudaDeviceSynchronize())
        other.send(content_of(ok(runtime.cudaIpcGetMemHandle(memory))))
        other.receive()

    with device(), other_process(exporter) as other:
        memory = opened_memory(other.receive())
        assert bytes_at(int(memory) + size - 64, 64) == {7}


# -- lifetimes ------------------------------------------------------------------------------------
@pytest.mark.parametrize("pending", [True, False])
def test_memory_is_opened_and_closed(pending: bool) -> None:
    with device(schedule="lazy") as found, other_process(keep_memory) as other:
        pointer = opened_memory(other.receive())
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
        if slot["kind"] == OperationKind.ALLOC and slot["detail"] == MemoryKind.IPC
    ]
    assert allocations == [(MemoryKind.IPC, SIZE)]


def test_imported_memory_is_closed_not_freed() -> None:
    with device() as found, other_process(keep_memory) as other:
        pointer = opened_memory(other.receive())
        assert runtime.cudaFree(pointer) == (runtime.cudaError_t.cudaErrorInvalidValue,)
        ok(runtime.cudaIpcCloseMemHandle(pointer))
    assert "SS202" in codes(found)


def test_what_is_closed_is_gone_and_can_be_opened_again() -> None:
    with device() as found, other_process(keep_memory) as other:
        content = other.receive()
        first = opened_memory(content)
        ok(runtime.cudaMemset(first, 8, SIZE))
        ok(runtime.cudaIpcCloseMemHandle(first))
        second = opened_memory(content)
        assert bytes_at(second, SIZE) == {8}
        ok(runtime.cudaIpcCloseMemHandle(second))
        runtime.cudaMemsetAsync(second, 0, SIZE, 0)
        assert runtime.cudaDeviceSynchronize()[0] == runtime.cudaError_t.cudaErrorIllegalAddress
    assert found.faults()


def free_on_request(other: Other) -> None:
    memory, content = export()
    other.send(content)
    other.receive()
    ok(runtime.cudaFree(memory))
    again = ok(runtime.cudaMalloc(SIZE))
    ok(runtime.cudaMemset(again, 1, SIZE))
    ok(runtime.cudaDeviceSynchronize())
    other.send(int(again) == int(memory))
    other.receive()
    ok(runtime.cudaFree(again))
    other.send(int(memory) in [int(ok(runtime.cudaMalloc(SIZE))) for _ in range(2)])
    other.receive()


def test_under_the_contract_a_free_damages_what_others_have_open() -> None:
    with device(driver="contract"), other_process(free_on_request) as other:
        content = other.receive()
        memory = opened_memory(content)
        other.send("free")
        assert other.receive() is True  # the addresses are given out again
        assert bytes_at(memory, SIZE) == {1}  # and with them what the next owner wrote


def test_in_the_measured_driver_what_is_open_stays_until_it_is_closed() -> None:
    with device(driver="h200"), other_process(free_on_request) as other:
        content = other.receive()
        memory = opened_memory(content)
        other.send("free")
        assert other.receive() is False  # other memory
        assert opening(content) == "cudaSuccess"  # open already
        ok(runtime.cudaIpcCloseMemHandle(memory))
        assert bytes_at(memory, SIZE) == {5}
        ok(runtime.cudaIpcCloseMemHandle(memory))
        assert opening(content) == "cudaErrorInvalidValue"
        other.send("closed")
        assert other.receive() is True  # now the addresses come back


@pytest.mark.parametrize("end", ["exit", "kill", "reset"])
@pytest.mark.parametrize("driver", DRIVERS)
def test_ends_of_the_exporter(end: str, driver: str) -> None:
    def exporter(other: Other) -> None:
        _, content = export()
        other.send(content)
        other.receive()
        if end == "reset":
            ok(runtime.cudaDeviceReset())
            other.send("reset")
            other.receive()

    with device(driver=driver), other_process(exporter) as other:
        content = other.receive()
        memory = opened_memory(content)
        if end == "kill":
            other.kill()
        else:
            other.send("end")
            assert (other.receive() == "reset") if end == "reset" else (other.wait() == 0)
        damaged = driver == "contract" and end != "kill"
        assert (bytes_at(memory, SIZE) == {5}) is not damaged
        ok(runtime.cudaMemset(memory, 6, SIZE))
        assert bytes_at(memory, SIZE) == {6}
        ok(runtime.cudaIpcCloseMemHandle(memory))
        expected = "cudaErrorInvalidValue" if end == "reset" else "cudaErrorInvalidResourceHandle"
        assert opening(content) == expected


def test_a_fork_of_the_exporter_does_not_keep_it_alive() -> None:
    def exporter(other: Other) -> None:
        _, content = export()
        child = os.fork()
        if not child:
            os.read(other._reading, 1)  # to the end of the test
            os._exit(0)
        other.send(content)

    with device(), other_process(exporter) as other:
        content = other.receive()
        assert other.wait() == 0
        assert opening(content) == "cudaErrorInvalidResourceHandle"


def test_a_fork_of_the_exporter_does_not_do_its_work() -> None:
    def nothing() -> None:
        return None

    def exporter(other: Other) -> None:
        memory, content = export()
        ok(runtime.cudaMemsetAsync(memory, 6, SIZE, 0))
        child = multiprocessing.get_context("fork").Process(target=nothing)
        child.start()
        child.join()
        other.send([content, child.exitcode])
        other.receive()

    with device(schedule="lazy") as found, other_process(exporter) as other:
        content, status = other.receive()
        assert status == 0
        assert found.read(opened_memory(content), SIZE) == b"\5" * SIZE


def test_the_exporter_knows_when_an_importer_was_killed() -> None:
    def importer(other: Other) -> None:
        opened_memory(other.receive())
        other.send("open")
        other.receive()

    with device(driver="h200"), other_process(importer) as other:
        memory, content = export()
        other.send(content)
        assert other.receive() == "open"
        other.kill()
        ok(runtime.cudaFree(memory))
        found = set()
        while int(memory) not in found:  # the service is a thread of its own; it learns it soon
            ok(runtime.cudaFree(ok(runtime.cudaMalloc(64))))
            found.add(int(ok(runtime.cudaMalloc(SIZE))))
            assert len(found) < 10_000


# -- handles --------------------------------------------------------------------------------------
def test_what_is_no_handle_is_refused() -> None:
    def exporter(other: Other) -> None:
        flags = runtime.cudaEventInterprocess | runtime.cudaEventDisableTiming
        event = ok(runtime.cudaIpcGetEventHandle(ok(runtime.cudaEventCreateWithFlags(flags))))
        other.send([export()[1], content_of(event)])
        other.receive()

    with device(), other_process(exporter) as other:
        memory, event = (bytes.fromhex(content) for content in other.receive())
        token = slice(32, 48)
        for word, own, wrong, invalid in (
            ("Mem", memory, event, "cudaErrorInvalidValue"),
            ("Event", event, memory, "cudaErrorMapBufferObjectFailed"),
        ):
            stranger = own[:32] + bytes(range(1, 17)) + own[48:]
            unknown = own[:16] + b"\xff" * 8 + own[24:]
            nobody = own[: token.start] + bytes(16) + own[token.stop :]
            for content, expected in (
                (b"", invalid),
                (bytes(64), invalid),
                (b"\xff" * 64, invalid),
                (own[:31], invalid),
                (wrong, invalid),
                (nobody, invalid),
                (unknown, "cudaErrorInvalidValue"),
                (stranger, "cudaErrorInvalidResourceHandle" if word == "Mem" else "cudaSuccess"),
            ):
                handle = handle_of(word, content.hex())
                if word == "Mem":
                    status, *found = runtime.cudaIpcOpenMemHandle(handle, 1)
                else:
                    status, *found = runtime.cudaIpcOpenEventHandle(handle)
                assert status.name == expected, content
                assert (found == [None]) == (expected != "cudaSuccess"), content


def test_in_the_same_process_it_fails_as_before() -> None:
    with device():
        memory, content = export()
        for _ in range(2):
            status, pointer = runtime.cudaIpcOpenMemHandle(handle_of("Mem", content), 1)
            assert status == runtime.cudaError_t.cudaErrorDeviceUninitialized
            assert pointer is None
        ok(runtime.cudaFree(memory))


def test_a_program_without_ipc_has_no_further_thread_and_no_file() -> None:
    def tasks_and_files() -> tuple[set[str], set[str]]:
        return set(os.listdir("/proc/self/task")), set(os.listdir("/proc/self/fd"))

    with device():
        tasks, files = tasks_and_files()
        stream, event = ok(runtime.cudaStreamCreate()), ok(runtime.cudaEventCreate())
        memory = ok(runtime.cudaMalloc(SIZE))
        ok(runtime.cudaMemsetAsync(memory, 1, SIZE, stream))
        ok(runtime.cudaEventRecord(event, stream))
        ok(runtime.cudaEventSynchronize(event))
        ok(runtime.cudaFree(memory))
        assert not active.session().executor.exchange.is_used
        tasks_now, files_now = tasks_and_files()
        assert tasks_now <= tasks  # threads of earlier tests may end meanwhile
        assert files_now == files
