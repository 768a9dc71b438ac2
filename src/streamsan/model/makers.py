"""Calls that make or fetch a handle of which more is known than that it exists."""

from __future__ import annotations

from collections.abc import Callable

from streamsan.model.call import Call
from streamsan.model.core import ModelCore
from streamsan.model.resources import OtherHandle
from streamsan.model.verb_registry import Registry

Maker = Callable[[ModelCore, Call, int], OtherHandle | int]
"""Returns what the handle names (with the fresh handle number given, or one that exists already), or a status."""

MAKERS: Registry[str, Maker] = Registry()
"""by API name"""
makes = MAKERS.of
