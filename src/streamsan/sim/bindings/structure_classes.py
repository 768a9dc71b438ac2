"""The structure classes of cuda.bindings: attributes with the types and defaults that the C structures have.

A structure keeps Python values; it is laid out in memory only where somebody asks for its address (`getPtr`). Members
of unions do not share storage.
"""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Protocol

from streamsan.sim.executor.host_bytes import is_mapped

_RANGES = {
    "int": (-(1 << 31), (1 << 31) - 1),
    "long long": (-(1 << 63), (1 << 63) - 1),
    "unsigned int": (0, (1 << 32) - 1),
    "unsigned short": (0, (1 << 16) - 1),
    "unsigned char": (0, 255),
    "size_t": (0, (1 << 64) - 1),
    "unsigned long long": (0, (1 << 64) - 1),
}


SHARED = {"value": "value64", "value64": "value"}
"""Attributes that are one storage in C."""
COUNTED = {"phGraph_out": "size"}
"""Lists behind a pointer that have as many entries as another attribute says: those never set are NULL."""


MOST_COUNTED = 1 << 12


class Field(Protocol):
    """How one attribute is kept."""

    @property
    def size(self) -> int:
        """Bytes in memory; 0: as many as the structure has that it is."""

    @property
    def alignment(self) -> int:
        """Its offset is a multiple of this many bytes."""

    def default(self) -> object:
        """Return the value of an attribute that was never set."""

    def accept(self, value: object) -> object:
        """Return what is kept of a value that is assigned; TypeError and OverflowError as cuda.bindings raises them."""

    def show(self, value: object) -> object:
        """Return what the program sees of what is kept."""

    def pack(self, value: object) -> bytes:
        """Return the bytes in memory."""

    def unpack(self, content: bytes) -> object:
        """Return what is kept of bytes in memory."""


def aligned(offset: int, alignment: int) -> int:
    """Return the next offset that is a multiple of an alignment."""
    return -(-offset // alignment) * alignment


def packed(structure: Structure) -> bytes:
    """Return a structure as C lays it out; of a union, the first member that is not zero."""
    parts = [(field, field.pack(structure._kept(name))) for name, field in structure._fields.items()]
    widest = max((field.alignment for field, _ in parts), default=1)
    if structure._union:
        filled = next((part for _, part in parts if part.strip(b"\0")), b"")
        longest = max((len(part) for _, part in parts), default=0)
        return filled.ljust(aligned(longest, widest), b"\0")
    content = b""
    for field, part in parts:
        content = content.ljust(aligned(len(content), field.alignment), b"\0") + part
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
        found[name] = aligned(end, field.alignment)
        end, widest = found[name] + size, max(widest, field.alignment)
    if kind._union or not kind._size or (found and aligned(end, widest) != kind._size):
        return None
    return found


def _bytes_of(field: Field) -> int | None:
    """Return the bytes of an attribute in memory; None where they are not known, or lead elsewhere."""
    if isinstance(field, Nested):
        kind = field.kind()
        return None if _offsets(kind) is None else kind._size
    return None if isinstance(field, Many) and field.length is None else field.size or None


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
                shown = hex(value) if isinstance(self._fields[name], Address) else repr(value)
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
        if isinstance(field, Nested):
            return field.kind()(_ptr=at)
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
        if name in COUNTED and isinstance(field, Many) and isinstance(kept, list):
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


def integer(word: str, value: object) -> int:
    """Return a C integer; TypeError and OverflowError as Cython raises them."""
    if isinstance(value, str | bytes) or not hasattr(type(value), "__int__"):
        raise TypeError("an integer is required")
    number: int = int(value)  # type: ignore[call-overload]
    least, most = _RANGES[word]
    if number < least:
        raise OverflowError(
            f"can't convert negative value to {word}" if least == 0 else f"value too large to convert to {word}"
        )
    if number > most:
        raise OverflowError(f"value too large to convert to {word}")
    return number


def is_integer_word(word: str) -> bool:
    """Return whether a type's name is that of a C integer."""
    return word in _RANGES


# -- kinds of attributes ----------------------------------------------------------------------------
class Number:
    """A C integer."""

    def __init__(self, word: str, first: int = 0) -> None:
        self.word = word
        self.first = first
        self.size = self.alignment = (_RANGES[word][1].bit_length() + 7) // 8

    def default(self) -> object:
        """Return 0, or what the C++ constructor sets."""
        return self.first

    def accept(self, value: object) -> object:
        """Return an integer in range."""
        return integer(self.word, value)

    def show(self, value: object) -> object:
        """Return the integer."""
        return value

    def pack(self, value: object) -> bytes:
        """Return it in the machine's order."""
        assert isinstance(value, int)
        return (value & ((1 << (8 * self.size)) - 1)).to_bytes(self.size, "little")

    def unpack(self, content: bytes) -> object:
        """Return the number."""
        return int.from_bytes(content, "little", signed=_RANGES[self.word][0] < 0)


class Real:
    """A C float."""

    size = alignment = 4

    def default(self) -> object:
        """Return 0."""
        return 0.0

    def accept(self, value: object) -> object:
        """Return a float as single precision keeps it."""
        return ctypes.c_float(value).value  # type: ignore[arg-type]

    def show(self, value: object) -> object:
        """Return the float."""
        return value

    def pack(self, value: object) -> bytes:
        """Return single precision."""
        return bytes(ctypes.c_float(value))  # type: ignore[arg-type]

    def unpack(self, content: bytes) -> object:
        """Return the number."""
        return ctypes.c_float.from_buffer_copy(content).value


class Converted:
    """A number with a class: an enumeration, a handle, an address."""

    def __init__(
        self, accept: Callable[[object], object], show: Callable[[Any], object], number: Callable[[Any], int], size: int
    ) -> None:
        self.accept = accept
        self.show = show
        self.number = number
        self.size = self.alignment = size

    def default(self) -> object:
        """Return 0."""
        return self.accept(0)

    def pack(self, value: object) -> bytes:
        """Return it in the machine's order."""
        return (self.number(value) & ((1 << (8 * self.size)) - 1)).to_bytes(self.size, "little")

    def unpack(self, content: bytes) -> object:
        """Return the number with its class."""
        return self.accept(int.from_bytes(content, "little"))


class Address(Converted):
    """An address: shown in hexadecimal."""


class Nested:
    """A structure inside a structure."""

    def __init__(self, kind: Callable[[], type[Structure]]) -> None:
        self.kind = kind
        self.size = 0

    @property
    def alignment(self) -> int:
        """That of its widest part."""
        return max((field.alignment for field in self.kind()._fields.values()), default=1)

    def default(self) -> object:
        """Return one of zeros."""
        return self.kind()()

    def accept(self, value: object) -> object:
        """Return a copy."""
        made = self.kind()()
        made._assign(checked(type(made).__name__, value, type(made)))
        return made

    def show(self, value: object) -> object:
        """Return the part itself: assigning to its attributes changes the whole."""
        return value

    def pack(self, value: object) -> bytes:
        """Return the parts."""
        assert isinstance(value, Structure)
        return packed(value)

    def unpack(self, content: bytes) -> object:
        """Return a structure with these parts."""
        memory = ctypes.create_string_buffer(content, len(content))
        return self.accept(self.kind()(_ptr=ctypes.addressof(memory)))


class Many:
    """An array: of a fixed length inside the structure, or of any length behind a pointer (`length` None)."""

    def __init__(self, item: Field, length: int | None) -> None:
        self.item = item
        self.length = length
        self.size = 8 if length is None else length * item.size
        self.alignment = 8 if length is None else item.alignment

    def default(self) -> object:
        """Return nothing, or zeros."""
        return [self.item.default() for _ in range(self.length or 0)]

    def accept(self, value: object) -> object:
        """Return the items, each accepted by itself."""
        if value is None:
            return self.default()
        items = [self.item.accept(entry) for entry in value]  # type: ignore[attr-defined]
        if self.length is not None and len(items) != self.length:
            lacking = "not enough" if len(items) < self.length else "too many"
            message = f"{lacking} values found during array assignment, expected {self.length}, got {len(items)}"
            raise IndexError(message)
        return items

    def show(self, value: object) -> object:
        """Return a list of what the program sees of each."""
        return [self.item.show(entry) for entry in value]  # type: ignore[attr-defined]

    def pack(self, value: object) -> bytes:
        """Return the items, or a pointer that leads nowhere."""
        if self.length is None:
            return bytes(8)
        return b"".join(self.item.pack(entry) for entry in value)  # type: ignore[attr-defined]

    def unpack(self, content: bytes) -> object:
        """Return the items."""
        step = len(content) // self.length if self.length else 0
        return [self.item.unpack(content[at : at + step]) for at in range(0, len(content), step)] if step else []


class Text:
    """An array of characters."""

    alignment = 1

    def __init__(self, length: int) -> None:
        self.size = length

    def default(self) -> object:
        """Return zeros."""
        return bytes(self.size)

    def accept(self, value: object) -> object:
        """Return the bytes."""
        if isinstance(value, bytes | bytearray):
            return bytes(value)
        raise TypeError(f"expected bytes, {type(value).__name__} found")

    def show(self, value: object) -> object:
        """Return the bytes: text, whose length nobody told, up to its first zero."""
        assert isinstance(value, bytes)
        return value if self.size else value.split(b"\0", 1)[0]

    def pack(self, value: object) -> bytes:
        """Return the bytes, filled up."""
        assert isinstance(value, bytes)
        return value[: self.size].ljust(self.size, b"\0") if self.size else value

    def unpack(self, content: bytes) -> object:
        """Return the bytes."""
        return content
