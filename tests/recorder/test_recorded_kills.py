"""However a program ends, what it did until then is readable."""

from __future__ import annotations

import os
import random
import resource
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from fake_device import SECONDS, FakeDevice
from streamsan.recorder.run_files import run_files
from streamsan.trace import Trace, family, reader
from streamsan.trace.store import owners
from streamsan.vocabulary import ExitKind, OperationKind

PER_STEP = {OperationKind.ALLOC: 1, OperationKind.LAUNCH: 1, OperationKind.FREE: 1}


def kinds(trace: Trace) -> list[OperationKind]:
    """Return the kinds of a trace's operations of allocations, launches and frees, in order."""
    found: list[OperationKind] = []
    for chunk in trace.chunks():
        found += [OperationKind(kind) for kind in chunk["kind"][owners(chunk)].tolist()]
    return [kind for kind in found if kind in PER_STEP]


ENDS = {
    "return": (4, ExitKind.NORMAL),
    "exit": (5, ExitKind.NORMAL),
    "_exit": (6, None),
    "abort": (-signal.SIGABRT, None),
    "segv": (-signal.SIGSEGV, None),
    "term": (-signal.SIGTERM, None),
    "kill": (-signal.SIGKILL, None),
}


@pytest.mark.parametrize("end", ENDS)
def test_each_way_to_end_leaves_all_operations(end: str, fake_device: FakeDevice, tmp_path: Path) -> None:
    ran = fake_device.run(tmp_path, [fake_device.programs, "ends", end, "20"], "-o", "run.sst")
    status, kind = ENDS[end]
    assert ran.status == status
    trace = family.read(str(tmp_path / "run.sst"))
    assert kinds(trace) == [OperationKind.ALLOC, OperationKind.LAUNCH, OperationKind.FREE] * 20
    assert trace.complete == (kind is ExitKind.NORMAL)
    assert ran.loud == set()
    cut = [line for line in ran.errors.splitlines() if "partial result" in line]
    assert len(cut) == (0 if trace.complete else 1)


MOMENTS = pytest.mark.parametrize("moments", [12, pytest.param(100, marks=pytest.mark.deep)])


@MOMENTS
def test_killed_between_calls_leaves_what_was_done(moments: int, fake_device: FakeDevice, tmp_path: Path) -> None:
    chance = random.Random(4)
    steps = [chance.randrange(0, 400) for _ in range(moments)]
    script = "\n".join(
        f"STEP={step}; {fake_device.programs} ends kill {step}; test $? = 137 || exit 1" for step in steps
    )
    ran = fake_device.run(tmp_path, ["sh", "-c", script], "-o", "run.sst", "--no-check", checked=False)
    assert ran.status == 0
    files = run_files(str(tmp_path / "run.sst"))
    found = sorted(len(kinds(reader.read(file.path))) for file in files)
    assert found == sorted(3 * step for step in steps)


@MOMENTS
def test_killed_in_the_middle_of_a_call_leaves_a_prefix(moments: int, fake_device: FakeDevice, tmp_path: Path) -> None:
    steps = range(700 // moments, 701, 700 // moments)
    script = f"for step in {' '.join(map(str, steps))}; do {fake_device.programs} is_killed - $step; done; exit 0"
    ran = fake_device.run(tmp_path, ["sh", "-c", script], "-o", "run.sst", "--no-check", checked=False)
    assert ran.status == 0
    files = run_files(str(tmp_path / "run.sst"))
    assert len(files) == len(steps)
    lengths = []
    for file in files:
        trace = reader.read(file.path)
        assert not trace.complete
        pattern = kinds(trace)
        whole = [OperationKind.ALLOC, OperationKind.LAUNCH, OperationKind.FREE] * (len(pattern) // 3 + 1)
        assert pattern == whole[: len(pattern)]
        lengths.append(len(pattern))
    for step, length in zip(steps, sorted(lengths), strict=True):
        assert length >= 3 * step  # what was committed before the kill is there


@pytest.mark.deep
def test_a_file_size_limit_stops_the_recording_and_not_the_program(fake_device: FakeDevice, tmp_path: Path) -> None:
    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))

    command = [fake_device.programs, "ends", "return", "8000"]
    done = subprocess.run(
        [sys.executable, "-m", "streamsan", "run", "-o", "run.sst", "--", *command],
        cwd=tmp_path,
        env=fake_device.environment(),
        preexec_fn=limit,
        capture_output=True,
        text=True,
        timeout=SECONDS,
    )
    assert done.returncode == 4
    assert "Traceback" not in done.stderr
    said = [line for line in done.stderr.splitlines() if "recording stopped" in line]
    assert len(said) == 1
    pattern = kinds(family.read(str(tmp_path / "run.sst")))
    assert 0 < len(pattern) < 24_000


def test_a_size_limit_keeps_the_end(fake_device: FakeDevice, tmp_path: Path) -> None:
    ran = fake_device.run(
        tmp_path, [fake_device.programs, "ends", "return", "15000"], "-o", "run.sst", "--max-size", "1M"
    )
    assert ran.status == 4
    files = run_files(str(tmp_path / "run.sst"))
    assert {file.part for file in files} == {"", ".old"}
    assert sum(os.path.getsize(file.path) for file in files) <= 1 << 20
    assert ran.loud == set()
    trace = family.read(str(tmp_path / "run.sst"))
    last = list(trace.chunks())[-1]
    ends = last[np.flatnonzero(owners(last))]
    assert OperationKind(ends[-1]["kind"]) in {OperationKind.PROCESS_EXIT, OperationKind.FREE}
