"""What replayed work does to words: what it writes depends on all that it reads, so that a wrong order shows."""

from __future__ import annotations

import zlib
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from msgspec import Struct, field

from streamsan.replay.replayed_steps import Access
from streamsan.vocabulary import NodeKind, OperationKind

Words = npt.NDArray[np.uint32]
Place = tuple[int, int]
"""the sequence number of an operation or a node, and the number of one of its accesses"""

_COPIES = (OperationKind.COPY, NodeKind.COPY)
_FILLS = (OperationKind.MEMSET, NodeKind.MEMSET)
_WRITES_NOTHING = (OperationKind.PREFETCH, OperationKind.OPAQUE_CALL)


class Seen(Struct):
    """What was observed in one execution."""

    reads: dict[Place, Words] = field(default_factory=dict)
    """what each access read, as it was then; of work that runs several times, the last time"""
    atomics: dict[Place, Words] = field(default_factory=dict)
    """the same of atomic accesses: other atomic ones may come before or after, so two right executions may differ"""
    faults: dict[Place, str] = field(default_factory=dict)
    """what an access touched that was not there; number -1: what the call itself, or all of the work, met"""


def pattern(seed: int, count: int) -> Words:
    """Return words that depend on a seed and their place, none of them a small number."""
    words = np.arange(count, dtype=np.uint32) * np.uint32(2654435761) + np.uint32(seed & 0xFFFFFFFF)
    words ^= words >> np.uint32(15)
    return words | np.uint32(0x80000000)


def perform(
    kind: OperationKind | NodeKind,
    sequence: int,
    accesses: Sequence[Access],
    views: Sequence[Words],
    seen: Seen,
    first: int = 0,
    launch: int = 0,
) -> None:
    """Do what an operation does to the words of its accesses, and note what it reads.

    `first` is the number of the first access. A node's kernel writes other words in each launch of its graph.
    """
    digest = zlib.crc32(sequence.to_bytes(8, "little") + launch.to_bytes(8, "little"))
    for number, (access, view) in enumerate(zip(accesses, views, strict=True), first):
        if access.reads and access.atomic:
            seen.atomics[sequence, number] = view.copy()
        elif access.reads:
            seen.reads[sequence, number] = view.copy()
            digest = zlib.crc32(view.tobytes(), digest)
    if kind in _COPIES and len(views) == 2:
        if len(views[0]):
            views[0][:] = np.resize(views[1], len(views[0])) if len(views[1]) else pattern(digest, len(views[0]))
        return
    for number, (access, view) in enumerate(zip(accesses, views, strict=True), first):
        if not access.writes or kind in _WRITES_NOTHING:
            continue
        if access.atomic:
            view += np.uint32(sequence | 1)  # in any order the same
        elif kind in _FILLS:
            view[:] = np.uint32(zlib.crc32(sequence.to_bytes(8, "little")))
        else:
            view[:] = pattern(zlib.crc32(number.to_bytes(4, "little"), digest), len(view))
