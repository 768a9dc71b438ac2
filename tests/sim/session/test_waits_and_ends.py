"""Waits that nobody ends, errors of device work, and how programs end."""

from __future__ import annotations

import subprocess
import threading
from pathlib import Path
from typing import Any

import pytest
from simulated_cuda import driver, ok, runtime

from forked import streamsan
from streamsan.sim import turns
from streamsan.sim.session import NeverReturnsError
from streamsan.testing import device

SCHEDULES: tuple[int | str, ...] = (0, 3, "eager", "lazy")
PRELUDE = """\
import sys
from cuda.bindings import driver, runtime

def ok(result):
    assert int(result[0]) == 0, result
    return result[1] if len(result) == 2 else None

"""
HANGS = (
    PRELUDE
    + """\
flag = ok(runtime.cudaMalloc(4))
stream = ok(runtime.cudaStreamCreateWithFlags(runtime.cudaStreamNonBlocking))
ok(runtime.cudaMemset(flag, 0, 4))
ok(runtime.cudaDeviceSynchronize())
ok(driver.cuStreamWaitValue32(int(stream), int(flag), 1, 1))
print("waits")
ok(runtime.cudaStreamSynchronize(stream))
print("never")
"""
)


def sim(folder: Path, text: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    (folder / "program.py").write_text(text)
    return streamsan(folder, "sim", "--notes", *arguments, "program.py")


def waiting() -> tuple[Any, Any]:
    """Return a flag and a stream that waits until it is 1."""
    flag = ok(runtime.cudaMalloc(4))
    stream = ok(runtime.cudaStreamCreateWithFlags(runtime.cudaStreamNonBlocking))
    ok(runtime.cudaMemset(flag, 0, 4))
    ok(runtime.cudaDeviceSynchronize())
    ok(driver.cuStreamWaitValue32(int(stream), int(flag), 1, 1))
    return flag, stream


def test_a_program_that_would_hang_ends_with_a_line_and_status_2(tmp_path: Path) -> None:
    done = sim(tmp_path, HANGS)
    assert done.returncode == 2
    assert done.stdout == "waits\n"
    first = done.stderr.splitlines()[0]
    assert first.startswith("streamsan: program.py:14: `cudaStreamSynchronize` never returns: the host waits for")
    assert first.endswith("(issued at program.py:12)")
    assert "Traceback" not in done.stderr
    # What it would have freed is no finding.
    assert done.stderr.splitlines()[1].startswith("0 errors, 0 warnings, 0 notes")


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_in_a_test_the_call_raises(schedule: int | str, monkeypatch: pytest.MonkeyPatch) -> None:
    # Where tests run in several processes, each has a thread of pytest's: it could be what ends the wait.
    monkeypatch.setattr(turns, "PATIENCE", 0.5)
    with device(schedule=schedule) as found:
        _, stream = waiting()
        with pytest.raises(NeverReturnsError, match=r"test_waits_and_ends\.py:\d+: `cudaStreamSynchronize` never"):
            runtime.cudaStreamSynchronize(stream)
    found.check()


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_another_thread_ends_a_wait(schedule: int | str) -> None:
    with device(schedule=schedule) as found:
        flag, stream = waiting()
        begun = threading.Event()

        def write() -> None:
            begun.wait()
            other = ok(runtime.cudaStreamCreateWithFlags(runtime.cudaStreamNonBlocking))
            ok(driver.cuStreamWriteValue32(int(other), int(flag), 1, 0))
            ok(runtime.cudaStreamSynchronize(other))
            ok(runtime.cudaStreamDestroy(other))

        thread = threading.Thread(target=write)
        thread.start()
        begun.set()
        ok(runtime.cudaStreamSynchronize(stream))
        thread.join()
        ok(runtime.cudaFree(flag))
        ok(runtime.cudaStreamDestroy(stream))
    found.check()


def test_threads_that_wait_for_each_other_do_not_wait_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns, "PATIENCE", 0.5)  # as above
    with device():
        _, stream = waiting()
        raised: list[str] = []

        def wait() -> None:
            try:
                runtime.cudaStreamSynchronize(stream)
            except NeverReturnsError as error:
                raised.append(str(error))

        threads = [threading.Thread(target=wait) for _ in range(2)]
        for thread in threads:
            thread.start()
        wait()
        for thread in threads:
            thread.join()
    assert len(raised) == 3


def test_errors_of_device_work_are_said_with_the_place_of_the_call(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with device(schedule="lazy") as found:
        p = ok(runtime.cudaMalloc(64))
        stream = ok(runtime.cudaStreamCreate())
        ok(runtime.cudaFree(p))
        ok(runtime.cudaMemsetAsync(p, 0, 64, stream))
        assert not found.faults()
        assert int(runtime.cudaStreamSynchronize(stream)[0]) == 700
        (fault,) = found.faults()
        assert "test_waits_and_ends.py:" in fault
        assert "a fill of" in fault
        assert "has been freed (error 700)" in fault
        assert capsys.readouterr().err == f"streamsan: {fault}\n"
        with pytest.raises(AssertionError, match="error 700"):
            found.check()


@pytest.mark.parametrize(
    ("end", "leaks"),
    [
        ("", True),
        ("sys.exit()", True),
        ("sys.exit(0)", True),
        ("sys.exit(3)", False),
        ("sys.exit('no')", False),
        ("raise ValueError", False),
    ],
)
def test_what_an_ended_program_did_not_free_is_a_leak_only_if_it_came_to_its_end(
    tmp_path: Path, end: str, leaks: bool
) -> None:
    done = sim(tmp_path, PRELUDE + f"kept = ok(runtime.cudaMalloc(64))\n{end}\n")
    assert ("SS401" in done.stderr) is leaks, done.stderr


def test_children_that_fail_did_not_come_to_their_end(tmp_path: Path) -> None:
    text = """\
import multiprocessing, os, sys

def work(fails):
    from cuda.bindings import runtime
    runtime.cudaMalloc(64)
    if fails:
        raise ValueError("no")

if __name__ == "__main__":
    for fails in (False, True):
        child = multiprocessing.get_context("fork").Process(target=work, args=(fails,))
        child.start()
        child.join()
        print(child.exitcode)
"""
    done = sim(tmp_path, text)
    assert done.stdout == "0\n1\n"
    assert done.stderr.count("SS401") == 1


def test_an_exception_ends_a_block_early() -> None:
    def run(fails: bool) -> set[str]:
        try:
            with device() as found:
                ok(runtime.cudaMalloc(64))
                if fails:
                    raise ValueError
        except ValueError:
            pass
        return {finding.code for finding in found.findings()}

    assert run(False) == {"SS401"}
    assert run(True) == set()
