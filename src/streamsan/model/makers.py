"""Calls that make or fetch a handle of which more is known than that it exists."""

from __future__ import annotations

from collections.abc import Callable

from streamsan.model.call import Call
from streamsan.model.core import ModelCore
from streamsan.model.resources import OtherHandle

Maker = Callable[[ModelCore, Call, int], OtherHandle | int]
"""Returns what the handle names (with the fresh handle number given, or one that exists already), or a status."""

MAKERS: dict[str, Maker] = {}
"""By API name; filled by the modules that `device_model` imports."""


def makes(*names: str) -> Callable[[Maker], Maker]:
    """Register a function as the maker of some APIs."""

    def register(function: Maker) -> Maker:
        for name in names:
            assert name not in MAKERS, name
            MAKERS[name] = function
        return function

    return register
