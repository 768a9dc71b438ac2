"""Functions: which overload is meant, what templates bind, how a body runs; constructors and destructors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from streamsan.cuda_source.interpreter.frame import Frame, Scope, Thrown
from streamsan.cuda_source.interpreter.library.braced import BracedList, braced, plain
from streamsan.cuda_source.interpreter.program import ClassInfo, PlainContext
from streamsan.cuda_source.interpreter.statuses import is_status_type
from streamsan.cuda_source.interpreter.types import FLOATING, SCALAR_SIZES, CType
from streamsan.cuda_source.interpreter.values import (
    Cell,
    CellPointer,
    Closure,
    FunctionValue,
    LibraryObject,
    Operand,
    Reference,
    StructObject,
    Value,
    is_pointer,
)
from streamsan.cuda_syntax.tree import Expression, Function, InitList, Parameter, Span, Type
from streamsan.vocabulary import MemoryKind

if TYPE_CHECKING:
    from streamsan.cuda_source.interpreter.machine import Machine

MOST_ACTIVATIONS = 16
"""Activations of one function inside each other."""
MOST_BLIND_ACTIVATIONS = 3
"""The same, when nothing known is passed on."""
TYPE_PARAMETERS = ("typename", "class")


class Pack(LibraryObject):
    """A function parameter pack."""

    class_name = "..."

    def __init__(self, operands: list[Operand]) -> None:
        super().__init__()
        self.operands = operands


class Functions:
    """Chooses and runs functions of one path."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self._running_destructors: list[StructObject] = []

    # -- overloads ---------------------------------------------------------------------------------

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
        value = operand.cell.value if operand.cell is not None else operand.value
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
            return score + 1 if machine.objects.is_class(type) else score
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
            return score + (5 if type.name in SCALAR_SIZES and type.name not in FLOATING else 2)
        return score + (0 if is_pointer(value) else 2)

    def _list_score(self, listed: BracedList, type: CType, generic: bool) -> int | None:
        """Return how well a braced list fits a parameter; None if nothing can be made of it."""
        machine = self.machine
        if generic:
            return None
        if type.pointers or not machine.objects.is_class(type):
            scalar = braced(plain(Operand(listed))) is None
            known = type.pointers or type.name in SCALAR_SIZES
            return (3 if scalar else None) if known else 1
        cls = machine.program.class_of(type, machine.frame)
        if cls is None:
            return 5
        count = len(listed.operands)
        if machine.objects.is_aggregate(cls):
            return 6 if count <= len(machine.objects.all_fields(cls)) else 0
        constructors = [c for c in cls.methods.get("", []) if not c.deleted]
        return 6 if any(self._arity_fits(c, count) for c in constructors) else 0

    # -- templates ---------------------------------------------------------------------------------

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
        machine = self.machine
        if braced(operand) is not None:  # a list says nothing of a template's parameter
            return
        have = machine.expressions.type_of(operand).bare()
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

    # -- running -----------------------------------------------------------------------------------

    def invoke(
        self,
        function: Function,
        operands: list[Operand],
        span: Span,
        *,
        this: Cell | None = None,
        cls: ClassInfo | None = None,
        template_arguments: tuple[Any, ...] = (),
        entry: bool = False,
    ) -> Operand:
        """Call a function (an entry has no caller): bind parameters, run the body, end the parameters' lifetime."""
        machine = self.machine
        name = function.name
        if function.body is None or function.kernel:
            result = machine.calls.opaque(name, operands, span, this=this)
            if is_status_type(function.returns.name) and not function.returns.pointers:
                machine.succeeds(result.value)
            return result
        if len(machine.frames) > machine.limits.depth or self._runs_away(function, operands, this):
            if machine.loops.relevance.function_acts(name):
                machine.not_understood(span, f"calls of {name} nested too deeply to follow")
            return Operand(machine.fresh(name, "opaque"))
        outer = dict(cls.bindings) if cls is not None else {}
        bindings = self.bindings_of(function, operands, template_arguments, outer)
        namespace = cls.namespace if cls is not None else name.rpartition("::")[0]
        call_site = 0 if entry else machine.device.site(span)
        frame = Frame(
            machine.program_name(function, cls),
            Scope(machine.globals),
            this=this,
            cls=cls,
            bindings=bindings,
            namespace=namespace,
            call_site=call_site,
            declaration=function,
        )
        parameters = self.bind(frame, function.parameters, operands, span)
        machine.frames.append(frame)
        try:
            for parameter in parameters:
                operand = machine.expressions.operand(parameter.default) if parameter.default else Operand()
                self._bind_one(frame, parameter, operand, span)
            if function.constructor and this is not None and cls is not None:
                self._initialise_members(function, this, cls, span)
            result = machine.statements.body(function.body, frame, function.returns)
        finally:
            machine.frames.pop()
        return result

    def _runs_away(self, function: Function, operands: list[Operand], this: Cell | None) -> bool:
        """Tell whether a recursion has no known number or address that could end it."""
        active = sum(1 for frame in self.machine.frames if frame.declaration is function)
        if active < MOST_BLIND_ACTIVATIONS:
            return False
        if active >= MOST_ACTIVATIONS:
            return True
        values = [operand.cell.value if operand.cell is not None else operand.value for operand in operands]
        return this is None and not any(isinstance(v, int | float | StructObject) or is_pointer(v) for v in values)

    def bind(self, frame: Frame, parameters: list[Parameter], operands: list[Operand], span: Span) -> list[Parameter]:
        """Bind operands to parameters; returns the parameters that are left to their default arguments."""
        position = 0
        left: list[Parameter] = []
        for parameter in parameters:
            if parameter.pack:
                pack = Pack(operands[position:])
                frame.scope.names[parameter.name] = Cell(pack, CType("..."), parameter.name)
                position = len(operands)
            elif position < len(operands):
                self._bind_one(frame, parameter, operands[position], span)
                position += 1
            else:
                left.append(parameter)
        return left

    def _bind_one(self, frame: Frame, parameter: Parameter, operand: Operand, span: Span) -> None:
        machine = self.machine
        if isinstance(operand.value, Reference) and operand.cell is None:
            operand = Operand(cell=operand.value.cell)
        type = machine.program.resolve(parameter.type, frame, machine.constant)
        if type.name in ("auto", "") and not type.pointers:
            have = machine.expressions.type_of(operand).bare()
            type = CType(have.name, have.arguments, have.pointers, type.reference, type.const)
        if type.array:
            type = type.element().pointer_to()
        if type.reference and operand.cell is not None:
            held = operand.cell.value
            same_kind = not machine.objects.is_class(type.plain()) or isinstance(held, StructObject | LibraryObject)
            if same_kind or (type.reference == "&" and not type.const):
                frame.scope.names[parameter.name] = operand.cell
                return
        cell = Cell(None, type.bare() if type.reference else type, parameter.name, span=span)
        machine.objects.initialise(cell, type.plain(), operand, span)
        machine.objects.adopt(cell)
        frame.scope.names[parameter.name] = cell
        frame.scope.owned.append(cell)

    def call_closure(self, closure: Closure, operands: list[Operand], span: Span) -> Operand:
        """Call a lambda."""
        machine = self.machine
        if len(machine.frames) > machine.limits.depth:
            machine.not_understood(span, "lambdas nested too deeply to follow")
            return Operand(machine.fresh("lambda", "opaque"))
        scope = Scope(closure.scope)
        scope.names.update(closure.captured)
        frame = Frame(
            closure.function,
            Scope(scope),
            this=closure.this,
            cls=closure.cls,
            bindings=closure.bindings,
            namespace=closure.namespace,
            call_site=machine.device.site(span),
        )
        left = self.bind(frame, closure.node.parameters, operands, span)
        machine.frames.append(frame)
        try:
            for parameter in left:
                operand = machine.expressions.operand(parameter.default) if parameter.default else Operand()
                self._bind_one(frame, parameter, operand, span)
            return machine.statements.body(closure.node.body, frame, Type("auto"))
        finally:
            machine.frames.pop()

    # -- constructors ------------------------------------------------------------------------------

    def construct(self, cell: Cell, cls: ClassInfo, operands: list[Operand], span: Span) -> None:
        """Construct an object in a cell by the constructor that fits the operands."""
        machine = self.machine
        if len(machine.frames) > machine.limits.depth:
            machine.not_understood(span, f"objects of {cls.name} nested too deeply to follow")
            cell.value = StructObject(cls, machine.fresh(cls.name, "opaque"))
            return
        constructors = [c for c in cls.methods.get("", []) if not c.deleted]
        first = operands[0] if len(operands) == 1 else None
        if first is not None:
            source = first.cell.value if first.cell is not None else first.value
            if isinstance(source, StructObject) and source.cls is not None and source.cls.is_a(cls.name):
                self._construct_copy(cell, cls, first, source, span)
                return
        chosen = self.choose(constructors, operands, cls.context())
        if chosen is None and not constructors and operands:
            self._aggregate(cell, cls, operands, span)
            return
        if chosen is None and operands:
            if first is not None and first.cell is None and machine.calls.converts(first.value, cls):
                converted = machine.calls.convert_object(first.value, CType(cls.name, cls.arguments), span)
                if isinstance(converted, StructObject):
                    cell.value = machine.statements.keep(converted)
                    return
            for base in cls.bases:
                if self.choose([c for c in base.methods.get("", []) if not c.deleted], operands, base.context()):
                    self._construct_inherited(cell, cls, base, operands, span)
                    return
            machine.not_understood(span, f"no constructor of {cls.name} takes these arguments")
            machine.reach.unfollowed([operand.cell or operand.value for operand in operands], span)
        if chosen is None or chosen.defaulted or chosen.body is None:
            if chosen is not None and not chosen.defaulted and chosen.body is None:
                object = StructObject(cls, machine.fresh(cell.name or cls.name, "opaque"))
                object.cell, object.constructed, cell.value = cell, True, object
                machine.calls.opaque(cls.name, operands, span)
                return
            self._construct_default(cell, cls, span)
            return
        self.construct_with(cell, cls, chosen, operands, span)

    def _construct_copy(self, cell: Cell, cls: ClassInfo, operand: Operand, source: StructObject, span: Span) -> None:
        machine = self.machine
        if operand.cell is None:
            cell.value = machine.statements.keep(source)
            return
        copy = machine.objects.copy_constructor(cls, operand.moved)
        if copy is not None and copy.body is not None and not copy.defaulted:
            self.construct_with(cell, cls, copy, [operand], span)
            return
        object = StructObject(cls)
        object.cell = cell
        cell.value = object
        machine.objects.copy_members(object, source, operand.moved, span)
        object.constructed = True

    def _construct_inherited(
        self, cell: Cell, cls: ClassInfo, base: ClassInfo, operands: list[Operand], span: Span
    ) -> None:
        object = StructObject(cls)
        object.cell = cell
        cell.value = object
        self._construct_base(cell, base, operands, span)
        object.cls = cls
        for field in cls.own_fields():
            type = self.machine.objects.field_type(field, cls)
            self.machine.objects.initialise_member(object, field, type, None)
        object.constructed = True

    def _aggregate(self, cell: Cell, cls: ClassInfo, operands: list[Operand], span: Span) -> None:
        """`T(a, b)` of an aggregate (C++20), or a class whose constructors could not be read."""
        machine = self.machine
        object = StructObject(cls)
        object.cell = cell
        cell.value = object
        fields = machine.objects.all_fields(cls)
        for position, (field, type) in enumerate(fields):
            if position < len(operands):
                member = Cell(None, type.plain(), field.name, object, span=field.span)
                object.fields[field.name] = member
                machine.objects.initialise(member, type.plain(), operands[position], span)
                machine.objects.adopt(member)
            else:
                machine.objects.initialise_member(object, field, type, None)
        object.constructed = True

    def _holds_itself(self, cls: ClassInfo) -> bool:
        """Tell whether a member of the class is being made for an object of it: a name that was taken for another's."""
        for frame in reversed(self.machine.frames):
            if frame.cls is None or frame.function != frame.cls.name:
                return False
            if frame.cls.name == cls.name and frame.cls.arguments == cls.arguments:
                return True
        return False

    def _construct_default(self, cell: Cell, cls: ClassInfo, span: Span) -> None:
        machine = self.machine
        if self._holds_itself(cls):
            cell.value = machine.fresh(cell.name or cls.name, "opaque")
            return
        object = StructObject(cls)
        object.cell = cell
        cell.value = object
        frame = Frame(cls.name, Scope(machine.globals), this=cell, cls=cls, bindings=cls.bindings,
                      namespace=cls.namespace, call_site=machine.device.site(span))  # fmt: skip
        machine.frames.append(frame)
        try:
            for base in cls.bases:
                self._construct_base(cell, base, [], span)
            object.cls = cls
            for field in cls.own_fields():
                machine.objects.initialise_member(object, field, machine.objects.field_type(field, cls), None)
            machine.statements.end_full_expression(span)
        finally:
            machine.frames.pop()
        object.constructed = True

    def construct_with(
        self, cell: Cell, cls: ClassInfo, constructor: Function, operands: list[Operand], span: Span
    ) -> None:
        """Run one constructor on the object in a cell."""
        object = cell.value if isinstance(cell.value, StructObject) and not cell.value.constructed else None
        if object is None or object.symbol is not None:
            object = StructObject(cls)
            cell.value = object
        object.cell = cell
        self.invoke(constructor, operands, span, this=cell, cls=cls)
        object.constructed = True

    def _construct_base(self, cell: Cell, base: ClassInfo, operands: list[Operand], span: Span) -> None:
        """Run a base's constructor on the same object; its own fields are added to the object's."""
        machine = self.machine
        object = cell.value
        assert isinstance(object, StructObject)
        holder = Cell(None, CType(base.name, base.arguments), cell.name, kind=cell.kind, span=cell.span)
        self.construct(holder, base, operands, span)
        made = holder.value
        if isinstance(made, StructObject):
            for name, field in made.fields.items():
                object.fields[name] = field
                field.owner = object
            del machine

    def _initialise_members(self, constructor: Function, this: Cell, cls: ClassInfo, span: Span) -> None:
        """Run the bases' constructors and the members' initialisers, in the order of declaration."""
        machine = self.machine
        object = this.value
        assert isinstance(object, StructObject)
        given = {name.split("<")[0].rpartition("::")[2]: arguments for name, arguments, _ in constructor.initializers}
        own = cls.name.rpartition("::")[2]
        if own in given:  # a delegating constructor
            chosen = self.choose(
                [c for c in cls.methods.get("", []) if c is not constructor and not c.deleted],
                machine.calls.operands(given[own]),
                cls.context(),
            )
            if chosen is not None and chosen.body is not None:
                self.invoke(chosen, machine.calls.operands(given[own]), span, this=this, cls=cls)
            return
        for base in cls.bases:
            passed = given.get(base.name.rpartition("::")[2], [])
            self._construct_base(this, base, machine.calls.operands(passed), span)
        object.cls = cls
        for field in cls.own_fields():
            type = machine.objects.field_type(field, cls)
            arguments = given.get(field.name)
            if arguments is None:
                machine.objects.initialise_member(object, field, type, None)
            elif len(arguments) == 1:
                machine.objects.initialise_member(object, field, type, arguments[0])
            elif not arguments:
                machine.objects.initialise_member(object, field, type, InitList(field.span, None, [], []))
            else:
                member = Cell(None, type.plain(), field.name, object, span=field.span)
                object.fields[field.name] = member
                machine.objects.construct(member, type.plain(), machine.calls.operands(arguments), field.span)
                machine.objects.adopt(member)
        machine.statements.end_full_expression(span)

    # -- destructors -------------------------------------------------------------------------------

    def destruct(self, object: StructObject, span: Span) -> None:
        """Run the destructor of the object's class, then of members and bases, last first."""
        machine = self.machine
        if not object.constructed or any(running is object for running in self._running_destructors):
            return
        object.constructed = False
        self._running_destructors.append(object)
        try:
            if object.cls is not None:
                self._destruct_as(object, object.cls, span)
        finally:
            self._running_destructors.pop()
        for member in object.fields.values():
            if member.host is not None:
                machine.device.host_end(member, span)

    def _destruct_as(self, object: StructObject, cls: ClassInfo, span: Span) -> None:
        machine = self.machine
        cell = object.cell
        if cell is None:
            cell = Cell(object, CType(cls.name, cls.arguments))
            object.cell = cell
        for destructor in cls.methods.get("~", []):
            if destructor.body is not None:
                try:
                    self.invoke(destructor, [], span, this=cell, cls=cls)
                except Thrown:
                    machine.not_understood(span, f"an exception leaves the destructor of {cls.name}")
            elif not (destructor.defaulted or destructor.deleted):
                machine.calls.opaque(destructor.name, [], span, this=cell)
        for field in reversed(cls.own_fields()):
            member = object.fields.get(field.name)
            if member is not None and not field.type.reference and not field.type.pointers:
                machine.objects.destroy(member, span)
        for base in reversed(cls.bases):
            self._destruct_as(object, base, span)

    def call_value(self, value: Value, operands: list[Operand], span: Span) -> Operand:
        """Call whatever a value is: a lambda, a function, an object with `operator()`, an unknown."""
        machine = self.machine
        if isinstance(value, CellPointer):
            value = value.cell.value
        if isinstance(value, Closure):
            return self.call_closure(value, operands, span)
        if isinstance(value, FunctionValue):
            this: Cell | None = None
            if value.cls is not None and operands and not value.functions[0].static:
                this = machine.expressions.cell_of(operands[0])
                if not isinstance(this.value, StructObject | LibraryObject):
                    this = machine.expressions.cell_of(machine.expressions.dereference(this.value, span))
                operands = operands[1:]
                if isinstance(this.value, StructObject) and this.value.cls is not None:
                    return machine.calls.method(this, value.functions, this.value.cls, operands, span)
            chosen = self.choose(value.functions, operands)
            if chosen is None:
                return machine.calls.opaque(value.name, operands, span)
            return self.invoke(
                chosen, operands, span, this=this, cls=value.cls, template_arguments=value.template_arguments
            )
        return machine.calls.call_object(value, operands, span)


__all__ = ["Functions", "MemoryKind", "Pack"]
