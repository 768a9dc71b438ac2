"""The one table of what is known of libraries: which names there are, and which model says what each does.

Each file of `tables/` describes some libraries. Names stand in texts, separated by spaces; a name without a scope
serves with `std::` too. A model is `module.name` of this package; what else a row says is given to it.

- ``harmless``: functions, objects and types that keep and change no pointer or handle. ``mathematics``: the same, also
  with the suffixes f and l. ``harmless_beginnings``: how names of a harmless library begin.
- ``functions``: models of functions. ``quiet_functions``: the same, of calls that no loop has to be run for.
- ``families``: functions known by the shape of their names. The first of the ``calls`` whose ``when`` is found in the
  name says the model, which also gets the name.
- ``uses``: how calls use the memory of their arguments, by positions from 0, execution policies left out: one that
  ``reads``, ``writes`` or ``updates`` it touches its first element; ``may_read``, ``may_write``: perhaps not. ``ends``:
  only where a range ends. A row serves calls with memory wherever it writes, and if it says ``arguments``, with so
  many. What a call is given elsewhere it may use in any way.
- ``classes``, ``quiet_classes``: models of classes. ``sizes``: bytes of their objects.
- ``objects``: models of objects that each program has one of. ``constants``: values.
"""

from __future__ import annotations

import re
import tomllib
from functools import cache, lru_cache, partial
from importlib import import_module
from pathlib import Path
from typing import Any

from msgspec import Struct, field

from streamsan.cuda_source.library.argument_uses import ArgumentUses
from streamsan.cuda_source.values.cells import FunctionModel, LibraryObject
from streamsan.patterns.late_pattern import late_pattern

_PACKAGE = "streamsan.cuda_source.library"
_VERSIONS = late_pattern(r"(_v2)?(_64)?$")
"""of a function whose arguments have the same places"""


class Row(Struct):
    """What a table says of a name: its model, what the model is given, whether no loop has to be run for it."""

    model: str
    data: dict[str, Any] = field(default_factory=dict)
    quiet: bool = False

    def load(self) -> Any:
        """Return the model: a function or a class."""
        module, _, name = self.model.partition(".")
        return getattr(import_module(f"{_PACKAGE}.{module}"), name)

    def function(self) -> FunctionModel:
        """Return the model of a function with what the row gives it."""
        model: FunctionModel = self.load()
        return partial(model, **self.data) if self.data else model


class Family(Struct):
    """Functions known by the shape of their names."""

    names: re.Pattern[str]
    calls: list[tuple[re.Pattern[str], Row]]
    quiet: bool

    def row(self, name: str) -> Row:
        """Return what is known of one of the family's names."""
        found = next(row for when, row in self.calls if when.search(name))
        return Row(found.model, found.data | {"name": name}, self.quiet)


class Tables(Struct):
    """What all files say together."""

    functions: dict[str, Row] = field(default_factory=dict)
    classes: dict[str, Row] = field(default_factory=dict)
    objects: dict[str, Row] = field(default_factory=dict)
    constants: dict[str, Any] = field(default_factory=dict)
    sizes: dict[str, int] = field(default_factory=dict)
    families: list[Family] = field(default_factory=list)
    uses: list[ArgumentUses] = field(default_factory=list)
    harmless: set[str] = field(default_factory=set)
    harmless_beginnings: tuple[str, ...] = ()

    def add(self, content: dict[str, Any]) -> None:
        """Add what a file says."""
        self.harmless.update(content.get("harmless", "").split())
        self.harmless.update(
            name + suffix for name in content.get("mathematics", "").split() for suffix in ("", "f", "l")
        )
        self.harmless_beginnings += tuple(content.get("harmless_beginnings", "").split())
        for key, target in (("functions", self.functions), ("classes", self.classes), ("objects", self.objects)):
            for quiet in (False, True):
                for model, rows in content.get(f"quiet_{key}" if quiet else key, {}).items():
                    target.update(rows_of(model, rows, quiet))
        for family in content.get("families", ()):
            calls = [(late_pattern(call.pop("when", "")), Row(call.pop("model"), call)) for call in family["calls"]]
            self.families.append(Family(late_pattern(family["names"]), calls, family.get("quiet", False)))
        self.uses += map(ArgumentUses.of_row, content.get("uses", ()))
        self.constants.update(content.get("constants", {}))
        self.sizes.update(
            {name: int(size) for size, names in content.get("sizes", {}).items() for name in names.split()}
        )

    def family_row(self, name: str) -> Row | None:
        """Return what the families say of a name."""
        return next((family.row(name) for family in self.families if family.names.match(name)), None)


def rows_of(model: str, rows: Any, quiet: bool = False) -> dict[str, Row]:
    """Return the rows of a model by name; `rows` are names, a row, or several rows."""
    if isinstance(rows, list):
        return {name: row for each in rows for name, row in rows_of(model, each, quiet).items()}
    given = {"names": rows} if isinstance(rows, str) else dict(rows)
    names = given.pop("names").split()
    return dict.fromkeys(names, Row(model, given, quiet))


def contents() -> dict[str, dict[str, Any]]:
    """Return what each file says."""
    files = sorted(Path(__file__).with_name("tables").glob("*.toml"))
    return {file.name: tomllib.loads(file.read_text("utf-8")) for file in files}


@cache
def tables() -> Tables:
    """Return what all files say; read-only."""
    found = Tables()
    for content in contents().values():
        found.add(content)
    return found


def _short(name: str) -> str:
    return name.removeprefix("std::")


def _function_row(name: str) -> Row | None:
    known = tables()
    name = name.removeprefix("::")
    found = known.functions.get(name) or known.functions.get(_short(name))
    return found if found is not None or class_row(name) is not None else known.family_row(name)


def is_class(name: str) -> bool:
    """Tell whether a class has a model."""
    return class_row(name) is not None


def class_row(name: str) -> Row | None:
    """Return what is known of a class."""
    classes = tables().classes
    return classes.get(name) or classes.get(f"std::{name}")


@lru_cache(maxsize=4096)
def find_function(name: str) -> FunctionModel | None:
    """Return the model of a function."""
    row = _function_row(name)
    return row.function() if row is not None else None


@lru_cache(maxsize=4096)
def uses_of(name: str) -> list[ArgumentUses]:
    """Return the ways in which a call by this name may use the memory of its arguments."""
    plain = _VERSIONS.sub("", name)
    return [row for row in tables().uses if row.names.fullmatch(plain)]


@lru_cache(maxsize=4096)
def find_class(name: str) -> type[LibraryObject] | None:
    """Return the model of a class; None if it has none."""
    row = class_row(name)
    found: type[LibraryObject] | None = row.load() if row is not None else None
    return found


@lru_cache(maxsize=4096)
def is_harmless(name: str) -> bool:
    """Tell whether a call by this name keeps and changes no pointer or handle, so that no loop has to be run for it."""
    known = tables()
    name = name.removeprefix("::")
    if name in known.harmless or _short(name) in known.harmless or _short(name) in known.objects:
        return True
    if any(row is not None and row.quiet for row in (_function_row(name), class_row(name))):
        return True
    return _function_row(name) is None and name.startswith(known.harmless_beginnings)


@cache
def header_value(name: str) -> Any:
    """Return the value of a constant, or the object, that a header defines; None if it is not known."""
    objects, short = tables().objects, name.rpartition("::")[2]
    row = objects.get(name.removeprefix("::")) or objects.get(short)
    return row.load()(**row.data) if row is not None else tables().constants.get(short)


def object_size(type_name: str) -> int | None:
    """Return the bytes of an object of a library; None if they are not known."""
    sizes = tables().sizes
    return sizes.get(type_name) or sizes.get(f"std::{type_name}")
