"""How many work-items a kernel is enqueued with, and the bytes that they are known to touch. Plain data."""

from __future__ import annotations

from typing import NamedTuple

from msgspec import Struct

from streamsan.effects import Role
from streamsan.model.call import Call
from streamsan.model.values import Value
from streamsan.vocabulary import AccessMode

MOST = 1 << 40


class WorkItems(Struct, frozen=True):
    """The work-items of one launch, by dimension."""

    first: tuple[int, int, int]
    """numbers of the first ones"""
    counts: tuple[int, int, int]
    group: tuple[int, int, int] | None
    """of a work-group; None: not known"""


class ByteRange(NamedTuple):
    """Bytes from `begin` to `end` (exclusive) of what an argument points to; `end` None: nobody knows which."""

    mode: AccessMode
    begin: int
    end: int | None
    sure: bool
    """each of them is touched; else none outside of them is"""


def work_items_of(call: Call) -> WorkItems | None:
    """Return the work-items of a call that enqueues a kernel; None where they are not known."""
    dimensions = call.named("work_dim") if "work_dim" in call.values else None
    if call.api.name == "clEnqueueTask":
        return WorkItems((0, 0, 0), (1, 1, 1), (1, 1, 1))
    if not isinstance(dimensions, int) or not 1 <= dimensions <= 3 or not call.has(Role.LIST):
        return None
    counts = _numbers(call, "global_work_size", dimensions, 1)
    first = _numbers(call, "global_work_offset", dimensions, 0)
    if counts is None or first is None:
        return None
    return WorkItems(first, counts, _numbers(call, "local_work_size", dimensions, 1, missing=None))


_ZEROS: tuple[int, int, int] | None = (0, 0, 0)


def _numbers(
    call: Call, name: str, dimensions: int, rest: int, missing: tuple[int, int, int] | None = _ZEROS
) -> tuple[int, int, int] | None:
    """Return the numbers of a list, those of further dimensions being `rest`; `missing` where there is no list."""
    given: Value = call.values.get(name, 0)
    if given == 0:
        return missing
    fields = call.structures.get(name, {})
    found = [fields.get(str(at)) for at in range(dimensions)]
    numbers = [each for each in found if isinstance(each, int) and not isinstance(each, bool) and 0 <= each < MOST]
    if len(numbers) < dimensions:
        return None
    first, second, third = (*numbers, rest, rest)[:3]
    return first, second, third
