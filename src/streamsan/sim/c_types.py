"""How the types of a kernel's parameters lie in memory, and how NumPy sees them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from msgspec import Struct

from streamsan.cuda_syntax import tree
from streamsan.cuda_syntax.named_types import MOST_NESTING, NamedTypes, visible

MOST_ELEMENTS = 1 << 24
MOST_HELD = 256
"""elements of an array whose pointers are listed"""

_SCALARS = {
    "bool": "?", "char": "i1", "signed char": "i1", "unsigned char": "u1", "int8_t": "i1", "uint8_t": "u1",
    "std::byte": "u1", "uchar": "u1", "short": "i2", "unsigned short": "u2", "int16_t": "i2", "uint16_t": "u2",
    "ushort": "u2", "int": "i4", "unsigned": "u4", "unsigned int": "u4", "signed": "i4", "signed int": "i4",
    "int32_t": "i4", "uint32_t": "u4", "uint": "u4", "wchar_t": "i4", "char16_t": "u2", "char32_t": "u4",
    "long": "i8", "unsigned long": "u8", "long long": "i8", "unsigned long long": "u8", "int64_t": "i8",
    "uint64_t": "u8", "size_t": "u8", "ssize_t": "i8", "ptrdiff_t": "i8", "intptr_t": "i8", "uintptr_t": "u8",
    "ulong": "u8", "long int": "i8", "long long int": "i8", "unsigned long int": "u8", "unsigned long long int": "u8",
    "longlong": "i8", "ulonglong": "u8", "short int": "i2", "unsigned short int": "u2",
    "float": "f4", "double": "f8", "half": "f2", "__half": "f2", "__nv_bfloat16": "u2", "nv_bfloat16": "u2",
    "__nv_fp8_e4m3": "u1", "__nv_fp8_e5m2": "u1", "CUdeviceptr": "u8", "cudaTextureObject_t": "u8",
    "cudaSurfaceObject_t": "u8", "CUtexObject": "u8", "CUsurfObject": "u8", "clock_t": "i8",
    "cudaGraphConditionalHandle": "u8", "cuComplex": "c8", "cuFloatComplex": "c8", "cuDoubleComplex": "c16",
    "cudaError_t": "i4", "cudaStream_t": "u8", "cudaGraphExec_t": "u8",
}  # fmt: skip
"""Type -> NumPy's code; two-byte brain floats and one-byte floats, which NumPy lacks, are their bits."""

_VECTOR_BASES = {
    "char": "i1", "uchar": "u1", "short": "i2", "ushort": "u2", "int": "i4", "uint": "u4", "long": "i8", "ulong": "u8",
    "longlong": "i8", "ulonglong": "u8", "float": "f4", "double": "f8", "__half": "f2", "half": "f2",
    "__nv_bfloat16": "u2", "nv_bfloat16": "u2",
}  # fmt: skip


class Layout(Struct, frozen=True):
    """A type in memory: `count` elements of `dtype` (more than one for `float4` and arrays)."""

    dtype: np.dtype[Any]
    count: int
    alignment: int

    @property
    def size(self) -> int:
        """Bytes."""
        return self.dtype.itemsize * self.count


class PlacedPointer(Struct, frozen=True):
    """A pointer in a value."""

    path: str
    offset: int
    """bytes from the value's beginning"""
    type: tree.Type


POINTER = Layout(np.dtype("<u8"), 1, 8)
BYTES = Layout(np.dtype("u1"), 1, 1)
"""what `void*` points to, and a type that is not known"""


def _scalar(code: str) -> Layout:
    dtype = np.dtype("<" + code if code not in ("?", "i1", "u1") else code)
    alignment = dtype.itemsize // 2 if dtype.kind == "c" and code == "c8" else dtype.itemsize
    return Layout(dtype, 1, 8 if code == "c8" else alignment)


def _built_in() -> dict[str, Layout]:
    found = {name: _scalar(code) for name, code in _SCALARS.items()}
    for base, code in _VECTOR_BASES.items():
        dtype = np.dtype("<" + code if code not in ("i1", "u1") else code)
        for count in (1, 2, 3, 4):
            width = 1 if count == 3 else count
            found.setdefault(f"{base}{count}", Layout(dtype, count, min(16, dtype.itemsize * width)))
    found["dim3"] = Layout(np.dtype("<u4"), 3, 4)
    return found


_BUILT_IN = _built_in()
_INTEGER_WORDS = frozenset(("unsigned", "signed", "long", "short", "int", "char"))
_NAMESPACES = ("cuda::std::", "std::", "cuda::", "::")


class Types(NamedTypes):
    """How the types of one translation unit lie in memory."""

    def layout(self, of: tree.Type, depth: int = 0) -> Layout | None:
        """Return how a type lies in memory; None when it is not known."""
        if depth > MOST_NESTING:
            return None
        of = self.resolved(of)
        if of.pointers or of.reference or of.function:
            element: Layout | None = POINTER
        else:
            element = self._named(of, depth)
        if element is None:
            return None
        count = element.count
        for dimension in of.array:
            length = self.constant(dimension) if dimension is not None else None
            if length is None or not 0 < length * count <= MOST_ELEMENTS:
                return None
            count *= length
        return Layout(element.dtype, count, element.alignment)

    def pointee(self, of: tree.Type) -> Layout | None:
        """Return the layout of what a pointer points to; bytes for `void*`, None when it is not known."""
        of = self.resolved(of)
        if of.pointers > 1:
            return POINTER
        if of.function:
            return None
        if of.name == "void":
            return BYTES
        return self.layout(tree.Type(of.name, of.arguments, array=of.array[1:] if not of.pointers else []))

    def pointers_in(self, of: tree.Type, path: str, offset: int = 0, depth: int = 0) -> Iterator[PlacedPointer]:
        """Yield the pointers that a value of a type holds, by their paths: `view.out`, `image.planes.2`."""
        of = self.resolved(of)
        layout = self.layout(of, depth)
        known = None if of.pointers else visible(self.classes, of.name)
        if layout is None or layout.count > MOST_HELD:
            return
        bare = tree.Type(of.name, of.arguments, of.pointers, of.reference, of.const, [], of.function)
        size = layout.size // layout.count if known is not None or of.pointers else layout.size
        places = [path] if not of.array else [f"{path}.{number}" for number in range(layout.count)]
        for number, place in enumerate(places):
            at = offset + number * size
            if of.pointers:
                yield PlacedPointer(place, at, bare)
            elif known is not None and layout.dtype.names is not None:
                yield from self.inside(known, of)._members(known, layout.dtype, place, at, depth + 1)

    def _members(
        self, known: tree.Class, dtype: np.dtype[Any], path: str, offset: int, depth: int
    ) -> Iterator[PlacedPointer]:
        bases = [base for base in known.bases if (inner := self.layout(base)) is not None and inner.dtype.names != ()]
        held = [one for one in known.fields if not one.static]
        parts = [(base, path) for base in bases] + [(one.type, f"{path}.{one.name}") for one in held]
        for (of, place), name in zip(parts, dtype.names or (), strict=False):
            assert dtype.fields is not None
            yield from self.pointers_in(of, place, offset + dtype.fields[name][1], depth)

    def _named(self, of: tree.Type, depth: int) -> Layout | None:
        name = of.name
        for prefix in _NAMESPACES:
            name = name.removeprefix(prefix)
        found = _BUILT_IN.get(name) or _BUILT_IN.get(_ordered(name))
        if found is not None:
            return found
        if name == "complex" and of.arguments and isinstance(of.arguments[0], tree.Type):
            part = self.layout(of.arguments[0], depth + 1)
            if part is not None and part.dtype.kind == "f" and part.size in (4, 8):
                return Layout(np.dtype(f"<c{2 * part.size}"), 1, 2 * part.size)
            return None
        if visible(self.enums, of.name) is not None:
            return _BUILT_IN["int"]
        known = visible(self.classes, of.name)
        return None if known is None else self._class(known, of, depth)

    def _class(self, known: tree.Class, of: tree.Type, depth: int) -> Layout | None:
        if any(method.virtual for method in known.methods):
            return None
        types = self.inside(known, of)
        parts: list[tuple[str, Layout]] = []
        for number, base in enumerate(known.bases):
            inner = types.layout(base, depth + 1)
            if inner is None:
                return None
            if inner.dtype.names != ():
                parts.append((f"base{number}", inner))
        for field in known.fields:
            if field.static:
                continue
            inner = types.layout(field.type, depth + 1)
            if inner is None:
                return None
            parts.append((field.name or f"unnamed{len(parts)}", inner))
        return _structure(parts, known.union)


def _structure(parts: list[tuple[str, Layout]], union: bool) -> Layout:
    offset, end, alignment = 0, 0, 1
    names: list[str] = []
    formats: list[Any] = []
    offsets: list[int] = []
    for name, part in parts:
        offset = 0 if union else -(-end // part.alignment) * part.alignment
        names.append(name if name not in names else f"{name}_{len(names)}")
        formats.append(part.dtype if part.count == 1 else (part.dtype, (part.count,)))
        offsets.append(offset)
        end = max(end, offset + part.size)
        alignment = max(alignment, part.alignment)
    size = max(1, -(-end // alignment) * alignment)
    dtype = np.dtype({"names": names, "formats": formats, "offsets": offsets, "itemsize": size})
    return Layout(dtype, 1, alignment)


def _ordered(name: str) -> str:
    """Return an integer type's words in the usual order: `long unsigned int` is `unsigned long`."""
    words = name.split()
    if len(words) < 2 or not set(words) <= _INTEGER_WORDS:
        return name
    sign = ["unsigned"] if "unsigned" in words else ["signed"] if "char" in words and "signed" in words else []
    core = [word for word in words if word in ("long", "short", "char")]
    return " ".join(sign + (core or ["int"]))
