"""Branches and loops that issue nothing: done at once, by what they may do to numbers and buffers."""

from __future__ import annotations

from typing import Any

from streamsan.cuda_source.language.walked_elements import Walked, WalkedElements
from streamsan.cuda_source.library.host_data import memory_of
from streamsan.cuda_source.machine import Machine
from streamsan.cuda_source.program.relevance import Relevance
from streamsan.cuda_source.values.cells import (
    Cell,
    ElementPointer,
    LibraryObject,
    Operand,
    StructObject,
    Value,
    is_pointer,
)
from streamsan.cuda_syntax import tree
from streamsan.model.values import Handle, Symbol
from streamsan.vocabulary import AccessMode


class Summaries:
    """Summarises statements of one path."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine

    @property
    def relevance(self) -> Relevance:
        """What is known of the unit under execution."""
        return self.machine.relevance

    def skips(self, node: tree.If) -> bool:
        """Summarise an undecided `if` whose branches do nothing of interest; True if that was possible."""
        if self.relevance.branch_acts(node):
            return False
        return self.summarise([node.then] + ([node.otherwise] if node.otherwise is not None else []))

    def summarise(self, parts: list[Any], *, running: tree.For | None = None) -> bool:
        """Do at once what running the parts could do to numbers and buffers; False if more could change.

        `running`: the loop that the parts are of, where it has begun.
        """
        targets = [target for part in parts for target in self.relevance.assigned(part)]
        declared = {name for part in parts for name in self.relevance.declares(part)}
        cells: list[Cell] = []
        for target in targets:
            if isinstance(target, tree.Name):
                if target.name in declared:
                    continue
                operand = self.machine.expressions.operand(target)
                cell = operand.cell
                if cell is None or not self._is_number(cell):
                    return False
                cells.append(cell)
            elif not self._writes_numbers(target, declared):
                return False
        assigned = {target.name for target in targets if isinstance(target, tree.Name)}
        varying = declared | assigned
        begins = {name: value for part in parts for name, value in self.relevance.initial_values(part).items()}
        for name in assigned:
            begins.pop(name, None)
        elements = WalkedElements(self.machine, parts, running, varying, begins)
        left_early = running is not None and self.relevance.breaks(running.body)
        for part in parts:
            perhaps = self.relevance.conditional_parts(part)
            for base, writes, indexing in self.relevance.accessed(part):
                origin = self._outside(base, varying, begins)
                surely = id(base) not in perhaps
                if origin is base and indexing is not None:
                    walked = elements.of(indexing.index)
                    if walked is not None and left_early:
                        walked = Walked(walked.first, None)
                    self._touch_elements(indexing, varying, writes, walked, surely)
                elif origin is not None:
                    self._touch(base.span, origin, origin is not base, varying, writes, surely)
        cells += self._numbers_given(parts, declared)
        for cell in cells:
            cell.value = self.machine.fresh(cell.name, "opaque")
        for target in targets:
            self._forget_elements(target, declared)
        return True

    def forget_numbers(self, part: tree.Statement) -> None:
        """Forget the numbers that a statement may change, of variables that it does not declare."""
        declared = set(self.relevance.declares(part))
        names = [each for each in self.relevance.assigned(part) if isinstance(each, tree.Name)]
        cells = [self.machine.expressions.operand(name).cell for name in names if name.name not in declared]
        changed = [cell for cell in cells if cell is not None and self._is_number(cell)]
        for cell in (*changed, *self._numbers_given([part], declared)):
            cell.value = self.machine.fresh(cell.name, "opaque")

    def _numbers_given(self, parts: list[Any], declared: set[str]) -> list[Cell]:
        """Return the numbers whose addresses calls are given: they may write there."""
        names = [name for part in parts for name in self.relevance.given_addresses(part) if name.name not in declared]
        given = [self.machine.expressions.operand(name).cell for name in names]
        return [cell for cell in given if cell is not None and not cell.type.const and self._is_number(cell)]

    def _is_number(self, cell: Cell) -> bool:
        value = cell.value
        if cell.type.pointers or isinstance(value, Handle | LibraryObject | StructObject) or is_pointer(value):
            return False
        return not (isinstance(value, Symbol) and value.number in self.machine.live_handles)

    def _writes_numbers(self, target: tree.Expression, declared: set[str]) -> bool:
        """Tell whether an element or member that is assigned holds no pointer and no handle."""
        machine = self.machine
        names = set(self.relevance.names_in(target))
        if names & declared:
            base = target
            while not isinstance(base, tree.Name):
                inner = next((c for c in _bases(base)), None)
                if inner is None:
                    return False
                base = inner
            if base.name in declared:
                return True
        type = machine.expressions.static_type(target)
        if type.name in ("", "auto", "void") or type.pointers:
            return False
        return not machine.objects.is_class(type) and type.name not in ("cudaStream_t", "cudaEvent_t", "CUdeviceptr")

    def _base_value(self, base: tree.Expression, declared: set[str]) -> Value:
        if set(self.relevance.names_in(base)) & declared:
            return None
        if not isinstance(base, tree.Name) and self.relevance.expression_acts(base):
            return None
        return self.machine.expressions.value(base)

    def _element_of(self, base: tree.Expression, index: Any) -> Cell | None:
        """Return an element that a class gives out by `operator[]`; None: that does more."""
        machine = self.machine
        if self.relevance.function_acts("operator[]"):
            return None
        found = machine.class_operators.call("[]", [machine.expressions.operand(base), Operand(index)], base.span)
        return None if found is None else found.cell

    def _outside(
        self, base: tree.Expression, varying: set[str], begins: dict[str, tree.Expression]
    ) -> tree.Expression | None:
        """Return what a base that varies with the loop is computed from, of what the loop does not change.

        `begins`: what variables of the loop begin with that nothing else is assigned to.
        """
        left = dict(begins)
        of_variable = of_address = False
        while set(self.relevance.names_in(base)) & varying:
            if isinstance(base, tree.Name):
                inner = left.pop(base.name, None)
                of_variable = True
            elif of_variable and not of_address and _loads(base):
                return None  # what the variable points to is not where the pointer is kept
            else:
                inner = next(_bases(base), None)
                of_address |= isinstance(base, tree.Unary) and base.operator == "&"
            if inner is None:
                return None
            base = inner
        return base

    def _touch_elements(
        self, indexing: tree.Index, varying: set[str], writes: bool, walked: Walked | None, surely: bool
    ) -> None:
        """Issue the access of a loop to elements of a buffer. `walked`: None where these may be any.

        Not `surely`: some of them, in turns that a condition chooses.
        """
        machine = self.machine
        base, type = indexing.base, machine.expressions.static_type(indexing)
        value = self._base_value(base, varying)
        if isinstance(value, StructObject):
            index = machine.fresh("index", "opaque") if walked is None else walked.first
            element = self._element_of(base, index)
            if element is None:
                return
            value, type = machine.objects.pointer_to(element), element.type
        else:
            value = memory_of(value)
            if is_pointer(value) and walked is not None:
                value = machine.expressions.operators.arithmetic("+", value, walked.first)
        width = machine.objects.size_of(type)
        count = None if walked is None else walked.count
        size = None if count is None or width is None else count * width
        mode = AccessMode.WRITE if writes else AccessMode.READ
        if is_pointer(value):
            machine.memory.access_value(value, size, mode, indexing.base.span, certain=surely and walked is not None)

    def _touch(
        self, place: tree.Span, base: tree.Expression, every: bool, varying: set[str], writes: bool, surely: bool
    ) -> None:
        """Issue the access of a loop to one buffer. `every`: what is accessed varies, it may be all of the base.

        Not `surely`: in turns that a condition chooses. Of several buffers nobody knows which ones these are.
        """
        if every and not surely:
            return
        machine = self.machine
        mode = AccessMode.WRITE if writes else AccessMode.READ
        value = memory_of(self._base_value(base, varying))
        if not is_pointer(value):
            return
        machine.memory.access_value(value, None, mode, place, certain=surely)
        if every and isinstance(value, ElementPointer):
            for cell in list(value.array.cells.values())[: machine.limits.iterations]:
                if is_pointer(cell.value):
                    machine.memory.access_value(cell.value, None, mode, place)

    def _forget_elements(self, target: tree.Expression, declared: set[str]) -> None:
        base: tree.Expression = target
        while True:
            inner = next(_bases(base), None)
            if inner is None:
                break
            base = inner
        if base is target:
            return
        value = self._base_value(base, declared)
        if isinstance(value, ElementPointer):
            value.array.forget_numbers()
            if value.array.origin == "zero":
                value.array.origin = "opaque"


def _bases(node: tree.Expression) -> Any:
    """Yield the expression that an element, member or pointee belongs to."""
    for name in ("base", "object"):
        inner = getattr(node, name, None)
        if isinstance(inner, tree.Expression):
            yield inner
            return
    if isinstance(node, tree.Cast) or (isinstance(node, tree.Unary) and node.operator in ("*", "&")):
        yield node.operand
    elif isinstance(node, tree.Binary):
        yield node.right if _is_address(node.right) else node.left


def _loads(node: tree.Expression) -> bool:
    return isinstance(node, tree.Index | tree.Member) or (isinstance(node, tree.Unary) and node.operator == "*")


def _is_address(node: tree.Expression) -> bool:
    return isinstance(node, tree.Cast) and bool(node.type.pointers)
