"""The classes of a unit that hold pointers: their fields, with templates bound, and their methods."""

from __future__ import annotations

from functools import cached_property
from typing import Final

from msgspec import Struct

from streamsan.cuda_syntax import tree
from streamsan.cuda_syntax.header_structures import header_structures
from streamsan.cuda_syntax.named_types import MOST_NESTING, NamedTypes, visible
from streamsan.kernels.cuda_images import is_image

_ARRAYS: Final = frozenset(("std::array", "cuda::std::array"))
LONGEST_ROW: Final = 32
"""elements of an array whose pointers are followed one by one"""


class Field(Struct, frozen=True):
    """A field of a class."""

    name: str
    type: tree.Type
    """resolved, without the array's dimensions"""
    cls: ClassType | None
    """its class, where that holds pointers, or plain numbers alone"""
    length: int | None
    """elements of an array: 0 where there are too many, or nobody knows; None: no array"""
    initializer: tree.Expression | None

    @property
    def pointer(self) -> bool:
        """Whether its value, or each of its elements, is a pointer, or leads to a texture's or surface's memory."""
        return is_image(self.type) or (self.type.pointers > 0 and not self.type.function)

    @property
    def leads(self) -> bool:
        """Whether it is, or holds, a pointer."""
        return self.pointer or (self.cls is not None and not self.cls.is_plain)


class ClassType:
    """A class, or one instantiation of a class template."""

    def __init__(self, node: tree.Class, types: NamedTypes, unit: UnitClasses) -> None:
        self.node = node
        self.is_plain = False
        """it holds numbers alone"""
        self.types = types
        self._unit = unit

    @cached_property
    def key(self) -> str:
        """Tells classes, and instantiations of one, apart."""
        bound = [repr(self.types.bound.get(parameter.name)) for parameter in self.node.templates]
        return f"{self.node.name}<{', '.join(bound)}>"

    @cached_property
    def bases(self) -> list[ClassType] | None:
        """The base classes that hold pointers; None where one is not known."""
        found = []
        for base in self.node.bases:
            resolved = self.types.resolved(base)
            if visible(self.types.classes, resolved.name) is None:
                return None
            cls = self._unit.class_of(resolved, self.types)
            if cls is not None:
                found.append(cls)
        return found

    @cached_property
    def fields(self) -> list[Field]:
        """The data members, those of bases first."""
        found = [field for base in self.bases or () for field in base.fields]
        return found + [self._field(declared) for declared in self.node.fields if not declared.static and declared.name]

    def _field(self, declared: tree.Variable) -> Field:
        return self._unit.field(declared.name, declared.type, self.types, declared.initializer)

    def methods(self, name: str) -> list[tree.Function]:
        """Return the methods of a name that have bodies, here or outside of the class; a base's where it has none."""
        found = [one for one in self.node.methods if one.body is not None and _last(one) == name]
        declared = any(_last(one) == name for one in self.node.methods)
        if declared:
            full = f"{self.node.name}::{name}"
            found += [one for one in self._unit.functions.get(name, ()) if one.name == full]
            return found
        for base in self.bases or ():
            inherited = base.methods(name)
            if inherited:
                return inherited
        return found

    def has_method(self, name: str) -> bool:
        """Tell whether it, or a base, declares a method of a name."""
        return any(_last(one) == name for one in self.node.methods) or any(
            base.has_method(name) for base in self.bases or ()
        )

    @property
    def constructors(self) -> list[tree.Function]:
        """The constructors that the program declares."""
        return [one for one in self.node.methods if one.constructor]


def _last(function: tree.Function) -> str:
    return function.name.rpartition("::")[2]


class UnitClasses:
    """Those of one unit."""

    def __init__(self, unit: tree.Unit) -> None:
        self.types = NamedTypes(unit.declarations)
        for name, node in header_structures().items():
            self.types.classes.setdefault(name, node)
        self.functions = unit.functions_with_bodies()
        self._known: dict[str, ClassType | None] = {}
        self._plain: dict[str, ClassType | None] = {}

    def field(self, name: str, type: tree.Type, types: NamedTypes, initializer: tree.Expression | None = None) -> Field:
        """Return what is declared with a name and a type as a field: one element, or those of an array."""
        of = types.resolved(type)
        length: int | None = None
        if of.array:
            known = [0 if one is None else types.constant(one) or 0 for one in of.array]
            length = known[0] if len(known) == 1 and known[0] <= LONGEST_ROW else 0
        elif of.name in _ARRAYS and len(of.arguments) == 2 and not of.pointers:
            element, number = of.arguments[0], types.constant(of.arguments[1]) or 0
            length = number if number <= LONGEST_ROW else 0
            of = types.resolved(element) if isinstance(element, tree.Type) else of
        bare = tree.Type(of.name, of.arguments, of.pointers, of.reference, of.const, [], of.function)
        cls = None if of.pointers or of.reference else self.class_of(bare, types)
        if cls is None and length is None and not of.reference:
            cls = self.numbers(bare, types)
        return Field(name, bare, cls, length, initializer)

    def class_of(self, of: tree.Type, types: NamedTypes, depth: int = 0) -> ClassType | None:
        """Return the class that a type names, if objects of it hold pointers that can be followed."""
        made = self._made(of, types) if depth <= MOST_NESTING else None
        if made is None:
            return None
        if made.key not in self._known:
            self._known[made.key] = None  # a class cannot hold itself
            holds = made.bases is not None and any(field.leads for field in made.fields)
            self._known[made.key] = made if holds else None
        return self._known[made.key]

    def numbers(self, of: tree.Type, types: NamedTypes) -> ClassType | None:
        """Return the class that a type names, if its objects hold plain numbers and nothing else (`Grid{nx, ny}`)."""
        made = self._made(of, types)
        if made is None or made.node.bases:
            return None
        if made.key not in self._plain:
            self._plain[made.key] = None  # a class cannot hold itself
            made.is_plain = bool(made.fields) and all(map(self._is_number, made.fields))
            self._plain[made.key] = made if made.is_plain else None
        return self._plain[made.key]

    def _is_number(self, field: Field) -> bool:
        if field.cls is not None:
            return field.cls.is_plain
        type = field.type
        is_class = bool(type.arguments) or "::" in type.name or visible(self.types.classes, type.name) is not None
        return not (is_class or field.pointer or type.reference or type.function or field.length is not None)

    def _made(self, of: tree.Type, types: NamedTypes) -> ClassType | None:
        of = types.resolved(of)
        if of.pointers or of.array or of.function:
            return None
        node = visible(types.classes, of.name)
        return None if node is None or node.union else ClassType(node, types.inside(node, of), self)
