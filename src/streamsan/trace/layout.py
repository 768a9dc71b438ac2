"""The bytes of a slot and its continuations, as NumPy dtypes. `docs/trace-format.md` is the specification."""

from __future__ import annotations

import numpy as np

SLOT = np.dtype(
    [
        ("sequence", "<u8"),  # global order of issue, strictly increasing in each thread
        ("time", "<u8"),  # ns since the header's clock origin at entry of the call; 0: not known
        ("stream", "<u8"),  # stream handle the operation runs on; 0: the host thread itself
        ("object", "<u8"),  # the handle or key the kind is about (event, context, sync key, process index);
        # where `address` is a memory reference: its generation, 0 when not known
        ("address", "<u8"),  # first memory reference; 0: none
        ("size", "<u8"),  # its bytes; 0: not known
        ("site", "<u4"),  # site id; 0: not known
        ("api", "<u2"),  # index in the API table; 0: none
        ("thread", "<u2"),  # index in the thread table
        ("status", "<i2"),  # returned status; 0: success; -32768: not known
        ("kind", "u1"),  # OperationKind
        ("detail", "u1"),  # by kind: MemoryKind, FreeClass, WaitClass, StreamKind, EdgeClass, ...
        ("flags", "u1"),  # bits 0-1 AccessMode of the first reference; SlotFlag
        ("more", "u1"),  # continuation slots that follow
        ("duration", "<u2"),  # mini-float ns of the call (see encode_duration); 0: not known
    ]
)
"""One operation. 64 bytes, little-endian, no padding."""
assert SLOT.itemsize == 64

REFERENCES = np.dtype(
    [
        ("first_address", "<u8"),
        ("first_size", "<u8"),
        ("second_address", "<u8"),
        ("second_size", "<u8"),
        ("first_generation", "<u4"),
        ("second_generation", "<u4"),
        ("spare", "V18"),
        ("kind", "u1"),  # OperationKind.REFERENCES, at the same offset as in SLOT
        ("first_mode", "u1"),
        ("second_mode", "u1"),
        ("count", "u1"),  # 1 or 2
        ("unseen", "<u2"),  # of memory that instrumentation does not see: readers set it, in a file it is 0
    ]
)
"""A continuation slot: one or two further references of the slot before it."""
assert REFERENCES.itemsize == 64
assert REFERENCES.fields is not None
assert SLOT.fields is not None
assert REFERENCES.fields["kind"][1] == SLOT.fields["kind"][1]

TEXT = np.dtype(
    [
        ("text", "V56"),  # UTF-8, `length` bytes of it
        ("length", "<u2"),
        ("kind", "u1"),  # OperationKind.TEXT, at the same offset as in SLOT
        ("spare", "V5"),
    ]
)
"""A continuation slot: up to 56 bytes of text that belong to the slot before it; longer text goes on in the next."""
assert TEXT.itemsize == 64
assert TEXT.fields is not None
assert TEXT.fields["kind"][1] == SLOT.fields["kind"][1]

ROWS = np.dtype(
    [
        ("width", "<u8"),  # bytes of a row
        ("pitch", "<u8"),  # bytes from row to row
        ("rows", "<u8"),
        ("slice_pitch", "<u8"),  # bytes from slice to slice
        ("slices", "<u8"),
        ("spare", "V16"),
        ("reference", "u1"),  # which memory reference of the operation, from 0
        ("spare_before_kind", "V1"),
        ("kind", "u1"),  # OperationKind.ROWS, at the same offset as in SLOT
        ("spare_end", "V5"),
    ]
)
"""A continuation slot: which bytes of a reference of the slot before it are touched."""
assert ROWS.itemsize == 64
assert ROWS.fields is not None
assert ROWS.fields["kind"][1] == SLOT.fields["kind"][1]
