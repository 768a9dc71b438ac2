"""All nodes of a tree, in no particular order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct

from streamsan.cuda_syntax.tree import Expression, Span, Statement, Type


def parts(node: object) -> Sequence[object]:
    """The nodes directly inside a node."""
    if isinstance(node, list | tuple) and not isinstance(node, Span):
        return node
    # Walks take a good part of all reading: no generator, and the most frequent values first.
    found: list[object] = []
    for name in _FIELDS.get(type(node)) or _names(type(node)):
        value = getattr(node, name)
        if value is None or type(value) is str:
            continue
        if isinstance(value, _NODES):
            found.append(value)
        elif isinstance(value, list | tuple):
            _add_flat(value, found)
    return found


def _add_flat(values: list[object] | tuple[object, ...], found: list[object]) -> None:
    for value in values:
        if isinstance(value, _NODES):
            found.append(value)
        elif isinstance(value, list | tuple) and not isinstance(value, Span):
            _add_flat(value, found)


_NODES = (Expression, Statement)
_FIELDS: dict[type, tuple[str, ...]] = {}


def _names(kind: type) -> tuple[str, ...]:
    found = _FIELDS.get(kind)
    if found is None:
        names = kind.__struct_fields__ if issubclass(kind, Struct) and not issubclass(kind, Type) else ()
        found = tuple(name for name in names if name not in ("span", "_lower"))
        _FIELDS[kind] = found
    return found


def nodes(root: object) -> Iterator[object]:
    """All nodes under a node, itself included."""
    pending = [root]
    while pending:
        node = pending.pop()
        yield node
        pending.extend(parts(node))
