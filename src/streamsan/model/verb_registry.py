"""Functions by what they are for: those that define them register them."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TypeVar

_Key = TypeVar("_Key", bound=Hashable)
_Function = TypeVar("_Function", bound=Callable[..., object])


class Registry(dict[_Key, _Function]):
    """Filled by the modules that define the functions; `device_model` imports them all."""

    def of(self, *keys: _Key) -> Callable[[_Function], _Function]:
        """Register a function for some keys, each of which has one only."""

        def register(function: _Function) -> _Function:
            for key in keys:
                assert key not in self, key
                self[key] = function
            return function

        return register
