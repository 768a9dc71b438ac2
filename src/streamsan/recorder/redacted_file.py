"""Leaves out of a finished trace, in its place, what identifies people and machines."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import Any

import numpy as np

from streamsan.recorder.redaction import Redaction
from streamsan.trace.errors import TraceError
from streamsan.trace.file_layout import COMMIT_OFFSET, FILE_HEADER, SegmentType
from streamsan.trace.header import metadata_of, read_header
from streamsan.trace.layout import SLOT, TEXT
from streamsan.trace.modules import Module, packed_module, unpacked_modules
from streamsan.trace.random_access import RandomAccessFile
from streamsan.trace.segments import HEADER_SIZE, Segment, find_segments, packed_commit
from streamsan.trace.side_tables import Strings, packed_string
from streamsan.vocabulary import OperationKind

REDACTED = "redacted"
_LEFT_OUT = ("command", "source")
_KEPT = frozenset({"platform", "origin", "apis", "tool", "driver", "run", "code"})
"""members of metadata that say nothing of people and machines, and that readers rely on"""

Edit = tuple[int, bytes]
"""where in the file, and what is written there"""


def redact_file(path: str, redaction: Redaction) -> None:
    """Rewrite the texts of a trace whose process has ended; its operations, sites and symbols stay what they are.

    Raises TraceError when the file cannot be read or written, or has no room for what stands in place of its texts.
    """
    file = RandomAccessFile(path)
    start, metadata = read_header(file)
    edits = [_header(file, metadata, redaction)]
    for segment in find_segments(file, start).found:
        edits += _edits(file, segment, redaction)
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            for offset, data in edits:
                _write(descriptor, data, offset)
        finally:
            os.close(descriptor)
    except OSError as error:
        raise TraceError(path, f"cannot be written: {error.strerror}") from None


def _edits(file: RandomAccessFile, segment: Segment, redaction: Redaction) -> Iterator[Edit]:
    if segment.type == SegmentType.OPERATIONS:
        yield from _explanations(file, segment, redaction)
        return
    payload = file.read(segment.payload, segment.size)
    if segment.type == SegmentType.STRINGS:
        strings = Strings(file.path)
        strings.add(payload, segment.cut)
        texts = (redaction.text(strings[number]) for number in range(1, len(strings)))
        yield from _table(file, segment, b"".join(map(packed_string, texts)))
    elif segment.type == SegmentType.MODULES:
        modules = unpacked_modules(file.path, payload, segment.cut)
        shown = (Module(redaction.module(module.path), module.build_id) for module in modules)
        yield from _table(file, segment, b"".join(map(packed_module, shown)))
    elif segment.type == SegmentType.METADATA and payload:
        yield segment.payload, _metadata(file.path, metadata_of(file.path, payload), redaction, len(payload))


def _table(file: RandomAccessFile, segment: Segment, payload: bytes) -> Iterator[Edit]:
    """Yield a segment's new payload, zeros over all that was reserved for it, and then its commit mark."""
    header = segment.payload - HEADER_SIZE
    capacity = int.from_bytes(file.read(header + 24, 8), "little")
    room = min(capacity, file.size - segment.payload)
    if len(payload) > room:
        raise TraceError(file.path, "cannot be redacted: a table has no room for it")
    yield segment.payload, payload.ljust(room, b"\0")
    yield header + COMMIT_OFFSET, packed_commit(len(payload))


def _header(file: RandomAccessFile, metadata: dict[str, Any], redaction: Redaction) -> Edit:
    size = int(np.frombuffer(file.read(0, FILE_HEADER.itemsize), FILE_HEADER)[0]["metadata_size"])
    return FILE_HEADER.itemsize, _metadata(file.path, metadata, redaction, size)


def _metadata(path: str, metadata: dict[str, Any], redaction: Redaction, size: int) -> bytes:
    """Return the JSON of redacted metadata, with blanks up to `size`."""
    kept = {key: value for key, value in metadata.items() if key not in _LEFT_OUT}
    shown = {key: value if key in _KEPT else _value(value, redaction) for key, value in kept.items()}
    for members in ({**shown, REDACTED: True}, shown):
        text = json.dumps(members, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
        if len(text) <= size:
            return text.ljust(size)
    raise TraceError(path, "cannot be redacted: its header has no room for it")


def _value(value: Any, redaction: Redaction) -> Any:
    if isinstance(value, str):
        return redaction.text(value)
    if isinstance(value, dict):
        return {key: _value(entry, redaction) for key, entry in value.items()}
    if isinstance(value, list):
        return [_value(entry, redaction) for entry in value]
    return value


def _explanations(file: RandomAccessFile, segment: Segment, redaction: Redaction) -> Iterator[Edit]:
    """Yield the slots with text, the driver's explanations of failed calls, of one segment."""
    count = segment.size // SLOT.itemsize
    slots = np.frombuffer(file.read(segment.payload, count * SLOT.itemsize), TEXT)
    places = np.flatnonzero(slots["kind"] == OperationKind.TEXT)
    for run in np.split(places, np.flatnonzero(np.diff(places) > 1) + 1) if len(places) else ():
        texts = slots[run].copy()
        room = texts["text"].itemsize
        said = b"".join(slot["text"].tobytes()[: min(room, int(slot["length"]))] for slot in texts)
        left = redaction.text(said.decode("utf-8", "replace")).encode("utf-8")
        for slot in texts:
            slot["text"], slot["length"] = left[:room].ljust(room, b"\0"), len(left[:room])
            left = left[room:]
        yield segment.payload + int(run[0]) * SLOT.itemsize, texts.tobytes()


def _write(descriptor: int, data: bytes, offset: int) -> None:
    view = memoryview(data)
    while view:
        count = os.pwrite(descriptor, view, offset)
        view, offset = view[count:], offset + count
