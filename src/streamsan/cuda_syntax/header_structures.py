"""The structures of CUDA's headers, as classes that the program did not have to declare."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path

from streamsan.cuda_syntax.tree import Alias, Class, Literal_, Span, Type, Variable
from streamsan.patterns.late_pattern import late_pattern

_NOWHERE = Span("", 0, 0, 0, 0)
_ARRAY = late_pattern(r"\[(\d+)\]$")


@cache
def header_structures() -> dict[str, Class]:
    """Return the structures by name; read-only."""
    return {name: _structure(name, fields) for name, fields in _table()["structures"].items()}


@cache
def header_aliases() -> dict[str, Alias]:
    """Return further names of these structures; read-only."""
    return {name: Alias(_NOWHERE, name, Type(meant)) for name, meant in _table()["aliases"].items()}


@cache
def _table() -> dict[str, dict[str, str]]:
    return tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))


def _structure(name: str, fields: str) -> Class:
    return Class(_NOWHERE, name, [], [_field(field) for field in fields.split(", ")], [], [])


def _field(text: str) -> Variable:
    name, _, written = text.partition(": ")
    found = _ARRAY.search(written)
    array = [Literal_(_NOWHERE, int(found[1]))] if found is not None else []
    base = written[: found.start()] if found is not None else written
    bare = base.rstrip("*")
    return Variable(_NOWHERE, name, Type(bare, pointers=len(base) - len(bare), array=[*array]))
