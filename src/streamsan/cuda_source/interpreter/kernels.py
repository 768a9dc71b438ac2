"""Kernel launches: which arguments are memory, and how the kernel's body uses each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from streamsan.cuda_source.interpreter.machine import Operand
from streamsan.cuda_source.interpreter.program import last_name
from streamsan.cuda_source.interpreter.types import CType
from streamsan.cuda_source.interpreter.values import (
    ArrayObject,
    Cell,
    CellPointer,
    DevicePointer,
    ElementPointer,
    FunctionValue,
    LibraryObject,
    Status,
    StructObject,
    SymbolPointer,
    Value,
)
from streamsan.cuda_source.syntax.tree import Expression, Function, Launch, Name, Parameter, Span
from streamsan.model import values as model_values
from streamsan.model.values import Symbol
from streamsan.vocabulary import AccessMode, MemoryKind

if TYPE_CHECKING:
    from streamsan.cuda_source.interpreter.device import Device

KernelArguments = list[tuple[model_values.Value, AccessMode]]
DEEPEST_STRUCTURE = 6


def launch(device: Device, node: Launch) -> Operand:
    """Launch a kernel by triple chevrons."""
    machine = device.machine
    configuration = [machine.expressions.operand(item) for item in node.configuration]
    operands = machine.calls.operands(node.arguments)
    function, name = _kernel(device, node.callee, operands)
    stream: Value = 0
    if len(configuration) > 3:
        stream = machine.expressions.load(configuration[3], node.span)
        if isinstance(stream, StructObject):
            stream = machine.calls.convert_object(stream, CType("cudaStream_t"), node.span)
    arguments = bound_arguments(device, function, operands, node.span)
    outcome = device.model.launch(device.thread, name, arguments, device.plain(stream), device.site(node.span, name))
    return Operand(Status(outcome.status))


def _kernel(device: Device, callee: Expression, operands: list[Operand]) -> tuple[Function | None, str]:
    machine = device.machine
    if isinstance(callee, Name):
        local = machine.find(callee.name)
        value = local.value if isinstance(local, Cell) else None
        if not isinstance(local, Cell):
            functions = machine.program.find_functions(callee.name, machine.frame)
            if functions:
                return machine.functions.choose(functions, operands), callee.name
            operand = machine.expressions.lookup(callee.name, callee)
            value = machine.expressions.load(operand, callee.span) if operand is not None else None
    else:
        value = machine.expressions.value(callee)
    if isinstance(value, FunctionValue):
        return machine.functions.choose(value.functions, operands), value.name
    name = callee.name if isinstance(callee, Name) else device.places.text(callee.span)
    return None, name


def kernel_function(device: Device, name: str | None, count: int | None) -> Function | None:
    """Return the kernel of a name, preferring one that takes as many arguments."""
    if not name:
        return None
    functions = device.machine.program.find_functions(last_name(name), device.machine.frame)
    for function in functions:
        if count is None or len(function.parameters) == count:
            return function
    return functions[0] if functions else None


def modes_of(device: Device, function: Function | None) -> dict[str, AccessMode]:
    """Return how a kernel's body uses each pointer parameter, as far as it was read."""
    return device.machine.loops.relevance.kernel_modes(function) if function is not None else {}


def bound_arguments(device: Device, function: Function | None, operands: list[Operand], span: Span) -> KernelArguments:
    """Return the memory that a kernel's arguments lead to, with access modes."""
    modes = modes_of(device, function)
    arguments: KernelArguments = []
    parameters: list[Parameter | None] = list(function.parameters) if function is not None else []
    for position, operand in enumerate(operands):
        parameter = parameters[position] if position < len(parameters) else None
        mode = _mode(parameter, modes)
        value = operand.cell.value if operand.cell is not None else operand.value
        if isinstance(value, StructObject) and parameter is not None and parameter.type.pointers:
            type = device.machine.resolve(parameter.type)
            value = device.machine.calls.convert_object(value, type, span)
        _flatten(device, value, mode, parameter, arguments, span, 0)
    return arguments


def _mode(parameter: Parameter | None, modes: dict[str, AccessMode]) -> AccessMode:
    if parameter is None:
        return AccessMode.OPAQUE
    known = modes.get(parameter.name)
    if known is not None:
        return known
    return AccessMode.READ if parameter.type.const and parameter.type.pointers == 1 else AccessMode.OPAQUE


def _flatten(
    device: Device,
    value: Value,
    mode: AccessMode,
    parameter: Parameter | None,
    arguments: KernelArguments,
    span: Span,
    depth: int,
) -> None:
    if depth > DEEPEST_STRUCTURE:
        return
    if isinstance(value, DevicePointer):
        arguments.append((value.pointer, mode))
    elif isinstance(value, SymbolPointer):
        arguments.append((device.address(value, span), mode))
    elif isinstance(value, Symbol):
        scalar = (
            parameter is not None and not parameter.type.pointers and device.machine.resolve(parameter.type).name != ""
        )
        if value.origin != "uninitialised" and (not scalar) and value.number in device.machine.live_handles:
            arguments.append((value, mode))
    elif isinstance(value, ElementPointer | CellPointer):
        storage = value.array if isinstance(value, ElementPointer) else value.cell
        if storage.host is not None or storage.kind == MemoryKind.MANAGED:
            arguments.append((device.address(value, span), mode))
    elif isinstance(value, StructObject):
        if value.cls is not None:
            for field, _ in device.machine.objects.all_fields(value.cls):
                device.machine.objects.field(value, field.name)
        for cell in value.fields.values():
            inner = AccessMode.READ if cell.type.const and cell.type.pointers == 1 else AccessMode.OPAQUE
            if mode is AccessMode.READ:
                inner = mode
            _flatten(device, cell.value, inner, None, arguments, span, depth + 1)
    elif isinstance(value, ArrayObject):
        for cell in list(value.cells.values())[:256]:
            _flatten(device, cell.value, mode, None, arguments, span, depth + 1)
    elif isinstance(value, LibraryObject):
        for part in value.parts():
            inner_value = part.value if isinstance(part, Cell) else part
            _flatten(device, inner_value, mode, None, arguments, span, depth + 1)


def packed_arguments(
    device: Device, kernel: str | None, value: Value, given: list[Operand] | None, span: Span
) -> KernelArguments:
    """Return the memory behind a launching API's arguments: `void*[]` of addresses of variables, or a pack."""
    machine = device.machine
    if given is not None:
        return bound_arguments(device, kernel_function(device, kernel, len(given)), given, span)
    if not isinstance(value, ElementPointer):
        return []
    function = kernel_function(device, kernel, None)
    count = len(function.parameters) if function is not None else len(value.array.cells)
    operands: list[Operand] = []
    for index in range(min(count, 256)):
        cell = value.array.cells.get(index)
        if cell is None:
            break
        held = cell.value
        if isinstance(held, CellPointer | ElementPointer | SymbolPointer | DevicePointer):
            operands.append(machine.expressions.dereference(held, span))
        else:
            operands.append(Operand(held))
    return bound_arguments(device, function, operands, span)
