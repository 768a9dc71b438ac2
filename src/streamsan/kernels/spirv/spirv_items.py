"""What the built-in variables of SPIR-V say of a launch's work-items."""

from __future__ import annotations

from typing import Final

from streamsan.kernels.axis_sums import Axes, Axis, Sum
from streamsan.kernels.work_item_expressions import Geometry

OF_GROUPS: Final = frozenset((24, 25, 26, 27, 29, 32, *range(36, 42)))
"""Built-in variables that tell groups apart."""
FROM_OFFSET: Final = frozenset((33, 34))
"""... that count from the global offset, or are it."""


def axes_of(geometry: Geometry) -> Axes:
    """Return axes 0 to 2, the numbers of blocks, and 3 to 5, those of work-items in a block."""
    axes = Axes({})
    for at in range(3):
        first, blocks = geometry.first[at], geometry.blocks[at]
        axes.put(at, Axis(first, first + blocks - 1, True, frozenset({at})))
        axes.put(3 + at, Axis(0, geometry.threads[at] - 1, True, frozenset({3 + at})))
    return axes


def built_in(says: int, geometry: Geometry) -> tuple[Sum, ...] | None:
    """Return the three numbers that a built-in variable holds; None: not known."""
    blocks = [_axis(at, geometry.first[at], geometry.blocks[at]) for at in range(3)]
    threads = [_axis(3 + at, 0, geometry.threads[at]) for at in range(3)]
    sizes = geometry.threads
    if says == 28:
        return tuple(_item(block, thread, size) for block, thread, size in zip(blocks, threads, sizes, strict=True))
    known = {
        24: tuple(map(Sum, geometry.blocks)),
        25: tuple(map(Sum, sizes)),
        26: tuple(blocks),
        27: tuple(threads),
        31: tuple(Sum(count * size) for count, size in zip(geometry.blocks, sizes, strict=True)),
    }
    return known.get(says)


def _item(block: Sum, thread: Sum, size: int) -> Sum:
    terms = tuple((name, factor * size) for name, factor in block.terms)
    return Sum(block.constant * size + thread.constant, terms + thread.terms)


def _axis(name: int, first: int, count: int) -> Sum:
    return Sum(0, ((name, 1),)) if count > 1 else Sum(first)
