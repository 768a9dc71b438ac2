"""Long lists of constants: they cost no steps, and an array makes its elements of them when they are touched."""

from __future__ import annotations

from streamsan.cuda_source.machine import Machine
from streamsan.cuda_source.objects.class_layout import DEEPEST_CLASS
from streamsan.cuda_source.program.constants import LONG
from streamsan.cuda_source.values.cells import ArrayObject, Cell, ConstantItems, Operand
from streamsan.cuda_source.values.frame import Frame
from streamsan.cuda_source.values.types import CType
from streamsan.cuda_syntax.tree import InitList


class ConstantLists:
    """The lists of constants of one path."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self._free: dict[int, InitList] = {}

    def wait(self, array: ArrayObject, node: InitList) -> bool:
        """Leave the elements of an array to their first touch if nothing can tell that from making them now."""
        if len(node.items) < LONG or any(node.names) or array.element is None:
            return False
        if not self._is_constant(node) or not self._is_inert(array.element):
            return False
        frame = self.machine.frame
        outside = Frame("", self.machine.globals, cls=frame.cls, namespace=frame.namespace)
        array.written = ConstantItems(node.items, outside)
        return True

    def make(self, cell: Cell, items: ConstantItems) -> None:
        """Give an element that is touched first what its list says."""
        objects, item = self.machine.objects, items.items[cell.key]
        with self.machine.entered(items.frame):
            if isinstance(item, InitList):
                objects.initialise_list(cell, cell.type, item)
            else:
                objects.initialise(cell, cell.type, self.machine.expressions.operand(item), item.span)

    def operands(self, node: InitList) -> list[Operand]:
        """Evaluate the items of a list; those of a constant one are free, once: the text bounds them, no loop does."""
        machine = self.machine
        if id(node) in self._free or not self._is_constant(node):
            return machine.calls.operands(node.items)
        self._free[id(node)] = node
        found: list[Operand] = []
        steps = machine.steps
        for item in node.items:
            found.append(machine.expressions.operand(item))
            machine.steps = steps
        return found

    def _is_constant(self, node: InitList) -> bool:
        names = self.machine.program.constants.names_in(node)
        if not names:
            return names is not None
        frame = self.machine.frame
        return frame.cls is None and all(
            self.machine.find(name) is None and name not in frame.bindings for name in names
        )

    def _is_inert(self, type: CType, depth: int = 0) -> bool:
        """Tell whether making and ending a value of a type runs no code of the program."""
        while type.array:
            type = type.element()
        objects = self.machine.objects
        if objects.is_plain(type):
            return True
        cls = self.machine.program.class_of(type, self.machine.frame)
        if cls is None or depth > DEEPEST_CLASS or not objects.is_aggregate(cls):
            return False
        if any("~" in base.methods or base.library_bases for base in cls.lineage()):
            return False
        return all(
            not field.type.reference and field.initializer is None and self._is_inert(member.plain(), depth + 1)
            for field, member in objects.all_fields(cls)
        )
