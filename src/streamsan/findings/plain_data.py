"""Findings and what they are made of as plain JSON values, and back. What comes back is held against the types.

A dataclass is the list of its fields, a set a sorted list, a mapping a list of pairs.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, is_dataclass
from enum import Enum, StrEnum
from functools import cache
from typing import Any, Union, get_args, get_origin, get_type_hints

Reader = Callable[[Any], Any]


def to_plain(value: Any) -> Any:
    """Return a value as JSON has it. Raises TypeError for one of another sort."""
    if value is None or type(value) in (str, int, bool):
        return value
    if isinstance(value, StrEnum):
        return value.value
    if is_dataclass(value):
        return [to_plain(getattr(value, field.name)) for field in fields(value)]
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
        return lambda value: _required(type(value) is kind, value)
    if origin in (Union, types.UnionType):
        return _union(arguments)
    if origin is tuple and arguments[-1] is Ellipsis:
        each = _reader(arguments[0])
        return lambda value: tuple(map(each, _list(value)))
    if origin is tuple:
        readers = [_reader(argument) for argument in arguments]
        return lambda value: tuple(_each(readers, value))
    if origin is frozenset:
        member = _reader(arguments[0])
        return lambda value: frozenset(map(member, _list(value)))
    if origin is Mapping:
        pair = [_reader(argument) for argument in arguments]
        return lambda value: dict(_each(pair, item) for item in _list(value))
    if isinstance(kind, type) and issubclass(kind, Enum):
        return lambda value: kind(_required(isinstance(value, str), value))
    if is_dataclass(kind):
        return _dataclass(kind)
    raise TypeError(f"no plain values are of type {kind}")


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


def _dataclass(kind: Any) -> Reader:
    hints = get_type_hints(kind)
    readers = [_reader(hints[field.name]) for field in fields(kind)]
    return lambda value: kind(*_each(readers, value))


def _each(readers: list[Reader], value: Any) -> list[Any]:
    values = _list(value)
    if len(values) != len(readers):
        raise ValueError(f"{len(values)} values, not {len(readers)}")
    return [reader(each) for reader, each in zip(readers, values, strict=True)]


def _list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise ValueError("not a list")
    return value


def _required(holds: bool, value: Any) -> Any:
    if not holds:
        raise ValueError("of another type")
    return value
