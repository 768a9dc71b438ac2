"""NCCL's collectives in recordings, told by a stand-in for NCCL that loads the recorder as its profiler plugin."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from fake_device import FakeDevice, Ran, compile_fake
from streamsan.launched_code.collectives import NOT_EXACT
from streamsan.recorder.environment import COLLECTIVES

PROGRAM = """\
#include <cstdlib>
#include <string>
#include <thread>
#include "nccl.hpp"
constexpr std::size_t count = 1024, bytes = 4 * count;
cudaStream_t s = nullptr, t = nullptr;
void order(cudaStream_t before, cudaStream_t after) {
    cudaEvent_t event = nullptr;
    cudaEventCreate(&event);
    cudaEventRecord(event, before);
    cudaStreamWaitEvent(after, event, 0);
    cudaEventDestroy(event);
}
char* make(std::size_t size = bytes) {
    void* made = nullptr;
    cudaMalloc(&made, size);
    return static_cast<char*>(made);
}
int main(int, char** arguments) {
    const std::string what = arguments[1];
    fake_nccl::version = std::atoi(arguments[2]);
    const bool waits = what.ends_with("_right");
    const auto is = [&](const char* name) { return what.starts_with(name); };
    cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&t, cudaStreamNonBlocking);
    const ncclComm_t comm = make_communicator(2, 1);
    char* const x = make();
    char* const y = make();
    char* const wide = make(2 * bytes);
    fake_nccl::tells_late = is("late");
    fake_nccl::is_silent = is("silent");
    if (is("late") || is("silent")) {
        ncclAllReduce(x, x, count, ncclFloat32, comm, s);
        cudaMemsetAsync(x, 0, bytes, t);  // guess: SS109
        ncclAllReduce(y, y, count, ncclFloat32, comm, s);
    } else if (is("all_reduce") || is("user")) {
        ncclAllReduce(x, x, count, ncclFloat32, comm, s);
        if (waits) order(s, t);
        cudaMemcpyAsync(y, x, bytes, cudaMemcpyDeviceToDevice, t);  // all_reduce: SS109
    } else if (is("send")) {
        ncclSend(x, count, ncclFloat32, 0, comm, s);
        cudaMemcpyAsync(y, x, bytes, cudaMemcpyDeviceToDevice, t);
        if (waits) order(s, t);
        cudaMemsetAsync(x, 0, bytes, t);  // send: SS109
    } else if (is("recv")) {
        cudaMemcpyAsync(y, x, bytes, cudaMemcpyDeviceToDevice, t);
        if (waits) order(t, s);
        ncclRecv(x, count, ncclFloat32, 0, comm, s);  // recv: SS109
    } else if (is("gather")) {
        // In place: only what other ranks have is written.
        ncclAllGather(wide + bytes, wide, count, ncclFloat32, comm, s);
        cudaMemcpyAsync(y, wide + bytes, bytes, cudaMemcpyDeviceToDevice, t);
        if (waits) order(s, t);
        cudaMemcpyAsync(x, wide + bytes - 16, 16, cudaMemcpyDeviceToDevice, t);  // gather: SS109
    } else if (is("scatter")) {
        cudaMemsetAsync(x, 1, bytes, t);
        ncclReduceScatter(wide, y, count, ncclFloat32, comm, s);
        if (waits) order(s, t);
        cudaMemsetAsync(wide + 2 * bytes - 4, 0, 4, t);  // scatter: SS109
    } else if (is("broadcast")) {
        // Not the root: it does not read what it names as what is sent.
        ncclBroadcast(x, y, count, ncclFloat32, 0, comm, s);
        cudaMemsetAsync(x, 0, bytes, t);
        if (waits) order(s, t);
        cudaMemcpyAsync(wide, y, bytes, cudaMemcpyDeviceToDevice, t);  // broadcast: SS109
    } else if (is("root")) {
        ncclBroadcast(x, x, count, ncclFloat32, 1, comm, s);
        cudaMemcpyAsync(y, x, bytes, cudaMemcpyDeviceToDevice, t);
        if (waits) order(s, t);
        cudaMemsetAsync(x, 0, bytes, t);  // root: SS109
    } else if (is("reduce")) {
        ncclReduce(x, y, count, ncclFloat32, 0, comm, s);
        cudaMemsetAsync(y, 0, bytes, t);
        if (waits) order(s, t);
        cudaMemsetAsync(x, 0, bytes, t);  // reduce: SS109
    } else if (is("freed")) {
        ncclAllReduce(x, y, count, ncclFloat32, comm, s);
        void* other = nullptr;
        cudaMallocAsync(&other, bytes, t);
        order(t, s);
        ncclSend(other, count, ncclFloat32, 0, comm, s);
        if (waits) order(s, t);
        cudaFreeAsync(other, t);  // freed: SS102
    } else if (is("group")) {
        const ncclComm_t second = make_communicator(2, 0);
        ncclGroupStart();
        ncclSend(x, count, ncclFloat32, 0, comm, s);
        ncclRecv(y, count, ncclFloat32, 0, comm, s);
        ncclSend(wide, count, ncclFloat32, 1, second, t);
        ncclGroupEnd();
        cudaMemsetAsync(wide, 0, bytes, t);
        cudaMemsetAsync(y, 0, bytes, s);
        if (waits) order(s, t);
        cudaMemsetAsync(x, 0, bytes, t);  // group: SS109
        ncclCommDestroy(second);
    } else if (is("captured")) {
        cudaGraph_t graph = nullptr;
        cudaGraphExec_t executable = nullptr;
        cudaStreamBeginCapture(s, cudaStreamCaptureModeThreadLocal);
        ncclAllReduce(x, x, count, ncclFloat32, comm, s);
        cudaStreamEndCapture(s, &graph);
        cudaGraphInstantiate(&executable, graph, 0);
        cudaGraphLaunch(executable, s);
        if (waits) order(s, t);
        cudaMemcpyAsync(y, x, bytes, cudaMemcpyDeviceToDevice, t);  // captured: SS109
        cudaGraphExecDestroy(executable);
        cudaGraphDestroy(graph);
    } else if (is("threads")) {
        // Each thread's own communicator, and what it is told of it.
        const auto work = [&](char* memory, cudaStream_t stream) {
            const ncclComm_t own = make_communicator(2, 0);
            ncclAllReduce(memory, memory, count, ncclFloat32, own, stream);
            cudaMemsetAsync(memory, 0, bytes, stream);
            ncclCommDestroy(own);
        };
        std::thread one(work, x, s), other(work, y, t);
        one.join();
        other.join();
        if (waits) order(s, t);
        cudaMemsetAsync(x, 0, bytes, t);  // threads: SS109
    }
    cudaDeviceSynchronize();
    ncclCommDestroy(comm);
    for (char* const each : {x, y, wide}) cudaFree(each);
    cudaStreamDestroy(s);
    cudaStreamDestroy(t);
}
"""
MARKS = {
    match[1]: (number, match[2])
    for number, line in enumerate(PROGRAM.splitlines(), 1)
    if (match := re.search(r"// (\w+): (SS\d+)$", line))
}
TORCH = """\
#include <string>
#include "nccl.hpp"
#include "torch_allocator.hpp"
constexpr std::size_t count = 1024, bytes = 4 * count;
constexpr fake::Kernel fill("_Z4fillPfi", {8, 4});
cudaStream_t stream() {
    cudaStream_t made = nullptr;
    cudaStreamCreateWithFlags(&made, cudaStreamNonBlocking);
    return made;
}
void order(cudaStream_t before, cudaStream_t after) {
    cudaEvent_t event = nullptr;
    cudaEventCreate(&event);
    cudaEventRecord(event, before);
    cudaStreamWaitEvent(after, event, 0);
    cudaEventDestroy(event);
}
int main(int, char** arguments) {
    const bool waits = arguments[1] == std::string("right");
    cudaStream_t main = stream(), side = stream(), group = stream();
    const ncclComm_t comm = make_communicator(2, 0);
    void* const grad = torch_alloc(bytes, main);
    LAUNCH(fill, main, grad, 1);
    order(main, side);
    order(side, group);
    ncclAllReduce(grad, grad, count, ncclFloat32, comm, group);
    order(group, side);  // the work's wait, on the side stream
    if (waits) order(side, main);
    torch_free(grad);  // torch: SS105
    void* const other = torch_alloc(bytes, main);
    LAUNCH(fill, main, other, 2);
    cudaDeviceSynchronize();
    torch_free(other);
    ncclCommDestroy(comm);
    for (cudaStream_t each : {main, side, group}) cudaStreamDestroy(each);
}
"""
FREED = next(number for number, line in enumerate(TORCH.splitlines(), 1) if line.endswith("// torch: SS105"))
VERSIONS = range(1, 7)
SCENARIOS = [
    pytest.param(what, marks=pytest.mark.deep if number % 2 else ())
    for number, what in enumerate(sorted(set(MARKS) - {"guess"}))
]


@pytest.fixture(scope="module")
def folder(fake_device: FakeDevice, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return where the library is that stands for NCCL."""
    made = tmp_path_factory.mktemp("collectives")
    shared(fake_device, made / "libnccl.so.2", "nccl.cpp", "-ldl", "-pthread")
    return made


def shared(device: FakeDevice, library: Path, source: str, *flags: str) -> None:
    runtime = str(device.folder / "lib64" / "libcudart.so.13")
    compile_fake(library, [source], "-shared", f"-Wl,-soname,{library.name}", *flags, runtime)


def compiled(device: FakeDevice, folder: Path, name: str, text: str, *libraries: str) -> str:
    source = folder / f"{name}.cpp"
    source.write_text(text)
    found = [str(folder / library) for library in ("libnccl.so.2", *libraries)]
    return device.compiled(source, *found, f"-Wl,-rpath,{folder}", "-pthread")


@pytest.fixture(scope="module")
def program(fake_device: FakeDevice, folder: Path) -> str:
    """Return the binary of PROGRAM."""
    return compiled(fake_device, folder, "collectives", PROGRAM)


@pytest.fixture(scope="module")
def with_torch(fake_device: FakeDevice, folder: Path) -> str:
    """Return the binary of TORCH."""
    base = folder / "libc10.so"
    compile_fake(base, ["torch_profiler.cpp"], "-shared", f"-Wl,-soname,{base.name}")
    flags = ("-fvisibility=hidden", f"-Wl,-rpath,{folder}", str(base))
    shared(fake_device, folder / "libc10_cuda.so", "torch_allocator.cpp", *flags)
    return compiled(fake_device, folder, "torch", TORCH, "libc10_cuda.so", base.name)


def run(device: FakeDevice, folder: Path, program: str, what: str, version: int = 5, **environment: str) -> Ran:
    ran = device.run(folder, [program, what, str(version)], environment=environment)
    assert ran.status == 0, ran.errors
    return ran


@pytest.mark.parametrize("what", SCENARIOS)
def test_what_a_collective_reads_and_writes_is_known(
    fake_device: FakeDevice, tmp_path: Path, program: str, what: str
) -> None:
    ran = run(fake_device, tmp_path, program, f"{what}_wrong")
    assert ran.loud == {MARKS[what]}
    assert ran.notes == set()
    assert NOT_EXACT not in ran.problems


@pytest.mark.parametrize("what", SCENARIOS)
def test_right_programs_are_silent(fake_device: FakeDevice, tmp_path: Path, program: str, what: str) -> None:
    ran = run(fake_device, tmp_path, program, f"{what}_right")
    assert (ran.loud, ran.notes) == (set(), set())


@pytest.mark.deep
@pytest.mark.parametrize("version", [each for each in VERSIONS if each != 5])
@pytest.mark.parametrize("what", ["all_reduce", "send"])
def test_each_published_version_is_understood(
    fake_device: FakeDevice, tmp_path: Path, program: str, what: str, version: int
) -> None:
    ran = run(fake_device, tmp_path, program, f"{what}_wrong", version)
    assert ran.loud == {MARKS[what]}


def test_it_is_called_what_the_program_asked_for(fake_device: FakeDevice, tmp_path: Path, program: str) -> None:
    ran = run(fake_device, tmp_path, program, "all_reduce_wrong")
    (finding,) = ran.report["findings"]
    assert "while the all-reduce (`ncclAllReduce`) may still be writing it" in finding["message"]


@pytest.mark.parametrize("what", ["late", "silent"])
def test_what_is_not_told_with_its_launch_is_a_note(
    fake_device: FakeDevice, tmp_path: Path, program: str, what: str
) -> None:
    ran = run(fake_device, tmp_path, program, what)
    assert ran.loud == set()
    assert MARKS["guess"] in ran.notes
    (finding,) = (each for each in ran.report["findings"] if each["code"] == "SS603")
    assert "NCCL did not tell what a collective reads and writes" in finding["message"]


def test_a_version_that_is_not_known_is_left_alone(fake_device: FakeDevice, tmp_path: Path, program: str) -> None:
    ran = run(fake_device, tmp_path, program, "all_reduce_wrong", 9)
    assert ran.loud == set()
    assert NOT_EXACT in ran.problems


def test_the_plugin_of_the_user_keeps_its_place(fake_device: FakeDevice, tmp_path: Path, program: str) -> None:
    ran = run(fake_device, tmp_path, program, "user", **{COLLECTIVES: "/opt/profiler.so"})
    assert ran.loud == set()
    assert NOT_EXACT in ran.problems


@pytest.mark.parametrize(("what", "loud"), [("wrong", {(FREED, "SS105")}), ("right", set())])
def test_blocks_that_a_collective_may_still_use(
    fake_device: FakeDevice, tmp_path: Path, with_torch: str, what: str, loud: set[tuple[int, str]]
) -> None:
    ran = run(fake_device, tmp_path, with_torch, what)
    assert ran.loud == loud
    for finding in ran.report["findings"]:
        assert "the all-reduce (`ncclAllReduce`) may still be writing" in finding["message"]
        # The line has no work that it returns.
        assert ".wait_stream(" in finding["fix"]["summary"]
