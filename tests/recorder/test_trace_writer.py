"""The recorder's trace writer, driven by a native program under sanitizers; its files are read by the package."""

from __future__ import annotations

import random
import subprocess
from pathlib import Path

import numpy as np
import pytest

from sanitized_programs import ENVIRONMENT, UNDER_SANITIZERS, WRITER_SOURCES, build, operations_of, run
from streamsan.trace import Trace
from streamsan.trace.reader import read
from streamsan.vocabulary import OperationKind, SlotFlag

DURATION_OF_5000 = 2 << 11 | 1250


@pytest.fixture(scope="module", params=["plain", *UNDER_SANITIZERS])
def driver(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory, request.param, WRITER_SOURCES)


@pytest.fixture(scope="module")
def plain_driver(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory, "plain", WRITER_SOURCES)


def counts_by_thread(trace: Trace) -> dict[int, int]:
    """Check that each thread's operations are there from its first on without a gap; return how many there are."""
    operations = operations_of(trace)
    counts = {}
    for thread in np.unique(operations["thread"]):
        objects = operations["object"][operations["thread"] == thread]
        assert np.array_equal(objects, np.arange(len(objects)))
        counts[int(thread)] = len(objects)
    return counts


def test_everything_is_read_back(driver: Path, tmp_path: Path) -> None:
    path = tmp_path / "F.sst"
    run(driver, "everything", path)
    trace = read(path)
    assert trace.complete
    assert trace.problems == []
    assert trace.apis == ["", "cuMemcpyAsync"]
    assert len(trace.threads) == 1
    assert trace.platform == "cuda"
    outer, inner = trace.site(1), trace.site(2)
    assert (outer.file, outer.function, outer.line, outer.column, outer.caller) == ("a.py", "main", 7, 3, 0)
    assert (inner.label, inner.caller, inner.module, inner.offset) == ("scale", 1, 1, 0x1234)
    assert (trace.site(3).module, trace.site(3).caller, trace.site(3).offset) == (0, 0, 0)
    assert [(module.path, module.build_id) for module in trace.modules[1:]] == [
        ("/usr/lib/libx.so", "00ff"),
        ("/usr/lib/libx.so", ""),
    ]
    slots = np.concatenate(list(trace.chunks()))
    copy, references, wait = slots[:3]
    assert (copy["kind"], copy["site"], copy["api"], copy["more"]) == (OperationKind.COPY, 2, 1, 1)
    assert (references["kind"], references["sequence"]) == (OperationKind.REFERENCES, 0x6000)
    assert (wait["kind"], wait["status"], wait["flags"]) == (OperationKind.STREAM_SYNCHRONIZE, -3, 0)
    assert (wait["duration"], wait["site"], wait["api"]) == (DURATION_OF_5000, 0, 0)
    operations = operations_of(trace)
    assert OperationKind.CONTEXT_SYNCHRONIZE in operations["kind"]
    assert not np.any(operations["flags"] & SlotFlag.ENTER)
    assert operations["more"].max() == 255


@pytest.mark.parametrize("further", [0, 1000])
@pytest.mark.parametrize("closed", [False, True])
def test_a_segment_made_ahead_is_used_or_empty(driver: Path, tmp_path: Path, further: int, closed: bool) -> None:
    path = tmp_path / "F.sst"
    run(driver, "ahead", path, further, int(closed))
    trace = read(path)
    assert trace.complete == closed
    assert len(trace.problems) == (0 if closed else 1)
    assert counts_by_thread(trace) == {0: 600 + further}


@pytest.mark.parametrize("threads", [8, 200])
def test_every_thread_has_all_its_operations(driver: Path, tmp_path: Path, threads: int) -> None:
    path = tmp_path / "F.sst"
    count = 8000 // threads * 4
    run(driver, "threads", path, threads, count)
    trace = read(path)
    assert trace.complete
    assert counts_by_thread(trace) == dict.fromkeys(range(threads), count)


def test_ended_threads_leave_their_space_to_others(driver: Path, tmp_path: Path) -> None:
    path = tmp_path / "F.sst"
    run(driver, "one_by_one", path, 400)
    trace = read(path)
    assert len(trace.threads) == 400
    assert operations_of(trace)["thread"].tolist() == list(range(400))
    assert path.stat().st_size < 300_000


@pytest.mark.deep
def test_more_threads_than_a_trace_can_tell_apart(plain_driver: Path, tmp_path: Path) -> None:
    path = tmp_path / "F.sst"
    output = run(plain_driver, "one_by_one", path, (1 << 16) + 10)
    assert output == f"{path}: more threads than a trace can tell apart\n"
    trace = read(path)
    assert not trace.complete
    assert len(operations_of(trace)) == 1 << 16


@pytest.mark.parametrize("limit", [400_000, 3_000_001, 4096 * 5])
def test_a_file_that_cannot_grow_stops_the_recording_only(driver: Path, tmp_path: Path, limit: int) -> None:
    path = tmp_path / "F.sst"
    reason, *written = run(driver, "full", path, limit, 4).splitlines()
    assert reason == f"{path}: File too large"
    assert path.stat().st_size <= limit
    trace = read(path)
    assert not trace.complete
    # Nothing that was written before the stop is lost. A thread that came too late has nothing.
    assert sorted(counts_by_thread(trace).values()) == sorted(int(count) for count in written if count != "0")


def test_closing_while_threads_append(driver: Path, tmp_path: Path) -> None:
    path = tmp_path / "F.sst"
    run(driver, "closed_early", path, 6)
    trace = read(path)
    assert trace.complete
    counts = counts_by_thread(trace)
    assert len(counts) == 6
    assert min(counts.values()) > 100


def test_calls_from_a_threads_last_destructors(driver: Path, tmp_path: Path) -> None:
    path = tmp_path / "F.sst"
    run(driver, "late_calls", path)
    trace = read(path)
    assert operations_of(trace)["object"].tolist() == [1, 2, 1, 2, 1, 2]
    assert operations_of(trace)["thread"].tolist() == [0, 0, 1, 1, 2, 2]


def killed(driver: Path, path: Path, operations: int, microseconds: int) -> str:
    """Run four threads until they are killed; return what the program printed before."""
    result = subprocess.run(
        [driver, "killed", path, "4", str(operations), str(microseconds)],
        capture_output=True,
        text=True,
        check=False,
        env=ENVIRONMENT,
        timeout=60,
    )
    assert (result.returncode, result.stderr) == (-9, "")
    return result.stdout


def test_killed_after_so_many_operations(plain_driver: Path, tmp_path: Path) -> None:
    """What was written before the kill is there, whatever the other threads were doing."""
    for operations in (1, 2, 600, 1024, 5000, 20_000):
        path = tmp_path / f"{operations}.sst"
        assert killed(plain_driver, path, operations, 0) == "open\n"
        trace = read(path)
        assert not trace.complete
        assert max(counts_by_thread(trace).values()) == operations


@pytest.mark.deep
def test_killed_at_any_moment(plain_driver: Path, tmp_path: Path) -> None:
    """A hundred kills: whatever has its name is readable, and holds each thread's operations up to some moment."""
    moments = random.Random(4)
    for number in range(100):
        path = tmp_path / f"{number}.sst"
        # Half of them while the file is made and the first segments are.
        printed = killed(plain_driver, path, 1 << 62, moments.randrange(1, 3000 if number % 2 else 30_000))
        assert printed in ("", "open\n")
        assert path.exists() or not printed
        if path.exists():
            trace = read(path)
            assert not trace.complete
            counts_by_thread(trace)
            path.unlink()


def test_children_by_fork(driver: Path, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    path = tmp_path / "F.sst"
    # Sanitizers have limits of their own here: the address sanitizer's allocator may be locked by another thread when a
    # child is forked, and the thread sanitizer loses count of threads that a child of several threads makes.
    others, threads, count = {"plain": (4, 2, 5000), "address": (0, 2, 5000), "thread": (4, 0, 500)}[
        request.node.callspec.params["driver"]
    ]
    run(driver, "forked", path, others, threads, count)
    trace = read(path)
    assert trace.complete
    assert trace.problems == []
    first = operations_of(trace)
    assert first["object"][first["thread"] == 0].tolist() == list(range(22))
    sequences = set(first["sequence"].tolist())
    for child in range(0, 20, 2):
        own = read(tmp_path / f"F.sst.{child}")
        assert own.complete
        operations = operations_of(own)
        assert sorted(counts_by_thread(own).values()) == [1] * threads + [count]
        # One counter for all of them.
        assert not sequences & set(operations["sequence"].tolist())
        sequences |= set(operations["sequence"].tolist())
    assert sorted(tmp_path.glob("*.part")) == []


def test_processes_share_a_counter_and_leave_foreign_descriptors_alone(driver: Path, tmp_path: Path) -> None:
    paths = [tmp_path / "F.sst", tmp_path / "F.2.sst"]
    programs = [subprocess.Popen([driver, "counted", path, "5000"], env=ENVIRONMENT) for path in paths]
    assert [program.wait(timeout=60) for program in programs] == [0, 0]
    sequences = np.concatenate([operations_of(read(path))["sequence"] for path in paths])
    assert len(np.unique(sequences)) == 10_000
    assert (tmp_path / "counter").stat().st_size == 4096
    assert [Path(f"{path}.own").read_text() for path in paths] == ["mine", "mine"]


def test_a_device_is_not_replaced(plain_driver: Path) -> None:
    result = subprocess.run([plain_driver, "everything", "/dev/null"], capture_output=True, text=True, check=False)
    assert (result.returncode, result.stderr) == (1, "/dev/null: not a regular file\n")
    assert Path("/dev/null").is_char_device()


@pytest.mark.parametrize("name", ["missing/F.sst", "."])
def test_a_file_that_cannot_be_made(plain_driver: Path, tmp_path: Path, name: str) -> None:
    result = subprocess.run(
        [plain_driver, "everything", tmp_path / name], capture_output=True, text=True, check=False, env=ENVIRONMENT
    )
    assert result.returncode == 1
    assert result.stderr.count("\n") == 1
    assert str(tmp_path) in result.stderr
    assert list(tmp_path.iterdir()) == []


PLANTED = ["F.sst", "F.sst.$$.part", "counter"]
"""names that the writer driver writes to; `$$` is its process id"""


def run_in_shell(script: str, driver: Path, folder: Path, mode: str = "everything") -> subprocess.CompletedProcess[str]:
    """Run a line of shell, then the writer on F.sst in the same process."""
    line = f"{script}; exec {driver} {mode} {folder / 'F.sst'} 10"
    return subprocess.run(["sh", "-c", line], cwd=folder, capture_output=True, text=True, check=False, env=ENVIRONMENT)


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_link_is_not_followed(plain_driver: Path, tmp_path: Path, name: str) -> None:
    victim = tmp_path / "victim"
    victim.write_text("mine")
    result = run_in_shell(f'ln -s victim "{name}"', plain_driver, tmp_path, "counted")
    assert victim.read_text() == "mine"
    assert not result.returncode or result.stderr.count("\n") == 1
    if name == "F.sst":  # the file is moved there, over the link
        assert read(tmp_path / "F.sst").complete
    else:
        assert result.returncode


@pytest.mark.parametrize("name", PLANTED[1:])
def test_a_file_with_a_second_name_is_not_written(plain_driver: Path, tmp_path: Path, name: str) -> None:
    victim = tmp_path / "victim"
    victim.write_text("mine")
    result = run_in_shell(f'ln victim "{name}"', plain_driver, tmp_path, "counted")
    assert victim.read_text() == "mine"
    assert (result.returncode, result.stderr.count("\n")) == (1, 1)


def test_a_part_that_a_process_of_the_same_id_left_gives_way(plain_driver: Path, tmp_path: Path) -> None:
    assert run_in_shell('echo old > "F.sst.$$.part"', plain_driver, tmp_path).returncode == 0
    assert [path.name for path in tmp_path.iterdir()] == ["F.sst"]
    assert read(tmp_path / "F.sst").complete


def test_files_are_their_owners_alone(plain_driver: Path, tmp_path: Path) -> None:
    assert run_in_shell("umask 0", plain_driver, tmp_path, "counted").returncode == 0
    modes = {name: (tmp_path / name).stat().st_mode & 0o777 for name in ("F.sst", "counter")}
    assert modes == {"F.sst": 0o600, "counter": 0o600}
