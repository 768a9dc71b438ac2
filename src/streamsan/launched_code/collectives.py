"""NCCL's kernels in a recording: what their launches tell of the buffers, and what they do not."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from streamsan.trace.store import Slots
from streamsan.vocabulary import OperationKind

_PREFIX = "nccl"
_KERNEL = re.compile(r"nccl(?:\w*?)Kernel")
NOT_EXACT = (
    "NCCL's collectives count as uses of the addresses that their launches were given, which may be left over from an "
    "earlier one; addresses that it keeps in device memory (many collectives in one group), and which buffers are sent "
    "and which received, are not seen: NCCL tells that to a profiler plugin (from 2.23 on), which was not this recorder"
)


def remarks_on_collectives(symbols: Iterable[str], told: bool) -> list[str]:
    """Return what is to be said of a recording that launched the kernels with these mangled names.

    `told`: NCCL told what its collectives do; where it did not for one, the recording has an operation that says so.
    """
    return [NOT_EXACT] if not told and any(map(_KERNEL.search, symbols)) else []


class ToldCollectives:
    """Operations that say what a collective does: beside the launch of its kernel they are no launches of their own."""

    def __init__(self, apis: Sequence[str]) -> None:
        """`apis`: the trace's."""
        self._apis = np.array([number for number, api in enumerate(apis) if api.startswith(_PREFIX)], np.uint16)

    def count(self, slots: Slots) -> int:
        """Return how many of these slots are such operations."""
        if not len(self._apis):
            return 0
        told: NDArray[np.bool_] = np.isin(slots["api"], self._apis) & (slots["kind"] == OperationKind.LAUNCH)
        return int(told.sum())
