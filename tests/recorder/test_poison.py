"""`streamsan run --poison`: what a use that comes too late finds, and that right programs find what they should."""

from __future__ import annotations

from pathlib import Path

import pytest

from fake_device import FakeDevice, Ran
from streamsan.order.poison_remark import poison_remark
from streamsan.trace.poison_counts import joined_poison

PROGRAM = """\
#include <cstdio>
#include <cstring>
#include <dlfcn.h>
#include "runtime.hpp"
#include "streamsan.h"

constexpr fake::Kernel fill("_Z4fillPfi", {8, 4});         // fill(float*, int)
constexpr fake::Kernel sum("_Z3sumPfS_S_", {8, 8, 8});     // sum(float*, float* begin, float* end)
constexpr std::size_t bytes = 4096;
using Bytes = unsigned char*;

cudaStream_t stream(unsigned flags = cudaStreamNonBlocking) {
    cudaStream_t made = nullptr;
    cudaStreamCreateWithFlags(&made, flags);
    return made;
}
/// What a stream is given waits until it is held no more.
void hold(cudaStream_t held, bool on) {
    static const auto function = reinterpret_cast<void (*)(cudaStream_t, bool)>(
        dlsym(dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD), "fake_hold_stream"));
    function(held, on);
}
Bytes plain(std::size_t size, int value) {
    void* made = nullptr;
    cudaMalloc(&made, size);
    cudaMemset(made, value, size);
    return static_cast<Bytes>(made);
}
Bytes ordered(cudaStream_t on, int value) {
    void* made = nullptr;
    cudaMallocAsync(&made, bytes, on);
    cudaMemsetAsync(made, value, bytes, on);
    return static_cast<Bytes>(made);
}
unsigned char host[bytes];
/// A read that is still to be done, of all bytes.
void read(const void* from, cudaStream_t on) {
    std::memset(host, 0, bytes);
    cudaMemcpyAsync(host, from, bytes, cudaMemcpyDeviceToHost, on);
}
void say(const char* name, unsigned value) { std::printf("%s %u\\n", name, value); }
const cudaStream_t legacy = nullptr;

/// A block that had an owner, whose bytes are 7. Nobody has it now, nor the block before it.
Bytes left(bool is_read, cudaStream_t reader) {
    const Bytes before = plain(2 * bytes, 7), block = before + bytes;
    streamsan_hand_out(before, bytes);
    streamsan_take_back(before);
    streamsan_hand_out(block, bytes);
    LAUNCH(fill, reader, block, 1);
    if (is_read) {
        hold(reader, true);
        read(block, reader);
    }
    streamsan_take_back(block);
    return block;
}

int main() {
    cudaStream_t s = stream(), t = stream();
    Bytes p = ordered(s, 7);
    hold(t, true);
    read(p, t);
    cudaFreeAsync(p, s);
    hold(t, false);
    say("freed_in_order_wrong", host[9]);

    p = ordered(s, 7);
    read(p, t);
    cudaFreeAsync(p, s);
    say("freed_in_order_right", host[9]);

    p = ordered(s, 7);
    hold(s, true);
    read(p, s);
    cudaFreeAsync(p, s);
    hold(s, false);
    say("freed_behind_in_order_right", host[9]);

    p = ordered(s, 7);
    hold(t, true);
    read(p, t);
    cudaFree(p);
    hold(t, false);
    say("freed_at_once_wrong", host[9]);

    p = ordered(s, 7);
    hold(t, true);
    LAUNCH(fill, t, plain(bytes, 1), 1);
    read(p, s);
    cudaFree(p);
    hold(t, false);
    say("freed_at_once_right", host[9]);

    p = ordered(s, 7);
    cudaStream_t capturing = stream();
    cudaGraph_t graph = nullptr;
    cudaStreamBeginCapture(capturing, cudaStreamCaptureModeRelaxed);
    cudaFreeAsync(p, s);
    say("freed_under_capture_right", cudaStreamEndCapture(capturing, &graph) == 0 ? p[9] : 1);

    p = plain(bytes, 7);
    cudaFree(p);
    say("freed_plain_right", p[9]);

    p = left(true, t);
    streamsan_hand_out(p, bytes);
    cudaMemsetAsync(p, 9, bytes / 2, s);
    hold(t, false);
    say("block_wrong", host[bytes - 1]);
    say("block_wrong_next_owner", p[9]);

    p = left(true, t);
    streamsan_hand_out(p, bytes);
    LAUNCH(fill, s, p, 1);
    hold(t, false);
    say("block_of_kernel_wrong", host[9]);

    p = left(true, t);
    hold(t, false);
    streamsan_hand_out(p, bytes);
    LAUNCH(fill, s, p, 1);
    say("freed_then_waited_right", host[9]);

    p = left(true, t);
    streamsan_hand_out(p, bytes);
    hold(t, false);
    LAUNCH(fill, s, p, 1);
    say("taken_then_waited_right", host[9]);

    p = left(true, t);
    streamsan_hand_out(p, bytes);
    LAUNCH(fill, t, p, 1);
    hold(t, false);
    say("behind_in_its_stream_right", host[9]);

    cudaStream_t blocking = stream(0);
    p = left(true, legacy);
    streamsan_hand_out(p, bytes);
    LAUNCH(fill, blocking, p, 1);
    hold(legacy, false);
    say("behind_the_legacy_stream_right", host[9]);

    p = left(true, blocking);
    streamsan_hand_out(p, bytes);
    LAUNCH(fill, legacy, p, 1);
    hold(blocking, false);
    say("legacy_behind_blocking_right", host[9]);

    p = left(false, s);
    const Bytes table = plain(bytes, 1);
    streamsan_hand_out(p, bytes);
    LAUNCH(fill, s, table, 1);
    std::memset(p, 5, bytes);  // what the kernel does, which finds the block in the table
    LAUNCH(fill, s, p, 1);
    say("written_unseen_right", p[9]);

    p = left(false, s);
    streamsan_hand_out(p, bytes);
    cudaMemset(p, 0, bytes);
    LAUNCH(fill, s, p, 1);
    say("zeroed_by_owner_right", p[9]);

    p = left(false, s);
    cudaMemset(p, 0, bytes);
    streamsan_hand_out(p, bytes);
    LAUNCH(fill, s, p, 1);
    say("zeroed_by_pool_right", p[9]);

    p = plain(2 * bytes, 7);
    streamsan_hand_out(p, bytes);
    streamsan_hand_out(p + bytes, bytes);
    LAUNCH(fill, s, p + bytes, 1);
    streamsan_take_back(p + bytes);
    streamsan_hand_out(p + bytes, bytes);
    LAUNCH(sum, s, table, p, p + bytes);
    say("end_of_block_before_right", p[bytes]);

    p = plain(bytes, 3);
    streamsan_hand_out(p, bytes);
    LAUNCH(fill, s, p, 1);
    say("first_owner_right", p[9]);

    p = left(false, s);
    streamsan_hand_out(p, bytes);
    read(p, s);
    say("read_first_right", host[9]);

    p = left(false, s);
    std::uint32_t on = 1;
    void* const driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
    reinterpret_cast<int (*)(void*, int, void*)>(dlsym(driver, "cuPointerSetAttribute"))(&on, 6, p);
    streamsan_hand_out(p, bytes);
    std::memset(p, 6, bytes);  // a network card
    LAUNCH(fill, s, p, 1);
    say("written_from_outside_right", p[9]);

    p = left(false, s);
    cudaStreamBeginCapture(s, cudaStreamCaptureModeRelaxed);
    streamsan_hand_out(p, bytes);
    LAUNCH(fill, s, p, 1);
    LAUNCH(fill, t, p, 1);
    cudaStreamEndCapture(s, &graph);
    say("captured_right", p[9]);

    say("last_error_right", static_cast<unsigned>(cudaGetLastError()));
    return 5;
}
"""


@pytest.fixture(scope="module")
def program(fake_device: FakeDevice, tmp_path_factory: pytest.TempPathFactory) -> str:
    source = tmp_path_factory.mktemp("poison") / "given_back.cpp"
    source.write_text(PROGRAM)
    return fake_device.compiled(source)


@pytest.fixture(scope="module")
def plain(fake_device: FakeDevice, program: str, tmp_path_factory: pytest.TempPathFactory) -> Ran:
    return fake_device.run(tmp_path_factory.mktemp("plain"), [program])


@pytest.fixture(scope="module")
def poisoned(fake_device: FakeDevice, program: str, tmp_path_factory: pytest.TempPathFactory) -> Ran:
    return fake_device.run(tmp_path_factory.mktemp("poisoned"), [program], "--poison")


def numbers(ran: Ran) -> dict[str, int]:
    """Return what each part of the program printed."""
    return {name: int(value) for name, value in (line.split() for line in ran.output.splitlines())}


def test_a_use_that_comes_too_late_finds_other_bytes(plain: Ran, poisoned: Ran) -> None:
    wrong = {name for name in numbers(plain) if name.endswith("_wrong")}
    assert len(wrong) == 4
    assert {name: numbers(plain)[name] for name in wrong} == dict.fromkeys(wrong, 7)
    assert {name: numbers(poisoned)[name] for name in wrong} == dict.fromkeys(wrong, 255)


def test_right_programs_find_what_they_found(plain: Ran, poisoned: Ran) -> None:
    before, after = numbers(plain), numbers(poisoned)
    assert {name: after[name] for name in before if not name.endswith("_wrong")} == {
        name: value for name, value in before.items() if not name.endswith("_wrong")
    }
    assert (plain.status, poisoned.status, poisoned.errors) == (5, 5, "")


def test_what_the_recorder_does_is_not_recorded(plain: Ran, poisoned: Ran) -> None:
    assert poisoned.report["summary"]["operations"] == plain.report["summary"]["operations"]
    assert poisoned.loud == plain.loud


def test_the_report_counts_what_was_overwritten_and_says_why_not(plain: Ran, poisoned: Ran) -> None:
    (line,) = [each for each in poisoned.problems if "--poison" in each]
    assert line.startswith("--poison overwrote 5 allocations when freed and 5 blocks of pools; ")
    for words in ("3: the stream of the first use", "1: the pointer may be the end", "1: the first use reads",
                  "1: other processes", "1: the pool had used it itself"):  # fmt: skip
        assert words in line
    assert not [each for each in plain.problems if "--poison" in each]


def test_it_is_one_run_or_the_other(fake_device: FakeDevice, program: str, tmp_path: Path) -> None:
    ran = fake_device.run(tmp_path, [program], "--poison", "--accesses", checked=False)
    assert ran.status == 2
    assert "--poison and --accesses" in ran.errors


def test_counts_of_several_processes_and_damaged_ones() -> None:
    one, other = {"poison": {"freed": 1, "busy": 2}}, {"poison": {"freed": 1, "blocks": True, "end": -1, "x": 3}}
    assert joined_poison([one, {}, other, {"poison": 7}]) == {"poison": {"freed": 2, "busy": 2}}
    assert joined_poison([{}]) == {}
    assert poison_remark({}) == ""
    assert "did not live to say" in poison_remark({"poison": {}})
    assert poison_remark({"poison": {"freed": 1, "blocks": 0}}) == (
        "--poison overwrote 1 allocation when freed and 0 blocks of pools"
    )
