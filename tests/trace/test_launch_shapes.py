"""What kernels were launched with travels in a table of its own; slots name its entries beside what they say anyway."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest
from trace_samples import ONE_THREAD, simple_slots, slots_of

from streamsan.trace import Reference, Thread, Trace, TraceBuilder, TraceError, family
from streamsan.trace import launch_shapes as shapes_module
from streamsan.trace.file_layout import SegmentType
from streamsan.trace.launch_shapes import (
    UNKNOWN_SHAPE,
    ByteRun,
    LaunchShape,
    LaunchShapes,
    PointerPlace,
    packed_launch_shape,
)
from streamsan.trace.reader import read
from streamsan.trace.shape_numbers import named_shapes
from streamsan.trace.table_limits import MOST_LAUNCH_SHAPES
from streamsan.trace.view import iterate
from streamsan.trace.writer import TraceWriter, write
from streamsan.vocabulary import AccessMode, NodeKind, OperationKind

CODE = "0123456789abcdef" * 2
FULL = LaunchShape(
    "_Z5scalePfi",
    (CODE, CODE[::-1]),
    (80, 2, 1),
    (256, 1, 1),
    1024,
    (PointerPlace(0, 0), PointerPlace(0, 24), PointerPlace(1, 8)),
    bytes(8) + b"\x07\0\0\0",
)
PART = LaunchShape(
    "_Z4part", places=(PointerPlace(0, 0),), arguments=bytes(40), not_told=(ByteRun(8, 12), ByteRun(24, 40))
)
BARE = LaunchShape("_Z4bare", places=(PointerPlace(0, 0),))


def recorded() -> Trace:
    """A launch with two references, a node and its update, and operations whose fields mean something else."""
    builder = TraceBuilder("run.sst", origin="recording")
    thread = builder.thread(0, "main")
    full, bare = builder.launch_shape(FULL), builder.launch_shape(BARE)
    assert (full, bare, builder.launch_shape(FULL)) == (1, 2, 1)
    pair = [Reference(0x1000, 64, 7, AccessMode.WRITE), Reference(0x2000)]
    builder.append(OperationKind.LAUNCH, thread=thread, stream=1, references=pair, shape=full)
    builder.append(OperationKind.LAUNCH, thread=thread, stream=1, shape=bare)
    builder.append(OperationKind.LAUNCH, thread=thread, stream=1, references=pair)
    for kind in (OperationKind.GRAPH_NODE, OperationKind.GRAPH_NODE_UPDATE):
        what = {"thread": thread, "object": 1, "references": pair}
        builder.append(kind, detail=NodeKind.KERNEL, shape=full, **what)  # type: ignore[arg-type]
        builder.append(kind, detail=NodeKind.COPY, size=5, **what)  # type: ignore[arg-type]
    builder.append(OperationKind.COPY, thread=thread, object=9 << 32, references=[])
    return builder.finish()


def test_shapes_survive_the_file(tmp_path: Path) -> None:
    trace = recorded()
    write(trace, tmp_path / "a.sst")
    back = read(tmp_path / "a.sst")
    assert list(trace.launch_shapes) == list(back.launch_shapes) == [UNKNOWN_SHAPE, FULL, BARE]
    assert slots_of(trace).tobytes() == slots_of(back).tobytes()
    assert list(read(tmp_path / "a.sst").launch_shapes[1:]) == [FULL, BARE]
    assert len(back.launch_shapes) == 3
    with pytest.raises(IndexError):
        back.launch_shapes[3]


def test_bytes_that_are_not_told_survive_the_file(tmp_path: Path) -> None:
    with TraceWriter(tmp_path / "a.sst") as writer:
        writer.add_threads(ONE_THREAD)
        writer.add_launch_shapes([PART, BARE])
    assert list(read(tmp_path / "a.sst").launch_shapes[1:]) == [PART, BARE]


@pytest.mark.parametrize(
    "edges", [(4,), (8, 4), (4, 4), (0, 65535, 0, 65535), (0, 8, 12)], ids=lambda edges: "-".join(map(str, edges))
)
def test_of_damaged_runs_nothing_is_told(tmp_path: Path, edges: tuple[int, ...]) -> None:
    packed = b"".join(struct.pack("<2H", 65535, edge) for edge in (*edges,)) + struct.pack("<2H", 2, 16)
    path = _table(tmp_path, _record(places=len(edges) + 1, rest=packed))
    (shape,) = read(path).launch_shapes[1:]
    assert shape.not_told == (ByteRun(0, 65535),)
    assert shape.places == (PointerPlace(2, 16),)


def test_an_operation_says_its_shape_and_means_the_rest_as_before() -> None:
    views = list(iterate(recorded()))
    assert [view.shape for view in views] == [1, 2, 0, 1, 0, 1, 0, 0]
    assert [view.object for view in views] == [7, 0, 7, 1, 1, 1, 1, 9 << 32]
    assert [view.size for view in views] == [64, 0, 64, 0, 5, 0, 5, 0]
    assert views[0].references == (Reference(0x1000, 64, 7, AccessMode.WRITE), Reference(0x2000))
    at, numbers = named_shapes(slots_of(recorded()))
    assert sorted(zip(at.tolist(), numbers.tolist(), strict=True)) == [(0, 1), (2, 2), (5, 1), (9, 1)]


def test_a_launch_of_more_references_than_a_slot_holds_names_its_shape_once() -> None:
    builder = TraceBuilder("a")
    thread = builder.thread(0, "main")
    many = [Reference(0x1000 * number, generation=number) for number in range(1, 600)]
    builder.append(OperationKind.LAUNCH, thread=thread, references=many, shape=builder.launch_shape(FULL))
    assert [(view.shape, view.object) for view in iterate(builder.finish())] == [(1, 1), (0, 512)]


def test_the_parts_of_a_run_have_one_table(tmp_path: Path) -> None:
    for process, name, shapes in ((10, "r.sst", [FULL, BARE]), (11, "r.11.sst", []), (12, "r.12.sst", [BARE, FULL])):
        metadata = {"run": "a", "process": process} | ({"code": "r.code"} if process > 10 else {})
        with TraceWriter(tmp_path / name, origin="recording", metadata=metadata) as writer:
            writer.add_threads([Thread(0, "main")])
            writer.add_launch_shapes(shapes)
            slots = simple_slots(np.arange(4) + process * 10, kind=OperationKind.LAUNCH)
            # The last one is of no shape that the file has, but of one of another file.
            slots["object"] = (np.array([0, 1, 2, 3], np.uint64) << np.uint64(32)) + np.uint64(5)
            writer.append_slots(slots)
    joined = family.read(str(tmp_path / "r.sst"))
    assert list(joined.launch_shapes) == [UNKNOWN_SHAPE, FULL, BARE, BARE, FULL]
    assert [view.shape for view in iterate(joined)] == [0, 1, 2, 0, 0, 0, 0, 0, 0, 3, 4, 0]
    assert {view.object for view in iterate(joined)} == {5}
    assert joined.metadata["code"] == "r.code"


def _table(tmp_path: Path, payload: bytes, *, commit: bool = True) -> Path:
    path = tmp_path / "a.sst"
    with TraceWriter(path) as writer:
        writer.add_threads(ONE_THREAD)
        writer._strings(["kernel", "code"])
        writer._segment(SegmentType.LAUNCH_SHAPES, payload, first=1)
        if not commit:
            writer.abandon()
    return path


def _record(symbol: int = 1, code: int = 2, places: int = 0, arguments: int = 0, rest: bytes = b"") -> bytes:
    record = struct.pack("<9I2H", symbol, code, *[1] * 6, 0, places, arguments) + rest
    return struct.pack("<I", len(record)) + record


@pytest.mark.parametrize(
    ("payload", "why"),
    [
        (_record(symbol=9), "string id 9 out of range"),
        (_record(code=1 << 31), "string id 2147483648 out of range"),
        (_record(places=1), "a launch shape of 40 bytes"),
        (_record(arguments=4), "a launch shape of 40 bytes"),
        (_record(rest=bytes(4)), "a launch shape of 44 bytes"),
        (_record()[:20], "runs over the end"),
        (_record() + b"\xff\xff\xff\xff", "runs over the end"),
        (_record() + b"\x08\0", "runs over the end"),
        (struct.pack("<I", 8) + bytes(8), "a launch shape of 8 bytes"),
        (bytes(4), "a launch shape of 0 bytes"),
    ],
)
def test_records_that_nobody_writes_are_damage(tmp_path: Path, payload: bytes, why: str) -> None:
    with pytest.raises(TraceError, match=why):
        read(_table(tmp_path, payload))


def test_a_table_that_is_cut_off_ends_before_its_last_shape(tmp_path: Path) -> None:
    whole = packed_launch_shape(FULL, 1, 2)
    path = _table(tmp_path, whole + whole, commit=False)
    content = path.read_bytes()
    segment = content.rindex(b"sstSEGM\n")
    for size in range(1, len(whole)):
        path.write_bytes(content[: segment + 64 + len(whole) + size])
        back = read(path)
        assert len(back.launch_shapes) == 2
        assert not back.complete
    assert back.launch_shapes[1].symbol == "main"  # the first string is the thread


def test_no_more_shapes_are_read_than_a_recorder_writes(monkeypatch: pytest.MonkeyPatch) -> None:
    assert MOST_LAUNCH_SHAPES == 131072
    monkeypatch.setattr(shapes_module, "MOST_LAUNCH_SHAPES", 3)
    table = LaunchShapes("a.sst", [""])
    table.add(_record(0, 0) * 3, False)
    with pytest.raises(TraceError, match="more than 3 launch shapes"):
        table.add(_record(0, 0), False)


@pytest.mark.parametrize(
    "shape", [LaunchShape("k", shared=1 << 32), LaunchShape("k", places=(PointerPlace(0, 1 << 16),)),
              LaunchShape("k", arguments=bytes(1 << 16)), LaunchShape("k", grid=(-1, 1, 1))]
)  # fmt: skip
def test_the_writer_refuses_what_does_not_fit(tmp_path: Path, shape: LaunchShape) -> None:
    with TraceWriter(tmp_path / "a.sst") as writer, pytest.raises(ValueError, match="not a launch shape"):
        writer.add_launch_shapes([shape])
