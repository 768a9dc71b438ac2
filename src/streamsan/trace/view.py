"""Operations one by one, with all of their references: for tests, tools and second passes, not for millions."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from streamsan.trace.launch_shapes import GENERATION_BITS, SHAPE_SHIFT
from streamsan.trace.reference_bounds import BOUNDED, bounds_of
from streamsan.trace.references import MODE_BITS, Reference, unpacked
from streamsan.trace.rows import unpacked_rows
from streamsan.trace.slot_fields import REFERENCE_KINDS, decode_duration
from streamsan.trace.store import Slots, owners
from streamsan.trace.trace import Trace
from streamsan.vocabulary import AccessMode, NodeKind, OperationKind, SlotFlag

_FIRST_REFERENCE = SlotFlag.ASSUMED | SlotFlag.TOUCHES | SlotFlag.ATOMIC
"""flags of a slot that are about the reference in it"""
_KERNELS = (OperationKind.LAUNCH, OperationKind.NODE_ACCESSES)
_KERNEL_NODES = (OperationKind.GRAPH_NODE, OperationKind.GRAPH_NODE_UPDATE)


class OperationView(Struct, frozen=True):
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
    shape: int = 0
    """id of the launch shape of a kernel, untrusted; 0: not known"""


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
    if kind == OperationKind.LAUNCH:
        object_, shape = object_ & GENERATION_BITS, object_ >> SHAPE_SHIFT
    elif kind in _KERNEL_NODES and detail == NodeKind.KERNEL:
        size, shape = 0, size
    else:
        shape = 0
    in_slot = kind in REFERENCE_KINDS
    if in_slot:
        references.append(Reference(address, size, object_, AccessMode(flags & MODE_BITS), flags & _FIRST_REFERENCE))
    text = b""
    for slot in slots[1:]:
        if slot["kind"] == OperationKind.REFERENCES:
            references.extend(unpacked(slot.tobytes()))
        elif slot["kind"] == OperationKind.ROWS:
            _give_rows(references, slot.tobytes())
        elif slot["kind"] == OperationKind.TEXT:
            raw = slot.tobytes()
            text += raw[: min(56, int.from_bytes(raw[56:58], "little"))]
    if kind in _KERNELS or (kind in _KERNEL_NODES and detail == NodeKind.KERNEL):
        references = [_with_bounds(each) for each in references]
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
        references=tuple(reference for reference in references if reference.address),
        text=text.decode("utf-8", "replace"),
        shape=shape,
    )


def _with_bounds(reference: Reference) -> Reference:
    """Return a kernel's reference with the bounds that stand in place of its size, where they do."""
    if not reference.size & BOUNDED:
        return reference
    return replace(reference, size=0, bounds=bounds_of(reference.size))


def _give_rows(references: list[Reference], slot: bytes) -> None:
    """Give a reference its rows. What does not fit it is passed over."""
    number, rows = unpacked_rows(slot)
    told = number < len(references) and references[number].rows is not None
    if number < len(references) and not told and rows.sensible and rows.extent == references[number].size:
        references[number] = replace(references[number], rows=rows)


def iterate(trace: Trace) -> Iterator[OperationView]:
    """Yield every operation of a trace in order."""
    for slots in trace.chunks():
        starts = np.flatnonzero(owners(slots))
        ends = np.append(starts[1:], len(slots))
        for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
            yield _view(slots[start:end])
