"""Which elements one launch of a kernel in CUDA C++ touches behind its pointers, where its indices can be followed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from streamsan.cuda_syntax import tree
from streamsan.cuda_syntax.walk import nodes
from streamsan.kernels.axis_sums import NotFollowedError
from streamsan.kernels.work_item_expressions import Elements, Geometry, Ways
from streamsan.kernels.work_item_ranges import ranges

Three = tuple[int, int, int]
_OF_LAUNCHES: Final = frozenset({"threadIdx", "blockIdx", "blockDim", "gridDim"})
LARGEST_BODY: Final = 400
"""nodes of a kernel that is followed: larger ones rarely have plain indices"""


def followed(function: tree.Function, functions: Mapping[str, Sequence[tree.Function]]) -> bool:
    """Tell whether a kernel may be followed: one body without other threads' memory, jumps, or calls of the program."""
    if function.body is None or function.templates:
        return False
    for count, node in enumerate(nodes(function.body)):
        if count > LARGEST_BODY or isinstance(node, tree.Lambda | tree.Switch | tree.Launch):
            return False
        if isinstance(node, tree.Variable) and node.device:
            return False
        if isinstance(node, tree.Call) and isinstance(node.callee, tree.Name) and node.callee.name in functions:
            return False
    return True


def touched_by(
    function: tree.Function, macros: Mapping[str, tree.Macro], blocks: Three, threads: Three, numbers: Mapping[str, int]
) -> dict[str, tuple[int, int]]:
    """Return the elements that a launch touches, each of them for sure and no others, by pointer parameters."""
    joined = _joined_axes(function)
    items = [b * t if whole else b for b, t, whole in zip(blocks, threads, joined, strict=True)]
    inside = [1 if whole else t for t, whole in zip(threads, joined, strict=True)]
    geometry = Geometry((0, 0, 0), (items[0], items[1], items[2]), (inside[0], inside[1], inside[2]))
    try:
        found = ranges(function, {}, macros, geometry, numbers)
    except NotFollowedError:
        return {}
    known = {name: _whole(ways) for name, ways in found.items()}
    return {name: whole for name, whole in known.items() if whole is not None}


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


def _whole(ways: Ways) -> tuple[int, int] | None:
    """Return the one range that all that is read, and all that is written, is."""
    found = {_range(touched) for touched in (ways.reads, ways.writes) if touched}
    return found.pop() if len(found) == 1 else None


def _range(touched: Iterable[Elements | None]) -> tuple[int, int] | None:
    known = set(touched)
    each = known.pop()
    return (each.begin, each.end) if not known and each is not None and each.sure else None
