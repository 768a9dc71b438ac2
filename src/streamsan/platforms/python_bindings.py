"""What cuda.bindings offers, by name: `generate.extract_bindings` writes the data."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cache
from importlib import metadata
from typing import Any, Literal

from msgspec import Struct

from streamsan.platforms.registry import CUDA

VERSION_VARIABLE = "STREAMSAN_CUDA_BINDINGS"
FIRST_OF_NEW = 13

ModuleName = Literal["runtime", "driver"]


class Item(Struct, frozen=True):
    """A parameter or a returned value of a Python function."""

    name: str
    word: str
    """type: `size_t`, `cudaStream_t`, `cudaMemcpy3DParms?` (None allowed), `list[cudaGraphNode_t]?`, `Any`"""
    default: int | None = None


class FunctionEntry(Struct, frozen=True):
    """A function of cuda.bindings and the C function behind it."""

    name: str
    parameters: tuple[Item, ...]
    returned: tuple[Item, ...]
    """what comes after the error code"""
    c_parameters: tuple[Item, ...]


class Catalogue(Struct, frozen=True):
    """One module of one version."""

    module: ModuleName
    version: str
    functions: Mapping[str, list[Any]]
    enums: Mapping[str, Mapping[str, int]]
    constants: Mapping[str, int]
    handles: Mapping[str, list[str]]
    structures: Mapping[str, list[Any]]
    sizes: Mapping[str, int]
    """bytes of the C type behind a class"""
    elsewhere: Mapping[str, list[Any]]
    """functions of the other version whose parameters differ from this one's, or that this one lacks"""

    @property
    def major(self) -> int:
        """12 or 13."""
        return int(self.version.split(".", 1)[0])

    def function(self, name: str) -> FunctionEntry | None:
        """Return the entry of a function; None if this version has no such function."""
        entry = self.functions.get(name)
        return None if entry is None else _entry(name, entry)

    def other_function(self, name: str) -> FunctionEntry | None:
        """Return the entry that the other major version has, if it differs."""
        entry = self.elsewhere.get(name)
        return None if entry is None else _entry(name, entry)


def _entry(name: str, entry: list[Any]) -> FunctionEntry:
    parameters, returned, c_parameters = entry
    return FunctionEntry(
        name,
        tuple(Item(item[0], item[1], int(item[2]) if len(item) > 2 else None) for item in parameters),
        tuple(Item(item[0], item[1]) for item in returned),
        tuple(_c_item(text) for text in c_parameters),
    )


def _c_item(text: str) -> Item:
    """`const CUgraphNode* from_` -> (`from_`, `const CUgraphNode*`)."""
    text = text.split("[", 1)[0]
    word, _, name = text.rpartition(" ")
    stars = len(name) - len(name.lstrip("*"))
    return Item(name[stars:], word + "*" * stars)


@cache
def wanted_major() -> int:
    """Return which version of cuda.bindings to be: the installed one's, else the newer one.

    The environment variable STREAMSAN_CUDA_BINDINGS (12 or 13) decides where it is set.
    """
    chosen = os.environ.get(VERSION_VARIABLE, "")
    for distribution in () if chosen else ("cuda-bindings", "cuda-python"):
        try:
            chosen = metadata.version(distribution)
            break
        except metadata.PackageNotFoundError:
            continue
    leading = chosen.split(".", 1)[0]
    return int(leading) if leading.isdecimal() else FIRST_OF_NEW


@cache
def catalogue(module: ModuleName) -> Catalogue:
    """Return what a module offers in the version that is wanted."""
    new, old = CUDA.bindings["new"], CUDA.bindings["old"]
    if wanted_major() >= FIRST_OF_NEW:
        return Catalogue(module, new["version"], **new[module], elsewhere=_present(old[module]["functions"]))
    sections = {section: _present(entries | old[module][section]) for section, entries in new[module].items()}
    differing = {name: entry for name, entry in new[module]["functions"].items() if name in old[module]["functions"]}
    return Catalogue(module, old["version"], **sections, elsewhere=differing)


def _present(entries: Mapping[str, Any]) -> dict[str, Any]:
    return {name: entry for name, entry in entries.items() if entry is not None}
