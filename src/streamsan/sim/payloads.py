"""What the bindings give along with a launch or a host function, and the executor runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np
import numpy.typing as npt

Bytes = npt.NDArray[np.uint8]


class DeviceMemory(Protocol):
    """Bytes of the simulated device as running work sees them."""

    def view(self, address: int, size: int = 0) -> Bytes:
        """Return a writable view of [address, address + size); size 0: to the end of what is allocated around it.

        Raises IllegalAddressError where nothing is mapped.
        """


class IllegalAddressError(Exception):
    """Work touched memory that is not there: error 700, sticky in its context."""


class LaunchFailedError(Exception):
    """The body of a kernel failed: error 719, sticky in its context. `str()` says what went wrong."""


class KernelCall(Protocol):
    """How to compute one launch."""

    def run(self, memory: DeviceMemory) -> None:
        """Do to the bytes what the kernel does."""


HostBody = Callable[[], None]
"""The body of a host function; runs on a thread of the driver, and may not call CUDA."""
