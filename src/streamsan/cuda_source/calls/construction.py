"""Constructors and destructors of the program's classes."""

from __future__ import annotations

from streamsan.cuda_source.library.braced import braced
from streamsan.cuda_source.machine import Machine
from streamsan.cuda_source.objects.class_layout import MOST_ALIKE
from streamsan.cuda_source.values.cells import Cell, Operand, Scope, StructObject
from streamsan.cuda_source.values.classes import ClassInfo, last_name
from streamsan.cuda_source.values.frame import Frame, Thrown
from streamsan.cuda_source.values.types import CType
from streamsan.cuda_syntax.tree import Expression, Function, InitList, Span, Type, Unary
from streamsan.model.values import Symbol


def _is_expansion(argument: Expression) -> bool:
    return isinstance(argument, Unary) and argument.operator == "..."


def _copies(constructor: Function, cls: ClassInfo) -> bool:
    """Tell whether a constructor takes an object of its own class, or of another of its template."""
    type = constructor.parameters[0].type if constructor.parameters else None
    return type is not None and not type.pointers and last_name(type.name) == last_name(cls.name)


class Constructors:
    """Builds and tears down the class objects of one path."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self._running_destructors: list[StructObject] = []

    def construct(self, cell: Cell, cls: ClassInfo, operands: list[Operand], span: Span) -> None:
        """Construct an object in a cell by the constructor that fits the operands."""
        machine = self.machine
        if len(machine.frames) > machine.limits.depth:
            machine.not_understood(span, f"objects of {cls.name} nested too deeply to follow")
            cell.value = StructObject(cls, machine.fresh(cls.name, "opaque"))
            return
        constructors = cls.constructors()
        first = operands[0] if len(operands) == 1 else None
        if first is not None:
            source = first.held
            # What makes a structure of CUDA's headers does not say its class.
            same = isinstance(source, StructObject) and (
                source.cls.is_a(cls.name) if source.cls is not None else not constructors and bool(source.fields)
            )
            if same and isinstance(source, StructObject):
                self._construct_copy(cell, cls, first, source, span)
                return
        chosen = machine.overloads.choose(constructors, operands, cls.context())
        if first is not None and chosen is not None and _copies(chosen, cls) and braced(first) is None:
            # What is no object of the class has to become one first, by one of the others.
            if isinstance(first.held, Symbol):
                cell.value = machine.objects.unknown(CType(cls.name, cls.arguments), cell.name, "opaque")
                return
            others = [each for each in constructors if not _copies(each, cls)]
            chosen = machine.overloads.choose(others, operands, cls.context())
        chosen = None if chosen is None else machine.linked(chosen)
        if chosen is None and not constructors and operands:
            self._aggregate(cell, cls, operands, span)
            return
        if chosen is None and operands:
            if first is not None and first.cell is None and machine.class_operators.converts(first.value, cls):
                converted = machine.class_operators.convert(first.value, CType(cls.name, cls.arguments), span)
                if isinstance(converted, StructObject):
                    cell.value = machine.statements.keep(converted)
                    return
            for base in cls.bases:
                if machine.overloads.choose(base.constructors(), operands, base.context()):
                    self._construct_inherited(cell, cls, base, operands, span)
                    return
            machine.not_understood(span, f"no constructor of {cls.name} takes these arguments")
            machine.reach.unfollowed([operand.cell or operand.value for operand in operands], span)
        if chosen is None or chosen.defaulted:
            self._construct_default(cell, cls, span)
        elif chosen.body is None:
            object = StructObject(cls, machine.fresh(cell.name or cls.name, "opaque"), cell)
            object.constructed = True
            machine.unseen.call(cls.name, operands, span)
        else:
            self.run(cell, cls, chosen, operands, span)

    def _construct_copy(self, cell: Cell, cls: ClassInfo, operand: Operand, source: StructObject, span: Span) -> None:
        machine = self.machine
        if operand.cell is None:
            cell.value = machine.statements.keep(source)
            return
        copy = machine.objects.copy_constructor(cls, operand.moved)
        copy = None if copy is None else machine.linked(copy)
        if copy is not None and copy.body is not None and not copy.defaulted:
            self.run(cell, cls, copy, [operand], span)
            return
        object = StructObject(cls, None, cell)
        machine.objects.copy_members(object, source, operand.moved, span)
        object.constructed = True

    def _construct_inherited(
        self, cell: Cell, cls: ClassInfo, base: ClassInfo, operands: list[Operand], span: Span
    ) -> None:
        object = StructObject(cls, None, cell)
        self._construct_base(cell, base, operands, span)
        self._initialise_own(object, cls)
        object.constructed = True

    def _initialise_own(self, object: StructObject, cls: ClassInfo) -> None:
        """Initialise the members that a class adds to its bases', as their declarations say."""
        object.cls = cls
        for field in cls.own_fields():
            self.machine.objects.initialise_member(object, field, self.machine.objects.field_type(field, cls), None)

    def _aggregate(self, cell: Cell, cls: ClassInfo, operands: list[Operand], span: Span) -> None:
        """`T(a, b)` of an aggregate (C++20), or a class whose constructors could not be read."""
        machine = self.machine
        object = StructObject(cls, None, cell)
        fields = machine.objects.all_fields(cls)
        for position, (field, type) in enumerate(fields):
            if position < len(operands):
                member = object.new_member(field.name, type.plain(), field.span)
                machine.objects.initialise(member, type.plain(), operands[position], span)
            else:
                machine.objects.initialise_member(object, field, type, None)
        object.constructed = True

    def _holds_itself(self, cls: ClassInfo) -> bool:
        """Tell whether a member of the class is being made for an object of it: a name that was taken for another's."""
        alike = 0
        for frame in reversed(self.machine.frames):
            if frame.cls is None or frame.function != frame.cls.name:
                return False
            if frame.cls.name == cls.name:
                alike += 1
                if alike >= MOST_ALIKE or frame.cls.arguments == cls.arguments:
                    return True
        return False

    def _construct_default(self, cell: Cell, cls: ClassInfo, span: Span) -> None:
        machine = self.machine
        if self._holds_itself(cls):
            cell.value = machine.fresh(cell.name or cls.name, "opaque")
            return
        object = StructObject(cls, None, cell)
        frame = Frame(cls.name, Scope(machine.globals), this=cell, cls=cls, bindings=cls.bindings,
                      namespace=cls.namespace, call_site=machine.device.site(span))  # fmt: skip
        with machine.entered(frame):
            for base in cls.bases:
                self._construct_base(cell, base, [], span)
            self._initialise_own(object, cls)
            machine.statements.end_full_expression(span)
        object.constructed = True

    def run(self, cell: Cell, cls: ClassInfo, constructor: Function, operands: list[Operand], span: Span) -> None:
        """Run one constructor on the object in a cell."""
        object = cell.value if isinstance(cell.value, StructObject) and not cell.value.constructed else None
        if object is None or object.symbol is not None:
            object = StructObject(cls)
            cell.value = object
        object.cell = cell
        self.machine.functions.invoke(constructor, operands, span, this=cell, cls=cls)
        object.constructed = True

    def _construct_base(self, cell: Cell, base: ClassInfo, operands: list[Operand], span: Span) -> None:
        """Run a base's constructor on the same object; its own fields are added to the object's."""
        object = cell.value
        assert isinstance(object, StructObject)
        holder = Cell(None, CType(base.name, base.arguments), cell.name, kind=cell.kind, span=cell.span)
        self.construct(holder, base, operands, span)
        made = holder.value
        if isinstance(made, StructObject):
            for name, field in made.fields.items():
                object.fields[name] = field
                field.owner = object

    def initialise_members(self, constructor: Function, this: Cell, cls: ClassInfo, span: Span) -> None:
        """Run the bases' constructors and the members' initialisers, in the order of declaration."""
        machine = self.machine
        object = this.value
        assert isinstance(object, StructObject)
        given = {self._initialised(name, cls): arguments for name, arguments, _ in constructor.initializers}
        own = cls.name.rpartition("::")[2]
        if own in given:  # a delegating constructor
            chosen = machine.overloads.choose(
                [c for c in cls.constructors() if c is not constructor],
                machine.calls.operands(given[own]),
                cls.context(),
            )
            if chosen is not None and machine.linked(chosen).body is not None:
                machine.functions.invoke(chosen, machine.calls.operands(given[own]), span, this=this, cls=cls)
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
            elif len(arguments) == 1 and not _is_expansion(arguments[0]):
                machine.objects.initialise_member(object, field, type, arguments[0])
            elif not arguments:
                machine.objects.initialise_member(object, field, type, InitList(field.span, None, [], []))
            else:
                member = object.new_member(field.name, type.plain(), field.span)
                machine.objects.construct(member, type.plain(), machine.calls.operands(arguments), field.span)
        machine.statements.end_full_expression(span)

    def _initialised(self, name: str, cls: ClassInfo) -> str:
        """Return the last name of the member or class that an initialiser is for: `Base(n)` by a name for the base."""
        short = name.split("<")[0].rpartition("::")[2]
        if not cls.bases or any(field.name == short for field in cls.own_fields()):
            return short
        named = last_name(self.machine.program.resolve(Type(short), cls.context()).name)
        return named if any(last_name(base.name) == named for base in cls.bases) else short

    def destruct(self, object: StructObject, span: Span) -> None:
        """Run the destructor of the object's class, then of members and bases, last first."""
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
                self.machine.memory.end(member, span)

    def _destruct_as(self, object: StructObject, cls: ClassInfo, span: Span) -> None:
        machine = self.machine
        cell = object.cell
        if cell is None:
            cell = Cell(object, CType(cls.name, cls.arguments))
            object.cell = cell
        for destructor in map(machine.linked, cls.methods.get("~", [])):
            if destructor.body is not None:
                try:
                    machine.functions.invoke(destructor, [], span, this=cell, cls=cls)
                except Thrown:
                    machine.not_understood(span, f"an exception leaves the destructor of {cls.name}")
            elif not (destructor.defaulted or destructor.deleted):
                machine.unseen.call(destructor.name, [], span, this=cell)
        for field in reversed(cls.own_fields()):
            member = object.fields.get(field.name)
            if member is not None and not field.type.reference and not field.type.pointers:
                machine.objects.destroy(member, span)
        for base in reversed(cls.bases):
            self._destruct_as(object, base, span)
