"""Kernels use the memory behind texture and surface objects: plainly recorded, and in exact mode."""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path

import pytest
from launched_traces import SIZE, Recorded, codes, cubin, name_of, references

from streamsan.analysis.checked import Checked
from streamsan.launched_code.image_references import NOWHERE, ImageMemory, ImageUse, Place, place_of
from streamsan.machine_code.byte_ranges import Extent
from streamsan.machine_code.disassembler import disassemblers
from streamsan.trace import Reference
from streamsan.trace.launch_shapes import ByteRun
from streamsan.trace.reference_bounds import Bounds
from streamsan.trace.rows import Rows
from streamsan.vocabulary import (
    AccessMode,
    FreeClass,
    HandleKind,
    MemoryKind,
    NodeKind,
    OperationKind,
    SeenAccesses,
    SlotFlag,
)

needs_disassembler = pytest.mark.skipif(not disassemblers(), reason="no nvdisasm")
READ, WRITE, TOUCHES = AccessMode.READ, AccessMode.WRITE, int(SlotFlag.TOUCHES)
PITCH, ROWS, WIDTH = 2048, 16, 256
"""of pitched images of floats: bytes from row to row, rows, and texels of each"""
SPAN = (ROWS - 1) * PITCH + 4 * WIDTH


class Images(Recorded):
    """A recording with a line of floats, an image in rows, and an array, each with an object."""

    def __init__(self, folder: Path, exact: bool = False) -> None:
        folder.mkdir(exist_ok=True)
        super().__init__(folder, [cubin(name="image_kernels")], accesses=exact)
        self.exact = exact
        self.host = self.memory("h", MemoryKind.PINNED)
        self.line = self.memory("d_line")
        self.pitched = self.memory("d_image")
        self.array = self.memory("array", MemoryKind.ARRAY)
        self.made(1, self.line, SIZE, 4)
        self.made(2, self.pitched, SPAN, 4)
        self.made(3, self.array, SIZE, 4, HandleKind.SURFACE)
        self.made(3, self.array, SIZE, 4)
        self.made(2, self.line, SIZE, 4, HandleKind.SURFACE)  # the same number, another object

    def made(self, number: int, address: int, size: int, texel: int, sort: HandleKind = HandleKind.TEXTURE) -> None:
        self.say(OperationKind.HANDLE_CREATE, object=number, address=address, size=size | texel << 56, detail=sort)

    def gone(self, number: int, status: int = 0) -> None:
        self.say(OperationKind.HANDLE_DESTROY, object=number, detail=HandleKind.TEXTURE, status=status)

    def kernel(self, stream: int, kernel: str, arguments: bytes, not_told: tuple[ByteRun, ...] = ()) -> None:
        """`arguments`: a word of eight `P` is the pointer to the result."""
        where = [arguments.index(b"PPPPPPPP")] if b"PPPPPPPP" in arguments else []
        shape = self.shape(
            kernel, *where, grid=(4, ROWS, 1), arguments=arguments.replace(b"PPPPPPPP", bytes(8)), not_told=not_told
        )
        results = [self.memory("d_out") for _ in where]
        launch = self.launch(stream, shape, *results)
        if self.exact:
            seen = [Reference(result, 1024, 0, WRITE) for result in results]
            self.say(OperationKind.LAUNCH_ACCESSES, object=launch, detail=SeenAccesses.ALL, references=seen)

    def fetches(self, stream: int, number: int = 1, begin: int = 0) -> None:
        self.kernel(stream, "fetches", struct.pack("<Q8sii", number, b"P" * 8, begin, 256))

    def samples(self, stream: int, number: int = 2, kernel: str = "samples") -> None:
        self.kernel(stream, kernel, struct.pack("<Q8sii", number, b"P" * 8, WIDTH, ROWS))

    def draws(self, stream: int, number: int = 3) -> None:
        self.kernel(stream, "draws", struct.pack("<fxxxxQixxxx", 1.0, number, WIDTH))

    def upload(self, stream: int, address: int, size: int, rows: Rows | None = None) -> None:
        copied = [Reference(address, size, 0, WRITE, rows=rows), Reference(self.host, 4, 0, READ)]
        self.say(OperationKind.COPY, stream=stream, references=copied, api="cudaMemcpyAsync")


def upload_of_rows(r: Images, stream: int) -> None:
    r.upload(stream, r.pitched, SPAN, Rows(4 * WIDTH, PITCH, ROWS))


Step = Callable[[Images, int], None]
PAIRS: dict[str, tuple[Step, Step, list[str]]] = {
    "a line and a copy": (Images.fetches, lambda r, s: r.upload(s, r.line, 1024), ["SS109 proven"]),
    "a copy behind what is read": (Images.fetches, lambda r, s: r.upload(s, r.line + 1024, 1024), []),
    "a part of a line": (lambda r, s: r.fetches(s, begin=256), lambda r, s: r.upload(s, r.line, 1024), []),
    "rows and a copy": (Images.samples, upload_of_rows, ["SS109 proven"]),
    "rows and a fill of all": (Images.samples, lambda r, s: r.upload(s, r.pitched, SIZE), ["SS109 proven"]),
    "some rows and a fill of all": (
        lambda r, s: r.samples(s, kernel="samples_fractions"),
        lambda r, s: r.upload(s, r.pitched, SIZE),
        ["SS109 possible"],
    ),
    "an array and a copy": (Images.draws, lambda r, s: r.upload(s, r.array, SIZE), ["SS109 proven"]),
    "a copy into another part of an array": (Images.draws, lambda r, s: r.upload(s, r.array + 64, 1024), []),
    "two kernels that draw": (Images.draws, Images.draws, ["SS109 proven"]),
    "a kernel that draws and one that samples": (Images.draws, lambda r, s: r.samples(s, 3), ["SS109 proven"]),
    "some of an array": (Images.draws, lambda r, s: r.samples(s, 3, "samples_fractions"), []),
    "two kernels that read": (Images.samples, Images.samples, []),
    "another image": (Images.samples, lambda r, s: r.upload(s, r.line, SIZE), []),
    "a number that is no object's": (lambda r, s: r.samples(s, 9), upload_of_rows, []),
}


@needs_disassembler
@pytest.mark.parametrize("exact", [False, True], ids=["plain", "exact"])
@pytest.mark.parametrize("pair", PAIRS)
def test_two_streams(tmp_path: Path, exact: bool, pair: str) -> None:
    one_does, other_does, expected = PAIRS[pair]
    for ordered in (True, False):
        r = Images(tmp_path / str(ordered), exact)
        one, other = r.stream(1), r.stream(2)
        one_does(r, one)
        other_does(r, one if ordered else other)
        found = codes(r.check())
        assert found == ([] if ordered else expected)


@needs_disassembler
def test_memory_is_freed_while_a_kernel_samples_it(tmp_path: Path) -> None:
    for waits in (True, False):
        r = Images(tmp_path / str(waits))
        one = r.stream(1)
        r.samples(one)
        if waits:
            r.say(OperationKind.STREAM_SYNCHRONIZE, stream=one, api="cudaStreamSynchronize")
        r.say(
            OperationKind.FREE, references=[Reference(r.pitched)], detail=FreeClass.ASYNC, stream=r.stream(2),
            api="cudaFreeAsync",
        )  # fmt: skip
        loud = {each.code for each in r.check().findings if each.severity.name != "NOTE"}
        assert ("SS102" in loud) == (not waits)


def used(r: Images) -> list[list[Reference]]:
    """What launches use beside their results."""
    return [[each for each in found if each.address <= r.array] for found in references(r)]


@needs_disassembler
def test_what_launches_use(tmp_path: Path) -> None:
    r = Images(tmp_path)
    r.fetches(1, begin=100)
    r.samples(1)
    r.samples(1, kernel="samples_fractions")
    r.draws(1)
    r.kernel(1, "moves", struct.pack("<QQ", 3, 3))
    r.kernel(1, "counts", struct.pack("<Q", 3))
    assert used(r) == [
        [Reference(r.line + 400, 1024, 0, READ)],
        [Reference(r.pitched, 0, 0, READ, TOUCHES, bounds=Bounds(0, SPAN))],
        [Reference(r.pitched, 0, 0, READ, bounds=Bounds(0, SPAN))],
        [Reference(r.array, 0, 0, WRITE, TOUCHES, bounds=Bounds(0, SIZE))],
        [
            Reference(r.array, 0, 0, READ, TOUCHES, bounds=Bounds(0, SIZE)),
            Reference(r.array, 0, 0, WRITE, TOUCHES, bounds=Bounds(0, SIZE)),
        ],
        [Reference(r.array, 0, 0, AccessMode.READ_WRITE, TOUCHES | SlotFlag.ATOMIC, bounds=Bounds(0, SIZE))],
    ]


@needs_disassembler
def test_an_object_begins_and_ends(tmp_path: Path) -> None:
    r = Images(tmp_path)
    r.samples(1, 5)  # it is not there yet
    r.made(5, r.line, 64, 4)
    r.samples(1, 5)
    r.gone(5)
    r.samples(1, 5)
    r.made(5, r.pitched, 64, 4)
    r.gone(5, status=1)
    r.samples(1, 5)
    r.made(5, r.array, 64, 4)  # of another context: which one is meant nobody knows
    r.samples(1, 5)
    r.say(OperationKind.DEVICE_RESET)
    r.samples(1, 2)
    other = r.builder.thread(1, "a thread of another process")
    r.builder.append(
        OperationKind.HANDLE_CREATE, thread=other, object=2, address=r.line, size=64, detail=HandleKind.TEXTURE
    )
    r.samples(1, 2)
    places = [[each.address for each in found] for found in used(r)]
    assert places == [[], [r.line], [], [r.pitched], [], [], []]


@needs_disassembler
def test_a_number_that_was_not_kept(tmp_path: Path) -> None:
    r = Images(tmp_path)
    arguments = struct.pack("<Q8sii", 2, b"P" * 8, WIDTH, ROWS)
    r.kernel(1, "samples", bytes(8) + arguments[8:], (ByteRun(0, 4),))
    r.kernel(1, "samples", arguments[:16])  # how wide it is was not kept
    assert [len(found) for found in used(r)] == [0, 1]


@needs_disassembler
def test_one_of_several(tmp_path: Path) -> None:
    r = Images(tmp_path)
    r.kernel(1, "chooses", struct.pack("<QQ8si", 1, 2, b"P" * 8, 0))
    r.kernel(1, "chooses", struct.pack("<QQ8si", 1, 2, b"P" * 8, 0), (ByteRun(24, 28),))  # which nobody says
    r.kernel(1, "blends", struct.pack("<QQQQixxxx8s", 1, 9, 2, 2, 2, b"P" * 8))
    places = [[each.address for each in found] for found in used(r)]
    assert places == [[r.pitched], [], [r.line]]


@needs_disassembler
def test_a_kernel_of_which_nobody_says_in_which_image_it_is(tmp_path: Path) -> None:
    r = Images(tmp_path)
    other = cubin("sm_120", "image_kernels")
    (r.code / f"{name_of(other)}.cubin").write_bytes(other)
    r.names = (*r.names, name_of(other))
    r.samples(1)
    r.kernel(1, "chooses", struct.pack("<QQ8si", 1, 2, b"P" * 8, 0))
    r.draws(1)
    assert used(r) == [
        [Reference(r.pitched, 0, 0, READ, bounds=Bounds(0, SPAN))],
        [],
        [Reference(r.array, 0, 0, WRITE, bounds=Bounds(0, SIZE))],
    ]


@needs_disassembler
def test_many_launches(tmp_path: Path) -> None:
    r = Images(tmp_path)
    for number in range(1500):
        r.gone(2)
        r.made(2, r.line if number % 2 else r.pitched, 64, 4)
        r.samples(1)
    found = used(r)
    assert [each[0].address for each in found] == [r.pitched, r.line] * 750


def in_a_graph(folder: Path, exact: bool, ordered: bool) -> Checked:
    r = Images(folder, exact)
    one, other = r.stream(1), r.stream(2)
    shape = r.shape("draws", grid=(4, ROWS, 1), arguments=struct.pack("<fxxxxQixxxx", 1.0, 3, WIDTH))
    r.say(OperationKind.GRAPH_INSTANTIATE, object=0x70, address=0x99, size=1, api="cudaGraphInstantiate")
    r.say(OperationKind.GRAPH_NODE, stream=0x70, object=1, detail=NodeKind.KERNEL, label="draws", shape=shape)
    launch = r.say(OperationKind.GRAPH_LAUNCH, object=0x70, stream=one, api="cudaGraphLaunch")
    r.upload(one if ordered else other, r.array, SIZE)
    if exact:
        seen = [Reference(r.memory("d_out"), 64, 0, WRITE)]
        r.say(OperationKind.NODE_ACCESSES, object=launch, address=1, detail=SeenAccesses.ALL, references=seen)
    return r.check()


@needs_disassembler
@pytest.mark.parametrize("exact", [False, True], ids=["plain", "exact"])
def test_a_kernel_of_a_graph(tmp_path: Path, exact: bool) -> None:
    assert codes(in_a_graph(tmp_path / "wrong", exact, ordered=False)) == ["SS109 proven"]
    assert codes(in_a_graph(tmp_path / "right", exact, ordered=True)) == []


@needs_disassembler
def test_what_is_said(tmp_path: Path) -> None:
    r = Images(tmp_path)
    one, other = r.stream(1), r.stream(2)
    r.samples(one)
    upload_of_rows(r, other)
    (finding,) = (each for each in r.check().findings if each.code == "SS109")
    assert "`d_image`" in finding.message
    assert any("it reads" in each.message and "(from its machine code)" in each.message for each in finding.related)


LINE = ImageMemory(0x1000, 100, 4)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (Extent(2, 5, True, True), Place(0x1008, 12, READ)),
        (Extent(-2, 5, True, True), Place(0x1000, 20, READ)),
        (Extent(20, 90, True, True), Place(0x1050, 20, READ)),  # what lies behind the end is not read
        (Extent(2, 5, True, False), Place(0x1008, Bounds(0, 12).word, READ | TOUCHES)),
        (Extent(-2, 5, True, False), Place(0x1000, Bounds(0, 20).word, READ)),
        (Extent(2, 5, False, False), Place(0x1008, Bounds(0, 12).word, READ)),
        (Extent(25, 40, True, True), NOWHERE),
        (Extent(-9, 0, True, True), NOWHERE),
    ],
)
def test_texels_of_a_line_are_bytes(line: Extent, expected: Place) -> None:
    assert place_of(ImageUse(HandleKind.TEXTURE, 1, READ, line=line), LINE) == expected


def test_memory_of_which_little_is_known() -> None:
    first = ImageUse(HandleKind.TEXTURE, 1, READ, first=True)
    assert place_of(first, None) == place_of(first, ImageMemory(0, 100, 4)) == NOWHERE
    # Of a level of a mipmapped array the first texel is somewhere.
    assert place_of(first, ImageMemory(0x1000, 0, 0)) == Place(0x1000, 0, READ)
    assert place_of(first, ImageMemory(0x1000, 100, 0)) == Place(0x1000, Bounds(0, 100).word, READ | TOUCHES)
