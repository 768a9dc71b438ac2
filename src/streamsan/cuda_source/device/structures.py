"""Structures and lists across the API: what a program filled in, as flat fields, and results back into it."""

from __future__ import annotations

from streamsan.cuda_source.machine import Machine
from streamsan.cuda_source.values.cells import (
    ArrayObject,
    Cell,
    CellPointer,
    Closure,
    ElementPointer,
    FunctionValue,
    LibraryObject,
    Native,
    StructObject,
    Value,
    is_pointer,
)
from streamsan.cuda_source.values.types import CHAR
from streamsan.cuda_syntax.tree import Span
from streamsan.effects import Parameter, Role, Signature
from streamsan.model import values as model_values
from streamsan.model.values import Outcome

Fields = dict[str, model_values.Value]
DEEPEST = 5
LONGEST_LIST = 4096
LONGEST_INNER_LIST = 64
_GIVEN_LIST = "list of the API's"
_MEMBERS = ("kernel", "host")
"""Members of the structures that hold any node's parameters, in which functions stand."""


_ARRAYS = frozenset(
    {"kernelParams", "extra", "args", "attrs", "accessDescs", "phGraph_out", "paramsArray", "extSemArray"}
)
"""Members that point to arrays of the host which the call itself reads or fills: they are no memory of the GPU's."""
_ATTRIBUTES = "attrs"
"""... and the one whose entries say how a kernel is launched"""
_NODE_MEMBERS = (
    "kernel", "memcpy", "memset", "host", "graph", "", "eventWait", "eventRecord", "extSemSignal", "extSemWait",
    "alloc", "free", "memOp", "conditional",
)  # fmt: skip
"""By cudaGraphNodeType: the member of cudaGraphNodeParams that counts."""


def _active_members(held: StructObject) -> tuple[str, str] | None:
    """Return what counts of the parameters of any node, once its type is known; None: everything."""
    if held.cls is None or held.cls.name not in ("cudaGraphNodeParams", "CUgraphNodeParams"):
        return None
    cell = held.fields.get("type")
    number = cell.value if cell is not None else None
    if not isinstance(number, int) or not 0 <= number < len(_NODE_MEMBERS):
        return None
    return ("type", _NODE_MEMBERS[number])


class Structures:
    """Reads and writes the program's structures for one path."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine

    # -- reading -----------------------------------------------------------------------------------

    def object_of(self, value: Value) -> StructObject | None:
        """Return the structure that an argument is, or points to."""
        if isinstance(value, CellPointer):
            value = value.cell.value
        elif isinstance(value, ElementPointer):
            value = self.machine.objects.element(value.array, value.index).value
        return value if isinstance(value, StructObject) else None

    def fields(self, value: Value, span: Span) -> Fields:
        """Return the known fields of the structure that an argument points to; a lone number is `value`."""
        found: Fields = {}
        held = self.object_of(value)
        if held is not None:
            self._collect(held, "", span, found, 0)
        elif isinstance(value, CellPointer | ElementPointer):
            lone = self.items(value, 1, span).get("0")
            if lone is not None:
                found["value"] = lone
        return found

    def _collect(self, held: StructObject, prefix: str, span: Span, found: Fields, depth: int) -> None:
        meant = _active_members(held)
        for name, cell in list(held.fields.items()):
            value = cell.value
            if name in _ARRAYS:
                found[prefix + name] = 0 if self.machine.objects.is_null(value) else 1
                if name == _ATTRIBUTES:
                    found.update(self._attributes(held, prefix, value, span))
            elif meant is not None and name not in meant:
                continue
            elif cell.type.name == "dim3" and isinstance(value, int):
                found.update({f"{prefix}{name}.x": value, f"{prefix}{name}.y": 1, f"{prefix}{name}.z": 1})
            elif isinstance(value, StructObject):
                if depth < DEEPEST:
                    self._collect(value, f"{prefix}{name}.", span, found, depth + 1)
            elif name == "paramArray" and isinstance(value, ElementPointer | CellPointer):
                count = held.fields.get("count")
                known = self.machine.known(count.value) if count is not None else None
                for index, item in self.items(value, known if isinstance(known, int) else None, span).items():
                    found[f"{prefix}{name}.{index}"] = item
            elif is_pointer(value):
                found[prefix + name] = self.machine.device.address(value, span)
            elif not isinstance(value, ArrayObject | LibraryObject | FunctionValue | Closure | Native):
                found[prefix + name] = self.machine.device.plain(value)

    def _attributes(self, held: StructObject, prefix: str, value: Value, span: Span) -> Fields:
        """Return a launch's attributes, where it is known how many there are."""
        known = self._number(held.fields.get("numAttrs"))
        if known is None or not is_pointer(value):
            return {}
        items = self.items(value, min(known, LONGEST_INNER_LIST), span)
        return {f"{prefix}{_ATTRIBUTES}.{index}": item for index, item in items.items()}

    def items(self, value: Value, count: int | None, span: Span) -> Fields:
        """Return the entries of the list that an argument points to, as `0`, `1`, ...; of structures, their fields."""
        objects = self.machine.objects
        cells: list[Cell] = []
        if isinstance(value, CellPointer):
            cells = [value.cell]
        elif isinstance(value, ElementPointer) and isinstance(value.index, int):
            first = value.index
            if count is None:
                length = value.array.length
                count = length - first if isinstance(length, int) else LONGEST_INNER_LIST
                known = [key for key in value.array.cells if isinstance(key, int) and key >= first]
                count = min(count, max(known, default=first - 1) - first + 1)
            cells = [objects.element(value.array, first + i) for i in range(min(count, LONGEST_LIST))]
        found: Fields = {}
        for index, cell in enumerate(cells):
            if isinstance(cell.value, StructObject):
                self._collect(cell.value, f"{index}.", span, found, 1)
            elif is_pointer(cell.value):
                found[str(index)] = self.machine.device.address(cell.value, span)
            else:
                found[str(index)] = self.machine.device.plain(cell.value)
        return found

    def list_count(self, signature: Signature, position: int, values: list[Value]) -> int | None:
        """Return how long the list at a position is: the next number of the call says so."""
        for later in range(position + 1, len(signature.parameters)):
            parameter = signature.parameters[later]
            if parameter.role in (Role.VALUE, Role.ELEMENTS, Role.SIZE) and later < len(values):
                known = self.machine.known(values[later])
                return known if isinstance(known, int) else None
        for earlier in range(position - 1, -1, -1):
            if "count" in signature.parameters[earlier].name.lower() and earlier < len(values):
                known = self.machine.known(values[earlier])
                return known if isinstance(known, int) else None
        return None

    def capacity(self, parameter: Parameter, value: Value) -> int:
        """Return what stands in for an out-argument: 1, or the room that the program says its list has."""
        if not parameter.name.lower().lstrip("p").startswith("num"):
            return 1
        known = self._number(value.cell if isinstance(value, CellPointer) else None)
        return known if known is not None and 0 < known < 1 << 31 else 1

    def _number(self, cell: Cell | None) -> int | None:
        known = self.machine.known(cell.value) if cell is not None else None
        return known if isinstance(known, int) else None

    def member(self, held: StructObject, *names: str) -> Value:
        """Return the first member of these names, also of the part that holds a kernel's or host function's."""
        parts = [held, *(cell.value for name in _MEMBERS if (cell := held.fields.get(name)) is not None)]
        for part in parts:
            if isinstance(part, StructObject):
                for name in names:
                    cell = part.fields.get(name)
                    if cell is not None and not (isinstance(cell.value, int) and cell.value == 0):
                        return cell.value
        return 0

    # -- writing -----------------------------------------------------------------------------------

    def write_outputs(self, outcome: Outcome, signature: Signature, values: list[Value], span: Span) -> None:
        """Store what a call gave back where its arguments point."""
        inner: dict[str, Fields] = {}
        for key, result in outcome.outputs.items():
            name, dot, path = key.partition(".")
            if dot:
                inner.setdefault(name, {})[path] = result
        for position, parameter in enumerate(signature.parameters):
            if position >= len(values):
                break
            if parameter.name in inner:
                for path, result in inner[parameter.name].items():
                    self._write_inside(values[position], path.split("."), result, span)
            elif parameter.name in outcome.outputs:
                self.machine.api.write(values[position], outcome.outputs[parameter.name], span)

    def _write_inside(self, target: Value, path: list[str], result: model_values.Value, span: Span) -> None:
        for step in path:
            if step.isdecimal():
                index = int(step)
                if isinstance(target, CellPointer) and target.cell.type.pointers:
                    target = self._list_behind(target.cell)
                if isinstance(target, ElementPointer) and isinstance(target.index, int):
                    target = CellPointer(self.machine.objects.element(target.array, target.index + index))
                elif not (isinstance(target, CellPointer) and index == 0):
                    return
                continue
            held = self.object_of(target)
            if held is None and isinstance(target, CellPointer | ElementPointer):
                held = self._made(target, span)
            cell = self.machine.objects.field(held, step) if held is not None else None
            if cell is None:
                return
            target = CellPointer(cell)
        self.machine.api.write(target, result, span)

    def _list_behind(self, cell: Cell) -> ElementPointer:
        """Return the list that the API lets a variable point to (`dependencies_out`, `phGraph_out`)."""
        if not (isinstance(cell.value, ElementPointer) and cell.value.array.label == _GIVEN_LIST):
            cell.value = ElementPointer(ArrayObject(cell.type.element(), None, label=_GIVEN_LIST), 0)
        return cell.value

    def _made(self, target: CellPointer | ElementPointer, span: Span) -> StructObject | None:
        """Make an object of a structure whose type nobody knows, where a result comes in fields."""
        machine = self.machine
        cell = machine.expressions.dereference(target, span).cell
        if cell is None or cell.type.pointers or cell.type.name in (CHAR.name, "int"):
            return None
        held = StructObject(None, machine.fresh(cell.name, "opaque"))
        cell.value = held
        machine.objects.adopt(cell)
        return held
