"""Which elements one launch of a kernel in CUDA C++ touches behind its pointers, where its indices can be followed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from streamsan.cuda_syntax import tree
from streamsan.cuda_syntax.walk import nodes
from streamsan.kernels.axis_sums import NotFollowedError, Rows
from streamsan.kernels.statement_facts import KnownFacts
from streamsan.kernels.work_item_expressions import Declared, Elements, Geometry, Ways
from streamsan.kernels.work_item_ranges import ranges

Three = tuple[int, int, int]
Numbers = tuple[tuple[str, int], ...]
Launched = tuple[Three, Three, Numbers, tuple[tuple[str, bool], ...], Numbers]
_OF_LAUNCHES: Final = frozenset({"threadIdx", "blockIdx", "blockDim", "gridDim"})
LARGEST_BODY: Final = 400
"""nodes of a kernel that is followed: larger ones rarely have plain indices"""
MOST_PIECES: Final = 64
"""of what a launch touches, each of which is tried with each other one: do they follow each other?"""


class Reach(Struct, frozen=True):
    """What a launch touches behind a pointer: of each element, for sure, the same members, and nothing else.

    Where it ends as it begins nothing is touched at all.
    """

    begin: int
    """in bytes, as `end`"""
    end: int
    read: frozenset[str]
    """members by their paths; "" among them: all of the element"""
    written: frozenset[str]
    rows: Rows | None = None
    """of the bytes only these"""

    @property
    def is_whole(self) -> bool:
        """Whether no use is of a member alone."""
        return not any(self.read) and not any(self.written)


def followed(function: tree.Function, functions: Mapping[str, Sequence[tree.Function]]) -> bool:
    """Tell whether a kernel may be followed: without jumps, or calls that nobody can follow."""
    if function.body is None:
        return False
    for count, node in enumerate(nodes(function.body)):
        if count > LARGEST_BODY or isinstance(node, tree.Lambda | tree.Switch | tree.Launch):
            return False
        callee = node.callee if isinstance(node, tree.Call) else None
        if isinstance(callee, tree.Name) and not all(map(_is_plain, functions.get(callee.name, ()))):
            return False
    return True


def _is_plain(function: tree.Function) -> bool:
    """Tell whether a function does what it does with its arguments alone: it asks no thread for its number."""
    if function.body is None or any(one.type.reference and not one.type.const for one in function.parameters):
        return False
    for count, node in enumerate(nodes(function.body)):
        if count > LARGEST_BODY or isinstance(node, tree.Lambda | tree.Switch | tree.Launch | tree.UnparsedStatement):
            return False
        if isinstance(node, tree.Variable) and node.device:
            return False
        if isinstance(node, tree.Name) and node.name in _OF_LAUNCHES:
            return False
    return True


class ThreadRanges:
    """What launches of one kernel touch."""

    def __init__(
        self,
        function: tree.Function,
        functions: Mapping[str, Sequence[tree.Function]],
        macros: Mapping[str, tree.Macro],
    ) -> None:
        self._function = function
        self._functions = functions
        self._macros = macros
        self._known: dict[Launched, Mapping[str, Reach]] = {}
        self._facts = KnownFacts()

    @cached_property
    def is_followed(self) -> bool:
        """Whether the kernel's indices may be followed."""
        return followed(self._function, self._functions)

    def touched_by(
        self,
        blocks: Three,
        threads: Three,
        numbers: Mapping[str, int],
        pointers: Mapping[str, bool],
        declared: Declared,
    ) -> Mapping[str, Reach]:
        """Return what a launch touches, for sure and nothing else, by pointer parameters whose elements' size is known.

        `numbers`: of the other parameters; `pointers`: whether one is an address, not null.
        """
        sizes = (*declared.sizes.items(), (declared.instance, 0))
        key = (blocks, threads, tuple(numbers.items()), tuple(pointers.items()), sizes)
        if key not in self._known:
            self._known[key] = self._touched_by(blocks, threads, numbers, pointers, declared)
        return self._known[key]

    def _touched_by(
        self,
        blocks: Three,
        threads: Three,
        numbers: Mapping[str, int],
        pointers: Mapping[str, bool],
        declared: Declared,
    ) -> Mapping[str, Reach]:
        joined = self._joined
        items = [b * t if whole else b for b, t, whole in zip(blocks, threads, joined, strict=True)]
        inside = [1 if whole else t for t, whole in zip(threads, joined, strict=True)]
        geometry = Geometry((0, 0, 0), (items[0], items[1], items[2]), (inside[0], inside[1], inside[2]))
        try:
            found = ranges(
                self._function, self._functions, self._macros, geometry, numbers, pointers, declared, self._facts
            )
        except NotFollowedError:
            return {}
        known = {name: _reach(ways) for name, ways in found.items() if name in declared.sizes}
        return {name: reach for name, reach in known.items() if reach is not None}

    @cached_property
    def _joined(self) -> list[bool]:
        return _joined_axes(self._function)


def _joined_axes(function: tree.Function) -> list[bool]:
    """Tell for each axis whether blocks and threads occur only as `blockIdx.x * blockDim.x + threadIdx.x`.

    Then each thread may be a block of its own: a bound on the sum cuts an axis.
    """
    return [_is_joined(function, axis) for axis in "xyz"]


def _is_joined(function: tree.Function, axis: str) -> bool:
    uses = dict.fromkeys(_OF_LAUNCHES, 0)
    sums = products = 0
    for node in nodes(function.body):
        word = _word(node, axis)
        if word:
            uses[word] += 1
        elif isinstance(node, tree.Binary) and node.operator == "+":
            sums += any(
                _is_product(one, axis, "blockIdx") and _word(other, axis) == "threadIdx"
                for one, other in ((node.left, node.right), (node.right, node.left))
            )
        elif isinstance(node, tree.Binary) and node.operator == "*":
            products += _is_product(node, axis, "gridDim")
    whole = uses["threadIdx"] == uses["blockIdx"] == sums and uses["gridDim"] == products
    return whole and uses["blockDim"] == sums + products


def _word(node: object, axis: str) -> str:
    if isinstance(node, tree.Member) and node.member == axis and isinstance(node.object, tree.Name):
        return node.object.name if node.object.name in _OF_LAUNCHES else ""
    return ""


def _is_product(node: tree.Expression, axis: str, of: str) -> bool:
    if not isinstance(node, tree.Binary) or node.operator != "*":
        return False
    return {_word(node.left, axis), _word(node.right, axis)} == {of, "blockDim"}


def _reach(ways: Ways) -> Reach | None:
    """Return what is touched where all that is read, and all that is written, are the same elements, or none are."""
    read, written = _surely(ways.reads), _surely(ways.writes)
    if read is None or written is None:
        return None
    places = {(each.begin, each.end, each.rows) for each in (*read, *written)} or {(0, 0, None)}
    if len(places) != 1:
        return None
    begin, end, rows = places.pop()
    return Reach(begin, end, frozenset(each.part for each in read), frozenset(each.part for each in written), rows)


def _surely(touched: Iterable[Elements | None]) -> list[Elements] | None:
    """Return what is touched for sure; None if anything else may be.

    What may be touched, and surely is by another access, says nothing new: `p[i] = q[i] < 0 ? -q[i] : q[i]`.
    """
    every = list(touched)
    sure = _two_as_rows(_put_together([each for each in every if each is not None and each.sure]))
    return sure if all(each is not None and any(_holds(one, each) for one in sure) for each in every) else None


def _put_together(sure: Sequence[Elements]) -> list[Elements]:
    """Return the same elements, those that meet, or follow each other, as one: `p[i - 1] + p[i] + p[i + 1]`."""
    parts = sorted(dict.fromkeys(sure), key=lambda one: (one.part, one.begin, one.end))
    found: list[Elements] = []
    for each in parts:
        # Of many pieces only neighbours are tried.
        for at in range(0 if len(parts) <= MOST_PIECES else max(0, len(found) - 1), len(found)):
            both = _both(found[at], each) if found[at].part == each.part else None
            if both is not None:
                found[at] = both
                break
        else:
            found.append(each)
    # What was put together of columns may be whole rows, which follow others.
    return found if len(found) == len(parts) else _put_together(found)


def _two_as_rows(sure: list[Elements]) -> list[Elements]:
    """Return two parts of one length as two rows: the first and the last lines of a grid."""
    if len(sure) != 2:
        return sure
    one, other = sure
    width = one.end - one.begin
    if one.part != other.part or one.rows or other.rows or other.end - other.begin != width:
        return sure
    return [replace(one, end=other.end, rows=Rows(width, other.begin - one.begin))]


def _both(one: Elements, other: Elements) -> Elements | None:
    """Return two parts as one, of which the second one does not begin before the first one; None: they are apart."""
    if _holds(one, other):
        return one
    away, end = other.begin - one.begin, max(one.end, other.end)
    if one.rows is None and other.rows is None:
        return replace(one, end=end) if other.begin <= one.end else None
    if one.rows is None or other.rows is None or one.rows.pitch != other.rows.pitch:
        return None
    pitch, width = one.rows.pitch, one.rows.width
    last, its_last = one.end - width, other.end - other.rows.width
    if away <= width and last - one.begin == its_last - other.begin:  # `row[x] + row[x + 1]`
        both = max(width, away + other.rows.width)
        return replace(one, end=end, rows=Rows(both, pitch) if both < pitch else None)
    if away % pitch == 0 and other.rows == one.rows and other.begin <= last + pitch:  # the rows above and below
        return replace(one, end=end)
    return None


def _holds(one: Elements, other: Elements) -> bool:
    within = one.begin <= other.begin and other.end <= one.end and one.part in ("", other.part)
    return within and (one.rows is None or _is_in_rows(one.rows, other.begin - one.begin, other))


def _is_in_rows(rows: Rows, begin: int, other: Elements) -> bool:
    """Tell whether rows hold others, of which the first one begins so far behind their own beginning."""
    width = other.end - other.begin if other.rows is None else other.rows.width
    apart = rows.pitch if other.rows is None else other.rows.pitch
    return apart % rows.pitch == 0 and begin % rows.pitch + width <= rows.width
