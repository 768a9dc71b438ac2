"""What a trace says of memory that was overwritten when it was given back (`streamsan run --poison`)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

POISON = "poison"
"""member of a trace's metadata: how many pieces of memory were overwritten or left, by outcome; empty until the process
has ended, and where it was killed"""

OVERWRITTEN = ("freed", "blocks")
"""outcomes: memory of the driver at its free, a pool's block before its next owner's first use"""
LEFT = {
    "capture": "something captured a graph",
    "elsewhere": "of another device or context",
    "busy": "the stream of the first use had other work before it",
    "other_work": "other work came before the first use",
    "read_first": "the first use reads",
    "end": "the pointer may be the end of the block before",
    "shared": "other processes or a network card may write there",
    "held_by_pool": "the pool had used it itself",
    "refused": "the driver refused",
}
"""the others, with the reason in words"""


def poison_counts(metadata: Mapping[str, Any]) -> dict[str, int] | None:
    """Return how often each outcome came about; None where nothing was to be overwritten. {}: it is not known."""
    counts = metadata.get(POISON)
    if not isinstance(counts, Mapping):
        return None
    known = (*OVERWRITTEN, *LEFT)
    return {name: counts[name] for name in known if type(counts.get(name)) is int and counts[name] >= 0}


def joined_poison(metadata: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the member of the metadata of a run of several processes, nothing where none of them has it."""
    told = [counts for each in metadata if (counts := poison_counts(each)) is not None]
    total = Counter[str]()
    for counts in told:
        total.update(counts)
    return {POISON: dict(total)} if told else {}
