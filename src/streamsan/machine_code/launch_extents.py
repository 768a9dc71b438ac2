"""What a launch touches through each address that it was given: from the kernel's code, the sizes and the arguments.

All numbers of a launch are known, so its code is run, for all threads at once (`lane_machine`). Blocks are not run one
by one: a block's index is a counter in sums (`lane_values`), and the launch is cut where it decides something.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from itertools import pairwise
from typing import Any

import numpy as np
from msgspec import Struct, field
from numpy.typing import NDArray

from streamsan.machine_code.byte_ranges import Box, Extent, boxes_of, extent_of, reaches_zero
from streamsan.machine_code.kernel_code import KernelCode
from streamsan.machine_code.lane_comparison import Cutting, Split, Spread
from streamsan.machine_code.lane_machine import Budget, LaneMachine, NotKnown
from streamsan.machine_code.lane_state import Launch
from streamsan.machine_code.lane_values import (
    Base,
    Counter,
    Mask,
    Number,
    Sum,
    Value,
    Wide,
    among,
    bounds,
    greatest,
    least,
    low_word,
    some,
)

UNITS = 12_000
"""steps of one instruction for one launch: half a second"""
_MOST_PARTS = 200
_MOST_LANES = 1 << 17
_FEW_LANES = 2048
_LARGEST_ADDRESS = 1 << 48
_WIDEST_BOUND = 1 << 31
_MODES = ("read", "write", "update")


class Invocation(Struct, frozen=True):
    """How a kernel is launched: blocks, threads in a block, bytes of dynamic shared memory, the argument buffer.

    `pointers`: offsets of the words in the buffer that are addresses; what they hold in `arguments` does not matter.
    `unknown`: offsets of four bytes each, of which it is not known what they hold.
    """

    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    shared: int
    arguments: bytes
    pointers: frozenset[int]
    unknown: frozenset[int] = frozenset()


class WordExtents(Struct, frozen=True):
    """What is read, written, and updated by atomic operations through one word. None: not known.

    What is not touched in this mode is `byte_ranges.NOTHING`.
    """

    reads: Extent | None
    writes: Extent | None
    updates: Extent | None
    first: frozenset[str] = frozenset()
    """of a word that is the number of an image: the ways (read, write, update) in which its first texel is accessed for
    sure. Its extents count texels, and are known of a line of them only."""

    @property
    def ways(self) -> tuple[Extent | None, Extent | None, Extent | None]:
        """All three, in this order."""
        return self.reads, self.writes, self.updates


def extents_of(kernel: KernelCode, launch: Invocation, budget: Budget | None = None) -> dict[Base, WordExtents]:
    """What the launch touches through each of its `pointers`, by their offset, and of variables, by their symbol.

    One of which nothing is known is absent. Where the `budget` (`UNITS` by default) does not suffice, or the code does
    something that is not known, what was found to be touched until then is said, and that it is not all.

    The extents count from the address that stands in the word, or from where the variable begins. What the kernel
    reaches by addresses that it finds in memory is not in it. Words that are numbers of images are there, too.
    """
    code = kernel.address_code
    if not code.whole or not _sizes_are_sane(launch):
        return {}
    found = _Found(launch.pointers | code.variables | code.images.keys(), code.images)
    try:
        _Parts(kernel, launch, found).run(Budget(UNITS) if budget is None else budget)
    except NotKnown:
        return found.some_extents(code.unclear)
    return found.extents(code.unclear)


def _sizes_are_sane(launch: Invocation) -> bool:
    threads = launch.block[0] * launch.block[1] * launch.block[2]
    return (
        all(1 <= size < 1 << 31 for size in launch.grid)
        and all(size >= 1 for size in launch.block)
        and threads <= 1024
        and len(launch.arguments) < 1 << 16
    )


class _Found(Struct):
    """Boxes of bytes by word or variable, and mode."""

    bases: frozenset[Base]
    images: Mapping[Base, bool]
    """numbers of images among the bases; whether it is a line of texels"""
    sure: dict[tuple[Base, str], list[Box]] = field(default_factory=dict)
    maybe: dict[tuple[Base, str], list[Box]] = field(default_factory=dict)
    unknown: set[tuple[Base, str]] = field(default_factory=set)
    first: set[tuple[Base, str]] = field(default_factory=set)
    """images whose first texel is accessed for sure"""

    def add(self, other: _Found) -> None:
        """Take over what a part of the launch touches."""
        for mine, others in ((self.sure, other.sure), (self.maybe, other.maybe)):
            for key, boxes in others.items():
                mine.setdefault(key, []).extend(boxes)
        self.unknown |= other.unknown
        self.first |= other.first

    def touch(self, base: Base, mode: str, address: Wide, width: int, threads: Mask, surely: Mask) -> None:
        """Note one access of all threads."""
        key = (base, mode)
        if base in self.images and isinstance(address, Sum) and some(surely):
            place = _places(address, surely)
            if place is not None and reaches_zero(*place):
                self.first.add(key)
        if base in self.images and not self.images[base]:
            self.unknown.add(key)
        if base not in self.bases or key in self.unknown:
            return
        limits = bounds(Sum(None, address.constant, address.terms)) if isinstance(address, Sum) else None
        if not isinstance(address, Sum) or limits is None:
            self.unknown.add(key)
            return
        low, high = among(limits[0], threads), among(limits[1], threads)
        if least(low) < -_LARGEST_ADDRESS or greatest(high) > _LARGEST_ADDRESS:
            self.unknown.add(key)
            return
        if isinstance(surely, bool) or bool(np.all(surely == threads)):
            self._note(key, address, width, threads, bool(np.any(surely)))
            return
        if surely.any():
            self._note(key, address, width, surely, True)
        others = threads & ~surely
        if np.any(others):
            self._note(key, address, width, others, False)

    def _note(self, key: tuple[Base, str], address: Sum, width: int, threads: Mask, surely: bool) -> None:
        places = _places(address, threads)
        boxes = None if places is None else boxes_of(places[0], width, places[1]) if places[0].size else []
        if boxes is None:
            self._hull(key, address, width, threads)
        else:
            (self.sure if surely else self.maybe).setdefault(key, []).extend(boxes)

    def _hull(self, key: tuple[Base, str], address: Sum, width: int, threads: Mask) -> None:
        limits = bounds(Sum(None, address.constant, address.terms))
        if limits is None:
            self.unknown.add(key)
            return
        low, high = least(among(limits[0], threads)), greatest(among(limits[1], threads))
        self.maybe.setdefault(key, []).append(Box(low, high - low + width))

    def extents(self, unclear: Collection[Base]) -> dict[Base, WordExtents]:
        """The extents of the words and variables of which something is known."""
        found = {}
        for base in sorted(self.bases, key=str):
            if base in unclear:
                continue
            modes = [self._extent(base, mode) for mode in _MODES]
            if any(mode is not None for mode in modes):
                found[base] = WordExtents(modes[0], modes[1], modes[2], self._first(base))
        return found

    def _first(self, base: Base) -> frozenset[str]:
        return frozenset(mode for mode in _MODES if (base, mode) in self.first)

    def some_extents(self, unclear: Collection[Base]) -> dict[Base, WordExtents]:
        """What of the words and variables is touched for sure, where that is not all."""
        found = {}
        for base in sorted(self.bases.difference(unclear), key=str):
            modes = [self._some_extent(base, mode) for mode in _MODES]
            first = self._first(base)
            if first or any(mode is not None for mode in modes):
                found[base] = WordExtents(modes[0], modes[1], modes[2], first)
        return found

    def _some_extent(self, base: Base, mode: str) -> Extent | None:
        boxes = self.sure.get((base, mode), ())
        begin = min((each.begin for each in boxes), default=None)
        if begin is None:
            return None
        end = max(each.end for each in boxes)
        return Extent(begin, end, True, False, whole=False)

    def _extent(self, base: Base, mode: str) -> Extent | None:
        if (base, mode) in self.unknown:
            return None
        found = extent_of(self.sure.get((base, mode), ()), self.maybe.get((base, mode), ()))
        # An index of 32 bits that nothing bounds says nothing.
        return found if found.sure or found.end - found.begin < _WIDEST_BOUND else None


def _places(address: Sum, threads: Mask) -> tuple[NDArray[np.int64], list[tuple[int, int]]] | None:
    """Where accesses begin, and the steps by which each is done again: distances, and how many places are so far apart.

    None: the steps are not the same for all threads, or not all of them are taken.
    """
    steps: list[tuple[int, int]] = []
    constant: Number = among(address.constant, threads) if address.terms == () else address.constant
    for counter, factor in address.terms:
        values = among(factor, threads)
        if not counter.exact or least(values) != greatest(values):
            return None
        step = least(values)
        steps.append((step, counter.high - counter.low + 1))
        constant = constant + step * counter.low
    begins = among(constant, threads) if address.terms else constant
    return np.atleast_1d(np.asarray(begins, np.int64)).ravel(), steps


class _Part(Struct, frozen=True):
    """Some of the blocks: from and to which index in x, y, z; and the axes whose indices are looked at one by one."""

    ranges: tuple[tuple[int, int], ...]
    spread: frozenset[int]


class _Parts:
    """The parts that a launch is cut into."""

    def __init__(self, kernel: KernelCode, launch: Invocation, found: _Found):
        self._kernel = kernel
        self._launch = launch
        self._found = found
        self._threads = launch.block[0] * launch.block[1] * launch.block[2]

    def run(self, budget: Budget) -> None:
        """Run each part, cutting it as often as it asks for that. Raises `NotKnown`."""
        todo = [self._whole()]
        parts = 0
        stuck: dict[_Part, frozenset[int]] = {}
        while todo:
            part = todo.pop()
            parts += 1
            found = _Found(self._found.bases, self._found.images)
            cutting = Cutting(parts < _MOST_PARTS, stuck.get(part, frozenset({0, 1, 2})))
            try:
                self._machine(part, cutting, budget, found).run()
            except NotKnown:
                self._found.add(found)
                raise
            except (Split, Spread) as cut:
                if cut.counter.axis < 0:
                    raise NotKnown("a loop's counter outside of it") from None
                if isinstance(cut, Spread):
                    self._spread(part, cut.counter.axis, cutting, todo, stuck)
                else:
                    # The first blocks first: they do what is done once, and the budget may not suffice for all.
                    todo.extend(reversed(_cut(part, cut.counter.axis, cut.cuts)))
                continue
            self._found.add(found)

    def _spread(
        self, part: _Part, axis: int, cutting: Cutting, todo: list[_Part], stuck: dict[_Part, frozenset[int]]
    ) -> None:
        """Run a part again with the indices of an axis one by one; where these are too many, without hope for them."""
        low, high = part.ranges[axis]
        if self._lanes(part) * (high - low + 1) <= _MOST_LANES:
            todo.append(_Part(part.ranges, part.spread | {axis}))
        else:
            stuck[part] = cutting.axes - {axis}
            todo.append(part)

    def _whole(self) -> _Part:
        ranges = tuple((0, size - 1) for size in self._launch.grid)
        few = self._launch.grid[0] * self._launch.grid[1] * self._launch.grid[2] * self._threads <= _FEW_LANES
        # A block that chooses another address than others is a part of its own.
        together = few and not self._kernel.address_code.chooses
        return _Part(ranges, frozenset(range(3)) if together else frozenset())

    def _lanes(self, part: _Part) -> int:
        lanes = self._threads
        for axis in part.spread:
            low, high = part.ranges[axis]
            lanes *= high - low + 1
        return lanes

    def _machine(self, part: _Part, cutting: Cutting, budget: Budget, found: _Found) -> LaneMachine:
        shape = self._launch
        launch = Launch(
            self._kernel.layout,
            shape.grid,
            shape.block,
            shape.arguments,
            shape.pointers,
            shape.unknown,
            {**_threads(shape.block), **_blocks(part)},
            self._kernel.addresses,
        )
        return LaneMachine(self._kernel.address_code, launch, cutting, budget, found.touch, self._lanes(part))


def _cut(part: _Part, axis: int, cuts: list[int]) -> list[_Part]:
    low, high = part.ranges[axis]
    edges = [low, *(cut for cut in cuts if low < cut <= high), high + 1]
    found = []
    for begin, end in pairwise(edges):
        ranges = tuple((begin, end - 1) if each == axis else part.ranges[each] for each in range(3))
        found.append(_Part(ranges, part.spread))
    return found


def _threads(block: tuple[int, int, int]) -> Mapping[str, Value]:
    """The special registers that tell a thread from another: arrays along the axes of z, y and x."""
    found: dict[str, Value] = {}
    linear: Any = 0
    stride = 1
    for axis, name in enumerate("XYZ"):
        size = block[axis]
        shape = [1, 1, 1, 1]
        shape[3 - axis] = size
        index: Any = np.arange(size, dtype=np.int64).reshape(shape) if size > 1 else 0
        found[f"SR_TID.{name}"] = index
        linear = linear + index * stride
        stride *= size
    found["SR_LANEID"] = linear & 31
    return found


def _blocks(part: _Part) -> Mapping[str, Value]:
    """The special registers that tell a block from another."""
    found: dict[str, Value] = {}
    sizes = [high - low + 1 if axis in part.spread else 1 for axis, (low, high) in enumerate(part.ranges)]
    before = 1
    total = sizes[0] * sizes[1] * sizes[2]
    for axis, name in enumerate("XYZ"):
        low, high = part.ranges[axis]
        register = f"SR_CTAID.{name}"
        if low == high:
            found[register] = low
        elif axis in part.spread:
            places = np.arange(total, dtype=np.int64) // before % sizes[axis] + low
            found[register] = places.reshape(-1, 1, 1, 1)
        else:
            found[register] = low_word(Sum(None, 0, ((Counter(low, high, True, axis), 1),)))
        before *= sizes[axis]
    return found
