"""IPC handles as the 64 bytes that a program sends to another process: which one made them, and what it calls it.

They come from anywhere: what is no handle is nothing, and what one says holds only as far as that process confirms it.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Mapping

from streamsan.model.values import Value
from streamsan.sim.bindings.structure_classes import Structure, packed

SIZE = 64
_RESERVED = "reserved"
_LAYOUT = struct.Struct("<8sI4xQQ16s16x")
_MAGIC = b"simulIPC"
_NUMBERS = ("kind", "identity", "size")
_TOKEN = 16
assert _LAYOUT.size == SIZE


def write(handle: Structure, fields: Mapping[str, Value]) -> None:
    """Put into a handle what it stands for: the fields that the model gives with it. Others are 0."""
    kind, identity, size, exporter = (_number(fields, name) for name in (*_NUMBERS, "exporter"))
    content = _LAYOUT.pack(_MAGIC, kind, identity, size, exporter.to_bytes(_TOKEN))
    if _RESERVED in handle._fields:
        handle._put(_RESERVED, handle._fields[_RESERVED].accept(content))  # as older versions of the bindings have it
    else:
        ctypes.memmove(handle.getPtr(), content, SIZE)


def read(handle: Structure) -> dict[str, Value]:
    """Return what a handle stands for, nothing for bytes that no process of a simulated program wrote."""
    content = ctypes.string_at(handle._outside, SIZE) if handle._outside else packed(handle)
    if len(content) != SIZE:
        return {}
    magic, *numbers, token = _LAYOUT.unpack(content)
    if magic != _MAGIC:
        return {}
    return {**dict(zip(_NUMBERS, numbers, strict=True)), "exporter": int.from_bytes(token)}


def _number(fields: Mapping[str, Value], name: str) -> int:
    value = fields.get(name)
    return value if isinstance(value, int) else 0
