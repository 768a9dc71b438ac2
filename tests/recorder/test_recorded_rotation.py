"""A recording with a size limit: the newest file alone says what is alive, no more and no less."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from expectations import Expectations
from fake_device import FakeDevice
from forked import streamsan
from streamsan.trace import reader
from streamsan.vocabulary import MemoryKind, OperationKind

PROGRAM = """\
#include <cstdlib>
#include <dlfcn.h>
#include <cstdint>
#include "runtime.hpp"
#include "streamsan.h"
constexpr std::size_t bytes = 1 << 20;
constexpr fake::Kernel fill("_Z4fillPfi", {8, 4});
using Word = std::uint64_t;
int main(int count, char** arguments) {
    const bool wrong = count > 1 && arguments[1][0] == 'w';
    cudaStream_t s = nullptr, t = nullptr;
    cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&t, cudaStreamNonBlocking);
    void *shared = nullptr, *pooled = nullptr, *inner = nullptr;
    cudaMalloc(&shared, bytes);
    cudaMallocAsync(&pooled, bytes, s);
    LAUNCH(fill, s, pooled, 1);
    char* const block = static_cast<char*>(shared) + bytes / 2;
    streamsan_hand_out(block, 4096);
    cudaEvent_t ready = nullptr, unused = nullptr;
    cudaEventCreate(&ready);
    cudaEventCreate(&unused);
    cudaEventRecord(ready, s);

    cudaGraph_t graph = nullptr;
    cudaGraphExec_t exec = nullptr;
    cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal);
    cudaMallocAsync(&inner, bytes, s);
    LAUNCH(fill, s, inner, 2);
    LAUNCH(fill, s, shared, 2);
    cudaFreeAsync(inner, s);
    cudaStreamEndCapture(s, &graph);
    cudaGraphInstantiate(&exec, graph, 0);
    cudaGraphLaunch(exec, s);
    cudaStreamSynchronize(s);

    // A second context, with memory and a stream of its own, and back to the first.
    void* const driver = dlopen("libcuda.so.1", RTLD_LAZY);
    const auto get = reinterpret_cast<int (*)(Word*)>(dlsym(driver, "cuCtxGetCurrent"));
    const auto set = reinterpret_cast<int (*)(Word)>(dlsym(driver, "cuCtxSetCurrent"));
    const auto create = reinterpret_cast<int (*)(Word*, void*, unsigned, int)>(dlsym(driver, "cuCtxCreate_v4"));
    Word first = 0, second = 0;
    get(&first);
    create(&second, nullptr, 0, 0);
    void* other = nullptr;
    cudaStream_t u = nullptr;
    cudaMalloc(&other, bytes);
    cudaStreamCreateWithFlags(&u, cudaStreamNonBlocking);
    LAUNCH(fill, u, other, 3);
    cudaStreamSynchronize(u);
    set(first);

    for (int step = 0; step < 6000; ++step) {
        void* p = nullptr;
        cudaMallocAsync(&p, bytes, t);
        LAUNCH(fill, t, p, step);
        cudaFreeAsync(p, t);
    }

    cudaGraphLaunch(exec, s);
    cudaStreamWaitEvent(t, ready, 0);
    LAUNCH(fill, t, pooled, 4);
    LAUNCH(fill, t, shared, 4);
    if (!wrong) cudaStreamSynchronize(t);
    if (!wrong) cudaStreamSynchronize(s);
    LAUNCH(fill, s, block, 6);
    streamsan_take_back(block);  // expect: SS105
    streamsan_hand_out(block, 4096);
    if (!wrong) cudaStreamSynchronize(s);
    LAUNCH(fill, t, block, 6);
    if (!wrong) cudaStreamSynchronize(t);
    cudaFreeAsync(pooled, s);  // expect: SS102
    cudaStreamSynchronize(s);
    cudaStreamSynchronize(t);
    cudaFree(shared);
    if (wrong) cudaFree(shared);  // expect: SS201
    set(second);
    LAUNCH(fill, u, other, 5);
    cudaStreamSynchronize(u);
    cudaStreamDestroy(u);
    cudaFree(other);
    set(first);
    cudaGraphExecDestroy(exec);
    cudaGraphDestroy(graph);
    cudaEventDestroy(ready);
    cudaEventDestroy(unused);
    if (wrong) cudaEventDestroy(unused);  // expect-note: SS205
    cudaStreamDestroy(s);
    cudaStreamDestroy(t);
}
"""


@pytest.fixture(scope="module")
def program(fake_device: FakeDevice, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the binary of PROGRAM."""
    source = tmp_path_factory.mktemp("rotation") / "rotation.cpp"
    source.write_text(PROGRAM)
    return fake_device.compiled(source)


def newest_alone(
    fake_device: FakeDevice, program: str, folder: Path, mode: str
) -> tuple[dict[str, Any], set[tuple[int, str]]]:
    """Record the program with a limit; return the report on its newest file alone, and what is loud in it."""
    ran = fake_device.run(folder, [program, mode], "-o", "run.sst", "--max-size", "1M", "--no-check", checked=False)
    assert ran.status == 0, ran.errors
    assert (folder / "run.old.sst").exists()
    alone = folder / "alone"
    alone.mkdir()
    shutil.copy(folder / "run.sst", alone / "newest.sst")
    checked = streamsan(alone, "check", "--format", "json", "newest.sst")
    assert "Traceback" not in checked.stderr, checked.stderr
    report: dict[str, Any] = json.loads(checked.stdout)
    loud = {(each["location"]["line"], each["code"]) for each in report["findings"] if each["severity"] != "note"}
    return report, loud


def test_the_newest_file_alone_accuses_nobody_falsely(fake_device: FakeDevice, program: str, tmp_path: Path) -> None:
    _, loud = newest_alone(fake_device, program, tmp_path, "right")
    assert loud == set()


def test_the_newest_file_alone_shows_mistakes_with_what_is_old(
    fake_device: FakeDevice, program: str, tmp_path: Path
) -> None:
    report, loud = newest_alone(fake_device, program, tmp_path, "wrong")
    expectations = Expectations.of(PROGRAM)
    assert loud == expectations.loud, report["findings"]
    notes = {(each["location"]["line"], each["code"]) for each in report["findings"] if each["severity"] == "note"}
    assert expectations.notes <= notes


def test_what_is_alive_is_told_again(fake_device: FakeDevice, program: str, tmp_path: Path) -> None:
    newest_alone(fake_device, program, tmp_path, "right")
    trace = reader.read(str(tmp_path / "alone" / "newest.sst"))
    begin = trace.metadata[reader.BEGINS_AT]
    restated = [slot for chunk in trace.chunks() for slot in chunk if slot["sequence"] < begin and slot["kind"] < 240]
    kinds = [OperationKind(int(slot["kind"])) for slot in restated]
    assert kinds.count(OperationKind.CONTEXT_CREATE) == 2
    assert kinds.count(OperationKind.STREAM_CREATE) == 3
    assert kinds.count(OperationKind.EVENT_CREATE) == 2
    assert kinds.count(OperationKind.EVENT_RECORD) == 1
    memory = [MemoryKind(int(slot["detail"])) for slot in restated if slot["kind"] == OperationKind.ALLOC]
    assert {MemoryKind.PLAIN, MemoryKind.STREAM_ORDERED, MemoryKind.GRAPH} <= set(memory)
    assert all(
        slot["api"] == 0 for slot in restated if slot["kind"] in {OperationKind.ALLOC, OperationKind.EVENT_RECORD}
    )
