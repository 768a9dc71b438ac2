"""What exports can write: a module each, found by listing. Its docstring's first line says what it writes.

A module has `export(runs, place)`, which writes what was read of all inputs, PLACE (what `place` names: "file" or
"folder") and SUFFIX (how `place` ends where nobody chose it).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from pkgutil import iter_modules

from msgspec import Struct

from streamsan.exports.exported_run import ExportedRun

TARGETS = tuple(sorted(module.name for module in iter_modules(__path__)))
"""their names"""


class MissingLibraryError(Exception):
    """A library that an export needs is not installed; `str()` says how to get it."""


class Target(Struct, frozen=True):
    """One sort of export."""

    export: Callable[[Sequence[ExportedRun], str], None]
    place: str
    suffix: str


def target(name: str) -> Target:
    """Return what writes one sort of export. Raises MissingLibraryError."""
    try:
        module = import_module(f"{__name__}.{name}")
    except ModuleNotFoundError as error:
        raise MissingLibraryError(
            f"--to {name} needs the package `{error.name}`: pip install 'streamsan[export]'"
        ) from error
    return Target(module.export, module.PLACE, module.SUFFIX)
