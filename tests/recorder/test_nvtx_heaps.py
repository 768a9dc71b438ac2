"""Heaps of a program's own pools that it tells NVTX of, by a client that stands for NVTX's headers."""

from __future__ import annotations

from pathlib import Path

import pytest

from expectations import Expectations
from fake_device import FakeDevice, Ran
from streamsan.recorder.environment import HEAPS

CLIENT = """\
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include "runtime.hpp"
namespace client {
using Word = std::intptr_t;
struct Range { std::size_t size; const void* pointer; };
struct Segment { std::size_t id, count; Word* slots; };
struct Module {
    std::uint16_t nvtx, size, module, version;
    std::size_t count;
    Segment* segments;
    void* get;
    const void* info;
};
struct Heap {
    std::uint16_t version, size;
    std::uint32_t spare, usage, type;
    std::size_t bytes;
    const void* range;
    std::uint32_t category, message_type;
    const void* message;
};
struct Registered {
    std::uint16_t version, size;
    std::uint32_t type;
    Word heap;
    std::size_t count, stride;
    const Range* ranges;
    Word* handles;
};
struct Resized {
    std::uint16_t version, size;
    std::uint32_t type;
    std::size_t count, stride;
    const Range* ranges;
};
struct Unregistered {
    std::uint16_t version, size;
    std::uint32_t kind;
    std::size_t count, stride;
    const Word* regions;
};
Word slots[63] = {};
std::uint16_t version = 0x0102;
bool begun = false;
/// What NVTX does at the first call: a tool fills in the places.
void begin() {
    begun = true;
    const char* const path = std::getenv("NVTX_INJECTION64_PATH");
    void* const tool = path == nullptr ? nullptr : dlopen(path, RTLD_LAZY);
    if (tool == nullptr) return;
    void* const entry = dlsym(tool, "InitializeInjectionNvtxExtension");
    Segment segment{1, 63, slots};
    Module module{3, sizeof(Module), 1, version, 1, &segment, nullptr, nullptr};
    if (entry != nullptr) reinterpret_cast<int (*)(Module*)>(entry)(&module);
}
}  // namespace client
using client::Word;
// As in NVTX: the tool is called from its functions, which are the program's own.
#define CALL(slot, what, result, otherwise)                                                      \\
    if (!client::begun) client::begin();                                                         \\
    if (client::slots[slot] == 0) return otherwise;                                              \\
    return reinterpret_cast<result (*)(const void*, decltype(what))>(client::slots[slot])(nullptr, what)
Word nvtxMemHeapRegister(const void* base, std::size_t size, unsigned usage = 1) {
    const client::Range range{size, base};
    const client::Heap heap{client::version, sizeof(client::Heap), 0, usage, 1, sizeof range, &range, 0, 0, nullptr};
    CALL(0, &heap, Word, -1);
}
void nvtxMemHeapUnregister(Word heap) { CALL(1, heap, void, ); }
void nvtxMemHeapReset(Word heap) { CALL(2, heap, void, ); }
void nvtxMemRegionsRegister(Word heap, const void* block, std::size_t size, Word& handle) {
    struct { client::Range range; const char* name; } one{{size, block}, "wider than a range"};
    const std::uint16_t size_of_batch = sizeof(client::Registered);
    const client::Registered batch{client::version, size_of_batch, 1, heap, 1, sizeof one, &one.range, &handle};
    CALL(3, &batch, void, );
}
void nvtxMemRegionsResize(const void* block, std::size_t size) {
    const client::Range range{size, block};
    const client::Resized batch{client::version, sizeof(client::Resized), 1, 1, sizeof range, &range};
    CALL(4, &batch, void, );
}
void nvtxMemRegionsUnregister(Word region, unsigned kind = 1) {
    const client::Unregistered batch{client::version, sizeof(client::Unregistered), kind, 1, sizeof region, &region};
    CALL(5, &batch, void, );
}
"""
PROGRAM = """\
#include "client.hpp"
constexpr std::size_t bytes = 4096;
constexpr fake::Kernel fill("_Z4fillPfi", {8, 4});
struct Pool {
    char* base = nullptr;
    Word heap = 0, region = 0;
    unsigned kind;
    explicit Pool(unsigned usage, unsigned kind_) : kind(kind_) {
        void* made = nullptr;
        cudaMalloc(&made, 4 * bytes);
        base = static_cast<char*>(made);
        heap = nvtxMemHeapRegister(base, 4 * bytes, usage);
    }
    void* take(std::size_t number = 0) {
        nvtxMemRegionsRegister(heap, base + number * bytes, bytes, region);
        return base + number * bytes;
    }
    void give(void* block) { nvtxMemRegionsUnregister(kind == 2 ? region : reinterpret_cast<Word>(block), kind); }
};
cudaStream_t s = nullptr, t = nullptr;
void order(cudaStream_t before, cudaStream_t after) {
    cudaEvent_t event = nullptr;
    cudaEventCreate(&event);
    cudaEventRecord(event, before);
    cudaStreamWaitEvent(after, event, 0);
    cudaEventDestroy(event);
}
int main(int, char** arguments) {
    const char* const what = arguments[1];
    const auto is = [what](const char* name) { return std::strcmp(what, name) == 0; };
    if (is("version")) client::version = 0x0900;
    cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&t, cudaStreamNonBlocking);
    Pool pool(is("layout") ? 2 : 1, is("handle") ? 2 : 1);
    void* const one = pool.take();
    void* const neighbour = pool.take(1);
    LAUNCH(fill, t, neighbour, 1);
    if (is("handle")) pool.take();
    LAUNCH(fill, s, one, 1);
    if (is("resize")) {
        nvtxMemRegionsResize(one, bytes / 2);
        cudaMemsetAsync(one, 0, bytes / 2, t);
    } else if (is("reset")) {
        nvtxMemHeapReset(pool.heap);  // expect-reset: SS105
        LAUNCH(fill, t, pool.take(), 2);
    } else if (is("reset-all")) {
        nvtxMemHeapReset(0);
        order(s, t);
        LAUNCH(fill, t, pool.take(), 2);
    } else if (is("wide")) {
        nvtxMemHeapUnregister(pool.heap);
        nvtxMemRegionsRegister(0, one, bytes, pool.region);
        LAUNCH(fill, s, one, 2);
        nvtxMemRegionsUnregister(reinterpret_cast<Word>(one));
        nvtxMemRegionsRegister(0, one, bytes, pool.region);
        LAUNCH(fill, s, one, 2);
    } else {
        pool.give(one);  // expect: SS105
        void* const other = pool.take();
        if (is("right")) order(s, t);
        LAUNCH(fill, t, other, 2);
    }
    cudaDeviceSynchronize();
    nvtxMemHeapUnregister(pool.heap);
    cudaFree(pool.base);
    cudaStreamDestroy(s);
    cudaStreamDestroy(t);
}
"""
EXPECTED = Expectations.of(PROGRAM).loud
RESET = {(number, "SS105") for number, line in enumerate(PROGRAM.splitlines(), 1) if "expect-reset" in line}


@pytest.fixture(scope="module")
def program(fake_device: FakeDevice, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the binary of PROGRAM."""
    folder = tmp_path_factory.mktemp("heaps")
    (folder / "client.hpp").write_text(CLIENT)
    (folder / "heaps.cpp").write_text(PROGRAM)
    return fake_device.compiled(folder / "heaps.cpp", "-ldl", f"-I{folder}")


def run(device: FakeDevice, folder: Path, program: str, what: str, **environment: str) -> Ran:
    ran = device.run(folder, [program, what], environment=environment)
    assert ran.status == 0, ran.errors
    return ran


@pytest.mark.parametrize(("what", "loud"), [("wrong", EXPECTED), ("handle", EXPECTED), ("reset", RESET)])
def test_a_region_that_another_stream_still_uses(
    fake_device: FakeDevice, tmp_path: Path, program: str, what: str, loud: set[tuple[int, str]]
) -> None:
    assert run(fake_device, tmp_path, program, what).loud == loud


@pytest.mark.parametrize("what", ["right", "resize", "reset-all", "wide"])
def test_right_programs_with_heaps(fake_device: FakeDevice, tmp_path: Path, program: str, what: str) -> None:
    assert run(fake_device, tmp_path, program, what).loud == set()


def test_a_heap_that_is_a_layout_hands_nothing_out(fake_device: FakeDevice, tmp_path: Path, program: str) -> None:
    assert "SS105" not in run(fake_device, tmp_path, program, "layout").codes


def test_a_version_that_is_not_known_is_a_line(fake_device: FakeDevice, tmp_path: Path, program: str) -> None:
    ran = run(fake_device, tmp_path, program, "version")
    assert "SS105" not in ran.codes
    assert "heaps that the program tells NVTX of are not recorded" in ran.errors


def test_another_tool_for_nvtx_keeps_its_place(fake_device: FakeDevice, tmp_path: Path, program: str) -> None:
    ran = run(fake_device, tmp_path, program, "wrong", **{HEAPS: "/opt/tool.so"})
    assert "SS105" not in ran.codes
