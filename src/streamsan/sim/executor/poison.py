"""What memory holds that nobody has written: a pattern, never zeros, so that reading it shows in the results."""

from __future__ import annotations

import random

import numpy as np

from streamsan.sim.payloads import Bytes

_ALWAYS_WHOLE = 1 << 20
_WHOLE = 64 << 20
_HEAD, _TAIL = 32 << 20, 4 << 20
_SHORT_HEAD, _SHORT_TAIL = 512 << 10, 64 << 10
_STRIDE = 64 << 10
_LINE = 64
_BUDGET = 4 << 30


class Poison:
    """The patterns of one run. They come from its seed, so that a result that rests on them changes with it."""

    def __init__(self, seed: int) -> None:
        chooser = random.Random(seed)
        self.fresh = self._pattern(chooser)
        """what new memory holds"""
        self.freed = self._pattern(chooser)
        """what freed memory holds"""
        self._budget = _BUDGET
        """bytes that large blocks may still cost"""

    @staticmethod
    def _pattern(chooser: random.Random) -> Bytes:
        # Every byte has its highest bit set: no small number, no zero, no text.
        return np.frombuffer(bytes(chooser.randrange(0x81, 0xFF) for _ in range(8)), dtype=np.uint8)

    def fill(self, target: Bytes, pattern: Bytes) -> None:
        """Write the pattern.

        Up to 1 MiB whole; up to 64 MiB whole while the run's budget of 4 GiB lasts, so that a loop over large blocks
        stays quick. Of anything else the ends, and a line every 64 KiB.
        """
        size = target.size
        if size <= _ALWAYS_WHOLE:
            _repeat(target, pattern)
            return
        rich = self._budget > 0
        if size <= _WHOLE and rich:
            self._budget -= size
            _repeat(target, pattern)
            return
        head, tail = (_HEAD, _TAIL) if rich else (_SHORT_HEAD, _SHORT_TAIL)
        if rich:
            self._budget -= head + tail
        rows = (size - head - tail) // _STRIDE
        _repeat(target[:head], pattern)
        _repeat(target[head + rows * _STRIDE :], pattern)
        middle = target[head : head + rows * _STRIDE].reshape(rows, _STRIDE)
        middle[:, :_LINE] = np.tile(pattern, _LINE // pattern.size)


def _repeat(target: Bytes, pattern: Bytes) -> None:
    whole = target.size & ~7
    if whole:
        target[:whole].view(np.uint64)[:] = pattern.view(np.uint64)[0]
    if whole < target.size:
        target[whole:] = pattern[: target.size - whole]
