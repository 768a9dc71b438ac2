from __future__ import annotations

import json
import os
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from trace_samples import ONE_THREAD, sample, sequences_from, simple_slots, slots_of, write_in_lanes

from streamsan.trace import Site, Thread, Trace, TraceBuilder, TraceError
from streamsan.trace.file_layout import SegmentType
from streamsan.trace.layout import SLOT
from streamsan.trace.random_access import RandomAccessFile
from streamsan.trace.reader import read
from streamsan.trace.segments import find_segments
from streamsan.trace.store import MemorySlots
from streamsan.trace.writer import TraceWriter, write
from streamsan.vocabulary import OperationKind


def same(one: Trace, other: Trace) -> None:
    assert slots_of(one).tobytes() == slots_of(other).tobytes()
    assert one.threads == other.threads
    assert one.apis == other.apis
    assert list(one.sites) == list(other.sites)
    assert one.platform == other.platform
    assert one.operations == other.operations


def test_a_trace_survives_the_file(tmp_path: Path) -> None:
    trace = sample(700, threads=3)
    trace.metadata["driver"] = "580.159"
    trace.metadata["clock_origin"] = 1_700_000_000_000_000_000
    path = tmp_path / "a.sst"
    write(trace, path)
    back = read(path)
    same(trace, back)
    assert (back.path, back.origin, back.complete, back.problems) == (str(path), "source", True, [])
    assert (back.driver, back.clock) == ("580.159", 1_700_000_000_000_000_000)
    assert list(tmp_path.iterdir()) == [path]
    again = tmp_path / "b.sst"
    write(back, again)
    same(trace, read(again))


def test_an_empty_trace_survives_the_file(tmp_path: Path) -> None:
    write(TraceBuilder("a.cu", "opencl", "simulation").finish(), tmp_path / "a.sst")
    back = read(tmp_path / "a.sst")
    assert (back.platform, back.origin, back.operations, list(back.chunks())) == ("opencl", "simulation", 0, [])


def test_slots_can_be_mapped_without_copying(tmp_path: Path) -> None:
    trace = sample(50)
    path = tmp_path / "a.sst"
    write(trace, path)
    file = RandomAccessFile(str(path))
    header = np.fromfile(path, "<u4", 1, offset=16)[0]
    (segment,) = [s for s in find_segments(file, int(header)).found if s.type == SegmentType.OPERATIONS]
    assert segment.payload % 64 == 0
    mapped = np.memmap(path, SLOT, "r", segment.payload, segment.size // 64)
    assert mapped.tobytes() == slots_of(trace).tobytes()


@pytest.mark.parametrize("threads", [2, 5, 40])
@pytest.mark.parametrize("piece", [1, 17, 400])
def test_lanes_merge_into_the_global_order(tmp_path: Path, threads: int, piece: int) -> None:
    trace = sample(1500, threads=threads, seed=piece)
    write_in_lanes(trace, tmp_path / "a.sst", piece=piece)
    back = read(tmp_path / "a.sst")
    same(trace, back)
    for size in (1, 300):
        chunks = list(back.chunks(size))
        assert np.concatenate(chunks).tobytes() == slots_of(trace).tobytes()
        assert all(chunk["kind"][0] < 240 and len(chunk) <= max(size, 256) for chunk in chunks)


def test_operations_are_found_in_a_file_with_lanes(tmp_path: Path) -> None:
    trace = sample(1500, threads=4)
    write_in_lanes(trace, tmp_path / "a.sst", piece=5)
    back = read(tmp_path / "a.sst")
    assert sequences_from(back, 1400) == list(range(1400, 1501))


def test_lanes_of_threads_that_follow_each_other_hold_one_window_at_a_time(tmp_path: Path) -> None:
    with TraceWriter(tmp_path / "a.sst") as writer:
        writer.add_threads(ONE_THREAD)
        for lane in range(20):
            writer.append_slots(simple_slots(np.arange(lane * 500 + 1, lane * 500 + 501)), lane)
    chunks = [chunk["sequence"].copy() for chunk in read(tmp_path / "a.sst").chunks()]
    assert np.array_equal(np.concatenate(chunks), np.arange(1, 10_001))


def test_tables_may_grow_between_operations(tmp_path: Path) -> None:
    with TraceWriter(tmp_path / "a.sst", apis=["", "a"]) as writer:
        for number in range(1, 6):
            writer.add_threads([Thread(0, f"t{number}")])
            writer.add_sites([Site("f.cu", number, caller=number - 1), Site("g.cu", number)][: 1 + number % 2])
            writer.add_apis([f"api{number}"])
            slots = simple_slots(np.array([number]), thread=number - 1)
            slots["api"], slots["site"] = number + 1, number
            writer.append_slots(slots)
    back = read(tmp_path / "a.sst")
    assert back.apis == ["", "a", *(f"api{number}" for number in range(1, 6))]
    assert [thread.name for thread in back.threads] == [f"t{number}" for number in range(1, 6)]
    assert len(back.sites) == 1 + 8
    assert back.operations == 5


def test_many_names_go_beyond_the_header(tmp_path: Path) -> None:
    apis = ["", *(f"function{number}" for number in range(5000))]
    TraceWriter(tmp_path / "a.sst", apis=apis).close()
    assert read(tmp_path / "a.sst").apis == apis


def test_text_that_is_no_unicode_is_replaced(tmp_path: Path) -> None:
    builder = TraceBuilder("a\udcff.cu")
    builder.thread(0, "\ud800")
    builder.site(Site("a\udcff.cu", 1, text="x" * 100_000))
    write(builder.finish(), tmp_path / "a.sst")
    back = read(tmp_path / "a.sst")
    assert back.threads[0].name == "?"
    assert back.site(1).file == "a?.cu"
    assert len(back.site(1).text) == 1 << 16
    json.dumps([back.metadata, back.site(1).file]).encode("utf-8")


def test_the_writer_refuses_what_a_reader_would(tmp_path: Path) -> None:
    writer = TraceWriter(tmp_path / "a.sst")
    good = simple_slots(np.array([1, 2]))
    with pytest.raises(ValueError, match="thread 0 out of range"):
        writer.append_slots(good)
    writer.add_threads(ONE_THREAD)
    writer.append_slots(good)
    for wrong, why in (
        (good, "do not increase"),
        (simple_slots(np.array([3]), kind=OperationKind.REFERENCES), "without its operation"),
        (simple_slots(np.array([3]), kind=0), "no kind"),  # type: ignore[arg-type]
    ):
        with pytest.raises(ValueError, match=why):
            writer.append_slots(wrong)
    unfinished = simple_slots(np.array([3]))
    unfinished["more"] = 1
    with pytest.raises(ValueError, match="continuation"):
        writer.append_slots(unfinished)
    with pytest.raises(ValueError, match="caller"):
        writer.add_sites([Site("a", 1, caller=1)])
    with pytest.raises(ValueError, match="dtype"):
        writer.append_slots(np.zeros(3, np.uint64))
    writer.append_slots(simple_slots(np.array([9])), lane=4)
    writer.close()
    writer.close()
    with pytest.raises(ValueError, match="closed"):
        writer.add_sites([Site("a", 1)])
    assert read(tmp_path / "a.sst").operations == 3


def test_places_where_no_file_can_be(tmp_path: Path) -> None:
    trace = sample(3)
    with pytest.raises(TraceError, match="No such file"):
        write(trace, tmp_path / "none" / "a.sst")
    with pytest.raises(TraceError, match="not a regular file"):
        write(trace, tmp_path)
    with pytest.raises(TraceError, match="not a regular file"):
        TraceWriter("/dev/null")


def test_an_exception_leaves_no_end_mark_and_a_failed_write_no_file(tmp_path: Path) -> None:
    writer = TraceWriter(tmp_path / "a.sst")
    writer.add_threads(ONE_THREAD)
    writer.append_slots(simple_slots(np.array([1])))
    with pytest.raises(ValueError, match="increase"), writer:
        writer.append_slots(simple_slots(np.array([1])))
    cut = read(tmp_path / "a.sst")
    assert (cut.complete, cut.operations) == (False, 1)
    write(cut, tmp_path / "b.sst")
    assert not read(tmp_path / "b.sst").complete
    (tmp_path / "a.sst").unlink()
    wrong = Trace("x", MemorySlots(simple_slots(np.array([2, 1]))), threads=ONE_THREAD)
    with pytest.raises(ValueError, match="increase"):
        write(wrong, tmp_path / "c.sst")
    assert [path.name for path in tmp_path.iterdir()] == ["b.sst"]


def test_the_file_may_vanish_but_not_shrink(tmp_path: Path) -> None:
    path = tmp_path / "a.sst"
    write(sample(3000), path)
    back = read(path)
    path.unlink()
    assert sum(len(chunk) for chunk in back.chunks()) > 3000
    write(sample(3000), path)
    back = read(path)
    with path.open("r+b") as file:
        file.truncate(5000)
    with pytest.raises(TraceError, match="became shorter"):
        list(back.chunks())


def test_memory_does_not_grow_with_the_file(tmp_path: Path) -> None:
    path = tmp_path / "a.sst"
    with TraceWriter(path) as writer:
        writer.add_threads(ONE_THREAD)
        for start in range(1, 800_001, 100_000):
            slots = simple_slots(np.arange(start, start + 100_000))
            for lane in range(4):
                writer.append_slots(slots[lane::4], lane)
    tracemalloc.start()
    try:
        count = sum(len(chunk) for chunk in read(path).chunks())
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert count == 800_000
    assert peak < path.stat().st_size / 3  # four windows, one sorted copy and its indices, of 51 MB


def test_a_file_is_its_owners_alone_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        write(sample(3), tmp_path / "a.sst")
        TraceWriter(tmp_path / "b.sst").close()
    finally:
        os.umask(before)
    assert [(tmp_path / name).stat().st_mode & 0o777 for name in ("a.sst", "b.sst")] == [0o600, 0o600]


def test_a_planted_link_is_neither_written_nor_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "urandom", lambda count: bytes(count))
    victim = tmp_path / "victim"
    victim.write_text("mine")
    planted = tmp_path / "a.sst.00000000.partial"
    planted.symlink_to(victim)
    with pytest.raises(TraceError, match="cannot be written: File exists"):
        TraceWriter(tmp_path / "a.sst")
    assert planted.is_symlink()
    assert victim.read_text() == "mine"


def test_a_link_in_the_files_place_is_replaced(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("mine")
    (tmp_path / "a.sst").symlink_to(victim)
    write(sample(3), tmp_path / "a.sst")
    assert not (tmp_path / "a.sst").is_symlink()
    assert victim.read_text() == "mine"
