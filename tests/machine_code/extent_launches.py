"""Launches of the kernels of extent_kernels.cu, what these touch on the host, and how extents compare with it."""

from __future__ import annotations

import random
import struct
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from host_compiler import COMPILER
from streamsan.machine_code.byte_ranges import Extent
from streamsan.machine_code.launch_extents import Invocation, WordExtents

HERE = Path(__file__).parent
Ranges = list[tuple[int, int]]
Truth = dict[tuple[int, str], Ranges]
Sizes = tuple[int, int, int]


@dataclass(frozen=True)
class Tried:
    """One launch of one kernel."""

    kernel: str
    shape: Invocation


class Chance(random.Random):
    """Sizes and arguments."""

    def line(self, most: int = 6) -> tuple[Sizes, Sizes]:
        """Blocks and threads in x only."""
        return (self.randint(1, most), 1, 1), (self.choice((1, 7, 32, 64, 96, 128)), 1, 1)

    def plane(self) -> tuple[Sizes, Sizes]:
        return (self.randint(1, 4), self.randint(1, 4), 1), (self.choice((1, 8, 16)), self.choice((1, 4, 8)), 1)

    def near(self, sizes: tuple[Sizes, Sizes]) -> int:
        """A count of elements around the number of threads in x."""
        threads = sizes[0][0] * sizes[1][0]
        return self.choice((0, 1, threads - 1, threads, threads + 5, self.randint(0, threads + 20)))


Made = tuple[tuple[Sizes, Sizes], str, tuple]


def _kernels() -> dict[str, Callable[[Chance], Made]]:
    """Kernel -> sizes, format of the arguments (P: a pointer), and the arguments that are none."""

    def line(form: str, *more: Callable[[Chance, int], object], most: int = 6) -> Callable[[Chance], Made]:
        def make(chance: Chance) -> Made:
            sizes = chance.line(most)
            n = chance.near(sizes)
            return sizes, form, tuple(each(chance, n) for each in more)

        return make

    def n(_: Chance, count: int) -> int:
        return count

    def small(least: int, most: int) -> Callable[[Chance, int], int]:
        return lambda chance, _: chance.randint(least, most)

    def times(factor: int) -> Callable[[Chance, int], int]:
        return lambda chance, count: count * factor + chance.randint(0, factor)

    def plane(form: str, make_arguments: Callable[[Chance, int, int], tuple]) -> Callable[[Chance], Made]:
        def make(chance: Chance) -> Made:
            sizes = chance.plane()
            w = max(0, sizes[0][0] * sizes[1][0] + chance.randint(-5, 5))
            h = max(0, sizes[0][1] * sizes[1][1] + chance.randint(-5, 5))
            return sizes, form, make_arguments(chance, w, h)

        return make

    def square(make_arguments: Callable[[Chance, int, int], tuple]) -> Callable[[Chance], Made]:
        def make(chance: Chance) -> Made:
            sizes = (chance.randint(1, 3), chance.randint(1, 3), 1), (16, 16, 1)
            return (
                sizes,
                "PPii",
                make_arguments(chance, *(16 * sizes[0][axis] - chance.randint(0, 15) for axis in (0, 1))),
            )

        return make

    def whole(form: str, arguments: Callable[[Chance], tuple], block: Sizes, most: int = 5) -> Callable[[Chance], Made]:
        return lambda chance: (((chance.randint(1, most), 1, 1), block), form, arguments(chance))

    def volume(chance: Chance) -> Made:
        w, h, d = (chance.randint(1, 12) for _ in range(3))
        pitch = w + chance.choice((0, 3))
        return ((2, 2, 3), (4, 4, 2)), "Piiiii", (w, h, d, pitch, pitch * h + chance.choice((0, 5)))

    def batches(chance: Chance) -> Made:
        sizes = chance.line()
        count = chance.near(sizes)
        grid = (sizes[0][0], chance.randint(1, 5), 1)
        return (grid, sizes[1]), "PPqi", (chance.choice((count, count + 10, 100, 7)), count)

    def sizes_of_items(chance: Chance) -> tuple[int, ...]:
        return tuple(chance.randint(0, 200) for _ in range(4))

    return {
        "vector_add": line("PPPi", n),
        "axpy_wide": line("PPfq", lambda chance, _: 2.0, n),
        "doubles": line("PPI", n),
        "chars": line("PPQ", n),
        "no_guard": line("P"),
        "grid_stride": line("PPi", times(7)),
        "grid_stride_wide": line("PPQ", times(5)),
        "image": plane("PQiif", lambda c, w, h: (4 * w + c.choice((0, 12, 256)), w, h, 1.0)),
        "tile": plane("PPiiiii", lambda c, w, h: (w + c.randint(0, 9), c.randint(0, 5), c.randint(0, 5), w, h)),
        "transpose": square(lambda c, w, h: (w, h)),
        "stencil": line("PPi", n),
        "stencil_plane": plane("PPii", lambda c, w, h: (w + 2, h + 2)),
        "total": whole("PPi", lambda c: (c.randint(0, 700),), (128, 1, 1)),
        "total_per_block": line("PPi", times(6)),
        "fields": line("PlP", n),
        "columns": lambda c: (
            ((1, c.randint(1, 5), 1), (16, 4, 1)),
            "Piiii",
            (c.randint(0, 20), 40, c.randint(0, 9), c.randint(0, 16)),
        ),
        "even_or_odd": line("Pii", n, small(0, 1)),
        "vectors": line("PPi", n),
        "batch": batches,
        "triangle": line("Pi", small(0, 40)),
        "row_sums": line("PPii", n, small(0, 37)),
        "product": plane("PPPiii", lambda c, w, h: (h, w, c.randint(0, 21))),
        "gathered": line("PPPi", n),
        "guarded_index": line("PPii", n, small(0, 9)),
        "divided": line("PPfi", lambda chance, _: 3.0, n),
        "histogram": line("PPi", n),
        "unless_flag": line("PPi", n),
        "where_mask": line("PPi", n),
        "either_value": line("PPi", n),
        "unrolled_four": line("PPi", times(4)),
        "each_four": line("PPi", times(4)),
        "before_pointer": line("Pi", n),
        "wide_offset": line("Pqi", lambda c, _: c.choice((0, -5, 1 << 33, -(1 << 34), 77)), n),
        "quotients": line("PPiii", n, small(1, 50), small(50, 60)),
        "quotient_wide": line("Pqqq", n, small(1, 50), small(50, 60)),
        "powers": line("PPi", n),
        "swizzled": whole("P", lambda c: (), (256, 1, 1)),
        "one_thread": line("PP"),
        "clamped": line("PPi", n),
        "chosen_pointer": line("PPii", small(0, 1), n),
        "steps": line("PPii", n, small(0, 5)),
        "until_data": line("PPi", n),
        "sparse": line("PPPi", n),
        "backwards": line("Pi", times(6)),
        "planes": volume,
        "flat_block": lambda c: (((c.randint(1, 4), c.randint(1, 4), 1), (32, 1, 1)), "Pi", (c.randint(0, 520),)),
        "scaled_atomics": line("PPi", n),
        "chosen_set": lambda c: (
            c.line(),
            "PPPPiiii",
            (c.randint(0, 300), 0, c.randint(0, 1), c.randint(0, 1)),
        ),
        "item_of_block": lambda c: (((3, c.randint(1, 4), 1), (64, 1, 1)), "PPPPiiii", sizes_of_items(c)),
        "every_item": lambda c: (c.line(3), "PPPPiiiii", (*sizes_of_items(c), c.randint(0, 3))),
        "item_of_thread": lambda c: (c.line(3), "PPPPiiiiPi", (*sizes_of_items(c), c.randint(0, 200))),
        "last_column": lambda c: (((1, 1, 1), (16, 8, 1)), "Pii", (c.randint(0, 30), c.randint(0, 50))),
    }


KERNELS = _kernels()
BLIND = {"until_data", "sparse", "where_mask", "unless_flag", "gathered", "histogram"}
"""what they touch depends on what memory holds"""


def launches(count: int, seed: int) -> Iterator[Tried]:
    """`count` launches of each kernel."""
    for name, make in KERNELS.items():
        chance = Chance(f"{name} {seed}")
        for _ in range(count):
            (grid, block), form, values = make(chance)
            arguments, pointers = buffer_of(form, values)
            yield Tried(name, Invocation(grid, block, 0, arguments, pointers))


def buffer_of(form: str, values: tuple) -> tuple[bytes, frozenset[int]]:
    """The argument buffer; P is a pointer, the others are of `struct`."""
    buffer = bytearray()
    pointers = set()
    left = list(values)
    for code in form:
        size = struct.calcsize("<" + code.replace("P", "Q"))
        buffer.extend(bytes(-len(buffer) % size))
        if code == "P":
            pointers.add(len(buffer))
            buffer.extend(bytes(8))
        else:
            buffer.extend(struct.pack("<" + code, left.pop(0)))
    return bytes(buffer), frozenset(pointers)


def compiled_host(folder: Path) -> Path:
    """The kernels as a program of the host, in `folder`."""
    source = (HERE / "extent_kernels.cu").read_text()
    names = [
        line.split("void ")[1].split("(")[0] for line in source.splitlines() if line.startswith("EVERY_KERNEL void")
    ]
    listed = folder / "kernel_list.inc"
    listed.write_text("".join(f"KERNEL({name}),\n" for name in names))
    program = folder / "extent_kernels_host"
    assert COMPILER is not None
    command = [COMPILER, "-std=c++17", "-O1", "-w", f'-DKERNEL_LIST="{listed}"', "-x", "c++"]
    subprocess.run([*command, str(HERE / "extent_kernels_host.cpp"), "-o", str(program)], check=True)
    return program


def touched_on_host(program: Path, tried: list[Tried], seed: int) -> list[Truth]:
    """What each launch touches, with memory that holds what `seed` says."""
    lines = []
    for each in tried:
        shape = each.shape
        sizes = " ".join(map(str, (*shape.grid, *shape.block)))
        words = " ".join(map(str, sorted(shape.pointers)))
        lines.append(f"{each.kernel} {seed} {sizes} {shape.arguments.hex()} {words}\n")
    done = subprocess.run([str(program)], input="".join(lines), capture_output=True, text=True, check=True)
    return [_truth(line) for line in done.stdout.splitlines()]


def _truth(line: str) -> Truth:
    found: Truth = {}
    for part in line.split(";"):
        if part:
            word, mode, *numbers = part.split()
            places = list(map(int, numbers))
            found[int(word), mode] = list(zip(places[::2], places[1::2], strict=True))
    return found


def verdict(extents: dict[int, WordExtents], word: int, mode: str, truths: list[Ranges]) -> str:
    """`exact`, `gaps` (sure, not said which), `bounded`, `unknown`, or what is wrong with the extent."""
    found = extents.get(word)
    extent = None if found is None else {"r": found.reads, "w": found.writes, "u": found.updates}[mode]
    if extent is None:
        return "unknown"
    for ranges in truths:
        if any(begin < extent.begin or end > extent.end for begin, end in ranges):
            return f"WRONG: {extent} and {ranges[:3]} ... {ranges[-3:]}"
        if extent.sure and not _matches(extent, ranges):
            return f"WRONG: sure {extent} and {ranges[:3]} ... {ranges[-3:]}"
    if not extent.sure:
        return "bounded"
    return "exact" if extent.dense or extent.rows else "gaps"


def _matches(extent: Extent, ranges: Ranges) -> bool:
    if extent.begin == extent.end:
        return not ranges
    if extent.dense:
        return ranges == [(extent.begin, extent.end)]
    if not ranges or ranges[0][0] != extent.begin or ranges[-1][1] != extent.end:
        return False
    if not extent.rows:
        return True
    rows = [
        (begin, begin + extent.width)
        for slice_begin in range(max(1, extent.slices))
        for row in range(extent.rows)
        for begin in [extent.begin + slice_begin * extent.slice_pitch + row * extent.pitch]
    ]
    return _joined(rows) == ranges


def _joined(ranges: Ranges) -> Ranges:
    found: Ranges = []
    for begin, end in sorted(ranges):
        if found and begin <= found[-1][1]:
            found[-1] = (found[-1][0], max(end, found[-1][1]))
        else:
            found.append((begin, end))
    return found
