"""The structure classes of cuda.bindings: attributes with the types and defaults that the C structures have.

A structure keeps Python values; it is laid out in memory only where somebody asks for its address (`getPtr`). Members
of unions do not share storage.
"""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from streamsan.sim.bindings.structure_fields import Field
from streamsan.sim.executor.host_bytes import is_mapped

SHARED = {"value": "value64", "value64": "value"}
"""Attributes that are one storage in C."""
COUNTED = {"phGraph_out": "size"}
"""Lists behind a pointer that have as many entries as another attribute says: those never set are NULL."""


MOST_COUNTED = 1 << 12


def aligned(offset: int, alignment: int) -> int:
    """Return the next offset that is a multiple of an alignment."""
    return -(-offset // alignment) * alignment


def packed(structure: Structure) -> bytes:
    """Return a structure as C lays it out; of a union, the first member that is not zero."""
    parts = [(field, field.pack(structure._kept(name))) for name, field in structure._fields.items()]
    widest = max((alignment_of(field) for field, _ in parts), default=1)
    if structure._union:
        filled = next((part for _, part in parts if part.strip(b"\0")), b"")
        longest = max((len(part) for _, part in parts), default=0)
        return filled.ljust(aligned(longest, widest), b"\0")
    content = b""
    for field, part in parts:
        content = content.ljust(aligned(len(content), alignment_of(field)), b"\0") + part
    # Some members share storage or are left out here: the whole is never longer or shorter than the C structure.
    return content.ljust(structure._size or aligned(len(content), widest), b"\0")[: structure._size or None]


_OFFSETS: dict[type, Mapping[str, int] | None] = {}


def _offsets(kind: type[Structure]) -> Mapping[str, int] | None:
    """Return where each attribute lies in memory; None where that is not known (unions, left-out parts)."""
    if kind not in _OFFSETS:
        _OFFSETS[kind] = _computed_offsets(kind)
    return _OFFSETS[kind]


def _computed_offsets(kind: type[Structure]) -> Mapping[str, int] | None:
    found: dict[str, int] = {}
    end, widest = 0, 1
    for name, field in kind._fields.items():
        size = _bytes_of(field)
        if size is None:
            return None
        found[name] = aligned(end, alignment_of(field))
        end, widest = found[name] + size, max(widest, alignment_of(field))
    if kind._union or not kind._size or (found and aligned(end, widest) != kind._size):
        return None
    return found


def _bytes_of(field: Field) -> int | None:
    """Return the bytes of an attribute in memory; None where they are not known, or lead elsewhere."""
    if field.nested is not None:
        kind: type[Structure] = field.nested()
        return None if _offsets(kind) is None else kind._size
    return None if field.leads_elsewhere else field.size or None


class Structure:
    """A structure. `_fields` and `_union` belong to the class."""

    __slots__ = ("__weakref__", "_memory", "_outside", "_values")
    _memory: Any
    _outside: int
    _fields: ClassVar[Mapping[str, Field]] = {}
    _union: ClassVar[bool] = False
    _size: ClassVar[int] = 0
    _values: dict[str, object]

    def __init__(self, _ptr: int = 0) -> None:
        """Make a structure of zeros, or another view of what lies at an address: of a structure, or any memory."""
        other = _AT.get(int(_ptr)) if _ptr else None
        self._values = other._values if other is not None else {}
        self._memory = other._memory if other is not None and other._outside else None
        self._outside = other._outside if other is not None else int(_ptr) if self._lies_at(int(_ptr)) else 0
        """its address, where it lies in memory of the program's own"""

    def getPtr(self) -> int:  # noqa: N802 - the name that cuda.bindings has
        """Return where it lies; of its own, a copy in memory, made anew with each call at the same place."""
        if self._outside:
            return self._outside
        content = packed(self)
        if self._memory is None:
            self._memory = ctypes.create_string_buffer(max(len(content), 8))
        ctypes.memmove(self._memory, content, min(len(content), len(self._memory)))
        address = ctypes.addressof(self._memory)
        _AT[address] = self
        if self._fields.keys() <= {"reserved"}:
            self._outside = address  # nothing but bytes (an IPC handle): from here on they are what it is
        return address

    def __repr__(self) -> str:
        """Return a line for each attribute."""
        lines = []
        for name in self._fields:
            value = getattr(self, name)
            if isinstance(value, Structure):
                inner = "\n".join("    " + line for line in repr(value).split("\n"))
                lines.append(f"{name} :\n{inner}")
            else:
                shown = hex(value) if self._fields[name].is_address else repr(value)
                lines.append(f"{name} : {shown}")
        return "\n".join(lines)

    # -- for the bindings -------------------------------------------------------------------------
    def _kept(self, name: str) -> object:
        """Return what is kept of an attribute."""
        if self._outside:
            return self._read(name, self._fields[name])
        if name not in self._values:
            self._values[name] = self._fields[name].default()
        return self._values[name]

    def _lies_at(self, address: int) -> bool:
        return address > 0 and _offsets(type(self)) is not None and is_mapped(address, self._size)

    def _put(self, name: str, kept: object) -> None:
        """Keep what `accept` gave."""
        if self._outside:
            content = self._fields[name].pack(kept)
            ctypes.memmove(self._outside + (_offsets(type(self)) or {})[name], content, len(content))
        else:
            self._values[name] = kept

    def _read(self, name: str, field: Field) -> object:
        at = self._outside + (_offsets(type(self)) or {})[name]
        if field.nested is not None:
            return field.nested()(_ptr=at)
        return field.unpack(ctypes.string_at(at, _bytes_of(field) or 0))

    def _touched(self, name: str) -> bool:
        """Return whether an attribute was ever read or set."""
        return bool(self._outside) or name in self._values

    def _assign(self, other: Structure) -> None:
        """Take over all values of another structure of the same class."""
        taken = {name: other._kept(name) for name in (other._fields if other._outside else list(other._values))}
        self._values.clear()
        for name, value in taken.items():
            self._put(name, self._fields[name].accept(value))


_AT: weakref.WeakValueDictionary[int, Structure] = weakref.WeakValueDictionary()
"""Structures by the address that the program was given."""


def structure_class(
    module: str, name: str, base: type[Structure] | None, fields: Mapping[str, Field], union: bool, size: int
) -> type[Structure]:
    """Return a new structure class. `size`: bytes, 0 where that is not known."""
    contents: dict[str, object] = {
        "__slots__": (),
        "__module__": f"cuda.bindings.{module}",
        "_fields": fields,
        "_union": union,
        "_size": size,
    }
    if base is None:
        contents |= {key: _attribute(key, field) for key, field in fields.items()}
    return type(name, (base or Structure,), contents)


def _attribute(name: str, field: Field) -> property:
    def read(self: Structure) -> object:
        kept = self._kept(name)
        if name in COUNTED and field.item is not None and isinstance(kept, list):
            count = self._kept(COUNTED[name])
            assert isinstance(count, int)
            kept.extend(field.item.default() for _ in range(min(count, MOST_COUNTED) - len(kept)))
        return field.show(kept)

    def write(self: Structure, value: object) -> None:
        kept = self._kept(name) if self._outside else self._values.get(name)
        if isinstance(kept, Structure):
            kept._assign(checked(name, value, type(kept)))
        else:
            self._put(name, field.accept(value))
            if not self._outside and name in SHARED and (partner := self._fields.get(SHARED[name])) is not None:
                content = int.from_bytes(field.pack(self._values[name]), "little")
                self._values[SHARED[name]] = partner.accept(content & ((1 << (8 * partner.size)) - 1))

    return property(read, write)


def checked(name: str, value: object, kind: type[Structure]) -> Structure:
    """Return a structure argument; raise TypeError for anything else."""
    if isinstance(value, kind) or (isinstance(value, Structure) and issubclass(kind, type(value))):
        return value
    raise TypeError(
        f"Argument '{name}' has incorrect type (expected {kind.__module__}.{kind.__name__}, got {type(value).__name__})"
    )


def nested(find: Callable[[], type[Structure]]) -> Field:
    """Return a structure inside a structure: the part itself is shown, so that assigning to it changes the whole."""

    def accept(value: object) -> object:
        made = find()()
        made._assign(checked(type(made).__name__, value, type(made)))
        return made

    def unpack(content: bytes) -> object:
        memory = ctypes.create_string_buffer(content, len(content))
        return accept(find()(_ptr=ctypes.addressof(memory)))

    return Field(0, 0, lambda: find()(), accept, packed, unpack, nested=find)


def alignment_of(field: Field) -> int:
    """Return the bytes of which an attribute's offset is a multiple."""
    if field.nested is None:
        return field.alignment
    return max((alignment_of(part) for part in field.nested()._fields.values()), default=1)
