"""Leaves NumPy's freed buffers as the program left them while streamsan works.

NumPy keeps the latest small buffers that were freed and hands them out again. A program that lets go of the array in
which a kernel argument lies before it launches finds the argument still there, as long as nobody allocates in between:
CUDA does not, and so streamsan, which uses NumPy itself, must not seem to.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

_KEPT_BY_NUMPY = 7
"""freed buffers of each size that NumPy (1.x and 2.x) hands out again"""
_SIZES = (np.uint64, np.uint32)
"""of an address, and of the numbers that kernels usually take"""


def freed_buffers() -> list[npt.NDArray[Any]]:
    """Take the freed buffers, as they are; letting go of the result gives them back."""
    taken = [np.empty(1, kind) for kind in _SIZES for _ in range(_KEPT_BY_NUMPY)]
    taken.reverse()  # a list lets go of its last entry first: the program's own come back before NumPy has enough
    return taken
