"""Who hears what a pool says: the simulated device, or the recorder that runs in this process."""

from __future__ import annotations

import os
from contextlib import suppress
from ctypes import CDLL, c_uint64
from typing import Protocol

from streamsan.recorder.environment import INJECTION, SETTINGS
from streamsan.sim import active


class Listener(Protocol):
    """Hears of the blocks of pools."""

    def hand_out(self, address: int, size: int) -> None:
        """Hear that `size` bytes at an address have a new owner."""

    def take_back(self, address: int) -> None:
        """Hear that the block at an address is the pool's again."""


def listener() -> Listener | None:
    """Return who hears in this process, None when nobody does."""
    return active.current() or (_recorder() if SETTINGS in os.environ else None)


_loaded: list[_Recorder] = []


class _Recorder:
    """The recorder, which the driver has loaded."""

    def __init__(self, library: CDLL) -> None:
        self._hand_out = library.streamsan_pool_hand_out_1
        self._take_back = library.streamsan_pool_take_back_1
        self._hand_out.argtypes = (c_uint64, c_uint64)
        self._take_back.argtypes = (c_uint64,)
        self._hand_out.restype = self._take_back.restype = None

    def hand_out(self, address: int, size: int) -> None:
        self._hand_out(address, size)

    def take_back(self, address: int) -> None:
        self._take_back(address)


def _recorder() -> _Recorder | None:
    """Return the recorder; None as long as the driver has not loaded it."""
    if not _loaded:
        with suppress(KeyError, OSError, AttributeError):
            _loaded.append(_Recorder(CDLL(os.environ[INJECTION], mode=os.RTLD_NOLOAD | os.RTLD_LAZY)))
    return _loaded[0] if _loaded else None
