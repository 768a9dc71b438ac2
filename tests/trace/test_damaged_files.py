"""Files that are no traces, or whose bytes contradict each other: one line that says why, nothing else."""

from __future__ import annotations

import os
import struct
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from trace_samples import ONE_THREAD, native_sample, simple_slots, views, write_in_lanes

from streamsan.trace import Site, TraceError
from streamsan.trace.file_layout import MAGIC, SegmentType
from streamsan.trace.header import packed_header
from streamsan.trace.random_access import RandomAccessFile
from streamsan.trace.reader import read
from streamsan.trace.segments import Segment, find_segments, packed_commit, packed_segment
from streamsan.trace.writer import TraceWriter


def reason(path: Path) -> str:
    """Return why a file cannot be read to its end."""
    with pytest.raises(TraceError) as caught:
        for _ in read(path).chunks():
            pass
    assert str(caught.value) == f"{path}: {caught.value.reason}"
    assert "\n" not in str(caught.value)
    return caught.value.reason


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"", "is empty"),
        (b"SQLite format 3\0" + bytes(100), "is not an .sst trace (it looks like an SQLite database"),
        (b"\x7fELF\x02\x01\x01", "ELF"),
        (b"\x1f\x8b\x08\x00", "gzip"),
        (b'{"traceEvents": []}', "JSON"),
        (b"int main() {}\n", "text"),
        (b"\x00\x01\x02\x03" * 40, "is not an .sst trace"),
        (MAGIC[:5], "is cut off inside the header"),
        (MAGIC + bytes(20), "is cut off inside the header"),
        (MAGIC + bytes(100), "byte-order mark"),
        (MAGIC + b"\x01\x02\x03\x04" + bytes(100), "other byte order"),
    ],
)
def test_what_is_no_trace(tmp_path: Path, content: bytes, expected: str) -> None:
    path = tmp_path / "a.sst"
    path.write_bytes(content)
    assert expected in reason(path)


def test_places_without_a_file(tmp_path: Path) -> None:
    assert reason(tmp_path / "none.sst") == "no such file"
    assert reason(tmp_path) == "is a directory, not an .sst trace"
    os.mkfifo(tmp_path / "pipe")
    assert reason(tmp_path / "pipe") == "is not a regular file"
    assert reason(tmp_path / ("x" * 300)).startswith("cannot be opened")
    with pytest.raises(TraceError, match="not a file name"):
        read("a\0b")


HEADER = packed_header({"platform": "cuda", "origin": "source", "apis": [""]})


@pytest.mark.parametrize(
    ("at", "new", "expected"),
    [
        (12, b"\x02\x00", "has format version 2.6; this streamsan reads versions up to 1.x"),
        (12, b"\x00\x00", "never published"),
        (16, b"\xff\xff\xff\x7f", "a header of"),
        (20, b"\xff\xff\xff\xff", "bytes of metadata"),
        (24, b"\x80", "slots of 128 bytes"),
        (64, b"[", "metadata"),
    ],
)
def test_headers(tmp_path: Path, at: int, new: bytes, expected: str) -> None:
    path = tmp_path / "a.sst"
    path.write_bytes(HEADER[:at] + new + HEADER[at + len(new) :])
    assert expected in reason(path)


@pytest.mark.parametrize("text", [b"[" * 100_000, b'{"a":' * 100_000, b"[1]", b"\xff\xfe", b'{"a":' + b"9" * 10_000])
def test_metadata_that_is_no_object(tmp_path: Path, text: bytes) -> None:
    size = -(-(64 + len(text)) // 64) * 64
    header = HEADER[:16] + struct.pack("<II", size, len(text)) + HEADER[24:64]
    (tmp_path / "a.sst").write_bytes((header + text).ljust(size, b"\0"))
    assert "metadata" in reason(tmp_path / "a.sst")


@pytest.mark.parametrize(
    "metadata",
    [
        {"apis": ["x"]},
        {"apis": "abc"},
        {"apis": ["", 7]},
        {"platform": 7},
        {"platform": None},
        {"platform": "cuda\n"},
        {"origin": None},
        {"origin": "x" * 100},
    ],
)
def test_metadata_of_other_types(tmp_path: Path, metadata: dict[str, object]) -> None:
    (tmp_path / "a.sst").write_bytes(packed_header({"platform": "cuda", "origin": "source", "apis": [""]} | metadata))
    assert reason(tmp_path / "a.sst").startswith("damaged")


def segment(kind: int, payload: bytes, *, offset: int, first: int = 0, lane: int = 0) -> bytes:
    header = packed_segment(
        SegmentType(kind), lane=lane, offset=offset, capacity=-(-len(payload) // 64) * 64, first=first
    )
    return header[:56] + packed_commit(len(payload)) + payload.ljust(-(-len(payload) // 64) * 64, b"\0")


def file_of(*segments: tuple[int, bytes, int]) -> bytes:
    content = HEADER
    for kind, payload, first in segments:
        content += segment(kind, payload, offset=len(content), first=first)
    return content


A_STRING = (2, b"\x01\0\0\0a", 1)
A_THREAD = (3 + 1, bytes(16), 0)
A_MODULE = (8, b"\1\0\0\0a\0\0\0\0", 1)


@pytest.mark.parametrize(
    ("segments", "expected"),
    [
        ([(2, b"\xff\xff\xff\xff", 1)], "a string of 4294967295 bytes"),
        ([(2, b"\x05\0\0\0a", 1)], "runs over the end"),
        ([(2, b"\x01\0\0\0a", 2)], "goes on with string 2 instead of 1"),
        ([A_STRING, A_STRING], "goes on with string 1 instead of 2"),
        ([(4, struct.pack("<IIQ", 0, 1, 0), 0)], "string id 1 out of range (1 strings)"),
        ([A_STRING, (5, struct.pack("<I", 9), 1)], "string id 9 out of range (2 strings)"),
        ([(3, struct.pack("<9I", 0, 0, 4, 0, 0, 0, 0, 0, 0) + bytes(28), 1)], "string id 4 out of range"),
        ([(3, struct.pack("<9I", 0, 0, 0, 0, 0, 0, 0, 0, 1) + bytes(28), 1)], "site 1 names a caller"),
        ([(3, bytes(65), 1)], "half a record in the table of sites"),
        ([(3, bytes(36) + b"\1" + bytes(27), 1)], "module id 1 out of range (1 modules)"),
        ([(8, b"\xff\xff\xff\xff", 1)], "a module with a text of 4294967295 bytes"),
        ([(8, b"\1\0\0\0a", 1)], "a module runs over the end of its segment"),
        ([(8, b"\1\0\0\0a\5\0\0\0ab", 1)], "a module runs over the end of its segment"),
        ([(8, b"\1\0\0\0a\0\0\0\0", 2)], "goes on with module 2 instead of 1"),
        ([(9, struct.pack("<IIIIQII", 1, 0, 0, 1, 9, 0, 0), 0)], "module id 1 out of range"),
        ([A_MODULE, (9, struct.pack("<IIIIQII", 1, 7, 0, 1, 9, 0, 0), 0)], "string id 7 out of range (1 strings)"),
        ([A_MODULE, (9, struct.pack("<IIIIQII", 1, 0, 8, 1, 9, 0, 0), 0)], "string id 8 out of range (1 strings)"),
        ([A_MODULE, (9, bytes(33), 0)], "half a record in the table of symbols"),
        ([A_MODULE, (9, bytes(32), 4)], "goes on with symbol 4 instead of 0"),
        ([(11, bytes(17), 0)], "half a record in the table of source lines"),
        ([(11, struct.pack("<4I", 1, 1, 0, 0), 0)], "string id 1 out of range (1 strings)"),
        ([(11, struct.pack("<4I", 0, 1, 7, 0), 0)], "string id 7 out of range (1 strings)"),
        ([(11, struct.pack("<4I", 0, 0, 0, 0), 0)], "a source line with number 0"),
        ([(11, struct.pack("<4I", 0, 1 << 21, 0, 0), 0)], "a source line with number 2097152"),
        ([(11, struct.pack("<4I", 0, 1, 0, 0) * 65537, 0)], "more than 65536 source lines"),
        ([(11, struct.pack("<4I", 0, 1, 0, 0), 3)], "goes on with source line 3 instead of 0"),
        ([(4, bytes(20), 0)], "half a record in the table of threads"),
        ([(4, bytes(16), 7)], "goes on with thread 7 instead of 0"),
        ([(6, b"{", 0)], "metadata is not JSON"),
        ([(7, bytes(8), 0)], "an end mark of 8 bytes"),
        ([A_THREAD, (1, bytes(64), 0)], "a slot of no kind"),
        ([A_THREAD, (1, simple_slots(np.array([3, 3])).tobytes(), 0)], "sequences that do not increase"),
        (
            [A_THREAD, (1, simple_slots(np.array([1]), thread=1).tobytes(), 0)],
            "thread 1 out of range (the table has 1)",
        ),
        ([A_THREAD, (1, simple_slots(np.array([1]), kind=240).tobytes(), 0)], "continuation slot without"),  # type: ignore[arg-type]
        ([A_THREAD, (7, struct.pack("<QQ", 1, 1) + bytes(48), 0)], "counts 1 slots, the file has 0"),
    ],
)
def test_segments_that_contradict(tmp_path: Path, segments: list[tuple[int, bytes, int]], expected: str) -> None:
    (tmp_path / "a.sst").write_bytes(file_of(*segments))
    assert expected in reason(tmp_path / "a.sst")


@pytest.mark.parametrize(("field", "value"), [("site", 5), ("api", 1)])
def test_ids_out_of_range(tmp_path: Path, field: str, value: int) -> None:
    slots = simple_slots(np.arange(1, 400))
    slots[field][300] = value
    (tmp_path / "a.sst").write_bytes(file_of(A_THREAD, (1, slots.tobytes(), 0)))
    assert f"{value} out of range" in reason(tmp_path / "a.sst")


def test_two_lanes_with_one_sequence(tmp_path: Path) -> None:
    with TraceWriter(tmp_path / "a.sst") as writer:
        writer.add_threads(ONE_THREAD)
        for lane in range(2):
            writer.append_slots(simple_slots(np.array([5])), lane)
    assert "two operations of one sequence" in reason(tmp_path / "a.sst")


def test_an_end_mark_that_counts_otherwise(tmp_path: Path) -> None:
    path = tmp_path / "a.sst"
    with TraceWriter(path) as writer:
        writer.add_threads(ONE_THREAD)
        writer.append_slots(simple_slots(np.array([1, 2, 3])))
    content = path.read_bytes()
    path.write_bytes(content[:-64] + struct.pack("<Q", 2) + content[-56:])
    assert "counts 2 operations, the file has 3" in reason(path)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda header: b"x" + header[1:], "no segment begins"),
        (lambda header: header[:16] + struct.pack("<Q", 64) + header[24:], "segments overlap"),
        (lambda header: header[:24] + struct.pack("<Q", 65) + header[32:], "capacity of 65"),
        (lambda header: header[:24] + struct.pack("<Q", 1 << 63) + header[32:], "capacity of"),
        (lambda header: header[:24] + struct.pack("<Q", 0) + header[32:], "bytes of 0"),
        (lambda header: header[:62] + b"\0\0", "no valid commit mark"),
    ],
)
def test_segment_headers(tmp_path: Path, change: Callable[[bytes], bytes], expected: str) -> None:
    content = file_of(A_THREAD)
    start = len(HEADER)
    (tmp_path / "a.sst").write_bytes(HEADER + change(content[start : start + 64]) + content[start + 64 :])
    assert expected in reason(tmp_path / "a.sst")


def test_unknown_segments_are_skipped_and_metadata_grows(tmp_path: Path) -> None:
    slots = (1, simple_slots(np.array([1])).tobytes(), 0)
    content = file_of(A_THREAD, (6, b'{"driver":"1"}', 0), slots)
    unknown = bytearray(segment(1, b"whatever", offset=len(content)))
    unknown[8:10] = b"\x99\x00"
    content += bytes(unknown)
    content += segment(7, struct.pack("<QQ", 1, 1) + bytes(48), offset=len(content)) + b"trailing"
    (tmp_path / "a.sst").write_bytes(content)
    trace = read(tmp_path / "a.sst")
    assert (trace.complete, trace.driver, len(views(trace))) == (True, "1", 1)
    assert trace.problems == ["8 bytes after the end mark were left out"]


def test_a_newer_minor_version_reads(tmp_path: Path) -> None:
    content = file_of(A_THREAD)
    (tmp_path / "a.sst").write_bytes(content[:14] + b"\x09\x00" + content[16:])
    assert read(tmp_path / "a.sst").threads


def exercise(path: Path) -> None:
    """Read all that a file has; it must end in a trace or a TraceError."""
    try:
        trace = read(path)
        found = views(trace)
        for site in range(len(trace.sites)):
            assert isinstance(trace.site(site), Site)
            trace.stack(site)
        dict(trace.symbols)
        assert trace.operations == len(found)
        assert [view.sequence for view in found] == sorted({view.sequence for view in found})
        list(trace.chunks(first=30))
    except TraceError as error:
        assert "\n" not in str(error)  # noqa: PT017
        str(error).encode()


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=400), st.sampled_from([b"", MAGIC, HEADER[:64], HEADER]))
def test_any_bytes(tmp_path: Path, content: bytes, start: bytes) -> None:
    (tmp_path / "a.sst").write_bytes(start + content)
    exercise(tmp_path / "a.sst")


class Whole:
    """A valid file; a class, so that a failing example does not print it."""

    def __init__(self, content: bytes, segments: list[Segment]) -> None:
        self.content = content
        # Half of the changes hit headers, where a byte says most.
        self.headers = [0, *(segment.payload - 64 for segment in segments)]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Whole:
    path = tmp_path_factory.mktemp("whole") / "a.sst"
    write_in_lanes(native_sample(40, threads=2), path, piece=9)
    size = int(np.fromfile(path, "<u4", 1, offset=16)[0])
    return Whole(path.read_bytes(), find_segments(RandomAccessFile(str(path)), size).found)


NUMBERS = st.one_of(
    st.integers(0, 255).map(lambda number: bytes([number])),
    st.sampled_from([0, 1, 64, 1 << 20, (1 << 32) - 1]).map(lambda number: number.to_bytes(4, "little")),
    st.sampled_from([0, 64, 1 << 47, (1 << 64) - 1]).map(lambda number: number.to_bytes(8, "little")),
)


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_changed_files(tmp_path: Path, whole: Whole, data: st.DataObject) -> None:
    content = bytearray(whole.content)
    places = st.one_of(
        st.integers(0, len(content) - 1),
        st.tuples(st.sampled_from(whole.headers), st.integers(0, 63)).map(sum),
    )
    for _ in range(data.draw(st.integers(1, 4))):
        at, new = data.draw(places), data.draw(NUMBERS)
        content[at : at + len(new)] = new
    if data.draw(st.booleans()):
        del content[data.draw(st.integers(0, len(content))) :]
    (tmp_path / "a.sst").write_bytes(content)
    exercise(tmp_path / "a.sst")
