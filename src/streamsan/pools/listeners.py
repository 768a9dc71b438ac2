"""Who hears what a pool says: the simulated device, or the recorder that runs in this process."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from ctypes import CDLL, c_uint64
from typing import Any, Protocol

from streamsan.recorder.environment import INJECTION, SETTINGS
from streamsan.sim import active


class Listener(Protocol):
    """Hears of the blocks of pools."""

    def hand_out(self, address: int, size: int, stream: int) -> None:
        """Hear that `size` bytes at an address have a new owner, in the order of a stream; 0: in none."""

    def take_back(self, address: int, stream: int) -> None:
        """Hear that the block at an address is the pool's again, in the order of a stream; 0: in none."""

    def record_stream(self, address: int, stream: int) -> None:
        """Hear that what was issued to a stream until now uses the block at an address."""


def listener() -> Listener | None:
    """Return who hears in this process, None when nobody does."""
    return active.current() or (_recorder() if SETTINGS in os.environ else None)


_loaded: list[_Recorder] = []


class _Recorder:
    """The recorder, which the driver has loaded."""

    def __init__(self, library: CDLL) -> None:
        self.hand_out = _procedure(library.streamsan_pool_hand_out_1, 3)
        self.take_back = _procedure(library.streamsan_pool_take_back_1, 2)
        self.record_stream = _procedure(library.streamsan_pool_record_stream_1, 2)


def _procedure(function: Any, numbers: int) -> Callable[..., None]:
    """Return a function of a library as one that takes so many numbers and returns nothing."""
    function.argtypes = (c_uint64,) * numbers
    function.restype = None
    return function  # type: ignore[no-any-return]


def _recorder() -> _Recorder | None:
    """Return the recorder; None as long as the driver has not loaded it."""
    if not _loaded:
        with suppress(KeyError, OSError, AttributeError):
            _loaded.append(_Recorder(CDLL(os.environ[INJECTION], mode=os.RTLD_NOLOAD | os.RTLD_LAZY)))
    return _loaded[0] if _loaded else None
