"""CUDA's own libraries (cuBLAS, cuFFT, cuRAND, cuSPARSE, cuSOLVER, cuDNN, NCCL): work on a handle's stream.

Their calls are uses of the device memory that they are given or that their descriptors hold, on the stream that the
handle was told (`cublasSetStream`), else on the default stream. The tables say of many calls which arguments they read
and write. Of the others, and where unseen code had the handle, the mode is unknown. Calls that return results to the
host wait for them. Destroying a handle may free memory and wait (cuBLAS documents that it synchronises the device),
which orders everything before it: nothing is concluded from that, either way.
"""

from __future__ import annotations

from typing import Any

from streamsan.cuda_source.library.argument_uses import Used, used_anyhow, used_by
from streamsan.cuda_source.library.host_data import product_of
from streamsan.cuda_source.library.tables import uses_of
from streamsan.cuda_source.machine import Machine
from streamsan.cuda_source.values.cells import (
    HOST_READABLE,
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
from streamsan.cuda_source.values.types import SIGNED_BITS, UNSIGNED_BITS, CType
from streamsan.cuda_syntax.tree import Span
from streamsan.model.values import Handle
from streamsan.patterns.late_pattern import late_pattern
from streamsan.vocabulary import MemoryKind

DEEPEST_DESCRIPTOR = 6
_ASKS = late_pattern(r"(?i)_?size|_?get|query|estimate|supported")
"""of a call that is given memory only to tell what it needs"""


class LibraryHandle(LibraryObject):
    """A handle, plan, generator or descriptor of a library: its stream, and the memory it was told of."""

    class_name = "library handle"

    def __init__(self, name: str) -> None:
        super().__init__()
        self.type = CType("void", pointers=1)
        self.name = name
        self.stream: Value = 0
        self.given: list[Value] = []
        self.is_followed = True
        """all that it was told was seen"""

    def handed_out(self) -> None:
        """Unseen code got it, and may have told it another stream."""
        self.is_followed = False

    def parts(self) -> list[Any]:
        return [*self.given, self.stream]

    def truth(self) -> bool | None:
        """A handle is not NULL."""
        return True


def _out_cell(machine: Machine, value: Value, span: Span) -> Cell | None:
    if isinstance(value, CellPointer | ElementPointer):
        return machine.expressions.dereference(value, span).cell
    return None


def _memory(machine: Machine, value: Value, found: list[Value], span: Span, depth: int = 0) -> None:
    """Collect the device memory that an argument leads to; host scalars (`&alpha`) are read before the call returns."""
    if isinstance(value, DevicePointer):
        if machine.device.kind_of(value.pointer) is not MemoryKind.PINNED:
            found.append(value)
    elif isinstance(value, CellPointer | ElementPointer):
        # `&state->alpha`, of an object in device memory
        pointer = machine.memory.pointer(value, span) if machine.memory.is_part(value) else None
        if pointer is not None and machine.device.kind_of(pointer) not in HOST_READABLE - {MemoryKind.MANAGED}:
            found.append(value)
    elif isinstance(value, SymbolPointer):
        found.append(value)
    elif depth < DEEPEST_DESCRIPTOR:
        if isinstance(value, LibraryHandle):
            for part in value.given:
                _memory(machine, part, found, span, depth + 1)
        elif isinstance(value, StructObject):
            for cell in list(value.fields.values()):
                _memory(machine, cell.value, found, span, depth + 1)


def _stream_of(values: list[Value]) -> Value:
    """Return the stream of a call: an explicit stream argument, else the handle's."""
    for value in reversed(values):
        if isinstance(value, Handle) and value.type == "stream":
            return value
    for value in values:
        if isinstance(value, LibraryHandle):
            return value.stream
    return 0


def _values(machine: Machine, operands: list[Operand], call: CallSite) -> list[Value]:
    """Return the arguments: handles as objects, everything else as values."""
    held = [held_by(operand) for operand in operands]
    return [
        value if isinstance(value, LibraryObject) else machine.expressions.load(operand, call.span)
        for value, operand in zip(held, operands, strict=True)
    ]


def _forget_outputs(machine: Machine, values: list[Value], span: Span) -> None:
    for value in values:
        cell = _out_cell(machine, value, span)
        if cell is not None and not isinstance(cell.value, LibraryObject | StructObject) and not is_pointer(cell.value):
            cell.value = machine.objects.unknown(cell.type, cell.name, "opaque")


def _issue_call(machine: Machine, name: str, values: list[Value], span: Span, waits: bool = False) -> None:
    memory: list[list[Value]] = []
    for value in values:
        memory.append([])
        _memory(machine, value, memory[-1], span)
    stream = _stream_of(values)
    handles = [value for value in values if isinstance(value, LibraryHandle)]
    is_followed = isinstance(stream, Handle) or handles
    if is_followed and all(handle.is_followed for handle in handles):
        used = used_by(uses_of(name), memory)
    else:
        used = used_anyhow(memory)
    issue(machine, name, used, stream, waits, span)


def issue(machine: Machine, name: str, used: Used, stream: Value, waits: bool, span: Span) -> None:
    """Issue work on a stream that uses memory; with `waits`, the host waits for it."""
    device = machine.device
    arguments = [device.argument(use, device.address(value, span)) for value, use in used]
    where = device.plain(stream)
    device.model.launch(device.thread, name, arguments, where, device.site(span, name))
    if waits:
        device.model.query_succeeded(device.thread, where, device.site(span))


def _forget_whole_numbers(machine: Machine, values: list[Value], span: Span) -> None:
    """Forget counts and flags that a call was given the address of: it may write them (`&singularity`, `&issym`).

    What is no whole number is a factor that it reads (`&alpha`).
    """
    for value in values:
        cell = _out_cell(machine, value, span)
        if cell is None or not isinstance(cell.value, int) or cell.type.const or cell.type.pointers:
            continue
        if cell.type.name in SIGNED_BITS or cell.type.name in UNSIGNED_BITS:
            _forget_outputs(machine, [value], span)


def work(machine: Machine, operands: list[Operand], call: CallSite, *, name: str, waits: bool = False) -> Any:
    """Issue work on the handle's stream; the host `waits` for it."""
    values = _values(machine, operands, call)
    _issue_call(machine, name, values, call.span, waits)
    _forget_whole_numbers(machine, values, call.span)
    return 0


def copy(machine: Machine, operands: list[Operand], call: CallSite, *, name: str) -> Any:
    """Copy a vector or matrix between host and device (`cublasGetMatrixAsync`): the copy of the API that it is."""
    counts = 3 if "Matrix" in name else 2
    source, target = counts, counts + 2
    if len(operands) <= target + 1:
        return work(machine, operands, call, name=name)
    size = product_of(machine, operands[:counts], call.span)
    # Rows of what is packed follow each other; else how far it reaches is not known.
    strides = [machine.expressions.load(operands[at + 1], call.span) for at in (source, target)]
    first = machine.expressions.load(operands[0], call.span) if counts > 2 else 1
    if any(stride != first for stride in strides):
        size = machine.fresh("size", "opaque")
    is_async = "Async" in name
    given = [operands[target], operands[source], Operand(size), Operand(2 if "Get" in name else 1)]
    machine.api.function("cudaMemcpyAsync" if is_async else "cudaMemcpy").run(
        machine, [*given, *(operands[-1:] if is_async else [])], call.span
    )
    return 0


def output(machine: Machine, operands: list[Operand], call: CallSite, *, name: str) -> Any:
    """Issue work whose output the last argument has when the call returns."""
    values = _values(machine, operands, call)
    _issue_call(machine, name, values, call.span, waits=True)
    _forget_outputs(machine, values[-1:], call.span)
    return 0


def result(machine: Machine, operands: list[Operand], call: CallSite, *, name: str) -> Any:
    """Issue work with a result: one on the host is there when the call returns, one on the device is not."""
    to_host = any(isinstance(value, CellPointer | ElementPointer) for value in _values(machine, operands[-2:], call))
    return (output if to_host else work)(machine, operands, call, name=name)


def set_stream(machine: Machine, operands: list[Operand], call: CallSite, *, name: str) -> Any:
    """Tell a handle its stream."""
    values = _values(machine, operands, call)
    if len(values) > 1 and isinstance(values[0], LibraryHandle):
        values[0].stream = values[1]
    return 0


def get_stream(machine: Machine, operands: list[Operand], call: CallSite, *, name: str) -> Any:
    """Ask a handle for its stream."""
    values = _values(machine, operands, call)
    cell = _out_cell(machine, values[1], call.span) if len(values) > 1 else None
    if cell is not None and isinstance(values[0], LibraryHandle):
        cell.value = values[0].stream
    return 0


def make_handle(machine: Machine, operands: list[Operand], call: CallSite, *, name: str) -> Any:
    """Make a handle, plan or descriptor, through the first argument."""
    values = _values(machine, operands, call)
    made = LibraryHandle(name)
    made.given = [value for value in values[1:] if isinstance(value, DevicePointer | SymbolPointer | LibraryHandle)]
    cell = _out_cell(machine, values[0], call.span) if values else None
    if cell is not None:
        cell.value = made
        machine.objects.adopt(cell)
    return 0


def end_handle(machine: Machine, operands: list[Operand], call: CallSite, *, name: str) -> Any:
    """End a handle: it may wait for the device."""
    machine.device.opaque_call(name, [], call.span)
    return 0


def describe(machine: Machine, operands: list[Operand], call: CallSite, *, name: str) -> Any:
    """Ask or tell a handle something: it keeps the memory that it is told of, and gives numbers."""
    values = _values(machine, operands, call)
    if values and isinstance(values[0], LibraryHandle) and not _ASKS.search(name):
        values[0].given.extend(value for value in values[1:] if isinstance(value, DevicePointer | SymbolPointer))
    _forget_outputs(machine, values, call.span)
    return 0
