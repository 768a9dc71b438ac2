"""Sizes, alignment and members of types, as a 64-bit Linux compiler lays them out."""

from __future__ import annotations

from collections.abc import Iterator

from streamsan.cuda_source import known_apis
from streamsan.cuda_source.library.tables import is_class, object_size
from streamsan.cuda_source.machine import Machine
from streamsan.cuda_source.values.cells import ArrayObject, Value
from streamsan.cuda_source.values.classes import ClassInfo
from streamsan.cuda_source.values.success import is_status_type
from streamsan.cuda_source.values.terms import combine
from streamsan.cuda_source.values.types import HANDLE_TYPES, SCALAR_SIZES, CType
from streamsan.cuda_syntax.tree import Literal_, Name, Variable

POINTER_SIZE = 8
DEEPEST_CLASS = 48
"""Classes inside each other."""
MOST_ALIKE = 8
"""objects of one template in each other, whose arguments are different"""


class Layout:
    """What types look like in memory."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self._measuring: set[tuple[str, str]] = set()
        self._fields: dict[ClassInfo, list[tuple[Variable, CType]]] = {}
        self._known_places: dict[tuple[ClassInfo, str], tuple[int, int]] = {}
        self._sizes: dict[ClassInfo, int] = {}
        self._alignments: dict[ClassInfo, int] = {}
        # Only what is known is kept: a size that nobody knows yet may be fixed by a later condition.
        self._guesses = 0
        """alignments and sizes so far that were taken for something: of a class in itself, or without a known size"""

    def size_of(self, type: CType) -> int | None:
        """Return the bytes of a type; None if they are not known."""
        if type.array:
            size = self.size_of(type.element())
            length = self.machine.known(type.array[0])
            return size * length if size is not None and isinstance(length, int) else None
        if type.pointers:
            return POINTER_SIZE
        known = SCALAR_SIZES.get(type.name)
        if known is not None:
            return known
        if type.name in HANDLE_TYPES:
            return POINTER_SIZE
        if type.name in self.machine.program.enums:
            return 4
        cls = self.machine.program.class_of(type, self.machine.frame)
        if cls is not None:
            return self._class_size(cls)
        if type.name == "std::array" and len(type.arguments) == 2 and isinstance(type.arguments[0], CType):
            size, length = self.size_of(type.arguments[0]), type.arguments[1]
            return size * length if size is not None and isinstance(length, int) else None
        return object_size(type.name)

    def align_of(self, type: CType) -> int:
        """Return the alignment of a type."""
        if type.array:
            return self.align_of(type.element())
        cls = None if type.pointers else self.machine.program.class_of(type, self.machine.frame)
        if cls is not None:
            return self._alignments.get(cls) or self._class_alignment(cls)
        size = self.size_of(type)
        self._guesses += size is None
        size = size or POINTER_SIZE
        return size if size in (1, 2, 4, 8, 16) else 8 if size % 8 == 0 else 4 if size % 4 == 0 else 1

    def _class_alignment(self, cls: ClassInfo) -> int:
        key = ("align", f"{cls.name}{cls.arguments}")
        if key in self._measuring or len(self._measuring) > DEEPEST_CLASS:
            self._guesses += 1
            return POINTER_SIZE
        guesses = self._guesses
        self._measuring.add(key)
        try:
            members = [self.align_of(member) for _, member in self.all_fields(cls)]
        finally:
            self._measuring.discard(key)
        found = max([8 if self.is_virtual(cls) else 1, *members])
        if self._guesses == guesses:
            self._alignments[cls] = found
        return found

    def is_virtual(self, cls: ClassInfo) -> bool:
        """Tell whether objects of a class hold a pointer to its virtual methods."""
        return any(method.virtual for base in cls.lineage() for found in base.methods.values() for method in found)

    def _class_size(self, cls: ClassInfo) -> int | None:
        kept = self._sizes.get(cls)
        if kept is not None:
            return kept
        key = ("size", f"{cls.name}{cls.arguments}")
        if key in self._measuring or len(self._measuring) > DEEPEST_CLASS:  # a class cannot contain itself
            self._guesses += 1
            return None
        guesses = self._guesses
        self._measuring.add(key)
        try:
            found = self._laid_out(cls)
        finally:
            self._measuring.discard(key)
        if found is not None and self._guesses == guesses:
            self._sizes[cls] = found
        return found

    def _laid_out(self, cls: ClassInfo) -> int | None:
        end = 8 if self.is_virtual(cls) else 0
        for _, offset, size in self._places(cls):
            if size is None:
                return None
            end = max(end, offset + size)
        alignment = max([8 if self.is_virtual(cls) else 1, *(self.align_of(type) for _, type in self.all_fields(cls))])
        return max(1, -(-end // alignment) * alignment)

    def offset_of(self, cls: ClassInfo, name: str) -> int | None:
        """Return the offset of a member; None if it is not known."""
        place = self.place_of(cls, name)
        return None if place is None else place[0]

    def place_of(self, cls: ClassInfo, name: str) -> tuple[int, int | None] | None:
        """Return the offset of a member and its bytes, of a bit-field those that are written with it."""
        known = self._known_places.get((cls, name))
        if known is not None:
            return known
        found = next(((offset, size) for field, offset, size in self._places(cls) if field.name == name), None)
        if found is None:
            return None
        offset, size = found
        if size is not None and not self._measuring:
            self._known_places[cls, name] = offset, size
        return offset, size

    def _places(self, cls: ClassInfo) -> Iterator[tuple[Variable, int, int | None]]:
        """Yield members with their offsets and sizes. Bit-fields in a row are one place: who writes one writes all."""
        at = 64 if self.is_virtual(cls) else 0  # in bits
        row: list[Variable] = []
        begin = 0
        for field, type in self.all_fields(cls):
            size = POINTER_SIZE if type.reference else self.size_of(type)
            width = None if size is None else self._width(field)
            if cls.node.union:
                yield field, 0, size
            elif size is not None and width is not None:
                unit = 8 * size
                at = at if at % unit + width <= unit else -(-at // unit) * unit
                begin = begin if row else at // 8
                row.append(field)
                at += width
            else:
                yield from ((each, begin, -(-at // 8) - begin) for each in row)
                row.clear()
                align = self.align_of(type)
                offset = -(-at // (8 * align)) * align
                yield field, offset, size
                if size is None:
                    return
                at = 8 * (offset + size)
        yield from ((each, begin, -(-at // 8) - begin) for each in row)

    def _width(self, field: Variable) -> int | None:
        """Return the bits of a bit-field; None: it is none, or nobody knows."""
        bits = field.bits
        if isinstance(bits, Literal_):
            return bits.value if isinstance(bits.value, int) else None
        return self.machine.names.constant(bits.name) if isinstance(bits, Name) else None

    def field_type(self, field: Variable, cls: ClassInfo) -> CType:
        """Return the type of a member in an instantiation."""
        return self.machine.resolve_in(field.type, cls.context())

    def all_fields(self, cls: ClassInfo) -> list[tuple[Variable, CType]]:
        """Return the members of a class in layout order: bases first."""
        kept = self._fields.get(cls)
        if kept is not None:
            return kept
        found: list[tuple[Variable, CType]] = []
        for base in cls.bases:
            found.extend(self.all_fields(base))
        found.extend((field, self.field_type(field, cls)) for field in cls.own_fields())
        if all(length is not None for _, type in found for length in type.array):
            self._fields[cls] = found
        return found

    def is_class(self, type: CType) -> bool:
        """Tell whether values of a type are objects with constructors."""
        if type.pointers or type.array or type.function or type.name in SCALAR_SIZES or type.name in HANDLE_TYPES:
            return False
        if self.machine.program.class_of(type, self.machine.frame) is not None:
            return True
        return is_class(type.name)

    def is_plain(self, type: CType) -> bool:
        """Tell whether a type is a scalar, a pointer, or a handle or structure of CUDA: no constructor runs."""
        return bool(
            type.pointers
            or type.function
            or type.name in SCALAR_SIZES
            or type.name in HANDLE_TYPES
            or type.name in self.machine.program.enums
            or known_apis.is_type(type.name)
            or is_status_type(type.name)
        )

    def is_aggregate(self, cls: ClassInfo) -> bool:
        """Tell whether braces initialise the members directly."""
        return not cls.methods.get("") and not cls.unknown_bases and not self.is_virtual(cls)

    def bytes_of(self, array: ArrayObject) -> Value:
        """Return the bytes of an array; unknown ones as None or a term."""
        if array.element is None:
            return array.length
        size = self.size_of(array.element)
        return combine("*", array.length, size) if size is not None and array.length is not None else None
