"""From operands to values and cells: what an expression's outcome holds, refers to and has for members."""

from __future__ import annotations

from streamsan.cuda_source.library.braced import BracedList, braced, plain
from streamsan.cuda_source.machine import Machine
from streamsan.cuda_source.values.cells import (
    ArrayObject,
    Cell,
    CellPointer,
    Closure,
    DevicePointer,
    ElementPointer,
    FunctionValue,
    LibraryObject,
    Operand,
    StructObject,
    SymbolPointer,
    Term,
    Value,
    is_unknown,
)
from streamsan.cuda_source.values.classes import last_name
from streamsan.cuda_source.values.types import INT, UNKNOWN, CType
from streamsan.cuda_syntax import tree
from streamsan.cuda_syntax.tree import Span
from streamsan.model.values import Handle, Symbol
from streamsan.vocabulary import AccessMode


class Access:
    """Reads and writes what operands stand for."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine

    def cell_of(self, operand: Operand) -> Cell:
        """Return an operand's cell; a value gets a temporary one."""
        if operand.cell is not None:
            return operand.cell
        cell = Cell(operand.value, self.type_of(operand))
        self.machine.objects.adopt(cell)
        return cell

    def load(self, operand: Operand, span: Span) -> Value:
        """Return an operand's value; an array becomes the address of its first element."""
        cell = operand.cell
        if cell is None and isinstance(operand.value, BracedList):
            operand = plain(operand)
            cell = operand.cell
        if cell is None:
            value = operand.value
            return ElementPointer(value, 0) if isinstance(value, ArrayObject) else value
        value = cell.value
        if isinstance(value, ArrayObject):
            return ElementPointer(value, 0)
        if not isinstance(value, StructObject | LibraryObject):
            self.machine.memory.access(cell, AccessMode.READ, span)
        return value

    def number(self, operand: Operand, span: Span) -> Value:
        """Return an operand's value where a number is needed."""
        value = self.load(operand, span)
        return value.worth(self.machine, span) if isinstance(value, LibraryObject) else value

    def store(self, cell: Cell, value: Value, span: Span) -> None:
        """Overwrite a cell."""
        self.machine.memory.access(cell, AccessMode.WRITE, span)
        old = cell.value
        cell.value = value
        if isinstance(old, DevicePointer | Handle):
            self.machine.reach.overwritten(old, span)

    def type_of(self, operand: Operand) -> CType:
        """Return the type that an operand has, as far as it is known."""
        if operand.cell is not None:
            if operand.cell.type.name not in ("", "auto"):
                return operand.cell.type
            value = operand.cell.value
        else:
            value = operand.value
        return self.type_of_value(value)

    def type_of_value(self, value: Value) -> CType:
        """Guess a type from a value."""
        if isinstance(value, float):
            return CType("double")
        if isinstance(value, int):
            return INT
        if isinstance(value, str):
            return CType("char", pointers=1, const=True)
        if isinstance(value, StructObject) and value.cls is not None:
            return CType(value.cls.name, value.cls.arguments)
        if isinstance(value, LibraryObject):
            return getattr(value, "type", None) or CType(value.class_name)
        if isinstance(value, DevicePointer | SymbolPointer):
            return value.element.pointer_to() if value.element else CType("void", pointers=1)
        if isinstance(value, ElementPointer):
            element = value.seen or value.array.element
            return element.pointer_to() if element else CType("void", pointers=1)
        if isinstance(value, CellPointer):
            return value.cell.type.pointer_to()
        if isinstance(value, Handle):
            return CType({"stream": "cudaStream_t", "event": "cudaEvent_t", "context": "CUcontext"}.get(value.type, ""))
        if isinstance(value, FunctionValue | Closure):
            return CType("function", function=True)
        return UNKNOWN

    def dereference(self, value: Value, span: Span) -> Operand:
        """Return what a pointer points to."""
        machine = self.machine
        if isinstance(value, CellPointer):
            return Operand(cell=value.cell)
        if isinstance(value, ElementPointer):
            return Operand(cell=machine.objects.element(value.array, value.index))
        if isinstance(value, DevicePointer):
            array, index = machine.memory.contents(value)
            return Operand(cell=machine.objects.element(array, index))
        if isinstance(value, SymbolPointer):
            if isinstance(value.offset, int) and value.offset == 0:
                return Operand(cell=machine.objects.pointee(value.symbol, value.element))
            array = machine.memory.symbol_contents(value)
            return Operand(cell=machine.objects.element(array, value.offset))
        if isinstance(value, Symbol):
            return Operand(cell=machine.objects.pointee(value, None))
        if isinstance(value, FunctionValue | Closure):
            return Operand(value)
        return Operand(machine.fresh("*", "opaque"))

    def target_object(self, owner: Operand, arrow: bool, span: Span) -> Operand:
        """Return the object that `.` or `->` applies to."""
        if not arrow:
            if owner.cell is not None or isinstance(owner.value, StructObject | LibraryObject):
                return owner
            value: Value = owner.value
            return Operand(cell=self.machine.objects.pointee(value, None)) if isinstance(value, Symbol) else owner
        for _ in range(8):
            held = owner.held
            if not isinstance(held, StructObject | LibraryObject):
                break
            overloaded = self.machine.class_operators.call("->", [owner], span)
            if overloaded is None:
                return owner
            owner = overloaded
        return self.dereference(self.load(owner, span), span)

    def member(self, owner: Operand, name: str, arrow: bool, span: Span) -> Operand:
        """Return a member of an object."""
        machine = self.machine
        target = self.target_object(owner, arrow, span)
        held = target.held
        if isinstance(held, StructObject):
            short = last_name(name)
            if held.cls is not None:
                for base in held.cls.lineage():
                    for field in base.static_fields():
                        if field.name == short:
                            return Operand(cell=machine.names.static_cell(base, field))
            cell = machine.objects.field(held, short)
            if cell is not None:
                return Operand(cell=cell, moved=target.moved)
            return Operand(machine.fresh(short, "opaque"))
        if isinstance(held, LibraryObject):
            result = held.member(machine, name, span)
            return result if result is not None else Operand(machine.fresh(name, "opaque"))
        if isinstance(held, Symbol) and target.cell is not None:
            # An object of a type nobody knows: from here on its members have identity.
            object = StructObject(None, held, target.cell)
            cell = machine.objects.field(object, name)
            return Operand(cell=cell) if cell is not None else Operand(machine.fresh(name, "opaque"))
        if target.cell is not None and target.cell.type.name == "dim3" and isinstance(held, int | Term):
            # One number made it, the other counts are 1.
            counts = StructObject(None, machine.fresh(target.cell.name, "opaque"), target.cell)
            for axis, count in zip("xyz", (held, 1, 1), strict=True):
                counts.fields[axis] = Cell(count, CType("unsigned int"), axis, counts)
            return Operand(cell=machine.objects.field(counts, name))
        if is_unknown(held) or isinstance(held, Handle):
            key = Term(".", (held if not isinstance(held, Handle) else held.value, name))
            return Operand(key)
        return Operand(machine.fresh(name, "opaque"))

    def assign_list(self, cell: Cell, node: tree.InitList) -> Operand:
        """Assign a braced list, which the type of the cell makes an object or array of."""
        type = self.machine.resolve(node.type) if node.type else cell.type
        temporary = Cell(None, type, cell.name, kind=cell.kind, span=cell.span)
        if type.name in ("", "auto") and isinstance(cell.value, StructObject | LibraryObject):
            type = self.type_of_value(cell.value)
        self.machine.objects.initialise_list(temporary, type, node)
        return self.assign(Operand(cell=cell), Operand(cell=temporary, moved=True), node.span)

    def assign(self, target: Operand, source: Operand, span: tree.Span) -> Operand:
        """Assign an operand to another: operators of classes, member by member, or a plain value."""
        machine = self.machine
        cell = target.cell
        listed = braced(source)
        if listed is not None and cell is not None and self.type_of(target).name not in ("", "auto"):
            return self.assign_list(cell, listed.node())
        overloaded = machine.class_operators.call("=", [target, source], span)
        if overloaded is not None:
            return overloaded
        if cell is None or machine.reach.is_unfollowed(cell):
            machine.reach.unfollowed([source.cell or source.value], span)
        if cell is None:
            return target
        origin = source.held
        if isinstance(cell.value, StructObject) and isinstance(origin, StructObject):
            if cell.value is not origin:
                self._assign_members(cell.value, origin, source.cell is None or source.moved, span)
            return target
        if isinstance(cell.value, ArrayObject) and isinstance(origin, ArrayObject):
            cell.value = machine.objects.copy_array(origin, source.moved, span)
            machine.objects.adopt(cell)
            return target
        value = self.load(source, span)
        if isinstance(value, StructObject) and not isinstance(cell.value, StructObject):
            if cell.type.name in ("", "auto") or machine.objects.is_class(cell.type):
                machine.objects.initialise(cell, cell.type, source, span)
                return target
            value = machine.class_operators.convert(value, cell.type, span)
        elif isinstance(value, LibraryObject) and source.cell is not None:
            value = value.move(machine, span) if source.moved else value.copy(machine, span)
        if isinstance(value, LibraryObject):
            machine.statements.keep(value)
        if isinstance(cell.value, StructObject) and cell.value.cls is not None and not isinstance(value, StructObject):
            temporary = Cell(None, cell.type)
            machine.objects.initialise(temporary, cell.type, Operand(value), span)
            if isinstance(temporary.value, StructObject):
                return self.assign(target, Operand(cell=temporary, moved=True), span)
        self.store(cell, machine.objects.convert(value, cell.type), span)
        machine.objects.adopt(cell)
        return target

    def _assign_members(self, target: StructObject, source: StructObject, moved: bool, span: tree.Span) -> None:
        objects = self.machine.objects
        if source.cls is not None:
            for field, _ in objects.all_fields(source.cls):
                objects.field(source, field.name)
        for name, cell in list(source.fields.items()):
            member = objects.field(target, name)
            if member is None:
                member = Cell(None, cell.type, cell.name, target)
                target.fields[name] = member
            self.assign(Operand(cell=member), Operand(cell=cell, moved=moved), span)
        if source.cls is None:
            target.symbol = source.symbol
