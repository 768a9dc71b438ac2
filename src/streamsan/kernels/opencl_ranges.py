"""Which bytes one launch of a kernel in OpenCL C reads and writes through its arguments."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from streamsan.cuda_syntax.tree import Function, Macro
from streamsan.kernels.axis_sums import NotFollowedError
from streamsan.kernels.work_item_expressions import Elements, Geometry, Ways
from streamsan.kernels.work_item_ranges import ranges
from streamsan.model.opencl.work_items import ByteRange, WorkItems
from streamsan.vocabulary import AccessMode, SlotFlag

_ELEMENT = re.compile(
    r"\b(?P<type>u?(?:char|short|int|long)|unsigned(?:\s+(?:char|short|int|long))?|float|half|double|size_t)"
    r"(?P<count>2|3|4|8|16)?\b"
)
_BYTES = {"char": 1, "short": 2, "half": 2, "int": 4, "float": 4, "long": 8, "double": 8, "size_t": 8}
_IN_GROUPS = re.compile(r"\bget_(?:local_\w+|group_id|num_groups|sub_group\w*|enqueued\w+)\s*\(")
_FROM_OFFSET = re.compile(r"\bget_global_(?:offset|linear_id)\s*\(")
_NOT_FOLLOWED = re.compile(r"\b(?:vload|vstore|async_work_group|prefetch\s*\(|goto\b|asm\b|enqueue_kernel)")
MOST_PIECES = 4
"""that are touched for sure, of one way of use"""


def geometry_of(text: str, items: WorkItems) -> Geometry | None:
    """Return the numbers of a launch's work-items as CUDA's blocks and threads; None where they are not known.

    Where the text does not ask for groups, each work-item is a block of its own, however large the groups are.
    """
    if _NOT_FOLLOWED.search(text) or (any(items.first) and _FROM_OFFSET.search(text)):
        return None
    return geometry(items, in_groups=_IN_GROUPS.search(text) is not None)


def geometry(items: WorkItems, *, in_groups: bool) -> Geometry | None:
    """Return the same for a kernel that asks for groups, or (not `in_groups`) does not."""
    moved = any(items.first)
    if not in_groups:
        return Geometry(items.first, items.counts, (1, 1, 1))
    groups = items.group
    if moved or groups is None or any(count % size for count, size in zip(items.counts, groups, strict=True)):
        return None
    blocks = tuple(count // size for count, size in zip(items.counts, groups, strict=True))
    return Geometry((0, 0, 0), (blocks[0], blocks[1], blocks[2]), groups)


def bytes_of_element(parameter: str) -> int | None:
    """Return the size of what a parameter points to; None: not known."""
    found = _ELEMENT.search(parameter.partition("*")[0])
    if found is None or parameter.count("*") != 1 or "[" in parameter or "struct" in parameter:
        return None
    word = re.sub(r"^unsigned\s*", "", found["type"]) or "int"
    size = _BYTES[word if word in _BYTES else word.removeprefix("u")]
    count = int(found["count"] or 1)
    return size * (4 if count == 3 else count)


_NUMBER = re.compile(
    r"\s*(?:(?:const|private|__private)\s+)*"
    r"(?P<type>u?(?:char|short|int|long)|(?:un)?signed(?:\s+(?:char|short|int|long))?|size_t)"
    r"(?:\s+const)?\s+\w+\s*"
)


def number_of(parameter: str, size: int, word: int) -> int | None:
    """Return the value of a parameter that has these bytes; None where its type is no whole number of that size."""
    found = _NUMBER.fullmatch(parameter)
    if found is None:
        return None
    name = re.sub(r"^(?:un)?signed\s*", "", found["type"]) or "int"
    positive = found["type"].startswith(("u", "size_t"))
    if _BYTES[name if name in _BYTES else name.removeprefix("u")] != size:
        return None
    sign = 1 << 8 * size - 1
    return word if positive or not word & sign else word - 2 * sign


def ranges_of(
    function: Function,
    functions: Mapping[str, Sequence[Function]],
    macros: Mapping[str, Macro],
    written: Sequence[str],
    geometry: Geometry,
    numbers: Mapping[int, int],
) -> dict[int, tuple[ByteRange, ...]]:
    """Return what a launch does through each argument of which that is known; `written` are the parameters."""
    names = [parameter.name for parameter in function.parameters]
    if len(names) != len(written):
        return {}
    try:
        given = {names[at]: number for at, number in numbers.items() if at < len(names)}
        found = ranges(function, functions, macros, geometry, given)
    except NotFollowedError:
        return {}
    result: dict[int, tuple[ByteRange, ...]] = {}
    for at, (name, parameter) in enumerate(zip(names, written, strict=True)):
        size = bytes_of_element(parameter)
        if name in found and size is not None and re.search(r"\b(?:__)?(?:global|constant)\b", parameter):
            result[at] = tuple(pieces_of(found[name], size))
    return result


def pieces_of(ways: Ways, size: int) -> Iterable[ByteRange]:
    """Yield the ranges of what is touched through one argument, whose elements have this size."""
    for mode, touched in ((AccessMode.WRITE, ways.writes), (AccessMode.READ, ways.reads)):
        yield from _of_way(mode, touched, size)


def _of_way(mode: AccessMode, touched: list[Elements | None], size: int) -> Iterable[ByteRange]:
    if not touched:
        return
    known = [each for each in touched if each is not None]
    sure = _joined(each for each in known if each.sure and not each.part and each.rows is None)
    if len(known) == len(touched):
        begin, end = min(each.begin for each in known), max(each.end for each in known)
        if sure == [(begin, end)]:
            yield ByteRange(mode, begin * size, end * size, True)
            return
        yield ByteRange(mode, begin * size, end * size, False)
    else:
        yield ByteRange(mode, 0, None, False)
    for begin, end in sorted(sure, key=lambda piece: piece[0] - piece[1])[:MOST_PIECES]:
        yield ByteRange(mode, begin * size, end * size, True)


def _joined(pieces: Iterable[Elements]) -> list[tuple[int, int]]:
    """Return pieces with those that meet in one."""
    result: list[tuple[int, int]] = []
    for each in sorted(pieces, key=lambda piece: piece.begin):
        if result and each.begin <= result[-1][1]:
            result[-1] = (result[-1][0], max(result[-1][1], each.end))
        else:
            result.append((each.begin, each.end))
    return result


def agrees(mode: AccessMode, flags: int, found: Sequence[ByteRange]) -> bool:
    """Tell whether ranges are of all that a kernel is known to do through an argument: not of atomic operations."""
    if mode is AccessMode.OPAQUE or flags & SlotFlag.ATOMIC:
        return False
    done = 0
    for each in found:
        done |= each.mode
    return done == mode
