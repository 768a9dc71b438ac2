"""Kernel launches: which arguments are memory, and how the kernel's body uses each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from streamsan.cuda_source.machine import Machine
from streamsan.cuda_source.values.cells import (
    ArrayObject,
    Cell,
    CellPointer,
    DevicePointer,
    ElementPointer,
    FunctionValue,
    LibraryObject,
    Operand,
    Status,
    StructObject,
    SymbolPointer,
    Value,
)
from streamsan.cuda_source.values.classes import last_name
from streamsan.cuda_source.values.types import CType
from streamsan.cuda_syntax.tree import Expression, Function, Launch, Name, Parameter, Span
from streamsan.kernels.pointer_uses import use_by_type
from streamsan.kernels.uses import Start, Use
from streamsan.model import values as model_values
from streamsan.model.values import Handle, KernelArgument, Pointer, Symbol
from streamsan.vocabulary import AccessMode, MemoryKind, SlotFlag

KernelArguments = list[KernelArgument]
DEEPEST_STRUCTURE = 6
MOST_ARGUMENTS = 256


def launch(machine: Machine, node: Launch) -> Operand:
    """Launch a kernel by triple chevrons."""
    configuration = [machine.expressions.operand(item) for item in node.configuration]
    operands = machine.calls.operands(node.arguments)
    function, name = _kernel(machine, node.callee, operands)
    stream: Value = 0
    if len(configuration) > 3:
        stream = machine.expressions.load(configuration[3], node.span)
        if isinstance(stream, StructObject):
            stream = machine.class_operators.convert(stream, CType("cudaStream_t"), node.span)
    arguments = bound_arguments(machine, function, operands, node.span)
    outcome = machine.device.model.launch(
        machine.device.thread, name, arguments, machine.device.plain(stream), machine.device.site(node.span, name)
    )
    return Operand(Status(outcome.status))


def _kernel(machine: Machine, callee: Expression, operands: list[Operand]) -> tuple[Function | None, str]:
    if isinstance(callee, Name):
        local = machine.find(callee.name)
        value = local.value if isinstance(local, Cell) else None
        if not isinstance(local, Cell):
            functions = machine.program.find_functions(callee.name, machine.frame)
            if functions:
                return machine.overloads.choose(functions, operands), callee.name
            operand = machine.names.lookup(callee.name, callee)
            value = machine.expressions.load(operand, callee.span) if operand is not None else None
    else:
        value = machine.expressions.value(callee)
    if isinstance(value, FunctionValue):
        return machine.overloads.choose(value.functions, operands), value.name
    name = callee.name if isinstance(callee, Name) else machine.device.sites.text(callee.span)
    return None, name


@dataclass(frozen=True, slots=True)
class Kernel:
    """What a launching API is told to run: a name for messages, and the functions that it may be."""

    name: str
    functions: tuple[Function, ...] = ()

    def taking(self, count: int | None) -> Function | None:
        """Return the function that takes so many arguments, else the first one."""
        for function in self.functions:
            if count is None or len(function.parameters) == count:
                return function
        return self.functions[0] if self.functions else None


NO_KERNEL = Kernel("")


def kernel_of(machine: Machine, names: dict[Symbol | Handle, str], value: Value) -> Kernel:
    """Return the kernel that a value stands for: a function, or a handle that is among the `names`."""
    if isinstance(value, FunctionValue):
        functions = value.functions or machine.program.find_functions(value.name, machine.frame)
        return Kernel(last_name(value.name), tuple(functions))
    name = names.get(value, "") if isinstance(value, Symbol | Handle) else ""
    if not name and isinstance(value, SymbolPointer):
        name = value.symbol.name
    if not name and isinstance(value, Symbol):
        name = value.name
    if not name:
        return NO_KERNEL
    return Kernel(last_name(name), tuple(machine.program.find_functions(last_name(name), machine.frame)))


def _argument(use: Use, value: model_values.Value) -> KernelArgument:
    """Return memory so used; an address that is not known exactly says nothing of its first element."""
    known = value.exact if isinstance(value, Pointer) else isinstance(value, Symbol)
    flags = use.flags if known else use.flags & ~SlotFlag.TOUCHES
    return (value, use.mode, flags) if flags else (value, use.mode)


def bound_arguments(
    machine: Machine, function: Function | None, operands: list[Operand], span: Span
) -> KernelArguments:
    """Return the memory that a kernel's arguments lead to, with access modes."""
    uses = {} if function is None else machine.relevance.kernels.of(function).uses

    def use(parameter: Parameter | None) -> Use:
        if parameter is None:
            return Use(AccessMode.OPAQUE)
        return uses.get(parameter.name) or use_by_type(parameter.type)

    return _arguments(machine, function, operands, use, span)


def early_arguments(
    machine: Machine, function: Function | None, operands: list[Operand], span: Span
) -> KernelArguments | None:
    """Return the memory that a kernel uses before it may wait for the kernel before it; None: none that is known."""
    behaviour = None if function is None else machine.relevance.kernels.of(function)
    if behaviour is None or behaviour.start is Start.WAITS:
        return None
    if behaviour.start is Start.AT_ONCE:
        return bound_arguments(machine, function, operands, span)
    uses = behaviour.early_uses
    return _arguments(machine, function, operands, lambda one: None if one is None else uses.get(one.name), span)


def _arguments(
    machine: Machine,
    function: Function | None,
    operands: list[Operand],
    use: Callable[[Parameter | None], Use | None],
    span: Span,
) -> KernelArguments:
    arguments: KernelArguments = []
    parameters: list[Parameter | None] = list(function.parameters) if function is not None else []
    for position, operand in enumerate(operands):
        parameter = parameters[position] if position < len(parameters) else None
        known = use(parameter)
        if known is None:
            continue
        value = operand.held
        if isinstance(value, StructObject) and parameter is not None and parameter.type.pointers:
            type = machine.resolve(parameter.type)
            value = machine.class_operators.convert(value, type, span)
        _flatten(machine, value, known, parameter, arguments, span, 0)
    return arguments


def _flatten(
    machine: Machine,
    value: Value,
    use: Use,
    parameter: Parameter | None,
    arguments: KernelArguments,
    span: Span,
    depth: int,
) -> None:
    if depth > DEEPEST_STRUCTURE:
        return
    if isinstance(value, DevicePointer):
        machine.made_names.used(value)
        arguments.append(_argument(use, value.pointer))
    elif isinstance(value, SymbolPointer):
        arguments.append(_argument(use, machine.device.address(value, span)))
    elif isinstance(value, Symbol):
        scalar = parameter is not None and not parameter.type.pointers and machine.resolve(parameter.type).name != ""
        if value.origin != "uninitialised" and (not scalar) and value.number in machine.live_handles:
            arguments.append(_argument(use, value))
    elif isinstance(value, ElementPointer | CellPointer):
        storage = value.array if isinstance(value, ElementPointer) else value.cell
        if storage.host is not None or storage.kind == MemoryKind.MANAGED:
            arguments.append(_argument(use, machine.device.address(value, span)))
    elif isinstance(value, StructObject):
        if value.cls is not None:
            for field, _ in machine.objects.all_fields(value.cls):
                machine.objects.field(value, field.name)
        for cell in value.fields.values():
            inner = AccessMode.READ if cell.type.const and cell.type.pointers == 1 else AccessMode.OPAQUE
            if use.mode is AccessMode.READ:
                inner = use.mode
            _flatten(machine, cell.value, Use(inner), None, arguments, span, depth + 1)
    elif isinstance(value, ArrayObject):
        for cell in list(value.cells.values())[:MOST_ARGUMENTS]:
            _flatten(machine, cell.value, Use(use.mode), None, arguments, span, depth + 1)
    elif isinstance(value, LibraryObject):
        for part in value.parts():
            inner_value = part.value if isinstance(part, Cell) else part
            _flatten(machine, inner_value, Use(use.mode), None, arguments, span, depth + 1)


def packed_arguments(machine: Machine, kernel: Kernel, value: Value, span: Span) -> KernelArguments | None:
    """Return the memory behind a `void*[]` of addresses of variables; None if it is not an array that is known."""
    found = packed_operands(machine, kernel, value, span)
    return None if found is None else bound_arguments(machine, *found, span)


def packed_operands(
    machine: Machine, kernel: Kernel, value: Value, span: Span
) -> tuple[Function | None, list[Operand]] | None:
    """Return the arguments behind a `void*[]`, and the function that takes them; None as in `packed_arguments`."""
    function = kernel.taking(None)
    held: list[Cell] = []
    if isinstance(value, CellPointer) and not isinstance(value.cell.value, ArrayObject | StructObject | LibraryObject):
        held = [value.cell]
    elif isinstance(value, ElementPointer) and isinstance(value.index, int):
        last = max((key for key in value.array.cells if isinstance(key, int)), default=-1)
        count = last - value.index + 1
        function = kernel.taking(count)
        if function is not None and not any(parameter.pack for parameter in function.parameters):
            count = min(count, len(function.parameters))
        for index in range(min(count, MOST_ARGUMENTS)):
            cell = value.array.cells.get(value.index + index)
            if cell is None:
                break
            held.append(cell)
    elif not (isinstance(value, int) and value == 0):
        return None
    operands: list[Operand] = []
    for cell in held:
        inner = cell.value
        if isinstance(inner, CellPointer | ElementPointer | SymbolPointer | DevicePointer):
            operands.append(machine.expressions.dereference(inner, span))
        else:
            operands.append(Operand(inner))
    return function, operands
