"""Variables that a function declares: initialised, bound by reference, static, taken apart."""

from __future__ import annotations

from streamsan.cuda_source.machine import Machine
from streamsan.cuda_source.values.cells import ArrayObject, Cell, LibraryObject, Scope, StructObject
from streamsan.cuda_source.values.frame import Completion
from streamsan.cuda_source.values.types import CType
from streamsan.cuda_syntax.tree import Expression, InitList, Variable
from streamsan.vocabulary import MemoryKind


class Declarations:
    """Declares the local variables of one path."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine

    def declare(self, node: Variable) -> Completion | None:
        """Run the declaration of a variable."""
        machine = self.machine
        frame = machine.frame
        if node.extern and node.initializer is None:
            if machine.names.global_cell(node.name) is None:
                type = machine.resolve(node.type)
                frame.scope.names[node.name] = Cell(
                    machine.objects.unknown(type, node.name, "undeclared"), type, node.name
                )
            return None
        if node.maybe_function and machine.program.find_functions(node.name, frame):
            return None
        if node.bindings:
            self._bind(node)
        elif node.static or node.thread_local:
            self._static(node)
        else:
            self._automatic(node)
            machine.failures.stored(node)
            machine.made_names.stored(node)
        return machine.statements.settle(node.span)

    def _automatic(self, node: Variable) -> None:
        machine = self.machine
        frame = machine.frame
        type = machine.resolve(node.type)
        source = _source_of(node)
        if type.reference and source is not None:
            operand = machine.expressions.operand(source)
            held = operand.held
            if operand.cell is not None:
                frame.scope.names[node.name] = operand.cell
                return
            cell = Cell(None, machine.expressions.type_of(operand) if type.name == "auto" else type.plain(), node.name,
                        span=node.span)  # fmt: skip
            if isinstance(held, ArrayObject):
                cell.value = held
            else:
                machine.objects.initialise(cell, cell.type, operand, node.span)
            frame.scope.own(node.name, cell)
            return
        cell = Cell(None, type, node.name, span=node.span)
        if type.name in ("auto", "") and node.arguments is None and node.initializer is not None:
            self._declare_auto(cell, node, type)
        else:
            machine.objects.declare(cell, type, node)
        machine.objects.adopt(cell)
        frame.scope.own(node.name, cell)

    def _declare_auto(self, cell: Cell, node: Variable, type: CType) -> None:
        machine = self.machine
        assert node.initializer is not None
        if isinstance(node.initializer, InitList):
            target = machine.resolve(node.initializer.type) if node.initializer.type else type
            cell.type = target
            machine.objects.initialise_list(cell, target, node.initializer)
            return
        operand = machine.expressions.operand(node.initializer)
        deduced = machine.expressions.type_of(operand).bare()
        if deduced.array:
            deduced = deduced.element().pointer_to()
        cell.type = deduced
        machine.objects.initialise(cell, deduced, operand, node.span)

    def _static(self, node: Variable) -> None:
        machine = self.machine
        frame = machine.frame
        # A function of a header is one function in all units.
        key = (node.span, tuple(sorted((k, repr(v)) for k, v in frame.bindings.items())))
        cell = machine.statics.get(key)
        if cell is None:
            type = machine.resolve(node.type)
            cell = Cell(0, type.plain(), node.name, kind=MemoryKind.HOST_STATIC, span=node.span)
            machine.statics[key] = cell
            constant = type.const or "constexpr" in node.type.name
            if type.reference and node.initializer is not None:
                cell = machine.expressions.cell(node.initializer)
                machine.statics[key] = cell
            elif machine.known_main or constant or machine.objects.is_class(type):
                if type.name in ("auto", "") and node.initializer is not None:
                    self._declare_auto(cell, node, type)
                else:
                    machine.objects.declare(cell, type, node, static=True)
                if not node.thread_local:
                    machine.globals.owned.append(cell)
            else:
                cell.value = machine.objects.unknown(type, node.name, "parameter")
            machine.objects.adopt(cell)
            if node.thread_local:
                machine.thread_storage.add(machine.statics, key)
        frame.scope.names[node.name] = cell

    def _bind(self, node: Variable) -> None:
        """`auto [a, b] = pair;`"""
        machine = self.machine
        frame = machine.frame
        source = _source_of(node)
        if source is None:
            return
        operand = machine.expressions.operand(source)
        whole = operand.cell
        if whole is None or not node.type.reference:
            whole = Cell(None, machine.expressions.type_of(operand).bare(), span=node.span)
            machine.objects.initialise(whole, whole.type, operand, node.span)
            frame.scope.owned.append(whole)
        self.bind_names(node.bindings, whole, frame.scope)

    def bind_names(self, names: list[str], whole: Cell, scope: Scope) -> None:
        """Give the parts of an object the names of a structured binding."""
        machine = self.machine
        held = whole.value
        parts: list[Cell | None] = []
        if isinstance(held, StructObject) and held.cls is not None:
            parts = [machine.objects.field(held, field.name) for field, _ in machine.objects.all_fields(held.cls)]
        elif isinstance(held, ArrayObject):
            parts = [machine.objects.element(held, index) for index in range(len(names))]
        elif isinstance(held, LibraryObject):
            parts = [part if isinstance(part, Cell) else None for part in held.parts()]
        for position, name in enumerate(names):
            part = parts[position] if position < len(parts) else None
            scope.names[name] = part or Cell(machine.fresh(name, "opaque"), CType("auto"), name)


def _source_of(node: Variable) -> Expression | None:
    """Return the expression that a reference or structured binding is bound to."""
    if node.initializer is not None:
        return node.initializer
    return node.arguments[0] if node.arguments else None
