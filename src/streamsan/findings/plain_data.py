"""Findings and what they are made of as plain JSON values, and back. What comes back is held against the types.

A record is the list of its fields, a set a sorted list, a mapping a list of pairs.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Iterable, Mapping
from enum import Enum, StrEnum
from functools import cache
from typing import Any, Union, get_args, get_origin, get_type_hints

from msgspec import Struct

Reader = Callable[[Any], Any]


def to_plain(value: Any) -> Any:
    """Return a value as JSON has it. Raises TypeError for one of another sort."""
    if value is None or type(value) in (str, int, bool):
        return value
    if isinstance(value, StrEnum):
        return value.value
    if isinstance(value, Struct):
        return [to_plain(getattr(value, name)) for name in value.__struct_fields__]
    if isinstance(value, Mapping):
        return [[to_plain(key), to_plain(each)] for key, each in value.items()]
    if isinstance(value, frozenset):
        return [to_plain(each) for each in sorted(value)]
    if isinstance(value, tuple):
        return [to_plain(each) for each in value]
    raise TypeError(f"no plain value: {type(value).__name__}")


def from_plain(kind: Any, value: Any) -> Any:
    """Return the value of a type that `to_plain` made plain. Raises ValueError where nobody can have written it so."""
    return _reader(kind)(value)


@cache
def _reader(kind: Any) -> Reader:
    origin, arguments = get_origin(kind), get_args(kind)
    if kind in (str, int, bool, types.NoneType):
        return _scalar(kind)
    if origin in (Union, types.UnionType):
        return _union(arguments)
    if origin is tuple and arguments[-1] is Ellipsis:
        each = _reader(arguments[0])
        return lambda value: tuple([each(item) for item in _list(value)])
    if origin is tuple:
        fixed = _row(arguments)
        return lambda value: tuple(fixed(value))
    if origin is frozenset:
        member = _reader(arguments[0])
        return lambda value: frozenset([member(item) for item in _list(value)])
    if origin is Mapping:
        pair = _row(arguments)
        return lambda value: dict([pair(item) for item in _list(value)])
    if isinstance(kind, type) and issubclass(kind, Enum):
        word = _scalar(str)
        return lambda value: kind(word(value))
    if isinstance(kind, type) and issubclass(kind, Struct):
        hints = get_type_hints(kind)
        row = _row([hints[name] for name in kind.__struct_fields__])
        return lambda value: kind(*row(value))
    raise TypeError(f"no plain values are of type {kind}")


def _scalar(kind: type) -> Reader:
    def read(value: Any) -> Any:
        if type(value) is not kind:
            raise ValueError("of another type")
        return value

    return read


def _union(kinds: Iterable[Any]) -> Reader:
    readers = [_reader(kind) for kind in kinds]

    def read(value: Any) -> Any:
        for reader in readers:
            try:
                return reader(value)
            except ValueError:
                continue
        raise ValueError("of none of the types")

    return read


def _row(kinds: Iterable[Any]) -> Callable[[Any], list[Any]]:
    readers = [_reader(kind) for kind in kinds]
    count = len(readers)

    def read(value: Any) -> list[Any]:
        if type(value) is not list or len(value) != count:
            raise ValueError(f"not {count} values")
        return [reader(each) for reader, each in zip(readers, value, strict=True)]

    return read


def _list(value: Any) -> list[Any]:
    if type(value) is not list:
        raise ValueError("not a list")
    return value
