"""The header of an .sst file: what it is, which version, and its metadata."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from streamsan.trace.errors import TraceError
from streamsan.trace.file_layout import (
    BYTE_ORDER,
    FILE_HEADER,
    MAGIC,
    MAJOR,
    MINOR,
    MOST_METADATA,
    aligned,
)
from streamsan.trace.foreign import looks_like
from streamsan.trace.layout import SLOT
from streamsan.trace.random_access import RandomAccessFile


def packed_header(metadata: Mapping[str, Any]) -> bytes:
    """Return the header of a new file. Raises ValueError when the metadata is no JSON or more than 1 MiB of it."""
    text = json.dumps(metadata, ensure_ascii=True, allow_nan=False, separators=(",", ":")).encode("ascii")
    if len(text) > MOST_METADATA:
        raise ValueError(f"{len(text)} bytes of metadata; a header holds at most {MOST_METADATA}")
    header = np.zeros(1, FILE_HEADER)
    size = aligned(FILE_HEADER.itemsize + len(text))
    header["magic"] = MAGIC
    header["byte_order"] = BYTE_ORDER
    header["major"] = MAJOR
    header["minor"] = MINOR
    header["header_size"] = size
    header["metadata_size"] = len(text)
    header["slot_size"] = SLOT.itemsize
    return (header.tobytes() + text).ljust(size, b"\0")


def metadata_of(path: str, text: bytes) -> dict[str, Any]:
    """Return the JSON object in `text`, its strings free of what cannot be written as UTF-8."""
    try:
        value = json.loads(text.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        raise TraceError(path, "damaged: its metadata is not JSON") from None
    if not isinstance(value, dict):
        raise TraceError(path, "damaged: its metadata is not a JSON object")
    return {_clean(key): _cleaned(entry, 0) for key, entry in value.items()}


def _clean(text: str) -> str:
    # JSON can spell half a surrogate pair, which no stream can encode.
    return text.encode("utf-8", "replace").decode("utf-8")


def _cleaned(value: Any, depth: int) -> Any:
    """Return a JSON value with clean strings; what is nested deeper than anyone writes becomes None."""
    if isinstance(value, str):
        return _clean(value)
    if depth > 16:
        return None
    if isinstance(value, dict):
        return {_clean(key): _cleaned(entry, depth + 1) for key, entry in value.items()}
    if isinstance(value, list):
        return [_cleaned(entry, depth + 1) for entry in value]
    return value


def read_header(file: RandomAccessFile) -> tuple[int, dict[str, Any]]:
    """Return where the first segment is, and the metadata."""
    path = file.path
    if file.size == 0:
        raise TraceError(path, "is empty")
    start = file.read(0, min(file.size, FILE_HEADER.itemsize))
    if not start.startswith(MAGIC):
        if MAGIC.startswith(start):
            raise TraceError(path, "is cut off inside the header")
        name = looks_like(start)
        raise TraceError(path, f"is not an .sst trace (it looks like {name})" if name else "is not an .sst trace")
    if len(start) < FILE_HEADER.itemsize:
        raise TraceError(path, "is cut off inside the header")
    header = np.frombuffer(start, FILE_HEADER)[0]
    if header["byte_order"] == int.from_bytes(BYTE_ORDER.to_bytes(4, "little"), "big"):
        raise TraceError(path, "was written in the other byte order (big-endian)")
    if header["byte_order"] != BYTE_ORDER:
        raise TraceError(path, "damaged: its byte-order mark is none")
    major, minor = int(header["major"]), int(header["minor"])
    if major > MAJOR:
        raise TraceError(path, f"has format version {major}.{minor}; this streamsan reads versions up to {MAJOR}.x")
    if major < MAJOR:
        raise TraceError(path, f"has format version {major}.{minor}, which was never published")
    if header["slot_size"] != SLOT.itemsize:
        raise TraceError(path, f"damaged: slots of {header['slot_size']} bytes instead of {SLOT.itemsize}")
    size, metadata_size = int(header["header_size"]), int(header["metadata_size"])
    if metadata_size > MOST_METADATA:
        raise TraceError(path, f"damaged: {metadata_size} bytes of metadata, more than any writer may write")
    if size != aligned(FILE_HEADER.itemsize + metadata_size):
        raise TraceError(path, f"damaged: a header of {size} bytes with {metadata_size} bytes of metadata")
    if size > file.size:
        raise TraceError(path, "is cut off inside the header")
    return size, metadata_of(path, file.read(FILE_HEADER.itemsize, metadata_size))
