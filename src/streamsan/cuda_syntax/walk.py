"""All nodes of a tree, in no particular order."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass

from streamsan.cuda_syntax.tree import Expression, Span, Statement, Type


def parts(node: object) -> Iterator[object]:
    """The nodes directly inside a node."""
    if isinstance(node, list | tuple) and not isinstance(node, Span):
        yield from node
        return
    for name in _names(type(node)):
        value = getattr(node, name)
        if isinstance(value, _NODES):
            yield value
        elif isinstance(value, list | tuple):
            yield from _flat(value)


def _flat(values: list[object] | tuple[object, ...]) -> Iterator[object]:
    for value in values:
        if isinstance(value, _NODES):
            yield value
        elif isinstance(value, list | tuple) and not isinstance(value, Span):
            yield from _flat(value)


_NODES = (Expression, Statement)
_FIELDS: dict[type, tuple[str, ...]] = {}


def _names(kind: type) -> tuple[str, ...]:
    found = _FIELDS.get(kind)
    if found is None:
        walked = is_dataclass(kind) and not issubclass(kind, type | Type)
        found = tuple(f.name for f in fields(kind) if f.name not in ("span", "_lower")) if walked else ()
        _FIELDS[kind] = found
    return found


def nodes(root: object) -> Iterator[object]:
    """All nodes under a node, itself included."""
    pending = [root]
    while pending:
        node = pending.pop()
        yield node
        pending.extend(parts(node))
