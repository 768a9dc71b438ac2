"""Looks at a trace that is being written: each operation once, in order, at a cost that is linear in all of them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from streamsan.trace.errors import TraceError
from streamsan.trace.layout import SLOT
from streamsan.trace.random_access import RandomAccessFile
from streamsan.watching import growing_trace
from streamsan.watching.growing_trace import GrowingTrace
from watching.growing import entered, let_return, steps, writer


def sequences(trace: GrowingTrace) -> list[int]:
    return [int(each) for each in trace.look()["sequence"]]


def test_each_look_gives_what_is_new(tmp_path: Path) -> None:
    path = tmp_path / "a.sst"
    with writer(path) as file:
        trace = GrowingTrace(str(path))
        assert sequences(trace) == []
        file.append_slots(steps(2))
        assert sequences(trace) == list(range(1, 9))
        assert sequences(trace) == []
        file.append_slots(steps(1, 9), lane=1)
        file.append_slots(steps(1, 13), lane=0)
        file.append_slots(steps(1, 17), lane=1)
        assert sequences(trace) == list(range(9, 21))
        assert not trace.ended
    assert sequences(trace) == []
    assert trace.ended
    assert trace.site(3).line == 30
    assert trace.api(4) == "cudaStreamSynchronize"
    assert (trace.site(99).file, trace.api(99)) == ("", "")


def test_a_call_that_has_not_returned_is_told_later_with_what_came_of_it(tmp_path: Path) -> None:
    path = tmp_path / "a.sst"
    with writer(path) as file:
        trace = GrowingTrace(str(path))
        wait = entered(5)
        file.append_slots(np.concatenate([steps(1), wait]))
        file.append_slots(steps(1, 6), lane=1)
        assert sequences(trace) == [1, 2, 3, 4, 6, 7, 8, 9]
        assert trace.waiting == [(4, 4)]
        assert sequences(trace) == []
        let_return(path, wait, 10)
        (returned,) = trace.look()
        assert (returned["sequence"], returned["duration"] > 0) == (10, True)
        assert trace.waiting == []


@pytest.mark.parametrize("how", ["closed", "killed"])
def test_at_the_end_a_call_that_never_returned_is_one(tmp_path: Path, how: str) -> None:
    path = tmp_path / "a.sst"
    child = os.fork()
    if not child:
        os._exit(0)
    os.waitpid(child, 0)  # nobody has this number now
    file = writer(path, None if how == "closed" else child)
    file.append_slots(entered(1))
    if how == "closed":
        file.close()
    trace = GrowingTrace(str(path))
    assert sequences(trace) == [1]
    assert trace.ended
    file.abandon()


def test_bytes_of_operations_are_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read = 0
    original = RandomAccessFile.read_into

    def counted(self: RandomAccessFile, offset: int, array: np.ndarray[Any, Any]) -> None:
        nonlocal read
        read += array.nbytes if array.dtype == SLOT else 0
        original(self, offset, array)

    monkeypatch.setattr(RandomAccessFile, "read_into", counted)
    path = tmp_path / "a.sst"
    written = 0
    with writer(path) as file:
        trace = GrowingTrace(str(path))
        for number in range(40):
            slots = steps(4, 1 + 16 * number)
            written += slots.nbytes
            file.append_slots(slots, lane=number % 3)
            assert len(trace.look()) == 16
        assert read == written
        assert len(trace._open) == 3  # one for each lane: what is full is not looked at again


def test_a_long_trace_is_read_in_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(growing_trace, "MOST_AT_ONCE", 7)
    path = tmp_path / "a.sst"
    with writer(path) as file:
        file.append_slots(steps(3))
    trace = GrowingTrace(str(path))
    seen: list[int] = []
    while not trace.ended:
        seen += sequences(trace)
    assert seen == list(range(1, 13))


def test_a_file_that_takes_the_place_of_a_full_one_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "a.sst"
    first = writer(path)
    first.append_slots(steps(2))
    trace = GrowingTrace(str(path))
    assert len(trace.look()) == 8
    second = writer(path)
    second.append_slots(steps(1, 1), snapshot=True)  # what is alive is restated
    second.append_slots(steps(1, 5))
    second.append_slots(steps(1, 9))
    assert sequences(trace) == [9, 10, 11, 12]
    second.close()
    first.abandon()


def test_damage_is_said(tmp_path: Path) -> None:
    path = tmp_path / "a.sst"
    with writer(path) as file:
        file.append_slots(steps(1))
    data = path.read_bytes()
    path.write_bytes(data[:-128] + b"x" * 128)
    with pytest.raises(TraceError, match="damaged"):
        GrowingTrace(str(path)).look()
    with pytest.raises(TraceError, match="no such file"):
        GrowingTrace(str(tmp_path / "b.sst")).look()
