"""When work ran: what `--times` adds to a recording, and that nothing else of it changes."""

from __future__ import annotations

import shutil
import signal
import sys
from itertools import pairwise
from pathlib import Path

import pytest
from recorded_scenarios import scenarios

from fake_device import PROGRAMS, FakeDevice, compile_cupti, expected
from sanitized_programs import UNDER_SANITIZERS
from streamsan.recorder.run_files import run_files
from streamsan.trace import Trace, reader
from streamsan.trace.view import OperationView, iterate
from streamsan.vocabulary import DeviceEngine, OperationKind, SlotFlag

PROGRAM = """\
#include <csignal>
#include <string_view>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>
#include "runtime.hpp"
constexpr std::size_t bytes = 1 << 16;
constexpr fake::Kernel fill("_Z4fillPfi", {8, 4});

void launch(unsigned grid, unsigned block, std::size_t shared, cudaStream_t stream, void* memory) {
    cudaLaunchKernel(&fill, dim3{grid}, dim3{block}, fake::LaunchValues(memory, 1).pointers(), shared, stream);
}

int main(int, char** arguments) {
    const std::string_view mode = arguments[1];
    cudaStream_t s = nullptr;
    cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
    void *a = nullptr, *b = nullptr, *pinned = nullptr;
    cudaMalloc(&a, bytes);
    cudaMalloc(&b, bytes);
    cudaMallocHost(&pinned, bytes);
    if (mode == "kinds") {
        const std::vector<char> pageable(bytes);
        cudaMemcpy(a, pageable.data(), bytes, cudaMemcpyHostToDevice);
        cudaMemcpyAsync(a, pinned, bytes, cudaMemcpyHostToDevice, s);
        LAUNCH(fill, s, a, 1);
        cudaMemsetAsync(b, 0, bytes, s);
        cudaMemcpyAsync(b, a, bytes, cudaMemcpyDeviceToDevice, s);
        cudaMemcpyAsync(pinned, b, bytes, cudaMemcpyDeviceToHost, s);
        cudaGraph_t graph = nullptr;
        cudaGraphExec_t exec = nullptr;
        cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal);
        LAUNCH(fill, s, a, 2);
        LAUNCH(fill, s, b, 3);
        cudaStreamEndCapture(s, &graph);
        cudaGraphInstantiate(&exec, graph, 0);
        cudaGraphLaunch(exec, s);
        cudaStreamSynchronize(s);
    }
    if (mode == "shares") {
        launch(64, 1024, 0, s, a);
        launch(2, 1024, 0, s, a);
        launch(3, 32, 100 << 10, s, a);
        launch(1, 32, 0, s, a);
    }
    if (mode == "many" || mode == "killed") {
        for (int step = 0; step < 1000; ++step) LAUNCH(fill, s, a, step);
        if (mode == "killed") raise(SIGKILL);
    }
    if (mode == "long") {
        for (int step = 0; step < 12000; ++step) LAUNCH(fill, s, a, step);
    }
    if (mode == "forks") {
        LAUNCH(fill, s, a, 1);
        const pid_t child = fork();
        if (child == 0) {
            cudaMemsetAsync(b, 0, bytes, s);
            return 0;
        }
        waitpid(child, nullptr, 0);
        LAUNCH(fill, s, a, 2);
    }
    if (mode == "resets") {
        LAUNCH(fill, s, a, 1);
        cudaStreamSynchronize(s);
        cudaDeviceReset();
        _exit(0);
    }
    cudaStreamSynchronize(s);
    return 0;
}
"""
WORK = {OperationKind.LAUNCH, OperationKind.COPY, OperationKind.MEMSET, OperationKind.GRAPH_LAUNCH}
PER_BUFFER = (64 << 10) // 224
"""records that one buffer of the fake CUPTI holds"""


@pytest.fixture(scope="module")
def program(fake_device: FakeDevice, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the binary of PROGRAM."""
    source = tmp_path_factory.mktemp("times") / "times.cpp"
    source.write_text(PROGRAM)
    return fake_device.compiled(source)


def recorded(
    fake_device: FakeDevice, folder: Path, program: str, mode: str, *options: str, activity: str = ""
) -> tuple[Trace, str]:
    """Record the program; return the trace of its first process, and what was said."""
    environment = {"FAKE_CUPTI_ACTIVITY": activity} if activity else {}
    ran = fake_device.run(
        folder, [program, mode], "--times", "-o", "run.sst", "--no-check", *options,
        environment=environment, checked=False,
    )  # fmt: skip
    assert ran.status == (-signal.SIGKILL if mode == "killed" else 0), ran.errors
    return reader.read(folder / "run.sst"), ran.errors


def operations(trace: Trace, *kinds: OperationKind) -> list[OperationView]:
    return [each for each in iterate(trace) if each.kind in kinds]


def times(trace: Trace) -> list[OperationView]:
    """Return the DEVICE_TIMEs in the order of what the device did."""
    return sorted(operations(trace, OperationKind.DEVICE_TIME), key=lambda each: each.time)


def span(each: OperationView) -> tuple[str, int]:
    return DeviceEngine(each.detail).name, each.size


def assert_all_are_timed(path: Path) -> None:
    """Of the work in the two files that a size limit leaves each piece has one time, somewhere behind it."""
    traces = [reader.read(path.with_suffix(suffix)) for suffix in (".old.sst", ".sst")]
    # What waits while a new file is begun is told again there.
    work = [each for trace in traces for each in operations(trace, *WORK) if not each.flags & SlotFlag.ENTER]
    told = [each.object for trace in traces for each in times(trace)]
    assert len(work) > PER_BUFFER
    first = min(each.sequence for each in work)
    assert sorted(sequence for sequence in told if sequence >= first) == sorted(each.sequence for each in work)


SPANS = [
    *(("COPY_IN", 1000), ("COPY_IN", 1000)),
    *(("COMPUTE", 4000), ("COMPUTE", 500), ("COMPUTE", 8000)),
    ("COPY_OUT", 2000),
]


@pytest.mark.parametrize("activity", ["", "at_once"])
def test_each_piece_of_work_has_its_time(activity: str, fake_device: FakeDevice, tmp_path: Path, program: str) -> None:
    # At once: the record of a copy that waits is there before the call returns and is numbered.
    trace, said = recorded(fake_device, tmp_path, program, "kinds", activity=activity)
    assert said == ""
    assert trace.metadata["times"] is True
    work, told = operations(trace, *WORK), times(trace)
    assert [each.object for each in told] == [each.sequence for each in work]
    assert [span(each) for each in told] == [*SPANS, ("COMPUTE", 20_000)]
    assert all(each.sequence > each.object for each in told)
    # By the clock of all times, in ns.
    assert work[0].time <= told[0].time <= work[1].time
    assert all(after.time - before.time == before.size + 1000 for before, after in pairwise(told))


def test_where_graphs_have_no_records_their_kernels_have(fake_device: FakeDevice, tmp_path: Path, program: str) -> None:
    trace, _ = recorded(fake_device, tmp_path, program, "kinds", activity="no_graphs")
    (launch,) = operations(trace, OperationKind.GRAPH_LAUNCH)
    told = times(trace)
    assert [span(each) for each in told] == [*SPANS, ("COMPUTE", 4000), ("COMPUTE", 4000)]
    assert [each.object for each in told[-2:]] == [launch.sequence] * 2


def test_a_kernel_s_share_of_the_device(fake_device: FakeDevice, tmp_path: Path, program: str) -> None:
    # Four multiprocessors: by threads, by shared memory, by blocks 2, 2 and 32 blocks fit on one.
    trace, _ = recorded(fake_device, tmp_path, program, "shares")
    assert [each.address for each in times(trace)] == [1000, 250, 375, 1000 // 128]


def test_all_times_have_a_thread_of_their_own(fake_device: FakeDevice, tmp_path: Path, program: str) -> None:
    trace, _ = recorded(fake_device, tmp_path, program, "many", activity="at_once")
    (thread,) = {each.thread for each in times(trace)}
    assert trace.threads[thread].name == "device times"
    assert {each.kind for each in iterate(trace) if each.thread == thread} == {OperationKind.DEVICE_TIME}
    # No thread of CUPTI's is taken for one of the program.
    assert len(trace.threads) == 2


def test_a_killed_program_keeps_what_was_handed_over(fake_device: FakeDevice, tmp_path: Path, program: str) -> None:
    trace, _ = recorded(fake_device, tmp_path, program, "killed")
    launches = operations(trace, OperationKind.LAUNCH)
    told = times(trace)
    assert len(launches) == 1000
    assert len(told) == 1000 // PER_BUFFER * PER_BUFFER
    assert [each.object for each in told] == [each.sequence for each in launches[: len(told)]]


def test_what_ran_before_a_reset_is_handed_over(fake_device: FakeDevice, tmp_path: Path, program: str) -> None:
    trace, _ = recorded(fake_device, tmp_path, program, "resets")
    assert len(times(trace)) == len(operations(trace, OperationKind.LAUNCH)) == 1


def test_a_forked_child_has_no_times(fake_device: FakeDevice, tmp_path: Path, program: str) -> None:
    trace, said = recorded(fake_device, tmp_path, program, "forks")
    assert said == ""
    assert [each.object for each in times(trace)] == [each.sequence for each in operations(trace, OperationKind.LAUNCH)]
    assert len(times(trace)) == 2
    (child,) = (reader.read(each.path) for each in run_files(str(tmp_path / "run.sst")) if each.forked)
    assert not times(child)
    assert "times" not in child.metadata


def test_with_a_size_limit_the_end_has_its_times(fake_device: FakeDevice, tmp_path: Path, program: str) -> None:
    trace, _ = recorded(fake_device, tmp_path, program, "long", "--max-size", "1M")
    assert trace.metadata["times"] is True
    assert_all_are_timed(tmp_path / "run.sst")


def test_without_the_option_there_are_none(fake_device: FakeDevice, tmp_path: Path, program: str) -> None:
    fake_device.run(tmp_path, [program, "kinds"], "-o", "run.sst", "--no-check", checked=False)
    trace = reader.read(tmp_path / "run.sst")
    assert not times(trace)
    assert "times" not in trace.metadata
    assert len(trace.threads) == 1


def test_a_cupti_that_refuses_leaves_a_recording_without(fake_device: FakeDevice, tmp_path: Path, program: str) -> None:
    trace, said = recorded(fake_device, tmp_path, program, "kinds", activity="refused")
    assert said.count("when work ran is not recorded: CUPTI refuses: CUPTI_ERROR (14)") == 1
    assert len(operations(trace, *WORK)) == len(SPANS) + 1
    assert not times(trace)
    assert "times" not in trace.metadata


def test_a_cupti_without_activities_leaves_a_recording_without(
    fake_device: FakeDevice, tmp_path: Path, program: str
) -> None:
    libraries = tmp_path / "lib64"
    shutil.copytree(fake_device.folder / "lib64", libraries)
    compile_cupti(libraries, "cupti.cpp")
    ran = fake_device.run(
        tmp_path, [program, "kinds"], "--times", "-o", "run.sst", "--no-check",
        environment={"LD_LIBRARY_PATH": str(libraries), "CUDA_HOME": str(tmp_path)}, checked=False,
    )  # fmt: skip
    assert "when work ran is not recorded: CUPTI is too old, or not in use" in ran.errors
    trace = reader.read(tmp_path / "run.sst")
    assert len(operations(trace, *WORK)) == len(SPANS) + 1
    assert not times(trace)


@pytest.mark.deep
@pytest.mark.parametrize("name", ["use_races_free_wrong", "reset_races_work_wrong", "graph_relaunch_right"])
def test_findings_are_those_without_times(name: str, fake_device: FakeDevice, tmp_path: Path) -> None:
    ran = fake_device.run(
        tmp_path, [fake_device.programs, name], "--times", environment={"FAKE_CUPTI_ACTIVITY": "at_once"}
    )
    assert ran.loud == expected(name, PROGRAMS).loud, ran.errors


@pytest.mark.parametrize("sanitizer", UNDER_SANITIZERS)
def test_threads_go_on_while_records_are_handed_over(sanitizer: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    path, _ = scenarios(tmp_path_factory, sanitizer, "times").record("threads")
    assert_all_are_timed(path)


def test_a_recording_from_python_has_them_too(fake_device: FakeDevice, tmp_path: Path, program: str) -> None:
    path = tmp_path / "run.sst"
    script = f"import streamsan; streamsan.record([{program!r}, 'kinds'], {str(path)!r}, times=True)"
    done = fake_device.alone("-c", script, program=sys.executable)
    assert done.returncode == 0, done.stderr
    assert len(times(reader.read(path))) == len(SPANS) + 1


def test_times_and_accesses_are_two_runs(fake_device: FakeDevice, tmp_path: Path, program: str) -> None:
    ran = fake_device.run(tmp_path, [program, "kinds"], "--times", "--accesses", checked=False)
    assert ran.status == 2
    assert "--times and --accesses are two runs" in ran.errors
