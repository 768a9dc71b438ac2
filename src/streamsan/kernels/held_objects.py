"""Objects that hold pointers, taken apart: each field is an expression of its own, named by its path (`view.out`)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Final

from msgspec import Struct

from streamsan.cuda_syntax import tree
from streamsan.cuda_syntax.walk import nodes
from streamsan.kernels.unit_classes import ClassType, Field

DEEPEST: Final = 6
MOST_LEAVES: Final = 200
UNFOLLOWED: Final = "<unfollowed>"
"""the name of a function that nobody knows: what a pointer that is given to it points to may be used in any way"""


class Object(Struct):
    """An object of a class."""

    cls: ClassType
    fields: dict[str, Part]


class Row(Struct):
    """The elements of an array that is a field."""

    items: list[Part]
    whole: bool
    """one item stands for all elements: nobody knows how many there are"""


Part = tree.Expression | Object | Row
Leaf = Callable[[str, Field], tree.Expression]
Joined = Callable[[tree.Expression, tree.Expression], tree.Expression]


def is_path(name: str) -> bool:
    """Tell whether a name is that of a field, not one that the program gave."""
    return "." in name


def taken_apart(cls: ClassType, path: str, leaf: Leaf, depth: int = 0) -> Object:
    """Return an object whose fields `leaf` makes, by their paths. Deeper than DEEPEST there are none."""
    found: dict[str, Part] = {}
    for field in cls.fields if depth < DEEPEST else ():
        place = f"{path}.{field.name}"
        found[field.name] = held_by(field, place, leaf, depth)
    return Object(cls, found)


def held_by(field: Field, place: str, leaf: Leaf, depth: int = 0) -> Part:
    """Return what a field at a place holds: one part, or those of an array."""
    if field.length is None or not field.leads:
        return _part(field, place, leaf, depth)
    if not field.length:
        return Row([_part(field, place, leaf, depth)], True)
    return Row([_part(field, f"{place}.{number}", leaf, depth) for number in range(field.length)], False)


def _part(field: Field, place: str, leaf: Leaf, depth: int) -> Part:
    return taken_apart(field.cls, place, leaf, depth + 1) if field.cls is not None else leaf(place, field)


def leaves(part: Part) -> Iterator[tree.Expression]:
    """Yield the expressions that a part is made of."""
    if isinstance(part, Object):
        for inner in part.fields.values():
            yield from leaves(inner)
    elif isinstance(part, Row):
        for inner in part.items:
            yield from leaves(inner)
    else:
        yield part


def unfollowed(span: tree.Span, parts: list[Part]) -> tree.Expression:
    """Return an expression by which all pointers of parts go where nobody follows them."""
    return tree.Call(span, tree.Name(span, UNFOLLOWED), [leaf for part in parts for leaf in leaves(part)])


def somewhere(span: tree.Span) -> tree.Expression:
    """Return a number that nobody knows."""
    return tree.Call(span, tree.Name(span, UNFOLLOWED), [])


def element(row: Row, index: tree.Expression) -> Part:
    """Return an element of a row, chosen by its number; where nobody knows how many there are, all of them in one."""
    if not row.whole and isinstance(index, tree.Literal_) and isinstance(index.value, int):
        return row.items[index.value] if 0 <= index.value < len(row.items) else somewhere(index.span)
    if row.whole or not _may_be_repeated(index):
        return _offset(merged(row.items), index)
    *others, last = enumerate(row.items)
    found = last[1]
    for number, item in reversed(others):
        chosen = tree.Binary(index.span, "==", index, tree.Literal_(index.span, number))
        found = _either(item, found, partial(_chosen, chosen))
    return found


def _chosen(test: tree.Expression, one: tree.Expression, other: tree.Expression) -> tree.Expression:
    return tree.Conditional(one.span, test, one, other)


def _may_be_repeated(index: tree.Expression) -> bool:
    """Tell whether an expression does nothing but have a value."""
    return not any(
        isinstance(node, tree.Assign | tree.Call | tree.StatementExpression | tree.Unparsed | tree.Lambda)
        or (isinstance(node, tree.Unary) and node.operator in ("++", "--", "post++", "post--"))
        for node in nodes(index)
    )


def _offset(part: Part, index: tree.Expression) -> Part:
    """Return a part whose pointers are at unknown offsets."""
    if isinstance(part, Object):
        return Object(part.cls, {name: _offset(inner, index) for name, inner in part.fields.items()})
    if isinstance(part, Row):
        return Row([_offset(inner, index) for inner in part.items], part.whole)
    span = part.span
    return tree.Binary(span, ",", index, tree.Binary(span, "+", part, somewhere(span)))


def merged(parts: list[Part]) -> Part:
    """Return what may be any of some parts of one type."""
    first, *rest = parts
    for other in rest:
        first = _either(first, other, lambda one, other: tree.Binary(one.span, "+", one, other))
    return first


def _either(one: Part, other: Part, joined: Joined) -> Part:
    """Return what is one part or another one; `joined` says so of expressions."""
    if isinstance(one, Object) and isinstance(other, Object):
        names = [name for name in one.fields if name in other.fields]
        return Object(one.cls, {name: _either(one.fields[name], other.fields[name], joined) for name in names})
    if isinstance(one, Row) and isinstance(other, Row):
        both = zip(one.items, other.items, strict=False)
        return Row([_either(left, right, joined) for left, right in both], one.whole or other.whole)
    if isinstance(one, Object | Row) or isinstance(other, Object | Row):
        span = next(leaves(one)).span
        return unfollowed(span, [one, other])
    return joined(one, other)
