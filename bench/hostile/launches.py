"""Recordings of launches with machine code beside them, hostile in one way or another. The same seed makes the same.

Nothing here is well-formed by chance only: numbers are put where a reader looks for them, since bytes that change
anywhere are mostly refused by the first check.
"""

from __future__ import annotations

import hashlib
import random
import struct
from collections.abc import Callable
from pathlib import Path

import numpy as np

from hostile.mutations import NUMBERS
from streamsan.trace import Reference, Site, TraceBuilder
from streamsan.trace.file_layout import FILE_HEADER, SegmentType
from streamsan.trace.launch_shapes import HEAD, LENGTH, LaunchShape, PointerPlace
from streamsan.trace.layout import ROWS, SLOT
from streamsan.trace.random_access import RandomAccessFile
from streamsan.trace.rows import Rows
from streamsan.trace.segments import Segment, find_segments
from streamsan.trace.writer import write
from streamsan.vocabulary import AccessMode, MemoryKind, NodeKind, OperationKind, SeenAccesses, SlotFlag, StreamKind

CUBINS = sorted((Path(__file__).resolve().parents[2] / "tests" / "machine_code").glob("*.cubin"))
SIZE = 1 << 20
BASE = 0x7F0000000000
_SYMBOLS = ("vector_add", "image", "batch", "grid_stride", "row_sums", "product", "tile", "guarded_index", "histogram",
            "axpy", "fields", "chosen_row", "switches", "counts", "uses_kept_pointer", "polls", "no_such_kernel",
            "calls_anything")  # fmt: skip
_ELF_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL_BYTES = 24


def recording_with_damaged_code(folder: Path, name: str, chance: random.Random) -> Path:
    """Write a recording whose launches are plain, beside images that are damaged; return its path."""
    content = chance.choice(CUBINS).read_bytes()
    for _ in range(chance.choice((1, 1, 2, 5))):
        content = chance.choice(_CODE_CHANGES)(content, chance)
    builder = TraceBuilder(name, origin="recording", metadata={"code": f"{name}.code"})
    image = hashlib.md5(content).hexdigest()
    (folder / f"{name}.code").mkdir()
    (folder / f"{name}.code" / f"{image}.cubin").write_bytes(content)
    words = np.array([0, 0, 0, 100, 200, 300, 4, 5], "<u8").tobytes()
    _program(builder, [
        LaunchShape(symbol, (image,), (4, 2, 1), (64, 1, 1), 0, _places((0, 8, 16)), words) for symbol in _SYMBOLS
    ], chance, 0.0)  # fmt: skip
    return _written(builder, folder, name)


def recording_with_hostile_launches(folder: Path, name: str, chance: random.Random) -> Path:
    """Write a recording with sound images; what launches were made with, and what they touched, is hostile."""
    builder = TraceBuilder(name, origin="recording", metadata={"code": f"{name}.code"})
    (folder / f"{name}.code").mkdir()
    images = []
    for path in (path for path in CUBINS if ".sm_90." in path.name):
        content = path.read_bytes()
        images.append(hashlib.md5(content).hexdigest())
        (folder / f"{name}.code" / f"{images[-1]}.cubin").write_bytes(content)
    _program(builder, [_hostile_shape(tuple(images), chance) for _ in range(12)], chance, chance.choice((0.0, 0.3)))
    path = _written(builder, folder, name)
    if chance.random() < 0.5:
        _damage_payloads(path, chance)
    return path


def _program(builder: TraceBuilder, shapes: list[LaunchShape], chance: random.Random, others: float) -> None:
    """Launch each shape in one of two streams.

    `others`: how probable behind each are a hostile access of the host, a copy of rows, and what was seen of a launch.
    """
    thread = builder.thread(chance.choice((0, 0, 0, 1 << 31, (1 << 32) - 1)), "main")
    line = 0

    def say(kind: OperationKind, label: str = "", **fields: object) -> int:
        nonlocal line
        line += 1
        site = builder.site(Site("program.cu", line, label=label))
        return builder.append(kind, thread=thread, site=site, **fields)  # type: ignore[arg-type]

    streams = (0x5001, 0x5002)
    for stream in streams:
        say(OperationKind.STREAM_CREATE, stream=stream, object=stream, detail=StreamKind.NON_BLOCKING)
    buffers = [BASE + 4 * SIZE * number for number in range(6)]
    for address in buffers:
        say(OperationKind.ALLOC, references=[Reference(address, SIZE)], detail=MemoryKind.MANAGED, api="cudaMalloc")
    for name in ("counter", "stored_pointer", "operation"):
        place = [Reference(BASE - 4096 * (1 + len(name)), 8)]
        say(OperationKind.ALLOC, name, references=place, detail=MemoryKind.DEVICE_SYMBOL)
    for shape in shapes:
        count = chance.choice((1, 2, 3, 3, 64, 200))
        references = [Reference(chance.choice(buffers), 0, 0, AccessMode.OPAQUE) for _ in range(count)]
        number = builder.launch_shape(shape)
        launch = say(OperationKind.LAUNCH, stream=chance.choice(streams), references=references, shape=number)
        if chance.random() < others:
            seen = [_seen(chance, buffers) for _ in range(chance.choice((1, 3, 40)))]
            how = chance.choice(tuple(SeenAccesses))
            say(OperationKind.LAUNCH_ACCESSES, object=chance.choice((launch, 1, 1 << 63)), detail=how, references=seen)
        if chance.random() < others:
            copied = [_seen(chance, buffers), _seen(chance, buffers)]
            say(OperationKind.COPY, stream=chance.choice(streams), references=copied, api="cudaMemcpy2DAsync")
        if chance.random() < others:
            say(OperationKind.HOST_ACCESS, references=[_seen(chance, buffers)])
    nodes = chance.choice((1, 3, 20))
    for graph in (0x7001, 0x7002, 0x7001):
        say(OperationKind.GRAPH_INSTANTIATE, object=graph, size=nodes)
        for number in range(1, nodes + 1):
            references = [Reference(chance.choice(buffers), 0, 0, AccessMode.OPAQUE)]
            fields = {"stream": graph, "object": number, "detail": NodeKind.KERNEL, "references": references}
            say(OperationKind.GRAPH_NODE, **fields)
        for _ in range(3):
            launch = say(OperationKind.GRAPH_LAUNCH, object=graph, stream=chance.choice(streams))
            for _ in range(chance.choice((0, 1, nodes))):
                touched = [_seen(chance, buffers) for _ in range(chance.choice((0, 1, 40)))]
                node, how = chance.choice((0, 1, nodes, nodes + 1, *NUMBERS)), chance.choice(tuple(SeenAccesses))
                of = chance.choice((launch, 1, 1 << 63))
                fields = {"object": of, "address": node, "size": chance.choice((launch, 1, *NUMBERS)), "detail": how}
                say(OperationKind.NODE_ACCESSES, **fields, references=touched)


def _seen(chance: random.Random, buffers: list[int]) -> Reference:
    rows = None
    if chance.random() < 0.6:
        some = [chance.choice((0, 1, 4, 64, 4096, *NUMBERS)) for _ in range(5)]
        rows = Rows(*some) if chance.random() < 0.5 else Rows(16, 64, 100, 1 << 16, chance.choice((1, 3)))
    mode = chance.choice(tuple(AccessMode))
    flags = int(SlotFlag.STRIDED) if rows is not None else 0
    size = rows.extent % (1 << 64) if rows is not None and chance.random() < 0.5 else chance.choice((0, 64, *NUMBERS))
    return Reference(chance.choice((*buffers, *NUMBERS)), size, 0, mode, flags, rows)


def _hostile_shape(images: tuple[str, ...], chance: random.Random) -> LaunchShape:
    def number(*usual: int) -> int:
        return chance.choice(usual) if chance.random() < 0.8 else chance.choice(NUMBERS) % (1 << 32)

    grid = (number(1, 4, 1 << 20), number(1, 2, 65535), number(1, 1, 64))
    block = (number(1, 32, 256, 1024), number(1, 1, 4), number(1, 1))
    places = tuple(
        PointerPlace(number(0, 1, 2, 3, 63) % (1 << 16), number(0, 8, 16, 24) % (1 << 16))
        for _ in range(chance.choice((0, 1, 2, 3, 20, 300)))
    )
    words = [chance.choice((0, 1, 7, 100, 4096, *NUMBERS)) for _ in range(chance.choice((0, 1, 4, 8, 12)))]
    arguments = np.array(words, "<u8").tobytes()[: chance.choice((None, None, -3))]
    names = tuple(chance.sample(images, chance.choice((1, len(images))))) if chance.random() < 0.9 else ("../x", "")
    return LaunchShape(chance.choice(_SYMBOLS), names, grid, block, number(0, 48 << 10), places, arguments)


def _places(offsets: tuple[int, ...]) -> tuple[PointerPlace, ...]:
    return tuple(PointerPlace(number, offset) for number, offset in enumerate(offsets))


def _written(builder: TraceBuilder, folder: Path, name: str) -> Path:
    path = folder / f"{name}.sst"
    write(builder.finish(), path)
    return path


# -- bytes of a written trace ---------------------------------------------------------------------
def _damage_payloads(path: Path, chance: random.Random) -> None:
    """Change numbers of launch shapes and slots in their places, and leave what is around them as it is."""
    data = bytearray(path.read_bytes())
    begin = int(np.frombuffer(bytes(data[:64]), FILE_HEADER)["header_size"][0])
    segments = find_segments(RandomAccessFile(str(path)), begin).found
    for _ in range(chance.choice((1, 2, 8))):
        kind = chance.choice((SegmentType.LAUNCH_SHAPES, SegmentType.OPERATIONS))
        of_kind = [each for each in segments if each.type == kind and each.size]
        if of_kind:
            change = _change_shapes if kind == SegmentType.LAUNCH_SHAPES else _change_slots
            change(data, chance.choice(of_kind), chance)
    path.write_bytes(data)


def _change_shapes(data: bytearray, segment: Segment, chance: random.Random) -> None:
    at = segment.payload
    for _ in range(chance.randrange(12)):  # to one of the first records
        following = at + -(-(LENGTH.size + LENGTH.unpack_from(data, at)[0]) // 4) * 4
        if following + LENGTH.size + HEAD.size > segment.payload + segment.size:
            break
        at = following
    _put(data, at + chance.choice(range(0, LENGTH.size + HEAD.size, 2)), chance.choice((2, 4)), chance)


def _change_slots(data: bytearray, segment: Segment, chance: random.Random) -> None:
    count = segment.size // SLOT.itemsize
    slot = segment.payload + SLOT.itemsize * chance.randrange(count)
    layout = ROWS if data[slot + 58] == OperationKind.ROWS else SLOT
    assert layout.fields is not None
    field, place = chance.choice([(field, place) for field, (place, *_) in _sized(layout)])
    _put(data, slot + place, field, chance)


def _sized(layout: np.dtype[np.void]) -> list[tuple[int, tuple[int, ...]]]:
    assert layout.fields is not None
    return [(dtype.itemsize, (place,)) for dtype, place, *_ in layout.fields.values() if dtype.itemsize <= 8]


def _put(data: bytearray, at: int, size: int, chance: random.Random) -> None:
    data[at : at + size] = (chance.choice(NUMBERS) % 256**size).to_bytes(size, "little")


# -- images of machine code -----------------------------------------------------------------------
def _cut(content: bytes, chance: random.Random) -> bytes:
    return content[: chance.choice((0, 1, 63, 64, chance.randrange(len(content) + 1)))]


def _rubbish(content: bytes, chance: random.Random) -> bytes:
    return chance.choice((b"\x7fELF" + chance.randbytes(500), chance.randbytes(3000), content[:64] * 40, b"\0" * 5000))


def _flip(content: bytes, chance: random.Random) -> bytes:
    data = bytearray(content)
    for _ in range(chance.choice((1, 10, 200)) if data else 0):
        data[chance.randrange(len(data))] = chance.randrange(256)
    return bytes(data)


def _header(content: bytes, chance: random.Random) -> bytes:
    if len(content) < _ELF_HEADER.size:
        return content
    fields = list(_ELF_HEADER.unpack_from(content))
    widths = (0, 2, 2, 4, 8, 8, 8, 4, 2, 2, 2, 2, 2, 2)
    for at in chance.sample(range(4, len(fields)), chance.choice((1, 1, 2))):
        fields[at] = chance.choice((*NUMBERS, len(content), 1, 40, 63, 65)) % 256 ** widths[at]
    return _ELF_HEADER.pack(*fields) + content[_ELF_HEADER.size :]


def _section(content: bytes, chance: random.Random) -> bytes:
    """Change one section's header: a size that nothing has, a place beyond the end, a link to itself, another kind."""
    at = _section_at(content, chance)
    if at is None:
        return content
    begin = _ELF_HEADER.unpack_from(content)[6]
    number = (at - begin) // _SECTION.size
    section = list(_SECTION.unpack_from(content, at))
    field = chance.randrange(len(section))
    width = 8 if field in (2, 3, 4, 5, 8, 9) else 4
    section[field] = chance.choice((*NUMBERS, number, max(0, number - 1), begin, len(content), 2, 3, 4, 9, 1 << 11))
    section[field] %= 256**width
    return content[:at] + _SECTION.pack(*section) + content[at + _SECTION.size :]


def _section_at(content: bytes, chance: random.Random) -> int | None:
    """Choose a section header and return where it stands; None where the file has not all of it."""
    if len(content) < _ELF_HEADER.size:
        return None
    fields = _ELF_HEADER.unpack_from(content)
    begin, count = fields[6], fields[12]
    at = begin + (chance.randrange(count) if count else 0) * _SECTION.size
    return at if at + _SECTION.size <= len(content) else None


def _table(content: bytes, chance: random.Random) -> bytes:
    """Change numbers in the first bytes of a section: symbols, attributes of kernels, relocations, names, code."""
    at = _section_at(content, chance)
    if at is None:
        return content
    _, _, _, _, place, size, *_ = _SECTION.unpack_from(content, at)
    data = bytearray(content)
    for _ in range(chance.choice((1, 5, 50))):
        width = chance.choice((1, 2, 4, 8))
        to = place + chance.randrange(max(1, size)) // width * width
        if to + width <= len(data):
            _put(data, to, width, chance)
    return bytes(data)


def _grown(content: bytes, chance: random.Random) -> bytes:
    """Let a section be the whole file, many times over: entries without number, names without end."""
    at = _section_at(content, chance)
    if at is None:
        return content
    section = list(_SECTION.unpack_from(content, at))
    tail = chance.choice((b"\xff", b"A", b"\x01\0\0\0\x12\x10\x05\0")) * chance.choice((1 << 16, 1 << 19))
    section[4], section[5] = len(content), len(tail)
    section[9] = chance.choice((section[9], 0, 1, _SYMBOL_BYTES))
    return content[:at] + _SECTION.pack(*section) + content[at + _SECTION.size :] + tail


_CODE_CHANGES: tuple[Callable[[bytes, random.Random], bytes], ...] = (
    *(_cut, _rubbish, _flip),
    *(_header, _header, _section, _section, _section, _table, _table, _table, _grown),
)
