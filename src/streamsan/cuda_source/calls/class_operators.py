"""Operators and conversions that classes define."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct

from streamsan.cuda_source.machine import Machine
from streamsan.cuda_source.values.cells import NOT_MODELLED, Cell, LibraryObject, Operand, StructObject, Value
from streamsan.cuda_source.values.classes import ClassInfo, last_name
from streamsan.cuda_source.values.types import SCALAR_SIZES, CType
from streamsan.cuda_syntax.tree import Function, Span, Type
from streamsan.model.values import Symbol

_PREFIX = "operator "
_NO_CONVERSIONS = ("operator new", "operator delete")


class _Conversion(Struct, frozen=True):
    """The conversion operators of one class to one type; overloads differ in what they are called on."""

    cls: ClassInfo
    target: str
    """the type as it is written"""
    methods: Sequence[Function]


class ClassOperators:
    """Calls the overloaded operators of one path; the built-in ones are `Operators`."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine

    def call(self, operator: str, operands: list[Operand], span: Span, *, postfix: bool = False) -> Operand | None:
        """Call an overloaded operator; None if the built-in one is meant."""
        machine = self.machine
        held = [operand.held for operand in operands]
        if not any(isinstance(value, StructObject | LibraryObject) for value in held):
            return None
        name = f"operator{operator}"
        first = held[0]
        if isinstance(first, StructObject) and first.cls is not None:
            found = first.cls.find_method(name)
            if found is not None:
                rest = operands[1:] if not postfix else [Operand(0)]
                usable = [f for f in found[0] if not f.deleted and not f.defaulted]
                chosen = machine.overloads.choose(usable, rest, found[1].context())
                if chosen is not None:
                    cell = machine.expressions.cell_of(operands[0])
                    first.cell = first.cell or cell
                    if operator == "=" and chosen.body is not None and not self._takes_same(chosen, found[1], held[1]):
                        return None
                    return machine.functions.invoke(chosen, rest, span, this=cell, cls=found[1])
        elif isinstance(first, LibraryObject):
            if operands[0].cell is not None:
                first.cell = operands[0].cell
            result = first.call(machine, name, operands[1:], span)
            if result is not NOT_MODELLED:
                return machine.calls.as_operand(result)
        free = machine.program.find_functions(name, machine.frame)
        if free:
            chosen = machine.overloads.choose([f for f in free if f.body is not None], operands)
            if chosen is not None and self._meant(chosen, held):
                return machine.functions.invoke(chosen, operands, span)
        if operator in ("<<", ">>") and isinstance(first, LibraryObject | Symbol):
            return Operand(first)
        return None

    def _takes_same(self, function: Function, cls: ClassInfo, value: Value) -> bool:
        """An assignment from another class goes through a conversion, not through the copy assignment."""
        if not function.parameters:
            return True
        name = last_name(function.parameters[0].type.name)
        if name != last_name(cls.name):
            return True
        return isinstance(value, StructObject) and value.cls is not None and value.cls.is_a(cls.name)

    def _meant(self, function: Function, held: list[Value]) -> bool:
        """Tell whether a free operator's class parameters take the classes at hand."""
        for parameter, value in zip(function.parameters, held, strict=False):
            if isinstance(value, StructObject) and value.cls is not None:
                name = last_name(parameter.type.name)
                templates = {template.name for template in function.templates}
                if name not in templates and not any(last_name(c.name) == name for c in value.cls.lineage()):
                    return False
        return True

    def converts(self, value: Value, cls: ClassInfo) -> bool:
        """Tell whether an object has a conversion operator to a class."""
        if not isinstance(value, StructObject) or value.cls is None:
            return False
        wanted = last_name(cls.name)
        return any(last_name(each.target) == wanted for each in _conversions(value.cls))

    def converts_to_others(self, cls: ClassInfo) -> bool:
        """Tell whether objects of a class have a conversion operator to anything."""
        return any(True for _ in _conversions(cls))

    def convert(self, value: Value, type: CType, span: Span) -> Value:
        """Convert a class object by its conversion operator; the best fit by the kind of target."""
        if isinstance(value, LibraryObject):
            return value.worth(self.machine, span)
        if not isinstance(value, StructObject) or value.cls is None:
            return value
        best: tuple[int, Function, ClassInfo] | None = None
        for conversion in _conversions(value.cls):
            for method in conversion.methods:
                if method.parameters or method.body is None:
                    continue
                score = self._conversion_score(method, conversion, type)
                if score and (best is None or score > best[0]):
                    best = (score, method, conversion.cls)
        if best is None:
            return value
        cell = value.cell or Cell(value, CType(value.cls.name, value.cls.arguments))
        result = self.machine.functions.invoke(best[1], [], span, this=cell, cls=best[2])
        return self.machine.expressions.load(result, span)

    def _conversion_score(self, method: Function, conversion: _Conversion, type: CType) -> int:
        written = conversion.target
        bare = written.rstrip("*& ").removeprefix("const ").removesuffix(" const").strip()
        pointers = max(written.count("*"), method.returns.pointers)
        kind = Type(bare, pointers=pointers) if not method.returns.arguments else method.returns
        returns = self.machine.resolve_in(kind, conversion.cls.context())
        if returns.name == type.name and returns.pointers == type.pointers:
            return 4
        if type.name in ("", "auto"):
            return 2
        if type.pointers and returns.pointers:
            return 3
        if type.name == "bool":
            return 2 if returns.pointers or returns.name == "bool" else 1
        if not type.pointers and not returns.pointers and (type.name in SCALAR_SIZES) == (returns.name in SCALAR_SIZES):
            return 1
        return 0


def _conversions(cls: ClassInfo) -> Iterator[_Conversion]:
    """Yield the conversion operators of a class and of its bases, its own first."""
    for each in cls.lineage():
        for name, methods in each.methods.items():
            if name.startswith(_PREFIX) and name not in _NO_CONVERSIONS:
                yield _Conversion(each, name.removeprefix(_PREFIX).strip(), methods)
