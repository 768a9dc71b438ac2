"""NCCL's kernels in a recording: what their launches tell of the buffers, and what they do not."""

from __future__ import annotations

import re
from collections.abc import Iterable

_KERNEL = re.compile(r"nccl(?:Dev)?Kernel")
NOT_EXACT = (
    "NCCL's collectives count as uses of the addresses that their launches were given, which may be left over from an "
    "earlier one; addresses that it keeps in device memory (many collectives in one group), and which buffers are sent "
    "and which received, are not seen"
)


def remarks_on_collectives(symbols: Iterable[str]) -> list[str]:
    """Return what is to be said of a recording that launched the kernels with these mangled names."""
    return [NOT_EXACT] if any(map(_KERNEL.search, symbols)) else []
