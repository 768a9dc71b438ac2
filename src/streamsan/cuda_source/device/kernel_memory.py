"""Kernel launches: which arguments are memory, and how the kernel's body uses each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import zip_longest
from typing import Any

from msgspec import Struct, field

from streamsan.cuda_source.device.kernel_extents import Extent, Extents, Launched, extents_of
from streamsan.cuda_source.library.braced import braced
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
from streamsan.cuda_syntax.tree import Expression, Function, Launch, Literal_, Name, Parameter, Span, Type
from streamsan.kernels.behaviour import KernelBehaviour
from streamsan.kernels.cuda_images import is_image
from streamsan.kernels.pointer_uses import use_by_type
from streamsan.kernels.uses import Start, Use
from streamsan.model.values import Handle, KernelArgument, Pointer, Symbol
from streamsan.vocabulary import AccessMode, MemoryKind, SlotFlag

KernelArguments = list[KernelArgument]
DEEPEST_STRUCTURE = 6
MOST_ARGUMENTS = 256


def launch(machine: Machine, node: Launch) -> Operand:
    """Launch a kernel by triple chevrons."""
    configuration = [machine.expressions.operand(item) for item in node.configuration]
    operands = machine.calls.operands(node.arguments)
    function, name, given = _kernel(machine, node.callee, operands)
    function = None if function is None else machine.linked(function)
    stream: Value = 0
    if len(configuration) > 3:
        stream = machine.expressions.load(configuration[3], node.span)
        if isinstance(stream, StructObject):
            stream = machine.class_operators.convert(stream, CType("cudaStream_t"), node.span)
    launched = None
    if len(configuration) > 1 and function is not None:
        grid, block = (machine.expressions.load(each, node.span) for each in configuration[:2])
        launched = Launched(grid, block, machine.overloads.bindings_of(function, operands, given, {}))
    arguments = bound_arguments(machine, function, operands, node.span, launched)
    outcome = machine.device.model.launch(
        machine.device.thread, name, arguments, machine.device.plain(stream), machine.device.site(node.span, name)
    )
    return Operand(Status(outcome.status))


def _kernel(
    machine: Machine, callee: Expression, operands: list[Operand]
) -> tuple[Function | None, str, tuple[Any, ...]]:
    """Return a kernel, its name, and the arguments that are written for its template parameters."""
    given: tuple[Any, ...] = ()
    if isinstance(callee, Name):
        given = tuple(machine.names.template_arguments(callee.template_arguments))
        local = machine.find(callee.name)
        value = local.value if isinstance(local, Cell) else None
        if not isinstance(local, Cell):
            functions = machine.program.find_functions(callee.name, machine.frame)
            if functions and callee.name not in machine.frame.bindings:
                return machine.overloads.choose(functions, operands), callee.name, given
            operand = machine.names.lookup(callee.name, callee)
            value = machine.expressions.load(operand, callee.span) if operand is not None else None
    else:
        value = machine.expressions.value(callee)
    if isinstance(value, FunctionValue):
        chosen = machine.overloads.choose(value.functions, operands)
        return chosen, value.name, given or value.template_arguments
    name = callee.name if isinstance(callee, Name) else machine.device.sites.text(callee.span)
    return None, name, ()


class Kernel(Struct, frozen=True):
    """What a launching API is told to run: a name for messages, and the functions that it may be."""

    name: str
    functions: tuple[Function, ...] = ()
    given: tuple[Any, ...] = ()
    """what is written for its template parameters"""

    def taking(self, count: int | None) -> Function | None:
        """Return the function that takes so many arguments, else the first one."""
        for function in self.functions:
            if count is None or len(function.parameters) == count:
                return function
        return self.functions[0] if self.functions else None


NO_KERNEL = Kernel("")
_OPAQUE = Type("", pointers=1)
POLLED = Use(AccessMode.OPAQUE, SlotFlag.ATOMIC)
"""the mark of a word that a kernel polls, no use of its own"""
_SEEN_BY_ALL = (MemoryKind.PINNED, MemoryKind.REGISTERED, MemoryKind.MANAGED)


def kernel_of(machine: Machine, handles: dict[Symbol | Handle, str | FunctionValue], value: Value) -> Kernel:
    """Return the kernel that a value stands for: a function, or a handle of which the function or its name is known."""
    known = handles.get(value) if isinstance(value, Symbol | Handle) else None
    if isinstance(known, FunctionValue):
        value = known
    if isinstance(value, FunctionValue):
        functions = value.functions or machine.program.find_functions(value.name, machine.frame)
        return Kernel(last_name(value.name), tuple(map(machine.linked, functions)), value.template_arguments)
    name = known if isinstance(known, str) else ""
    if not name and isinstance(value, SymbolPointer):
        name = value.symbol.name
    if not name and isinstance(value, Symbol):
        name = value.name
    if not name:
        return NO_KERNEL
    found = machine.program.find_functions(last_name(name), machine.frame)
    return Kernel(last_name(name), tuple(map(machine.linked, found)))


def _reaching(argument: KernelArgument, extents: Sequence[Extent] | None) -> KernelArguments:
    """Return memory so used, as far as that is known (None: not at all); atomic operations alone may leave gaps."""
    value, whole = argument[:2]
    flags = argument[2] if len(argument) > 2 else 0
    if extents is None or whole is AccessMode.OPAQUE or flags & SlotFlag.ATOMIC:
        return [argument]
    found: KernelArguments = []
    for extent in extents:
        mode = whole if extent.mode is None else extent.mode
        if extent.stride is None:
            found.append((value, mode, flags, extent.span))
        else:
            found.append((value, mode, flags & ~SlotFlag.TOUCHES, extent.span, extent.stride))
    return found


def bound_arguments(
    machine: Machine,
    function: Function | None,
    operands: list[Operand],
    span: Span,
    launched: Launched | None = None,
) -> KernelArguments:
    """Return the memory that a kernel's arguments lead to, with access modes; how far it reaches for a known launch."""
    with machine.at(machine.home_of(function)):
        return _bound_arguments(machine, function, _taken(machine, function, operands, launched), span, launched)


def _bound_arguments(
    machine: Machine,
    function: Function | None,
    operands: list[Operand],
    span: Span,
    launched: Launched | None,
) -> KernelArguments:
    behaviour = _behaviour(machine, function, operands, {} if launched is None else launched.bindings)
    uses = {} if behaviour is None else behaviour.uses
    extents: Extents = {}
    if function is not None and behaviour is not None and launched is not None:
        extents = extents_of(machine, function, behaviour, operands, launched)
    arguments = _arguments(machine, function, operands, _Uses(uses, use_by_type, extents), span)
    if behaviour is not None:
        arguments += _variables(machine, behaviour, span)
        arguments += _polled(machine, function, operands, behaviour, span)
    if behaviour is not None and behaviour.talks:
        return [_shared(machine, each) for each in arguments]
    return arguments


def _shared(machine: Machine, argument: KernelArgument) -> KernelArgument:
    """Return an argument of a kernel that talks to others: how they share what all of them see, nobody can tell."""
    value = argument[0]
    if argument[1:] == POLLED:
        return argument
    kind = machine.device.kind_of(value) if isinstance(value, Pointer) else MemoryKind.UNKNOWN
    return (value, AccessMode.OPAQUE) if kind in _SEEN_BY_ALL else argument


def _polled(
    machine: Machine, function: Function | None, operands: list[Operand], behaviour: KernelBehaviour, span: Span
) -> KernelArguments:
    """Return the words that a kernel polls, once more, as such."""
    if not behaviour.polls:
        return []
    uses = dict.fromkeys(behaviour.polls, POLLED)
    found = _arguments(machine, function, operands, _Uses(uses, lambda _: None), span)
    variables = {name: POLLED for name in behaviour.polls if name in behaviour.variable_uses}
    return [each for each in found if len(each) > 2] + _named_variables(machine, variables, span)


def _variables(machine: Machine, behaviour: KernelBehaviour, span: Span) -> KernelArguments:
    """Return the variables of the device that a kernel names, each with its use."""
    return _named_variables(machine, behaviour.variable_uses, span)


def _named_variables(machine: Machine, uses: Mapping[str, Use], span: Span) -> KernelArguments:
    found: KernelArguments = []
    for name, use in uses.items():
        cell = machine.names.global_cell(name)
        if cell is None or cell.kind not in (MemoryKind.DEVICE_SYMBOL, MemoryKind.MANAGED):
            continue
        array = cell.value if isinstance(cell.value, ArrayObject) else None
        place = CellPointer(cell) if array is None else ElementPointer(array, 0)
        found.append(machine.device.argument(use, machine.device.address(place, span)))
    return found


class _Uses(Struct, frozen=True):
    """How a kernel uses what it is given."""

    known: Mapping[str, Use | None]
    """by parameters' names, and paths of pointers in structures; None: never"""
    otherwise: Callable[[Type], Use | None]
    """by a pointer's type; None: it is left out"""
    extents: Extents = field(default_factory=dict)

    def of(self, path: str, type: Type | None) -> Use | None:
        """Return the use of the pointer at a path; `type` None: nobody knows what takes it."""
        return self.known[path] if path in self.known else self.otherwise(_OPAQUE if type is None else type)

    def inside(self, path: str, part: str) -> str:
        """Return the path of a part: the whole's own where that stands for all parts, or the part has no name."""
        return path if path in self.known or not part else f"{path}.{part}"


def _behaviour(
    machine: Machine, function: Function | None, operands: list[Operand], bindings: Mapping[str, Any]
) -> KernelBehaviour | None:
    """Return what a kernel does, its template parameters bound to classes: of structures that it is given, policies."""
    if function is None:
        return None
    templates = {one.name for one in function.templates}
    named = {getattr(each, "name", "") for one in function.parameters for each in one.type.arguments}
    bound: dict[str, Type | Expression] = {
        name: _written(argument, function.span)
        for name, argument in bindings.items()
        if name in named or _is_class(machine, argument)
    }
    outer: dict[str, list[object]] = {}
    for parameter, operand in zip(function.parameters, operands, strict=False):
        cls = operand.held.cls if isinstance(operand.held, StructObject) else None
        if cls is not None and parameter.type.name in templates:
            bound[parameter.type.name] = Type(cls.name, [_written(one, function.span) for one in cls.arguments])
        for name, argument in cls.bindings.items() if cls is not None else ():
            if isinstance(argument, CType | int):
                outer.setdefault(name, []).append(argument)
    for name, arguments in outer.items():
        # Of a class in a class template, which does not name them: `Grid<float>::View`.
        if name not in templates and all(each == arguments[0] for each in arguments):
            bound.setdefault(name, _written(arguments[0], function.span))
    return machine.relevance.kernels.of(function, bound)


def _is_class(machine: Machine, argument: object) -> bool:
    return isinstance(argument, CType) and machine.program.class_of(argument, machine.frame) is not None


def _written(argument: object, span: Span) -> Type | Expression:
    """Return a template argument as a program would write it."""
    if isinstance(argument, CType):
        inner = [_written(one, span) for one in argument.arguments]
        return Type(argument.name, inner, argument.pointers, "", argument.const, function=argument.function)
    return Literal_(span, argument if isinstance(argument, int) else None)


def early_arguments(
    machine: Machine, function: Function | None, operands: list[Operand], span: Span
) -> KernelArguments | None:
    """Return the memory that a kernel uses before it may wait for the kernel before it; None: none that is known."""
    with machine.at(machine.home_of(function)):
        operands = _taken(machine, function, operands, None)
        behaviour = _behaviour(machine, function, operands, {})
        if behaviour is None or behaviour.start is Start.WAITS:
            return None
        if behaviour.start is Start.AT_ONCE:
            return _bound_arguments(machine, function, operands, span, None)
        return _arguments(machine, function, operands, _Uses(behaviour.early_uses, lambda _: None), span)


def _arguments(
    machine: Machine,
    function: Function | None,
    operands: list[Operand],
    uses: _Uses,
    span: Span,
) -> KernelArguments:
    arguments: KernelArguments = []
    parameters: list[Parameter | None] = list(function.parameters) if function is not None else []
    for position, operand in enumerate(operands):
        parameter = parameters[position] if position < len(parameters) else None
        value = operand.held
        if isinstance(value, StructObject) and parameter is not None:
            type = machine.resolve(parameter.type)
            if type.pointers or is_image(Type(type.name)):
                value = machine.class_operators.convert(value, type, span)
        name, of = ("", None) if parameter is None else (parameter.name, parameter.type)
        if isinstance(value, StructObject | ArrayObject | LibraryObject):
            _flatten_parts(machine, value, uses, name, of, arguments, span, 0)
            continue
        _add_condition(value, arguments)
        known = uses.of(name, of)
        if known is not None:
            _flatten(machine, value, known, parameter, uses.extents.get(name), arguments, span)
    return arguments


def _add_condition(value: Value, arguments: KernelArguments) -> None:
    """Add the handle of a graph's condition: it leads to no memory, but says that the kernel may set the condition."""
    if isinstance(value, Handle) and value.type == "other":
        arguments.append((value, AccessMode.OPAQUE))


def _taken(
    machine: Machine, function: Function | None, operands: list[Operand], launched: Launched | None
) -> list[Operand]:
    """Return what a kernel's parameters take of its arguments."""
    if function is None:
        return operands
    context = machine.frame if launched is None else launched.context(function)
    return [
        operand if parameter is None else _passed(machine, operand, parameter, context)
        for operand, parameter in zip_longest(operands, function.parameters[: len(operands)])
    ]


def _passed(machine: Machine, operand: Operand, parameter: Parameter, context: Any) -> Operand:
    """Return what a parameter takes: a braced list makes an object of its type."""
    found = braced(operand)
    if found is None:
        return operand
    type = machine.resolve_in(parameter.type, context)
    cell = Cell(None, type, parameter.name)
    machine.objects.initialise_list(cell, type, found.node())
    return Operand(cell.value)


def _flatten(
    machine: Machine,
    value: Value,
    use: Use,
    parameter: Parameter | None,
    extents: Sequence[Extent] | None,
    arguments: KernelArguments,
    span: Span,
) -> None:
    image = machine.device.images.get(value) if isinstance(value, Symbol) else None
    if image is not None:
        arguments.append(machine.device.argument(use, image))
    elif isinstance(value, DevicePointer):
        machine.made_names.used(value)
        arguments += _reaching(machine.device.argument(use, value.pointer), extents)
    elif isinstance(value, SymbolPointer):
        arguments.append(machine.device.argument(use, machine.device.address(value, span)))
    elif isinstance(value, Symbol):
        scalar = parameter is not None and not parameter.type.pointers and machine.resolve(parameter.type).name != ""
        if value.origin != "uninitialised" and (not scalar) and value.number in machine.live_handles:
            arguments.append(machine.device.argument(use, value))
    elif isinstance(value, ElementPointer | CellPointer):
        storage = value.array if isinstance(value, ElementPointer) else value.cell
        if storage.host is not None or storage.kind == MemoryKind.MANAGED or machine.memory.is_part(value):
            arguments += _reaching(machine.device.argument(use, machine.device.address(value, span)), extents)


def _flatten_parts(
    machine: Machine,
    whole: StructObject | ArrayObject | LibraryObject,
    uses: _Uses,
    path: str,
    of: Type | None,
    arguments: KernelArguments,
    span: Span,
    depth: int,
) -> None:
    """Add the memory that the parts of an object lead to. `of`: the type of an array's elements, or of the whole."""
    if depth > DEEPEST_STRUCTURE:
        return
    for name, held in _parts(machine, whole):
        part = held.value if isinstance(held, Cell) else held
        place = uses.inside(path, name)
        type = of
        if isinstance(whole, StructObject) and isinstance(held, Cell):
            type = Type("", pointers=held.type.pointers, const=held.type.const)
        if isinstance(part, StructObject | ArrayObject | LibraryObject):
            _flatten_parts(machine, part, uses, place, type, arguments, span, depth + 1)
            continue
        _add_condition(part, arguments)
        known = uses.of(place, type)
        if known is not None:
            _flatten(machine, part, known, None, uses.extents.get(place), arguments, span)


def _parts(machine: Machine, whole: StructObject | ArrayObject | LibraryObject) -> list[tuple[str, Cell | Value]]:
    """Return the parts of an object with their names, of an array with their numbers."""
    if isinstance(whole, StructObject):
        if whole.cls is not None:
            for field, _ in machine.objects.all_fields(whole.cls):
                machine.objects.field(whole, field.name)
        return list(whole.fields.items())
    if isinstance(whole, ArrayObject):
        return [(str(index), cell) for index, cell in list(whole.cells.items())[:MOST_ARGUMENTS]]
    return [("", part) for part in whole.parts()]


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
