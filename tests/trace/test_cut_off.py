"""A writer that was killed leaves a file that reads as a prefix of what was done."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from trace_samples import ONE_THREAD, native_sample, sample, simple_slots, views, write_in_lanes

from streamsan.trace import Reference, Trace, TraceBuilder, TraceError
from streamsan.trace.header import packed_header
from streamsan.trace.reader import read
from streamsan.trace.segments import packed_segment
from streamsan.trace.writer import TraceWriter, write
from streamsan.vocabulary import OperationKind


def read_cut(path: Path, whole: bytes, size: int) -> Trace | None:
    """Return the trace in the first bytes of a file; None where not even the header is there."""
    path.write_bytes(whole[:size])
    try:
        trace = read(path)
    except TraceError as error:
        assert error.reason in ("is empty", "is cut off inside the header")  # noqa: PT017
        return None
    assert not trace.complete
    assert len(trace.problems) == 1
    assert "cut off" in trace.problems[0]
    assert "\n" not in trace.problems[0]
    return trace


@pytest.mark.parametrize(("threads", "make"), [(1, sample), (3, sample), (1, native_sample)])
def test_every_truncation_is_a_prefix(tmp_path: Path, threads: int, make: Callable[..., Trace]) -> None:
    trace = make(60, threads=threads)
    path = tmp_path / "a.sst"
    write_in_lanes(trace, path, piece=7)
    whole = path.read_bytes()
    everything = views(trace)
    cuts = set(range(0, len(whole), 64)) | set(random.Random(1).sample(range(len(whole)), 150))
    lengths = []
    for size in sorted(cuts):
        cut = read_cut(path, whole, size)
        found = views(cut) if cut else []
        assert found == everything[: len(found)]
        if cut:
            assert cut.operations == len(found)
        lengths.append(len(found))
    assert lengths == sorted(lengths)
    assert lengths[0] == 0
    assert lengths[-1] == len(everything)
    assert len(set(lengths)) > (50 if threads == 1 else 10)


def test_what_follows_a_missing_operation_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "a.sst"
    with TraceWriter(path, metadata={"dense_from": 1}) as writer:
        writer.add_threads(ONE_THREAD)
        writer.append_slots(simple_slots(np.array([1, 3, 5, 7])), lane=0)
        writer.append_slots(simple_slots(np.array([2, 4, 6, 8])), lane=1)
    cut = read_cut(path, path.read_bytes(), path.stat().st_size - 128 - 128)
    assert cut is not None
    assert [view.sequence for view in views(cut)] == [1, 2, 3, 4, 5]
    assert "operation 6, which is missing" in cut.problems[0]
    assert cut.operations == 5


def test_without_the_promise_gaps_are_no_reason_to_stop(tmp_path: Path) -> None:
    path = tmp_path / "a.sst"
    with TraceWriter(path) as writer:
        writer.add_threads(ONE_THREAD)
        writer.append_slots(simple_slots(np.array([10, 30])), lane=0)
        writer.append_slots(simple_slots(np.array([20, 40])), lane=1)
        writer.abandon()
    assert [view.sequence for view in views(read(path))] == [10, 20, 30, 40]


def test_a_last_operation_without_its_continuations_is_dropped(tmp_path: Path) -> None:
    builder = TraceBuilder("a.cu")
    builder.append(OperationKind.LAUNCH, thread=builder.thread(0, "main"), references=[Reference(64)])
    builder.append(OperationKind.LAUNCH, thread=0, references=[Reference(64 * index) for index in range(1, 8)])
    path = tmp_path / "a.sst"
    write(builder.finish(), path)
    whole = path.read_bytes()
    ends = len(whole) - 128
    assert [len(views(read_cut(path, whole, ends - 64 * lost) or builder.finish())) for lost in range(5)] == [
        2,
        1,
        1,
        1,
        1,
    ]


def test_an_uncommitted_segment_and_reserved_space_are_nothing(tmp_path: Path) -> None:
    path = tmp_path / "a.sst"
    writer = TraceWriter(path)
    writer.add_threads(ONE_THREAD)
    writer.append_slots(simple_slots(np.array([1, 2])))
    writer.abandon()
    end = path.stat().st_size
    header = packed_segment(1, lane=0, offset=end, capacity=6400, first=3)  # type: ignore[arg-type]
    for rest in (header, header + simple_slots(np.arange(3, 9)).tobytes(), bytes(64), bytes(10_000)):
        with path.open("r+b") as file:
            file.truncate(end)
            file.seek(end)
            file.write(rest)
        cut = read(path)
        assert (cut.complete, cut.operations) == (False, 2)


def test_a_killed_process_leaves_what_it_committed(tmp_path: Path) -> None:
    path = tmp_path / "a.sst"
    program = """
import os, signal, sys
import numpy as np
from streamsan.trace import Thread
from streamsan.trace.layout import SLOT
from streamsan.trace.writer import TraceWriter
writer = TraceWriter(sys.argv[1])
writer.add_threads([Thread(0, "main")])
for number in range(1, 101):
    slots = np.zeros(1, SLOT)
    slots["sequence"], slots["kind"] = number, 8
    writer.append_slots(slots)
os.kill(os.getpid(), signal.SIGKILL)
"""
    done = subprocess.run([sys.executable, "-c", program, str(path)], env=os.environ, check=False, timeout=60)
    assert done.returncode == -signal.SIGKILL
    cut = read(path)
    assert (cut.complete, cut.operations) == (False, 100)


def test_a_header_alone_is_an_empty_prefix(tmp_path: Path) -> None:
    (tmp_path / "a.sst").write_bytes(packed_header({"platform": "cuda", "origin": "recording", "apis": [""]}))
    cut = read(tmp_path / "a.sst")
    assert (cut.complete, cut.operations) == (False, 0)
