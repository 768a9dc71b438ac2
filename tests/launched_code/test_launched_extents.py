"""How far kernels reach is known where their code, sizes and arguments tell it: parts of one buffer are told apart."""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path

import pytest
from launched_traces import Recorded, codes, cubin, references

from streamsan.launched_code import launch_ranges
from streamsan.machine_code.disassembler import disassemblers
from streamsan.trace import Reference
from streamsan.trace.launch_shapes import ByteRun
from streamsan.trace.reference_bounds import Bounds
from streamsan.trace.rows import Rows
from streamsan.vocabulary import AccessMode, MemoryKind, NodeKind, OperationKind, SlotFlag

pytestmark = pytest.mark.skipif(not disassemblers(), reason="no nvdisasm")

READ, WRITE, BOTH = AccessMode.READ, AccessMode.WRITE, AccessMode.READ_WRITE
ATOMIC = SlotFlag.ATOMIC | SlotFlag.TOUCHES
N = 256
"""threads of a launch, and elements that it works on"""
END = 4 * N


def recorded(folder: Path) -> Recorded:
    return Recorded(folder, [cubin(name="extent_kernels")])


def adds(r: Recorded, n: int = N) -> int:
    """The shape of `vector_add(a, b, c, n)`."""
    return r.shape("vector_add", 0, 8, 16, arguments=struct.pack("<QQQi", 0, 0, 0, n))


def counts(r: Recorded) -> int:
    """The shape of `scaled_atomics(counts, sums, n)`."""
    return r.shape("scaled_atomics", 0, 8, arguments=struct.pack("<QQi", 0, 0, N))


def tile(r: Recorded, left: int) -> int:
    """The shape of `tile(in, out, width, x0, y0, w, h)`: 16 of 64 columns, 8 rows."""
    arguments = struct.pack("<QQiiiii", 0, 0, 64, left, 0, 16, 8)
    return r.shape("tile", 0, 8, grid=(2, 1, 1), block=(8, 8, 1), arguments=arguments)


def stencil(r: Recorded, *offsets: int | tuple[int, ...]) -> int:
    """The shape of `stencil(in, out, n)`."""
    return r.shape("stencil", *offsets, arguments=struct.pack("<QQi", 0, 0, N))


Launch = Callable[[Recorded, int, int], None]


def halves(apart: int) -> Launch:
    def launch(r: Recorded, one: int, other: int) -> None:
        a, b, c, shape = r.memory("d_a"), r.memory("d_b"), r.memory("d_c"), adds(r)
        r.launch(one, shape, a, b, c)
        r.launch(other, shape, a, b, c + apart)

    return launch


def columns(apart: int) -> Launch:
    def launch(r: Recorded, one: int, other: int) -> None:
        parts, whole = r.memory("d_parts"), r.memory("d_whole")
        r.launch(one, tile(r, 0), parts, whole)
        r.launch(other, tile(r, apart), parts, whole)

    return launch


def copied(begin: int) -> Launch:
    def launch(r: Recorded, one: int, other: int) -> None:
        a, b, c, host = r.memory("d_a"), r.memory("d_b"), r.memory("d_c"), r.memory("h", MemoryKind.PINNED)
        r.launch(one, adds(r), a, b, c)
        pair = [Reference(c + begin, 64, 0, WRITE), Reference(host, 64, 0, READ)]
        r.say(OperationKind.COPY, stream=other, references=pair, api="cudaMemcpyAsync")

    return launch


def interior_and_edge(begin: int) -> Launch:
    """A stencil in place, whose edge another stream fills: the edge is only read."""

    def launch(r: Recorded, one: int, other: int) -> None:
        grid = r.memory("d_grid")
        r.launch(one, stencil(r, (0, 8)), grid)
        r.say(
            OperationKind.COPY,
            stream=other,
            references=[Reference(r.memory("h", MemoryKind.PINNED), 4, 0, WRITE), Reference(grid + begin, 4, 0, READ)],
            api="cudaMemcpyAsync",
        )

    return launch


def both_update(r: Recorded, one: int, other: int) -> None:
    numbers, sums = r.memory("d_counts"), r.memory("d_sums")
    for stream in (one, other):
        r.launch(stream, counts(r), numbers, sums)


def one_updates(r: Recorded, one: int, other: int) -> None:
    numbers, sums, other_sums = r.memory("d_counts"), r.memory("d_sums"), r.memory("d_b")
    r.launch(one, counts(r), numbers, sums)
    r.launch(other, adds(r), other_sums, other_sums, sums)


def sets(to: int, kernel: str = "chosen_set") -> Launch:
    """Two buffers in an array of structures, one of which an index chooses; another stream writes the second one."""

    def launch(r: Recorded, one: int, other: int) -> None:
        buffers = [r.memory(f"d_{number}") for number in range(4)]
        arguments = struct.pack("<QQQQiiii", 0, 0, 0, 0, N, 0, 1 - to, to)
        if kernel == "item_of_block":
            arguments = struct.pack("<QQQQiiii", 0, 0, 0, 0, *(N * (number != 3 or to) for number in range(4)))
        shape = r.shape(kernel, 0, 8, 16, 24, grid=(4, 4, 1), arguments=arguments)
        r.launch(one, shape, *buffers)
        r.launch(other, adds(r), r.memory("d_a"), r.memory("d_b"), buffers[3])

    return launch


def nodes(apart: int) -> Launch:
    def launch(r: Recorded, one: int, other: int) -> None:
        a, c, executable = r.memory("d_a"), r.memory("d_c"), 0x9000
        r.say(OperationKind.GRAPH_INSTANTIATE, object=executable, address=0x8000, size=1)
        r.say(
            OperationKind.GRAPH_NODE,
            stream=executable,
            object=1,
            detail=NodeKind.KERNEL,
            references=[Reference(a), Reference(c)],
            shape=r.shape("vector_add", (0, 8), 16, arguments=struct.pack("<QQQi", 0, 0, 0, N)),
        )
        r.say(OperationKind.GRAPH_LAUNCH, stream=one, object=executable)
        r.launch(other, adds(r), a, a, c + apart)

    return launch


@pytest.mark.parametrize(
    ("launch", "found"),
    [
        (halves(END), []),
        (halves(END - 4), ["SS109 proven"]),
        (sets(0), []),
        (sets(1), ["SS109 proven"]),
        (sets(0, "item_of_block"), []),
        (sets(1, "item_of_block"), ["SS109 proven"]),
        (columns(16), []),
        (columns(15), ["SS109 proven"]),
        (copied(END), []),
        (copied(END - 4), ["SS109 proven"]),
        (interior_and_edge(0), []),
        (interior_and_edge(4), ["SS109 proven"]),
        (both_update, []),
        (one_updates, ["SS109 proven"]),
        (nodes(END), []),
        (nodes(END - 4), ["SS109 proven"]),
    ],
)
def test_two_streams(tmp_path: Path, launch: Launch, found: list[str]) -> None:
    for ordered in (True, False):
        folder = tmp_path / str(ordered)
        folder.mkdir()
        r = recorded(folder)
        one, other = r.stream(1), r.stream(2)
        launch(r, one, one if ordered else other)
        assert codes(r.check()) == ([] if ordered else found)


def test_references_say_what_is_touched(tmp_path: Path) -> None:
    r = recorded(tmp_path)
    r.launch(1, adds(r), 0x10000, 0x20000, 0x30000)
    r.launch(1, adds(r, 0), 0x10000, 0x20000, 0x30000)  # no element
    r.launch(1, stencil(r, 0, 8), 0x10000, 0x20000)
    r.launch(1, stencil(r, (0, 8)), 0x10000)
    r.launch(1, stencil(r, 8, 0), 0x10000, 0x20000)
    r.launch(1, tile(r, 4), 0x10000, 0x20000)
    r.launch(1, counts(r), 0x10000, 0x20000)
    assert references(r) == [
        (Reference(0x10000, END, 0, READ), Reference(0x20000, END, 0, READ), Reference(0x30000, END, 0, WRITE)),
        (),
        (Reference(0x10000, END, 0, READ), Reference(0x20004, END - 8, 0, WRITE)),
        (Reference(0x10000, END, 0, READ), Reference(0x10004, END - 8, 0, WRITE)),
        (Reference(0x10004, END - 8, 0, WRITE), Reference(0x20000, END, 0, READ)),
        (
            Reference(0x10000, 512, 0, READ),
            Reference(0x20010, 7 * 256 + 64, 0, WRITE, 0, Rows(64, 256, 8)),
        ),
        (
            Reference(0x10000, 0, 0, BOTH, ATOMIC, bounds=Bounds(0, 32)),
            Reference(0x20000, 0, 0, BOTH, ATOMIC, bounds=Bounds(0, 8 * N)),
        ),
    ]


def test_what_depends_on_memory_has_the_bounds_that_the_code_keeps(tmp_path: Path) -> None:
    r = recorded(tmp_path)
    masked = struct.pack("<QQi", 0, 0, 100)
    r.launch(1, r.shape("where_mask", 0, 8, arguments=masked), 0x10000, 0x20000)
    r.launch(1, r.shape("where_mask", (0, 8), arguments=masked), 0x10000)
    guarded = struct.pack("<QQii", 0, 0, N, 64)
    r.launch(1, r.shape("guarded_index", 0, 8, arguments=guarded), 0x10000, 0x20000)
    assert references(r) == [
        (Reference(0x10000, 100, 0, READ), Reference(0x20000, 0, 0, WRITE, bounds=Bounds(0, 400))),
        # Through one pointer it reads what is known, and writes what is not.
        (Reference(0x10000, 100, 0, READ), Reference(0x10000, 0, 0, WRITE, bounds=Bounds(0, 400))),
        (Reference(0x10000, END, 0, READ), Reference(0x20000, 0, 0, WRITE, bounds=Bounds(8, 256))),
    ]


@pytest.mark.parametrize(("elements", "found"), [(2, []), (3, ["SS109 possible"])])
def test_parts_that_only_bounds_tell_apart(tmp_path: Path, elements: int, found: list[str]) -> None:
    r = recorded(tmp_path)
    index, out, source = r.memory("d_index"), r.memory("d_out"), r.memory("d_in")
    r.launch(r.stream(1), r.shape("guarded_index", 0, 8, arguments=struct.pack("<QQii", 0, 0, N, 64)), index, out)
    r.launch(r.stream(2), adds(r, elements), source, source, out)
    checked = r.check()
    assert codes(checked) == found
    if found:
        (finding,) = checked.findings
        assert "it writes some of bytes 8 to 255 of `d_out` (from its machine code)" in " ".join(
            [finding.message, *(each.message for each in finding.related)]
        )


def test_what_depends_on_memory_or_is_not_known_has_no_extent(tmp_path: Path) -> None:
    r = recorded(tmp_path)
    arguments = struct.pack("<QQQi", 0, 0, 0, N)
    r.launch(1, r.shape("gathered", 0, 8, 16, arguments=arguments), 0x10000, 0x20000, 0x30000)
    r.launch(1, r.shape("vector_add", 0, 8, 16), 0x10000, 0x20000, 0x30000)
    r.launch(1, r.shape("vector_add", 0, 8, 16, arguments=arguments, grid=(0, 0, 0)), 0x10000, 0x20000, 0x30000)
    whole = (Reference(0x10000, 0, 0, READ), Reference(0x20000, 0, 0, READ), Reference(0x30000, 0, 0, WRITE))
    gathered, *others = references(r)
    assert gathered == (
        Reference(0x10000, 0, 0, READ),
        Reference(0x20000, END, 0, READ),
        Reference(0x30000, END, 0, WRITE),
    )
    assert others == [whole, whole]


def test_bytes_that_are_not_told_hide_only_what_depends_on_them(tmp_path: Path) -> None:
    r = recorded(tmp_path)
    buffer = 0x10000, 0x20000, 0x30000
    for n, begin in ((0, 24), (N, 28)):  # `n` itself, and what lies behind it
        arguments = struct.pack("<QQQii", 0, 0, 0, n, 0)
        runs = (ByteRun(begin, begin + 4),)
        r.launch(1, r.shape("vector_add", 0, 8, 16, arguments=arguments, not_told=runs), *buffer)
    unknown, known = references(r)
    assert {reference.size for reference in unknown} == {0}
    assert {reference.size for reference in known} == {END}


def test_extents_are_computed_once_and_not_without_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    compute = launch_ranges.extents_of

    def counted(*given):  # type: ignore[no-untyped-def]
        calls.append(given)
        return compute(*given)

    monkeypatch.setattr(launch_ranges, "extents_of", counted)
    r = recorded(tmp_path)
    for number in range(5):
        r.launch(1, adds(r), 0x10000 * number + 0x10000, 0x20000, 0x30000)
        r.launch(1, adds(r, 100), 0x10000, 0x20000, 0x30000)
    assert {found[2].size for found in references(r)} == {END, 400}
    assert len(calls) == 2
    monkeypatch.setattr(launch_ranges, "MOST_UNITS", 1)
    assert {found[2].size for found in references(r)} == {0, END}
    assert len(calls) == 3
    monkeypatch.setattr(launch_ranges, "MOST_UNITS", 0)
    assert {found[2].size for found in references(r)} == {0}
    assert len(calls) == 3


def test_a_kernel_that_takes_too_long_is_tried_a_few_times(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launch_ranges, "FIRST_UNITS", 1)
    monkeypatch.setattr(launch_ranges, "MOST_IN_VAIN", 3)
    tried = []
    compute = launch_ranges.extents_of

    def noted(code, launch, budget):  # type: ignore[no-untyped-def]
        tried.append(launch)
        return compute(code, launch, budget)

    monkeypatch.setattr(launch_ranges, "extents_of", noted)
    r = recorded(tmp_path)
    for n in range(10):
        r.launch(1, adds(r, n), 0x10000, 0x20000, 0x30000)
    assert {found[2].size for found in references(r)} == {0}
    assert len(tried) == 3


def resets(folder: Path, ordered: bool) -> Recorded:
    """`resets_and_adds` writes `residual` first and adds to it at its end; a copy reads it."""
    folder.mkdir()
    r = Recorded(folder, [cubin(name="constant_kernels")])
    one, other = r.stream(1), r.stream(2)
    residual = r.memory("residual", MemoryKind.DEVICE_SYMBOL)
    shape = r.shape("resets_and_adds", 0, grid=(1000, 1, 1), arguments=struct.pack("<Qi", 0, 64_000))
    r.launch(one, shape, r.memory())
    copied = [Reference(r.memory("h", MemoryKind.PINNED), 8, 0, WRITE), Reference(residual, 8, 0, READ)]
    r.say(OperationKind.COPY, stream=one if ordered else other, references=copied, api="cudaMemcpyFromSymbolAsync")
    return r


@pytest.mark.parametrize(("units", "found"), [(launch_ranges.FIRST_UNITS, True), (30, True), (3, False)])
def test_what_is_touched_before_it_takes_too_long_is_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, units: int, found: bool
) -> None:
    monkeypatch.setattr(launch_ranges, "FIRST_UNITS", units)
    assert codes(resets(tmp_path / "right", ordered=True).check()) == []
    checked = resets(tmp_path / "wrong", ordered=False).check()
    assert codes(checked) == (["SS109 proven"] if found else [])
    too_long = any("how far 1 launch of 1 kernel reach takes too long" in line for line in checked.remarks)
    assert too_long == (units < launch_ranges.launch_extents.UNITS)


def test_the_first_launches_of_a_kernel_may_take_longer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launch_ranges, "MOST_IN_VAIN", 60)
    given = []
    compute = launch_ranges.extents_of

    def noted(code, launch, budget):  # type: ignore[no-untyped-def]
        given.append(budget.units)
        return compute(code, launch, budget)

    monkeypatch.setattr(launch_ranges, "extents_of", noted)
    r = recorded(tmp_path)
    for n in range(200, 210):
        r.launch(1, adds(r, n), 0x10000, 0x20000, 0x30000)
    references(r)
    assert given == sorted(given, reverse=True)
    assert set(given) == {launch_ranges.FIRST_UNITS, launch_ranges.launch_extents.UNITS}


def test_ranges_and_rows_are_those_of_the_references_where_all_may_be_leftovers(tmp_path: Path) -> None:
    r = recorded(tmp_path)
    given = [(adds(r), (1, 2, 3)), (tile(r, 16), (1, 2)), (stencil(r, (0, 8)), (1,)), (stencil(r, 0, 8), (1, 2))]
    for shape, numbers in given:
        addresses = [0x7F00_0000_0000 + number * 0x10_0000 for number in numbers]
        r.launch(1, shape, *addresses)
        doubtful = [Reference(address, flags=SlotFlag.CONDITIONAL) for address in addresses]
        r.say(OperationKind.LAUNCH, references=[Reference(0), *doubtful], shape=shape)
    found = references(r)
    assert found[0::2] == found[1::2]
    assert any(each.rows is not None for each in found[3])
    assert len(found[5]) == 2
