"""IPC handles as the 64 bytes that a program sends to another process: what the importer must know is in them.

Simulated processes share no state, so a handle says itself what it stands for.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Mapping

from streamsan.model.values import Value
from streamsan.sim.bindings.structures import Structure, packed

SIZE = 64
_LAYOUT = struct.Struct("<8sIIQQQ24x")
_MAGIC = b"simulIPC"
_NAMES = ("kind", "process", "identity", "address", "size")
assert _LAYOUT.size == SIZE


def write(handle: Structure, fields: Mapping[str, Value]) -> None:
    """Put into a handle what it stands for: the fields that the model gives with it. Others are 0."""
    numbers = []
    for name in _NAMES:
        value = fields.get(name)
        number = value if isinstance(value, int) else 0
        numbers.append(number if 0 <= number < 1 << (32 if name in ("kind", "process") else 64) else 0)
    ctypes.memmove(handle.getPtr(), _LAYOUT.pack(_MAGIC, *numbers), SIZE)


def read(handle: Structure) -> dict[str, Value]:
    """Return what a handle stands for, nothing for bytes that no process of a simulated program wrote."""
    content = ctypes.string_at(handle._outside, SIZE) if handle._outside else packed(handle)
    if len(content) != SIZE:
        return {}
    magic, *numbers = _LAYOUT.unpack(content)
    return dict(zip(_NAMES, numbers, strict=True)) if magic == _MAGIC else {}
