"""The numbers of launch shapes in many slots at once."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from streamsan.trace.file_layout import LAUNCH_SHAPE, PLACE
from streamsan.trace.launch_shapes import ENTRY, GENERATION_BITS, HEAD, SHAPE_SHIFT
from streamsan.trace.store import OBJECT_WORD, SIZE_WORD, SLOT_WORDS, Slots, as_words
from streamsan.vocabulary import NodeKind, OperationKind

assert (HEAD.size, ENTRY.size) == (LAUNCH_SHAPE.itemsize, PLACE.itemsize)


def named_shapes(slots: Slots) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return which of these slots name a launch shape, and its id. The id is untrusted: the table may not have it."""
    flat = as_words(slots).reshape(-1)
    kinds = np.ascontiguousarray(slots["kind"])
    at = np.flatnonzero(kinds == OperationKind.LAUNCH)
    numbers = flat.take(at * SLOT_WORDS + OBJECT_WORD) >> np.uint64(SHAPE_SHIFT)
    nodes = np.flatnonzero((kinds == OperationKind.GRAPH_NODE) | (kinds == OperationKind.GRAPH_NODE_UPDATE))
    if len(nodes):
        nodes = nodes[slots["detail"][nodes] == NodeKind.KERNEL]
        at = np.concatenate((at, nodes))
        numbers = np.concatenate((numbers, flat.take(nodes * SLOT_WORDS + SIZE_WORD)))
    named = numbers != 0
    return at[named], np.minimum(numbers[named], np.uint64(GENERATION_BITS)).astype(np.intp)


def name_shapes(slots: Slots, at: NDArray[np.intp], numbers: NDArray[np.intp]) -> None:
    """Let kernels' slots name other launch shapes, in place; 0: none that is known."""
    words = as_words(slots)
    launched = slots["kind"][at] == OperationKind.LAUNCH
    launches, nodes = at[launched], at[~launched]
    ids = numbers.astype(np.uint64)
    generations = words[launches, OBJECT_WORD] & np.uint64(GENERATION_BITS)
    words[launches, OBJECT_WORD] = generations | ids[launched] << np.uint64(SHAPE_SHIFT)
    words[nodes, SIZE_WORD] = ids[~launched]
