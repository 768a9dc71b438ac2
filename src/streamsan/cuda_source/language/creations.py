"""Expressions that make and end objects: `new`, `delete`, lambdas."""

from __future__ import annotations

from streamsan.cuda_source.machine import Machine
from streamsan.cuda_source.values.cells import (
    ArrayObject,
    Cell,
    CellPointer,
    Closure,
    DevicePointer,
    ElementPointer,
    Operand,
    SymbolPointer,
    Value,
)
from streamsan.cuda_source.values.classes import ClassInfo, last_name
from streamsan.cuda_source.values.types import SCALAR_SIZES, CType
from streamsan.cuda_syntax.tree import Delete, Function, InitList, Lambda, Name, New, Span
from streamsan.vocabulary import MemoryKind


class Creations:
    """Makes and ends the objects of one path that expressions name no type's constructor for."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine

    def new(self, node: New) -> Operand:
        """Make an object or an array on the heap."""
        machine = self.machine
        type = machine.resolve(node.type)
        if node.array_size is not None:
            length = machine.known(machine.expressions.value(node.array_size))
            array = ArrayObject(type, length, MemoryKind.HOST_HEAP, span=node.span)
            cell = Cell(array, type, kind=MemoryKind.HOST_HEAP)
            if machine.objects.is_class(type) and isinstance(length, int):
                for index in range(min(length, 256)):
                    machine.objects.construct(machine.objects.element(array, index), type, [], node.span, default=True)
            array.cell = None
            del cell
            return Operand(ElementPointer(array, 0))
        pointer = self._allocated(type, node)
        if pointer is not None:
            cell = machine.expressions.cell_of(machine.expressions.dereference(pointer, node.span))
        else:
            cell = Cell(None, type, kind=MemoryKind.HOST_HEAP, span=node.span)
        if len(node.arguments) == 1 and isinstance(node.arguments[0], InitList):
            machine.objects.initialise_list(cell, type, node.arguments[0])
        else:
            machine.objects.construct(cell, type, machine.calls.operands(node.arguments), node.span)
        return Operand(CellPointer(cell) if pointer is None else pointer)

    def _allocated(self, type: CType, node: New) -> Value:
        """Return what the class's own `operator new` gives, if that is memory of the API; None: it is the heap's."""
        machine = self.machine
        found = self._operator(type, "operator new")
        if found is None:
            return None
        given = machine.calls.method(None, *found, [Operand(machine.objects.size_of(type))], node.span)
        value = machine.expressions.load(given, node.span)
        if not isinstance(value, DevicePointer):
            return None
        return DevicePointer(value.pointer, type)

    def _operator(self, type: CType | None, name: str) -> tuple[list[Function], ClassInfo] | None:
        """Return the operator that a class, or one of its bases, has for objects on the heap."""
        cls = self.machine.program.class_of(type, self.machine.frame) if type is not None else None
        found = cls.find_method(name) if cls is not None else None
        usable = [each for each in found[0] if each.body is not None] if found is not None else []
        return (usable, found[1]) if found is not None and usable else None

    def _delete_by_operator(self, pointer: DevicePointer, span: Span) -> bool:
        """End an object, and give its memory to the class's own `operator delete`, if it has one."""
        machine = self.machine
        found = self._operator(pointer.element, "operator delete")
        if found is None:
            return False
        machine.objects.destroy_value(machine.expressions.dereference(pointer, span).held, span)
        machine.calls.method(None, *found, [Operand(DevicePointer(pointer.pointer, CType("void")))], span)
        return True

    def delete(self, node: Delete) -> Operand:
        """End an object or array on the heap; memory of the API goes to the wrong family of frees."""
        machine = self.machine
        value = machine.expressions.value(node.operand)
        if isinstance(value, CellPointer):
            machine.objects.destroy(value.cell, node.span)
        elif isinstance(value, ElementPointer):
            machine.objects.end_array(value.array, node.span)
        elif isinstance(value, SymbolPointer):
            cell = machine.objects.pointee(value.symbol, value.element)
            machine.objects.destroy(cell, node.span)
        elif (
            isinstance(value, DevicePointer)
            and not self._delete_by_operator(value, node.span)
            and self._deletes_from_heap(value.element)
        ):
            machine.device.heap_free(value, node.span)
        return Operand(None)

    def _deletes_from_heap(self, type: CType | None) -> bool:
        """Tell whether `delete` of such an object gives memory to the heap: no `operator delete` is in view."""
        program = self.machine.program
        if type is None or any(last_name(name).startswith("operator delete") for name in program.functions):
            return False
        cls = program.class_of(type, self.machine.frame)
        if cls is None:
            return not self.machine.objects.is_class(type) and type.name in SCALAR_SIZES
        return not any(
            known.unknown_bases or any(name.startswith("operator delete") for name in known.methods)
            for known in cls.lineage()
        )

    def closure(self, node: Lambda) -> Operand:
        """Make a lambda with copies of, and references to, what it captures."""
        machine = self.machine
        frame = machine.frame
        captured: dict[str, Cell] = {}
        this = frame.this if node.default else None
        for name, by_reference, initializer in node.captures:
            if name == "this":
                this = frame.this
                continue
            source = machine.expressions.operand(initializer if initializer is not None else Name(node.span, name))
            if by_reference:
                captured[name] = machine.expressions.cell_of(source)
            else:
                captured[name] = self._capture(name, source, node.span)
        scope = frame.scope
        if node.default == "=":
            for name in machine.relevance.free_names(node):
                if name not in captured:
                    local = machine.find(name)
                    if isinstance(local, Cell) and not isinstance(local.value, Closure):
                        captured[name] = self._capture(name, Operand(cell=local), node.span)
        return Operand(
            Closure(
                node,
                captured,
                this,
                scope,
                frame.cls,
                frame.bindings,
                frame.namespace,
                frame.function,
                machine.home,
            )
        )

    def _capture(self, name: str, source: Operand, span: Span) -> Cell:
        type = self.machine.expressions.type_of(source).bare()
        cell = Cell(None, type, name, span=span)
        self.machine.objects.initialise(cell, type, source, span)
        return cell
