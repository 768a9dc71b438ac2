"""C functions and libraries of the host that touch what their arguments point to, and do no more: one model a shape.

What a table's row says: the positions of the arguments that are read, written, updated, formatted.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from streamsan.cuda_source.library.host_data import forget_numbers, product_of, text_of, touch, value_of
from streamsan.cuda_source.library.strings import String
from streamsan.cuda_source.machine import Machine
from streamsan.cuda_source.values.cells import (
    HOST_READABLE,
    ArrayObject,
    CallSite,
    Cell,
    CellPointer,
    DevicePointer,
    ElementPointer,
    LibraryObject,
    Operand,
    StructObject,
    SymbolPointer,
    Value,
    held_by,
    is_pointer,
)
from streamsan.cuda_source.values.types import CHAR
from streamsan.cuda_syntax.tree import Span
from streamsan.patterns.late_pattern import late_pattern
from streamsan.vocabulary import AccessMode, MemoryKind

_DIRECTIVE = late_pattern(r"%[-+ #0]*(\*|\d+)?(?:\.(\*|\d+))?(?:hh|h|ll|l|z|j|t|L)?([a-zA-Z%])")


def receive(machine: Machine, cell: Cell, span: Span) -> None:
    """Input overwrites a variable."""
    held = cell.value
    machine.memory.access(cell, AccessMode.WRITE, span)
    if isinstance(held, String):
        held.become(machine, None, span)
    elif not isinstance(held, LibraryObject | StructObject) and not is_pointer(held):
        cell.value = machine.fresh(cell.name, "input")


def access(
    machine: Machine,
    operands: list[Operand],
    call: CallSite,
    *,
    reads: Sequence[int] = (),
    writes: Sequence[int] = (),
    updates: Sequence[int] = (),
    results: Sequence[int] = (),
    sizes: Sequence[int] = (),
) -> Any:
    """Host code touches the memory behind some arguments; the answer is a number or a place that nobody knows.

    `results` are out-arguments whose pointer gets an unknown value; `sizes`, multiplied, the bytes that are touched.
    """
    size = product_of(machine, [operands[at] for at in sizes if at < len(operands)], call.span) if sizes else None
    for position, operand in enumerate(operands):
        value = machine.expressions.load(operand, call.span)
        if not is_pointer(value):
            continue
        if position in reads:
            touch(machine, value, AccessMode.READ, call.span, size)
        if position in updates:
            touch(machine, value, AccessMode.READ_WRITE, call.span, size)
        if position in writes:
            touch(machine, value, AccessMode.WRITE, call.span, size)
            if isinstance(value, CellPointer):
                receive(machine, value.cell, call.span)
        if position in results:
            cell = machine.expressions.dereference(value, call.span).cell
            if cell is not None:
                cell.value = machine.fresh("end", "input")
    return machine.fresh("number", "input")


def print_(machine: Machine, operands: list[Operand], call: CallSite, *, format: int, target: int | None = None) -> Any:
    """Formatted output: what `%s` prints is read, the target is written."""
    values = [machine.expressions.load(operand, call.span) for operand in operands]
    text = text_of(values[format]) if len(values) > format else None
    position = format + 1
    for match in _DIRECTIVE.finditer(text or ""):
        if match[3] == "%":
            continue
        position += (match[1] == "*") + (match[2] == "*")
        if match[3] == "s" and position < len(values):
            touch(machine, values[position], AccessMode.READ, call.span)
        position += 1
    if target is not None and values:
        touch(machine, values[target], AccessMode.WRITE, call.span)
    return machine.fresh("printed", "input")


def scan(machine: Machine, operands: list[Operand], call: CallSite, *, first: int) -> Any:
    """Formatted input: the arguments from a position on are overwritten."""
    for position in range(first, len(operands)):
        value = value_of(machine, operands, position, call)
        if isinstance(value, CellPointer):
            receive(machine, value.cell, call.span)
        elif isinstance(value, ElementPointer | SymbolPointer):
            touch(machine, value, AccessMode.WRITE, call.span)
            if isinstance(value, ElementPointer) and isinstance(value.index, int):
                receive(machine, machine.objects.element(value.array, value.index), call.span)
    return machine.fresh("scanned", "input")


def succeed(machine: Machine, operands: list[Operand], call: CallSite, *, name: str = "") -> Any:
    """The call succeeds, and does nothing to memory or order."""
    return 0


def read_clock(machine: Machine, operands: list[Operand], call: CallSite) -> Any:
    """The time is unknown. The reading is on record: who reads a clock after a wait is timing what was awaited."""
    device = machine.device
    device.model.host_clock(device.thread, device.site(call.span))
    time = machine.fresh("time", "input")
    machine.polls.times.add(time)
    return time


def touch_all(
    machine: Machine,
    operands: list[Operand],
    call: CallSite,
    *,
    name: str,
    reads: bool = False,
    succeeds: bool = False,
) -> Any:
    """Read, or read and write, what any argument points to; with device memory (CUDA-aware MPI) it is unseen code."""
    if _gives_device_memory(machine, operands):
        return machine.unseen.call(name, operands, call.span)
    for operand in operands:
        value = machine.expressions.load(operand, call.span)
        if not is_pointer(value):
            continue
        touch(machine, value, AccessMode.READ if reads else AccessMode.READ_WRITE, call.span)
        if isinstance(value, CellPointer) and not is_pointer(value.cell.value):
            receive(machine, value.cell, call.span)
        elif isinstance(value, ElementPointer) and not reads:
            forget_numbers(value)
    return 0 if succeeds else machine.fresh(name, "input")


def _gives_device_memory(machine: Machine, operands: list[Operand]) -> bool:
    """Tell whether device memory is among the arguments, or a pointer that may be one."""
    reached: list[Value] = []
    for operand in operands:
        machine.reach.collect(held_by(operand), reached)
    for value in reached:
        if isinstance(value, DevicePointer) and machine.device.kind_of(value.pointer) not in HOST_READABLE:
            return True
        if isinstance(value, SymbolPointer) and machine.device.symbol_block(value.symbol) is not None:
            return True
    return False


def run_callbacks(machine: Machine, operands: list[Operand], call: CallSite, *, name: str) -> Any:
    """Run functions that were registered before, or work on the device by another API: code nobody can see."""
    return machine.unseen.call(name, operands, call.span)


def _texts(machine: Machine, operands: list[Operand], call: CallSite) -> list[str | None]:
    found: list[str | None] = []
    for position in range(len(operands)):
        value = value_of(machine, operands, position, call)
        if is_pointer(value):
            touch(machine, value, AccessMode.READ, call.span)
        found.append(text_of(value))
    return found


def strcmp(machine: Machine, operands: list[Operand], call: CallSite) -> Any:
    """Whether two texts differ."""
    texts = _texts(machine, operands, call)
    if len(texts) == 2 and texts[0] is not None and texts[1] is not None:
        return (texts[0] > texts[1]) - (texts[0] < texts[1])
    return machine.fresh("strcmp", "input")


def strlen(machine: Machine, operands: list[Operand], call: CallSite) -> Any:
    """The length of a text."""
    texts = _texts(machine, operands[:1], call)
    return len(texts[0]) if texts and texts[0] is not None else machine.fresh("strlen", "input")


def strcpy(machine: Machine, operands: list[Operand], call: CallSite) -> Any:
    """Host code reads one text and writes another."""
    checked = len(operands) == 3 and is_pointer(value_of(machine, operands, 2, call))  # strcpy_s(to, size, from)
    target, source = value_of(machine, operands, 0, call), value_of(machine, operands, 2 if checked else 1, call)
    touch(machine, source, AccessMode.READ, call.span)
    touch(machine, target, AccessMode.WRITE, call.span)
    if isinstance(target, ElementPointer):
        target.array.cells = {key: cell for key, cell in target.array.cells.items() if is_pointer(cell.value)}
        target.array.written = None
        target.array.origin = "opaque"
    return target


def strdup(machine: Machine, operands: list[Operand], call: CallSite) -> Any:
    """A copy of a text on the heap."""
    texts = _texts(machine, operands[:1], call)
    length: Value = len(texts[0]) + 1 if texts and texts[0] is not None else machine.fresh("size", "input")
    block = ArrayObject(CHAR, length, MemoryKind.HOST_HEAP, span=call.span)
    block.origin = "opaque"
    return ElementPointer(block, 0)
