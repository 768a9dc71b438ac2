"""How attributes of structures are kept, as bytes in memory and as the program sees them."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import partial
from typing import Any

from msgspec import Struct

_RANGES = {
    "int": (-(1 << 31), (1 << 31) - 1),
    "long long": (-(1 << 63), (1 << 63) - 1),
    "unsigned int": (0, (1 << 32) - 1),
    "unsigned short": (0, (1 << 16) - 1),
    "unsigned char": (0, 255),
    "size_t": (0, (1 << 64) - 1),
    "unsigned long long": (0, (1 << 64) - 1),
}


def _same(value: Any) -> Any:
    return value


class Field(Struct, frozen=True):
    """How one attribute is kept. Values are what `accept` gave."""

    size: int
    """bytes in memory; 0: as many as the structure has that it is"""
    alignment: int
    """its offset is a multiple of this many bytes; of a structure: that of its widest part"""
    default: Callable[[], object]
    """gives the value of an attribute that was never set"""
    accept: Callable[[Any], object]
    """gives what is kept of a value that is assigned; raises TypeError and OverflowError as cuda.bindings does"""
    pack: Callable[[Any], bytes]
    """gives the bytes in memory"""
    unpack: Callable[[bytes], object]
    """gives what is kept of bytes in memory"""
    show: Callable[[Any], object] = _same
    """gives what the program sees of what is kept"""
    is_address: bool = False
    """shown in hexadecimal"""
    item: Field | None = None
    """of an array"""
    leads_elsewhere: bool = False
    """an array of any length behind a pointer"""
    nested: Callable[[], Any] | None = None
    """gives the class of a structure inside the structure"""


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
def number(word: str, first: int = 0) -> Field:
    """Return a C integer, which is `first` until it is set."""
    least, most = _RANGES[word]
    size = (most.bit_length() + 7) // 8
    unpack = partial(int.from_bytes, byteorder="little", signed=least < 0)
    return Field(size, size, lambda: first, partial(integer, word), partial(_little_endian, size), unpack)


def _little_endian(size: int, value: int) -> bytes:
    return (value & ((1 << (8 * size)) - 1)).to_bytes(size, "little")


def real() -> Field:
    """Return a C float: what single precision keeps of a number."""
    single = ctypes.c_float
    return Field(
        4, 4, lambda: 0.0, lambda value: single(value).value, lambda value: bytes(single(value)),
        lambda content: single.from_buffer_copy(content).value,
    )  # fmt: skip


def converted(
    accept: Callable[[Any], object],
    size: int,
    *,
    show: Callable[[Any], object] = _same,
    to_int: Callable[[Any], int] = int,
) -> Field:
    """Return a number with a class: an enumeration, a handle."""
    return Field(
        size, size, lambda: accept(0), accept, lambda value: _little_endian(size, to_int(value)),
        lambda content: accept(int.from_bytes(content, "little")), show,
    )  # fmt: skip


def text(length: int) -> Field:
    """Return an array of characters. Where nobody tells its length (0), it ends at its first zero."""

    def accept(value: object) -> bytes:
        if isinstance(value, bytes | bytearray):
            return bytes(value)
        raise TypeError(f"expected bytes, {type(value).__name__} found")

    def pack(value: bytes) -> bytes:
        return value[:length].ljust(length, b"\0") if length else value

    def show(value: bytes) -> bytes:
        return value if length else value.split(b"\0", 1)[0]

    return Field(length, 1, lambda: bytes(length), accept, pack, _same, show)


def array(item: Field, length: int, alignment: int) -> Field:
    """Return an array inside the structure."""

    def accept(value: Any) -> object:
        if value is None:
            return default()
        items = [item.accept(entry) for entry in value]
        if len(items) != length:
            lacking = "not enough" if len(items) < length else "too many"
            message = f"{lacking} values found during array assignment, expected {length}, got {len(items)}"
            raise IndexError(message)
        return items

    def unpack(content: bytes) -> object:
        step = len(content) // length if length else 0
        return [item.unpack(content[at : at + step]) for at in range(0, len(content), step)] if step else []

    def default() -> object:
        return [item.default() for _ in range(length)]

    def pack(value: Any) -> bytes:
        return b"".join(item.pack(entry) for entry in value)

    return Field(length * item.size, alignment, default, accept, pack, unpack, partial(_shown, item), item=item)


def list_elsewhere(item: Field) -> Field:
    """Return an array of any length behind a pointer, which leads nowhere in memory."""

    def accept(value: Any) -> object:
        return [] if value is None else [item.accept(entry) for entry in value]

    return Field(
        8, 8, list, accept, lambda value: bytes(8), lambda content: [], partial(_shown, item), item=item,
        leads_elsewhere=True,
    )  # fmt: skip


def _shown(item: Field, value: Any) -> object:
    return [item.show(entry) for entry in value]
