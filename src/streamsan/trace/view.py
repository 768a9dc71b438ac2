"""Operations one by one, with all of their references: for tests, tools and second passes, not for millions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from streamsan.trace.layout import REFERENCE_KINDS, decode_duration
from streamsan.trace.references import MODE_BITS, Reference, unpacked
from streamsan.trace.store import Slots, owners
from streamsan.trace.trace import Trace
from streamsan.vocabulary import AccessMode, OperationKind, SlotFlag


@dataclass(frozen=True, slots=True)
class OperationView:
    """One operation with everything that its slot and its continuation slots say."""

    sequence: int
    kind: OperationKind | int
    """a number where the writer was newer than this reader"""
    thread: int
    api: int
    site: int
    stream: int
    object: int
    address: int
    size: int
    detail: int
    flags: int
    status: int
    time: int
    """ns since the trace's clock origin; 0: not known"""
    duration: int
    """ns; 0: not known"""
    references: tuple[Reference, ...]
    text: str
    """what TEXT continuation slots say"""


def _kind(number: int) -> OperationKind | int:
    try:
        return OperationKind(number)
    except ValueError:
        return number


def _view(slots: Slots) -> OperationView:
    """Return the view of one operation: its slot and its continuations."""
    (sequence, time, stream, object_, address, size, site, api, thread, status, kind, detail, flags, _, duration) = (
        slots[0].item()
    )
    references: list[Reference] = []
    if kind in REFERENCE_KINDS and address:
        references.append(Reference(address, size, object_, AccessMode(flags & MODE_BITS), flags & SlotFlag.ASSUMED))
    text = b""
    for slot in slots[1:]:
        if slot["kind"] == OperationKind.REFERENCES:
            references.extend(unpacked(slot.tobytes()))
        elif slot["kind"] == OperationKind.TEXT:
            raw = slot.tobytes()
            text += raw[: min(56, int.from_bytes(raw[56:58], "little"))]
    return OperationView(
        sequence=sequence,
        kind=_kind(kind),
        thread=thread,
        api=api,
        site=site,
        stream=stream,
        object=object_,
        address=address,
        size=size,
        detail=detail,
        flags=flags,
        status=status,
        time=time,
        duration=decode_duration(duration),
        references=tuple(references),
        text=text.decode("utf-8", "replace"),
    )


def _views(slots: Slots, wanted: np.ndarray[tuple[int], np.dtype[np.bool_]] | None = None) -> Iterator[OperationView]:
    """Yield the operations of a chunk, or only those where `wanted` (one for each operation) says so."""
    starts = np.flatnonzero(owners(slots))
    ends = np.append(starts[1:], len(slots))
    if wanted is not None:
        starts, ends = starts[wanted], ends[wanted]
    for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
        yield _view(slots[start:end])


def iterate(trace: Trace) -> Iterator[OperationView]:
    """Yield every operation of a trace in order."""
    for chunk in trace.chunks():
        yield from _views(chunk)


def operations_between(trace: Trace, first: int, last: int) -> Iterator[OperationView]:
    """Yield the operations whose sequence is in [first, last], in order."""
    for chunk in trace.chunks(first=first):
        sequences = chunk["sequence"][owners(chunk)]
        if sequences[0] > last:
            return
        yield from _views(chunk, (sequences >= first) & (sequences <= last))


def read_operations(trace: Trace, sequences: Iterable[int]) -> dict[int, OperationView]:
    """Return the operations with these sequences; sequences that the trace does not have are left out."""
    numbers = sorted({number for number in sequences if 0 < number < 1 << 64})
    if not numbers:
        return {}
    wanted = np.array(numbers, np.uint64)
    found: dict[int, OperationView] = {}
    for chunk in trace.chunks(first=numbers[0]):
        has = chunk["sequence"][owners(chunk)]
        if has[0] > wanted[-1]:
            break
        for view in _views(chunk, np.isin(has, wanted)):
            found[view.sequence] = view
    return found
