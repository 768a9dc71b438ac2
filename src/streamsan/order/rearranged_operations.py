"""Operations of a short trace taken out or put in, one by one, to ask the engine what would change.

Without NumPy: a check of a small source takes less time than NumPy takes to load.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from streamsan.trace.packed_slots import PackedOperation


def without(operations: Iterable[PackedOperation], sequences: Collection[int]) -> list[PackedOperation]:
    """Return the operations but those of these sequence numbers."""
    return [each for each in operations if each.slot.sequence not in sequences]


def inserted(
    operations: Iterable[PackedOperation], before: Mapping[int, Sequence[PackedOperation]]
) -> list[PackedOperation]:
    """Return the operations with others put in: `before[n]` comes just before the operation of sequence n.

    The inserted operations keep the sequence numbers that they have; the engine takes operations in the order given.
    """
    result: list[PackedOperation] = []
    for each in operations:
        result += before.get(each.slot.sequence, ())
        result.append(each)
    return result


def packed(operations: Iterable[PackedOperation]) -> list[bytes]:
    """Return the operations as the engine takes them."""
    return [b"".join([each.packed for each in operations])]
