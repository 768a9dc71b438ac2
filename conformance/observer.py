"""Whether a call waited for pending work: by time on a GPU, by what has run on the simulated device."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt


class UnclearError(Exception):
    """A duration allows no answer: the case is run again with longer kernels."""


@dataclass(slots=True)
class Pending:
    """A kernel that keeps its stream busy for a known time."""

    flags: npt.NDArray[np.uint32]
    index: int
    launched: float
    """seconds, on the clock of time.perf_counter"""
    seconds: float

    @property
    def done(self) -> bool:
        """Whether the kernel has come to its end. It says so itself: nothing is asked of CUDA."""
        return bool(self.flags[self.index])


class Observer(Protocol):
    """Tells whether a call waited."""

    def waited(self, pending: Pending, began: float, ended: float) -> bool:
        """Return whether a call that lasted from `began` to `ended` waited for a kernel. Raises UnclearError."""


class GpuObserver:
    """A call waited if it took most of the time that the kernel still had, and the kernel is done."""

    def waited(self, pending: Pending, began: float, ended: float) -> bool:
        """Judge by ratio: above a half it waited, below a fifth it did not."""
        is_done = pending.done
        remaining = pending.launched + pending.seconds - began
        if remaining < 0.2 * pending.seconds:
            raise UnclearError  # the calls before this one were slow
        ratio = (ended - began) / remaining
        if not is_done:
            return False  # however long it took: it did not wait for the end of the kernel
        if 0.5 < ratio < 2:
            return True
        raise UnclearError


class SimulatedObserver:
    """With the lazy schedule nothing runs that no wait needs: a kernel that has run was waited for."""

    def waited(self, pending: Pending, began: float, ended: float) -> bool:
        """Return whether the kernel has run."""
        return pending.done


def now() -> float:
    """Return the time that `Pending` counts in."""
    return time.perf_counter()
