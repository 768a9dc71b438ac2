"""Symbols are added to finished, cut-off and full-disk files, and change nothing else."""

from __future__ import annotations

import errno
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from native_programs import compiled, line_of, record

from host_compiler import COMPILER
from streamsan.trace import Site, Thread, TraceError
from streamsan.trace.file_layout import SegmentType
from streamsan.trace.layout import SLOT
from streamsan.trace.modules import Module
from streamsan.trace.random_access import RandomAccessFile
from streamsan.trace.reader import read
from streamsan.trace.segments import find_segments
from streamsan.trace.symboliser.symbol_segments import add_symbols
from streamsan.trace.symbols import Frame
from streamsan.trace.view import iterate
from streamsan.trace.writer import TraceWriter, write

MODULES = [Module("/app/main", "ab" * 20), Module("/usr/lib/libfoo.so.1", "")]


def say(module: Module, offset: int) -> Sequence[Frame]:
    """Stand for a symboliser: what it says tells what it was asked."""
    if offset == 0xDEAD:
        return ()
    inlined = [Frame("/src/inner.hpp", offset, 3, "inner()")] if offset % 2 else []
    return [*inlined, Frame(f"/src/{module.name}.cpp", offset + 1, 5, f"outer{offset}()")]


def recording(path: Path, *, close: bool = True, metadata: dict[str, object] | None = None) -> None:
    with TraceWriter(path, origin="recording", metadata=metadata) as writer:
        writer.add_threads([Thread(0, "main")])
        writer.add_modules(MODULES)
        writer.add_sites([Site("", 0, module=1, offset=offset) for offset in (10, 11, 10, 0xDEAD)])
        writer.add_sites([Site("", 0, module=2, offset=10, caller=1)])
        slots = np.zeros(5, SLOT)
        slots["sequence"], slots["kind"], slots["site"] = np.arange(1, 6), 8, np.arange(1, 6)
        writer.append_slots(slots)
        if not close:
            writer.abandon()


EXPECTED = {
    (1, 10): (Frame("/src/main.cpp", 11, 5, "outer10()"),),
    (1, 11): (Frame("/src/inner.hpp", 11, 3, "inner()"), Frame("/src/main.cpp", 12, 5, "outer11()")),
    (2, 10): (Frame("/src/libfoo.so.1.cpp", 11, 5, "outer10()"),),
}


@pytest.mark.parametrize("close", [True, False])
def test_symbols_are_added_and_nothing_else_changes(tmp_path: Path, close: bool) -> None:
    path = tmp_path / "a.sst"
    recording(path, close=close)
    before = read(path)
    assert dict(before.symbols) == {}
    assert add_symbols(path, say) == 3
    after = read(path)
    assert dict(after.symbols) == EXPECTED
    assert len(after.symbols) == 3
    assert list(iterate(after)) == list(iterate(before))
    assert list(after.sites) == list(before.sites)
    assert after.modules == before.modules == [Module(""), *MODULES]
    assert (after.complete, before.complete) == (close, close)
    assert [("cut off" in problem) for problem in after.problems] == [not close] * (not close)
    # Once more there is only one address to ask.
    asked = []
    assert add_symbols(path, lambda module, offset: asked.append(offset) or ()) == 0  # type: ignore[func-returns-value]
    assert asked == [0xDEAD]
    assert add_symbols(path, lambda module, offset: [Frame("late.c", 1)]) == 1
    assert dict(read(path).symbols) == EXPECTED | {(1, 0xDEAD): (Frame("late.c", 1),)}
    assert read(path).problems == after.problems or not close


def test_a_copy_of_the_trace_keeps_them(tmp_path: Path) -> None:
    recording(tmp_path / "a.sst")
    add_symbols(tmp_path / "a.sst", say)
    write(read(tmp_path / "a.sst"), tmp_path / "b.sst")
    copy = read(tmp_path / "b.sst")
    assert dict(copy.symbols) == EXPECTED
    assert copy.site(2) == read(tmp_path / "a.sst").site(2)


def test_reserved_space_behind_the_last_segment_is_used(tmp_path: Path) -> None:
    path = tmp_path / "a.sst"
    recording(path, close=False)
    size = path.stat().st_size
    os.truncate(path, size + (3 << 20))
    assert add_symbols(path, say) == 3
    assert path.stat().st_size == size + (3 << 20)
    assert dict(read(path).symbols) == EXPECTED
    assert not read(path).complete


def test_a_file_with_something_behind_its_last_segment_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "a.sst"
    recording(path, close=False)
    with path.open("ab") as file:
        file.write(bytes(64) + b"something")
    content = path.read_bytes()
    assert add_symbols(path, say) == 0
    assert path.read_bytes() == content


def test_a_file_that_is_being_written_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "a.sst"
    recording(path, close=False, metadata={"process": os.getppid()})
    content = path.read_bytes()
    assert add_symbols(path, say) == 0
    assert path.read_bytes() == content
    recording(path, metadata={"process": os.getppid()})
    assert add_symbols(path, say) == 3


def test_a_process_that_has_ended_writes_no_more(tmp_path: Path) -> None:
    path = tmp_path / "a.sst"
    child = subprocess.Popen([sys.executable, "-c", ""])
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    recording(path, close=False, metadata={"process": child.pid})
    assert add_symbols(path, say) == 3  # nobody has waited for it yet
    child.wait()


@pytest.mark.parametrize("close", [True, False])
def test_every_state_in_between_is_a_valid_file(tmp_path: Path, close: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.sst"
    recording(path, close=close)
    before = path.read_bytes()
    states: list[bytes] = []
    real = os.pwrite

    def bytewise(descriptor: int, data: bytes, offset: int) -> int:
        count = real(descriptor, bytes(data[:97]), offset)
        states.append(path.read_bytes())
        return count

    monkeypatch.setattr(os, "pwrite", bytewise)
    assert add_symbols(path, say) == 3
    monkeypatch.undo()
    operations = list(iterate(read(path)))
    assert len(states) > 4
    for state in states:
        (tmp_path / "state.sst").write_bytes(state)
        trace = read(tmp_path / "state.sst")
        assert list(iterate(trace)) == operations
        assert trace.complete == close
        assert dict(trace.symbols) in ({}, EXPECTED)
    assert dict(read(tmp_path / "state.sst").symbols) == EXPECTED
    # What a killed attempt left behind the end mark is no hindrance.
    (tmp_path / "state.sst").write_bytes(states[len(states) // 2])
    if close:
        assert add_symbols(tmp_path / "state.sst", say) == 3
        assert dict(read(tmp_path / "state.sst").symbols) == EXPECTED
        assert read(tmp_path / "state.sst").problems == []
    assert before != states[-1]


@pytest.mark.parametrize("close", [True, False])
@pytest.mark.parametrize("fails_at", [0, 1])
def test_a_full_disk_leaves_the_file_as_it_was(
    tmp_path: Path, close: bool, fails_at: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.sst"
    recording(path, close=close)
    before = path.read_bytes()
    real, calls = os.pwrite, []

    def full(descriptor: int, data: bytes, offset: int) -> int:
        calls.append(offset)
        if len(calls) > fails_at + 1:
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(descriptor, bytes(data[:100]), offset)

    monkeypatch.setattr(os, "pwrite", full)
    with pytest.raises(TraceError, match="No space left"):
        add_symbols(path, say)
    assert path.read_bytes() == before


def test_a_file_that_may_not_grow(tmp_path: Path) -> None:
    path = tmp_path / "a.sst"
    recording(path)
    before = path.read_bytes()
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) + 10, limits[1]))
    try:
        with pytest.raises(TraceError, match="cannot be written"):
            add_symbols(path, say)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, handler)
    assert path.read_bytes() == before


def test_the_old_end_mark_becomes_space(tmp_path: Path) -> None:
    path = tmp_path / "a.sst"
    recording(path)
    add_symbols(path, say)
    file = RandomAccessFile(str(path))
    found = find_segments(file, int(np.fromfile(path, "<u4", 1, offset=16)[0]))
    kinds = [segment.type for segment in found.found]
    assert kinds[-4:] == [SegmentType.SPACE, SegmentType.STRINGS, SegmentType.SYMBOLS, SegmentType.END]
    assert kinds.count(SegmentType.END) == 1


@pytest.mark.skipif(COMPILER is None, reason="no C++ compiler")
def test_a_real_program(tmp_path: Path) -> None:
    program = compiled(tmp_path, ("-O2", "-g"))
    path = tmp_path / "a.sst"
    sites = record(path, program)
    assert add_symbols(path) == len(program.calls)
    Path(program.module.path).unlink()
    trace = read(path)
    places = [trace.site(site) for site in sites]
    assert {place.file for place in places} == {program.source}
    by_name = {name: place for (name, _), place in zip(program.calls, places, strict=True)}
    assert by_name["plain"].line == line_of('sink("plain");')
    assert by_name["plain"].function == "plain"
    assert by_name["plain"].label == "kernel"
    stack = trace.stack(sites[0])
    assert [frame.function for frame in stack] == ["pool::Buffer<float>::release", "helper", "main", "_run_code"]


@pytest.mark.skipif(COMPILER is None, reason="no C++ compiler")
def test_a_program_that_was_killed(tmp_path: Path) -> None:
    program = compiled(tmp_path, ("-O2", "-g"))
    sites = record(tmp_path / "a.sst", program, close=False)
    assert add_symbols(tmp_path / "a.sst") == len(program.calls)
    trace = read(tmp_path / "a.sst")
    assert not trace.complete
    assert trace.site(sites[0]).line == line_of('sink("release");')
