"""Which of several functions a call means, and what it binds their template parameters to."""

from __future__ import annotations

from typing import Any

from streamsan.cuda_source.library.braced import BracedList, braced, plain
from streamsan.cuda_source.library.sequences import Sequence
from streamsan.cuda_source.machine import Machine
from streamsan.cuda_source.values.cells import LibraryObject, Operand, StructObject, is_pointer
from streamsan.cuda_source.values.classes import ClassInfo, PlainContext, last_name
from streamsan.cuda_source.values.types import FLOATING, HANDLE_TYPES, SCALAR_SIZES, CType
from streamsan.cuda_syntax.tree import Expression, Function, Parameter, Type

TYPE_PARAMETERS = ("typename", "class")


class Overloads:
    """Chooses among the functions of one path."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine

    def choose(self, functions: list[Function], operands: list[Operand], context: Any = None) -> Function | None:
        """Return the overload that fits the operands best; None if none takes as many."""
        fitting = [function for function in functions if self._arity_fits(function, len(operands))]
        if not fitting:
            return None
        if len(fitting) == 1:
            return fitting[0]
        scored = [(self._score(function, operands, context), function) for function in fitting]
        usable = [pair for pair in scored if pair[0] is not None]
        if not usable:
            return fitting[0]
        best = max(score for score, _ in usable if score is not None)
        tied = [function for score, function in usable if score == best]
        return next((function for function in tied if function.body is not None), tied[0])

    def _arity_fits(self, function: Function, count: int) -> bool:
        parameters = function.parameters
        least = sum(1 for parameter in parameters if parameter.default is None and not parameter.pack)
        if any(parameter.pack for parameter in parameters) or function.variadic:
            return count >= least
        return least <= count <= len(parameters)

    def _score(self, function: Function, operands: list[Operand], context: Any) -> int | None:
        templates = {parameter.name for parameter in function.templates}
        total = 0 if function.templates else 1
        for parameter, operand in zip(function.parameters, operands, strict=False):
            score = self._parameter_score(parameter, operand, templates, context)
            if score is None:
                return None
            total += score
        return total

    def _parameter_score(self, parameter: Parameter, operand: Operand, templates: set[str], context: Any) -> int | None:
        machine = self.machine
        lvalue = operand.cell is not None and not operand.moved
        written = parameter.type
        generic = written.name in templates or written.name == "auto"
        if written.reference == "&" and not written.const and not lvalue and not written.pointers:
            return None
        if written.reference == "&&" and lvalue and not generic:
            return None
        type = machine.resolve_in(written, context or machine.frame) if not generic else CType(written.name)
        listed = braced(operand)
        if listed is not None:
            return self._list_score(listed, type, generic)
        if (
            written.reference == "&"
            and not type.const
            and operand.cell is not None
            and _differ(type, operand.cell.type)
        ):
            return None
        value = operand.held
        if isinstance(value, LibraryObject | StructObject) and self._takes_no_object(type, operand):
            return None
        score = 1 if written.reference == "&&" and operand.moved else 0
        if generic:
            return score + (1 if bool(written.pointers) == is_pointer(value) else -2 if written.pointers else 0)
        if written.pointers:
            if isinstance(value, StructObject):
                return score
            have = machine.expressions.type_of(operand)
            same = have.name == type.name and have.pointers == type.pointers
            return score + (8 if same else 4 if is_pointer(value) or value == 0 else 1)
        if isinstance(value, StructObject):
            if value.cls is not None and value.cls.is_a(type.name):
                return score + (8 if value.cls.name == type.name else 6)
            if not machine.objects.is_class(type):
                return score
            wanted = machine.program.class_of(type, machine.frame)
            if wanted is None or value.cls is None or _has_hidden_bases(value.cls):
                return score + 1
            # By a conversion: what a template takes as it is comes before it.
            deduced = any(getattr(each, "name", None) in templates for each in written.arguments)
            return score - 1 if not deduced and self._becomes(value, wanted) else None
        if machine.objects.is_class(type):
            if isinstance(value, LibraryObject):
                return score + 8
            return score + 1
        have = machine.expressions.type_of(operand)
        if have.name == type.name and not have.pointers:
            return score + 8
        if isinstance(value, float):
            return score + (6 if type.name in FLOATING else 2)
        if isinstance(value, int):
            handle = type.name in HANDLE_TYPES and type.name != "CUdeviceptr"
            return score + (5 if type.name in SCALAR_SIZES and type.name not in FLOATING and not handle else 2)
        return score + (0 if is_pointer(value) else 2)

    def _takes_no_object(self, type: CType, operand: Operand) -> bool:
        """Tell whether an object is surely no argument: an array, what only a list makes, a container for a number."""
        if type.array:
            return True
        if type.pointers:
            return False
        if type.name in SCALAR_SIZES or type.name in self.machine.program.enums:
            return isinstance(operand.held, Sequence)
        if last_name(type.name) != "initializer_list":
            return False
        return last_name(self.machine.expressions.type_of(operand).name) not in ("initializer_list", "")

    def _becomes(self, value: StructObject, cls: ClassInfo) -> bool:
        """Tell whether an object of another class becomes one of this class without being asked to."""
        if self.machine.class_operators.converts(value, cls):
            return True
        return any(
            self._arity_fits(constructor, 1) and constructor.parameters and self._takes_object(constructor, value, cls)
            for constructor in cls.constructors()
        )

    def _takes_object(self, constructor: Function, value: StructObject, cls: ClassInfo) -> bool:
        """Tell whether a constructor's first parameter takes an object of another class."""
        written = constructor.parameters[0].type
        if written.name in ("", "auto") or any(written.name == each.name for each in constructor.templates):
            return True
        type = self.machine.resolve_in(written, cls.context())
        if type.pointers or type.name in SCALAR_SIZES:
            return value.cls is not None and self.machine.class_operators.converts_to_others(value.cls)
        taken = self.machine.program.class_of(type, self.machine.frame)
        return taken is None or value.cls is None or value.cls.is_a(taken.name)

    def _list_score(self, listed: BracedList, type: CType, generic: bool) -> int | None:
        """Return how well a braced list fits a parameter; None if nothing can be made of it."""
        machine = self.machine
        if generic and not type.array:
            return None
        if type.array:  # `const int (&shape)[N]`
            return 6 if listed.operands and not any(braced(each) for each in listed.operands) else None
        if type.pointers or not machine.objects.is_class(type):
            scalar = braced(plain(Operand(listed))) is None
            known = type.pointers or type.name in SCALAR_SIZES
            return (3 if scalar else None) if known else 1
        if last_name(type.name) == "initializer_list":
            return 7 if self._makes_elements(listed, type) else None  # before an object that the list would make
        cls = machine.program.class_of(type, machine.frame)
        if cls is None:
            return 5
        count = len(listed.operands)
        if machine.objects.is_aggregate(cls):
            return 6 if count <= len(machine.objects.all_fields(cls)) else 0
        constructors = cls.constructors()
        return 6 if any(self._arity_fits(c, count) for c in constructors) else 0

    def _makes_elements(self, listed: BracedList, type: CType) -> bool:
        """Tell whether numbers in a list can be elements of a `std::initializer_list`: not of an empty class."""
        element = type.arguments[0] if type.arguments else None
        if not isinstance(element, CType) or not any(isinstance(each.held, int | float) for each in listed.operands):
            return True
        cls = self.machine.program.class_of(element, self.machine.frame)
        if cls is None or element.pointers or _has_hidden_bases(cls):
            return True
        return bool(self.machine.objects.all_fields(cls)) or bool(cls.constructors())

    def bindings_of(
        self, function: Function, operands: list[Operand], explicit: tuple[Any, ...], outer: dict[str, Any]
    ) -> dict[str, Any]:
        """Return what a call binds a function's template parameters to."""
        machine = self.machine
        bindings = dict(outer)
        if not function.templates:
            return bindings
        names = [parameter.name for parameter in function.templates]
        for name, argument in zip(names, explicit, strict=False):
            bindings[name] = argument
        for parameter, operand in zip(function.parameters, operands, strict=False):
            self._deduce(parameter.type, operand, names, bindings)
        for template in function.templates:
            if template.name in bindings or template.pack:
                continue
            if isinstance(template.default, Expression):
                context = PlainContext(bindings, machine.frame.namespace, machine.frame.cls)
                type_name = getattr(template.default, "name", None)
                if template.type.name in TYPE_PARAMETERS and isinstance(type_name, str):
                    bindings[template.name] = machine.resolve_in(Type(type_name), context)
                elif template.type.name not in TYPE_PARAMETERS:
                    bindings[template.name] = machine.constant(template.default)
        return bindings

    def _deduce(self, written: Type, operand: Operand, names: list[str], bindings: dict[str, Any]) -> None:
        if braced(operand) is not None:  # a list says nothing of a template's parameter
            return
        have = self.machine.expressions.type_of(operand).bare()
        if have.array:
            have = have.element().pointer_to()
        if written.name in names:
            if written.name not in bindings and have.name not in ("", "auto"):
                bindings[written.name] = CType(
                    have.name, have.arguments, max(0, have.pointers - written.pointers), function=have.function
                )
            return
        for position, argument in enumerate(written.arguments):
            name = argument.name if isinstance(argument, Type) else getattr(argument, "name", None)
            if isinstance(name, str) and name in names and name not in bindings and position < len(have.arguments):
                bindings[name] = have.arguments[position]


def _differ(type: CType, other: CType) -> bool:
    """Tell whether two types are scalars that cannot be one type under two names: no reference to the one is bound."""
    if type.pointers or other.pointers or type.array or other.array:
        return False
    sizes = SCALAR_SIZES.get(type.name), SCALAR_SIZES.get(other.name)
    if None in sizes:
        return False
    return sizes[0] != sizes[1] or any((type.name in kind) != (other.name in kind) for kind in (FLOATING, ("bool",)))


def _has_hidden_bases(cls: ClassInfo) -> bool:
    """Tell whether a class may be more than what can be seen."""
    return any(each.unknown_bases or each.library_bases for each in cls.lineage())
