"""CUDA's own libraries (cuBLAS, cuFFT, cuRAND, cuSPARSE, cuSOLVER, cuDNN, NCCL): work on a handle's stream.

Their calls are uses, of unknown mode, of the device memory that they are given or that their descriptors hold, on the
stream that the handle was told (`cublasSetStream`), else on the default stream. Calls that return results to the host
wait for them. Destroying a handle may free memory and wait (cuBLAS documents that it synchronises the device), which
orders everything before it: nothing is concluded from that, either way.
"""

from __future__ import annotations

import re
from functools import partial
from typing import Any

from streamsan.cuda_source.interpreter.library import family
from streamsan.cuda_source.interpreter.library.face import CallSite, FunctionModel, Machine
from streamsan.cuda_source.interpreter.types import CType
from streamsan.cuda_source.interpreter.values import (
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
from streamsan.cuda_syntax.tree import Span
from streamsan.model import values as model_values
from streamsan.model.values import Handle, Symbol
from streamsan.vocabulary import AccessMode, MemoryKind

DEEPEST_DESCRIPTOR = 6
_SET_STREAM = re.compile(r"SetStream(_v2)?$|SetCUDAStream$")
_GET_STREAM = re.compile(r"GetStream(_v2)?$")
_MAKES = re.compile(r"(Create|Init|Plan(1d|2d|3d|Many)|CommInitRank|CommInitAll|GetUniqueId)")
_ENDS = re.compile(r"(Destroy|Finalize|Shutdown|Abort)")
_MAY_WAIT = re.compile(r"(?:Destroy|DestroyGenerator|CommDestroy|CommAbort|Finalize|Shutdown)(_v2)?$")
_ASKS = re.compile(
    r"(Get(?!rf|rs|ri|Matrix|Vector)|Query|[bB]ufferSize|Estimate|Version|Property|String|Heuristic|Set(?!Matrix|Vector|Tensor$)"
    r"|MakePlan|GroupStart|GroupEnd|Logger|WorkspaceSize|GetSize)"
)
_RESULTS = re.compile(r"(dot[cu]?|nrm2|asum|amax|amin|rotg|rotmg)(_v2|_64|_v2_64|Ex)?$|Nnz(_compress)?$|Nnz\w*$")
_HOST_COPY = re.compile(r"^cublas(Set|Get)(Matrix|Vector)(Async)?(_64)?$")
_FINISHED_ON_RETURN = re.compile(r"(Set|Get)(Matrix|Vector)$|InfoGetInt|XtExec|GenerateSeeds")


class LibraryHandle(LibraryObject):
    """A handle, plan, generator or descriptor of a library: its stream, and the memory it was told of."""

    class_name = "library handle"

    def __init__(self, name: str) -> None:
        super().__init__()
        self.type = CType("void", pointers=1)
        self.name = name
        self.stream: Value = 0
        self.given: list[Value] = []

    def parts(self) -> list[Any]:
        """The memory it was told of."""
        return [*self.given, self.stream]

    def truth(self) -> bool | None:
        """A handle is not NULL."""
        return True


def _out_cell(machine: Machine, value: Value, span: Span) -> Cell | None:
    if isinstance(value, CellPointer | ElementPointer):
        return machine.expressions.dereference(value, span).cell
    return None


def _memory(machine: Machine, value: Value, found: list[Value], depth: int = 0) -> None:
    """Collect the device memory that an argument leads to; host scalars (`&alpha`) are read before the call returns."""
    if isinstance(value, DevicePointer):
        if machine.device.kind_of(value.pointer) is not MemoryKind.PINNED:
            found.append(value)
    elif isinstance(value, SymbolPointer):
        found.append(value)
    elif depth < DEEPEST_DESCRIPTOR:
        if isinstance(value, LibraryHandle):
            for part in value.given:
                _memory(machine, part, found, depth + 1)
        elif isinstance(value, StructObject):
            for cell in list(value.fields.values()):
                _memory(machine, cell.value, found, depth + 1)


def _stream_of(values: list[Value]) -> Value:
    """Return the stream of a call: an explicit stream argument, else the handle's."""
    for value in reversed(values):
        if isinstance(value, Handle) and value.type == "stream":
            return value
    for value in values:
        if isinstance(value, LibraryHandle):
            return value.stream
    return 0


def _forget_outputs(machine: Machine, values: list[Value], span: Span) -> None:
    for value in values:
        cell = _out_cell(machine, value, span)
        if cell is not None and not isinstance(cell.value, LibraryObject | StructObject) and not is_pointer(cell.value):
            cell.value = machine.objects.unknown(cell.type, cell.name, "opaque")


def work(machine: Machine, name: str, values: list[Value], span: Span) -> None:
    """Issue a library's work on its stream."""
    device = machine.device
    found: list[Value] = []
    for value in values:
        _memory(machine, value, found)
    arguments: list[tuple[model_values.Value, AccessMode]] = [
        (device.address(value, span), AccessMode.OPAQUE) for value in found
    ]
    device.model.launch(device.thread, name, arguments, device.plain(_stream_of(values)), device.site(span, name))


def awaited(machine: Machine, values: list[Value], span: Span) -> None:
    """The call has returned a result: the host knows that the stream's work is complete."""
    device = machine.device
    device.model.query_succeeded(device.thread, device.plain(_stream_of(values)), device.site(span))


def _library_call(name: str, machine: Machine, operands: list[Operand], call: CallSite) -> Any:
    span = call.span
    values: list[Value] = []
    for operand in operands:
        held = held_by(operand)
        values.append(held if isinstance(held, LibraryObject) else machine.expressions.load(operand, span))
    first = values[0] if values else None
    if _SET_STREAM.search(name):
        if isinstance(first, LibraryHandle) and len(values) > 1:
            first.stream = values[1]
    elif _GET_STREAM.search(name):
        cell = _out_cell(machine, values[1] if len(values) > 1 else None, span)
        if cell is not None and isinstance(first, LibraryHandle):
            cell.value = first.stream
    elif _ENDS.search(name):
        if _MAY_WAIT.search(name):
            machine.device.opaque_call(name, [], span)
    elif _HOST_COPY.match(name):
        work(machine, name, values, span)
        if "Async" not in name:
            awaited(machine, values, span)
    elif _MAKES.search(name):
        _make(machine, name, values, span)
    elif _ASKS.search(name):
        if isinstance(first, LibraryHandle):
            first.given.extend(value for value in values[1:] if isinstance(value, DevicePointer | SymbolPointer))
        _forget_outputs(machine, values[1:], span)
    else:
        work(machine, name, values, span)
        to_host = any(isinstance(value, CellPointer | ElementPointer) for value in values[-2:])
        if (_RESULTS.search(name) and to_host) or _FINISHED_ON_RETURN.search(name):
            awaited(machine, values, span)
            _forget_outputs(machine, values[-1:], span)
    return 0


def _make(machine: Machine, name: str, values: list[Value], span: Span) -> None:
    made = LibraryHandle(name)
    made.given = [value for value in values[1:] if isinstance(value, DevicePointer | SymbolPointer | LibraryHandle)]
    cell = _out_cell(machine, values[0] if values else None, span)
    if cell is not None:
        cell.value = made
        machine.objects.adopt(cell)


_NAMES = re.compile(
    r"(cublas(?!dx)(Lt|Xt)?|cufft(?!dx)|curand(?!_)|cusparse(Lt)?|cusolver(Dn|Sp|Rf)?|cudnn|nccl|cutensor)(?![a-z_:])\w+$"
)


@family
def find_library(name: str) -> FunctionModel | None:
    """Return the model of a function of these libraries."""
    return partial(_library_call, name) if _NAMES.match(name) else None


__all__ = ["LibraryHandle", "Symbol", "find_library", "work"]
