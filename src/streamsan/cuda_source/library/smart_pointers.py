"""std::unique_ptr and std::shared_ptr, with custom deleters."""

from __future__ import annotations

from typing import Any

from streamsan.cuda_source.library.modelled import Modelled
from streamsan.cuda_source.library.tables import is_class
from streamsan.cuda_source.machine import Machine
from streamsan.cuda_source.values.cells import (
    NOT_MODELLED,
    ArrayObject,
    CallSite,
    Cell,
    CellPointer,
    ElementPointer,
    LibraryObject,
    Operand,
    Value,
)
from streamsan.cuda_source.values.types import UNKNOWN, CType
from streamsan.cuda_syntax.tree import Span
from streamsan.model.values import Origin
from streamsan.vocabulary import MemoryKind


class Owner:
    """What smart pointers share: the pointer, the deleter, how many own it."""

    def __init__(self, pointer: Value, deleter: Value) -> None:
        self.pointer = pointer
        self.deleter = deleter
        self.count = 1
        self.whole: SmartPointer | None = None
        """Of a pointer to a part: the owner of the whole, which goes with the last such pointer."""


class SmartPointer(Modelled):
    """A pointer that deletes."""

    contents = ("owner",)

    def __init__(self, type: CType, owner: Owner) -> None:
        super().__init__(type)
        self.owner = owner
        self.deleter_cell = Cell(owner.deleter, UNKNOWN, "deleter")

    @classmethod
    def pointee_type(cls, type: CType) -> CType:
        """Return the type that the pointer points to."""
        first = type.arguments[0] if type.arguments else None
        if not isinstance(first, CType):
            return UNKNOWN
        return first.element() if first.array else first

    @classmethod
    def default_deleter(cls, machine: Machine, type: CType, span: Span | None) -> Value:
        """Return an object of the deleter's class, if the type names one."""
        deleter = type.arguments[1] if len(type.arguments) > 1 else None
        if not isinstance(deleter, CType) or deleter.function or deleter.pointers or span is None:
            return None
        if is_class(deleter.name) or not machine.objects.is_class(deleter):
            return None
        cell = Cell(None, deleter, "deleter")
        machine.objects.construct(cell, deleter, [], span)
        return cell.value

    @classmethod
    def construct(
        cls, machine: Machine, type: CType, operands: list[Operand], span: Span, cell: Cell | None, braced: bool
    ) -> LibraryObject:
        """Make from nothing, a pointer, a pointer and a deleter, or another smart pointer."""
        if operands:
            held = operands[0].held
            if isinstance(held, SmartPointer) and len(operands) > 1:
                return cls._part(machine, type, operands, span)
            if isinstance(held, SmartPointer):
                return cls._from(machine, type, held, operands[0], span)
        pointer: Value = machine.expressions.load(operands[0], span) if operands else 0
        pointer = machine.objects.convert(pointer, cls.pointee_type(type).pointer_to())
        if len(operands) > 1:
            deleter = machine.expressions.load(operands[1], span)
            if operands[1].cell is None:
                machine.statements.keep(deleter)
        else:
            deleter = cls.default_deleter(machine, type, span)
        return cls(type, Owner(pointer, deleter))

    @classmethod
    def _part(cls, machine: Machine, type: CType, operands: list[Operand], span: Span) -> LibraryObject:
        """Share the ownership of a whole, and point to a part of it."""
        whole = operands[0].held
        assert isinstance(whole, SmartPointer)
        value = machine.objects.convert(
            machine.expressions.load(operands[1], span), cls.pointee_type(type).pointer_to()
        )
        made = cls(type, Owner(value, None))
        kept = cls._from(machine, whole.type, whole, operands[0], span)
        assert isinstance(kept, SmartPointer)
        made.owner.whole = kept
        return made

    @classmethod
    def _from(cls, machine: Machine, type: CType, held: SmartPointer, operand: Operand, span: Span) -> LibraryObject:
        if operand.cell is None:
            machine.statements.keep(held)
            made: LibraryObject = held.move(machine, span)
        else:
            made = held.move(machine, span) if operand.moved else held.copy(machine, span)
        assert isinstance(made, SmartPointer)
        return cls(type, made.owner)

    @classmethod
    def unknown(cls, machine: Machine, type: CType, name: str, origin: Origin) -> LibraryObject:
        """A smart pointer from unseen code, which also keeps what it points to alive."""
        owner = Owner(machine.objects.unknown(cls.pointee_type(type).pointer_to(), name, origin), None)
        owner.count = 2
        return cls(type, owner)

    def parts(self) -> list[Any]:
        return [self.owner.pointer, self.deleter_cell, *([self.owner.whole] if self.owner.whole is not None else [])]

    def truth(self) -> bool | None:
        pointer = self.owner.pointer
        if isinstance(pointer, int):
            return pointer != 0
        return True if pointer is not None else None

    def destroy(self, machine: Machine, span: Span) -> None:
        """Give the pointer up; the last owner deletes."""
        owner = self.owner
        self.owner = Owner(0, owner.deleter)
        owner.count -= 1
        if owner.whole is not None and not owner.count:
            owner.whole.destroy(machine, span)
        if owner.count or owner.whole is not None or machine.objects.is_null(owner.pointer):
            return
        if owner.deleter is not None:
            machine.calls.invoke_value(owner.deleter, [Operand(owner.pointer)], span)
        elif isinstance(owner.pointer, CellPointer):
            machine.objects.destroy(owner.pointer.cell, span)
        elif isinstance(owner.pointer, ElementPointer):
            machine.objects.end_array(owner.pointer.array, span)

    def move(self, machine: Machine, span: Span) -> LibraryObject:
        made = type(self)(self.type, self.owner)
        self.owner = Owner(0, self.owner.deleter)
        return made

    def call(self, machine: Machine, method: str, operands: list[Operand], span: Span) -> Any:
        pointer = self.owner.pointer
        if method in ("get", "operator->"):
            return pointer
        if method == "operator*":
            return machine.expressions.dereference(pointer, span)
        if method == "operator[]" and operands:
            index = machine.known(machine.expressions.load(operands[0], span))
            moved = machine.expressions.operators.arithmetic("+", pointer, index)
            return machine.expressions.dereference(moved, span)
        if method == "release":
            self.owner = Owner(0, self.owner.deleter)
            return pointer
        if method == "reset":
            deleter = self.owner.deleter
            self.destroy(machine, span)
            value = machine.expressions.load(operands[0], span) if operands else 0
            if len(operands) > 1:
                deleter = machine.expressions.load(operands[1], span)
            self.owner = Owner(machine.objects.convert(value, self.pointee_type(self.type).pointer_to()), deleter)
            return None
        if method == "operator=" and operands:
            return self._assign(machine, operands[0], span)
        if method == "swap" and operands and operands[0].cell is not None:
            other = operands[0].cell.value
            if isinstance(other, SmartPointer):
                self.owner, other.owner = other.owner, self.owner
            return None
        if method == "get_deleter":
            return Operand(cell=self.deleter_cell)
        if method in ("use_count", "unique"):
            return self.owner.count if method == "use_count" else int(self.owner.count == 1)
        if method in ("operator==", "operator!=") and operands:
            value = machine.expressions.load(operands[0], span)
            if isinstance(value, SmartPointer):
                value = value.owner.pointer
            return machine.expressions.operators.compare(method[8:], pointer, value)
        return NOT_MODELLED

    def _assign(self, machine: Machine, operand: Operand, span: Span) -> Any:
        held = operand.held
        if held is self:
            return Operand(self, self.cell)
        if isinstance(held, SmartPointer):
            taken = held.move(machine, span) if operand.temporary else held.copy(machine, span)
            assert isinstance(taken, SmartPointer)
            self.destroy(machine, span)
            self.owner = taken.owner
        else:
            self.destroy(machine, span)
        return Operand(self, self.cell)


class UniquePtr(SmartPointer):
    """One owner."""

    class_name = "std::unique_ptr"


class SharedPtr(SmartPointer):
    """Counted owners."""

    class_name = "std::shared_ptr"

    def copy(self, machine: Machine, span: Span) -> LibraryObject:
        """One owner more."""
        self.owner.count += 1
        return SharedPtr(self.type, self.owner)


class WeakPtr(Modelled):
    """A pointer that owns nothing and can be asked for an owner."""

    class_name = "std::weak_ptr"
    contents = ("owner",)
    copy = Modelled.another

    def __init__(self, type: CType, owner: Owner | None = None) -> None:
        super().__init__(type)
        self.owner = owner

    def begin(self, machine: Machine, operands: list[Operand], span: Span) -> None:
        if operands:
            self.watch(operands[0])

    def begin_unknown(self, machine: Machine, name: str, origin: Origin) -> None:
        shared = SharedPtr.unknown(machine, self.type, name, origin)
        assert isinstance(shared, SharedPtr)
        self.owner = shared.owner

    def watch(self, operand: Operand) -> None:
        """Watch another owner."""
        held = operand.held
        self.owner = held.owner if isinstance(held, SmartPointer | WeakPtr) else None

    def call(self, machine: Machine, method: str, operands: list[Operand], span: Span) -> Any:
        alive = self.owner is not None and self.owner.count > 0
        if method == "lock":
            owner = self.owner if alive and self.owner is not None else Owner(0, None)
            if alive:
                owner.count += 1
            return machine.statements.temporary(SharedPtr(CType("std::shared_ptr", self.type.arguments), owner))
        if method in ("expired", "use_count"):
            return int(not alive) if method == "expired" else self.owner.count if self.owner is not None else 0
        if method == "operator=" and operands:
            self.watch(operands[0])
            return Operand(self, self.cell)
        if method == "reset":
            self.owner = None
            return None
        return NOT_MODELLED


def make_owner(machine: Machine, operands: list[Operand], call: CallSite, *, owner: str) -> Any:
    """Construct an object and a smart pointer, `owner`, that owns it."""
    type = call.template_arguments[0] if call.template_arguments else UNKNOWN
    if not isinstance(type, CType):
        type = UNKNOWN
    pointer: Value
    if type.array:
        length = machine.known(machine.expressions.load(operands[0], call.span)) if operands else None
        array = ArrayObject(type.element(), length, MemoryKind.HOST_HEAP, span=call.span)
        array.origin = "zero"
        if isinstance(length, int) and machine.objects.is_class(type.element()):
            for index in range(min(length, 256)):
                machine.objects.construct(machine.objects.element(array, index), type.element(), [], call.span)
        pointer = ElementPointer(array, 0)
    else:
        cell = Cell(None, type, kind=MemoryKind.HOST_HEAP, span=call.span)
        machine.objects.construct(cell, type, operands, call.span)
        pointer = CellPointer(cell)
    model = UniquePtr if owner == "unique_ptr" else SharedPtr
    made = model(CType(model.class_name, (type,)), Owner(pointer, None))
    return machine.statements.temporary(made)
