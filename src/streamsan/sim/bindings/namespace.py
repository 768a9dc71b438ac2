"""What `cuda.bindings.runtime` and `cuda.bindings.driver` contain, by name; each thing is made when first asked for."""

from __future__ import annotations

from functools import cache
from typing import Any

from streamsan.platforms.python_bindings import VERSION_VARIABLE, ModuleName, catalogue
from streamsan.sim.bindings.class_index import own
from streamsan.sim.bindings.function_index import function
from streamsan.sim.bindings.local import OTHERS


@cache
def names(module: ModuleName) -> list[str]:
    """Return all names of a module."""
    entries = catalogue(module)
    groups = (entries.functions, entries.enums, entries.constants, entries.handles, entries.structures)
    return sorted({name for group in groups for name in group} | OTHERS[module].keys())


@cache
def lookup(module: ModuleName, name: str) -> Any:
    """Return what a name means in a module. Raises AttributeError."""
    entries = catalogue(module)
    if name in entries.constants:
        return entries.constants[name]
    if name in OTHERS[module]:
        return OTHERS[module][name]
    found = own(module, name) or function(module, name)
    if found is not None:
        return found
    where = f"module 'cuda.bindings.{module}' has no attribute {name!r}"
    if name.startswith("__") or entries.other_function(name) is None:
        raise AttributeError(where)
    other = 12 if entries.major >= 13 else 13
    raise AttributeError(f"{where} (cuda-bindings {other} has; set {VERSION_VARIABLE}={other})")
