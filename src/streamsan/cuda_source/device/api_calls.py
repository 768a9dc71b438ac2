"""Calls of the API: arguments to the model's values, the call through the model, results back into the program."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from msgspec import Struct, field

from streamsan.cuda_source import known_apis
from streamsan.cuda_source.device import kernel_memory, launch_dimensions
from streamsan.cuda_source.device.opencl_calls import OpenClCalls
from streamsan.cuda_source.device.structures import Fields, Structures
from streamsan.cuda_source.machine import Machine
from streamsan.cuda_source.values.cells import (
    ArrayObject,
    Cell,
    CellPointer,
    Closure,
    DevicePointer,
    FunctionValue,
    LibraryObject,
    Native,
    Operand,
    Status,
    StructObject,
    Value,
    is_pointer,
)
from streamsan.cuda_source.values.classes import last_name
from streamsan.cuda_source.values.types import CHAR, CType
from streamsan.cuda_syntax.tree import Call, Function, Launch, Name, Span
from streamsan.effects import POINTER_ROLES, Api, Parameter, Role, Signature
from streamsan.model import values as model_values
from streamsan.model.values import Handle, Outcome, Pointer, Symbol
from streamsan.patterns.late_pattern import late_pattern
from streamsan.vocabulary import MemoryKind

if TYPE_CHECKING:
    from streamsan.cuda_source.device.given_data import GivenUse


class Request(Struct):
    """One call of the API, while its arguments are read."""

    api: Api
    signature: Signature
    span: Span
    arguments: list[model_values.Value] = field(default_factory=list)
    structures: dict[str, Fields] = field(default_factory=dict)
    kernel: kernel_memory.Kernel = kernel_memory.NO_KERNEL
    kernel_value: Value = None
    """the kernel of a node, as the program wrote it"""
    kernel_arguments: kernel_memory.KernelArguments | None = None
    early_arguments: kernel_memory.KernelArguments | None = None
    """what the kernel uses before it may wait for the kernel before it"""
    host_function: tuple[Value, Value] | None = None
    """a host function and what it is given"""


MEM_ALLOC_NODE = 10
"""cudaGraphNodeTypeMemAlloc"""
_PLACEHOLDER = Pointer(1, 1, 0)
_GETS_KERNEL = late_pattern(r"Get(Function|Kernel)$|GetFuncBySymbol$|GetEntryPoint")
_MAKES_IMAGE = late_pattern(r"Create(Texture|Surface)Object$|(Tex|Surf)ObjectCreate$")


class ApiCalls:
    """Makes the API calls of one path."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.structures = Structures(machine)
        self.opencl = OpenClCalls(machine, self.structures)
        self._kernels: dict[Symbol | Handle, str | FunctionValue] = {}
        """Handles of kernels: by the name that the program asked a module for, or the function that it named."""
        self._node_kernels: dict[Handle, Value] = {}
        """Nodes of graphs -> the kernel that they were given."""

    def is_api(self, name: str) -> bool:
        """Tell whether a name is a CUDA API that the effects table knows."""
        return known_apis.find(last_name(name)) is not None and known_apis.is_function(name.removeprefix("::"))

    def unknown_api(self, name: str, operands: list[Operand], span: Span) -> Operand:
        """A name that looks like an API of CUDA, or of one of its libraries, and is not in the table."""
        near = known_apis.suggest(name)
        # One of a namespace of the program's own may have the very name: then nothing is misspelt.
        if near not in (None, name) and name not in self.machine.program.macros:
            self.machine.not_understood(span, f"`{name}` is no known API; did you mean `{near}`?")
        return self.machine.unseen.call(name, operands, span)

    def function(self, name: str) -> Native:
        """Return an API as a value: a deleter, a callback."""

        def run(machine: Machine, operands: list[Operand], span: Span) -> Operand:
            return self.call(name, Call(span, Name(span, name), []), operands)

        return Native(name, run)

    def _declared_otherwise(self, name: str, count: int) -> bool:
        """Tell whether the program itself declares a function of an API's name that takes so many arguments."""
        functions = self.machine.program.functions.get(name, [])
        return any(function.variadic or len(function.parameters) == count for function in functions)

    def call(self, name: str, node: Call, operands: list[Operand]) -> Operand:
        """Make an API call."""
        self.machine.failures.go_on()
        api = known_apis.find(name)
        assert api is not None
        self.machine.failures.calls(api)
        if known_apis.is_opencl(api):
            return self.opencl.call(api, node, operands)
        machine = self.machine
        span = node.span
        values = [machine.expressions.load(o, span) if not self._is_symbol(o) else None for o in operands]
        signature = self.machine.device.model.bind(api, [self._hint(value) for value in values])
        if signature is None:
            if not node.missing_arguments and not self._declared_otherwise(name, len(operands)):
                reason = api.explain_mismatch(len(operands))
                self.machine.device.model.malformed(
                    self.machine.device.thread, machine.device.site(span, reason), "", api.name
                )
            signature = api.best_guess(len(operands))
        request = Request(api, signature, span)
        label = ""
        target: Value = None
        for position, value in enumerate(values):
            parameter = signature.parameter(position)
            if parameter is None:
                request.arguments.append(machine.device.plain(value))
                continue
            if parameter.role is Role.KERNEL_ARGUMENTS:
                self._launched(request, parameter, values, operands[position:], position)
                if parameter.variadic:
                    break
                continue
            if parameter.is_out and not label and not machine.objects.is_null(value):
                target = value
                label = self.machine.device.sites.label(
                    value, node.arguments[position] if position < len(node.arguments) else None
                )
            if parameter.role is Role.STRUCTURE:
                label = self._functions_inside(request, value) or self._memory_inside(api, value) or label
            if parameter.role is Role.FUNCTION and signature.first(Role.KERNEL_ARGUMENTS) is None:
                request.host_function = (value, self._user_data(signature, values))
                label = label or (last_name(value.name) if isinstance(value, FunctionValue) else "")
            request.arguments.append(self._argument(request, parameter, position, values, operands[position]))
        site = machine.device.site(span, request.kernel.name or label)
        first_slot = self.machine.device.builder.lengths.slots
        outcome = self._issue(request, site)
        for value, parameter in zip(values, signature.parameters, strict=False):
            if parameter.role is Role.WRITE:
                machine.memory.overwritten(value)
        if target is not None:
            self.machine.made_names.made(first_slot, site, target, list(outcome.outputs.values()))
        self._remember(request, values, outcome)
        self.structures.write_outputs(outcome, signature, values, span)
        self._give_back(request, values, span)
        return Operand(self._result(outcome, request, values, site, node))

    def _launched(
        self, request: Request, parameter: Parameter, values: list[Value], given: list[Operand], position: int
    ) -> None:
        """The arguments of a launch: a pack of them, or an array of their addresses."""
        for other, described in enumerate(request.signature.parameters):
            if other >= len(values) or described.handle == "stream":
                continue
            if described.role is Role.FUNCTION or (described.role is Role.HANDLE and described.handle == "other"):
                request.kernel = kernel_memory.kernel_of(self.machine, self._kernels, values[other])
                break
        found: tuple[Function | None, list[Operand]] | None
        if parameter.variadic:
            found = request.kernel.taking(len(given)), given
        else:
            found = kernel_memory.packed_operands(self.machine, request.kernel, values[position], request.span)
        request.kernel_arguments = []
        if found is not None and _has_attributes(request):
            # What it does before it waits is compared with all that it does, each use as a whole.
            request.kernel_arguments = kernel_memory.bound_arguments(self.machine, *found, request.span)
            request.early_arguments = kernel_memory.early_arguments(self.machine, *found, request.span)
        elif found is not None:
            self._bind(request, launch_dimensions.of_call(self.structures, request.signature, values), *found)
        request.arguments.append(1)

    def _bind(
        self, request: Request, named: dict[str, Value], function: Function | None, operands: list[Operand]
    ) -> None:
        """Note what the request's kernel does with its arguments; `named` says how it is launched."""
        launched = launch_dimensions.launched(self.machine, request.kernel, named, function, operands)
        request.kernel_arguments = kernel_memory.bound_arguments(
            self.machine, function, operands, request.span, launched
        )

    def _functions_inside(self, request: Request, value: Value) -> str:
        """A structure that describes a node may hold a kernel with its arguments, or a host function."""
        held = self.structures.object_of(value)
        if held is None:
            return ""
        body = self.structures.member(held, "fn")
        if body != 0:
            request.host_function = (body, self.structures.member(held, "userData"))
            return body.name if isinstance(body, FunctionValue) else ""
        kernel = self.structures.member(held, "func", "function", "kern")
        if kernel == 0:
            return ""
        request.kernel = kernel_memory.kernel_of(self.machine, self._kernels, kernel)
        request.kernel_value = kernel
        packed = self.structures.member(held, "kernelParams", "args")
        found = kernel_memory.packed_operands(self.machine, request.kernel, packed, request.span)
        if found is not None:
            self._bind(request, launch_dimensions.of_structure(self.structures, held), *found)
        return ""

    def _memory_inside(self, api: Api, value: Value) -> str:
        """A structure that describes an allocation node receives its address: memory is named after that."""
        held = self.structures.object_of(value)
        name = self.machine.device.sites.label(value, None)
        if held is None or not name:
            return ""
        if "MemAllocNode" in api.name:
            return f"{name}.dptr"
        kind = held.fields.get("type")
        in_any_node = api.name.endswith("GraphAddNode") and kind is not None and kind.value == MEM_ALLOC_NODE
        return f"{name}.alloc.dptr" if in_any_node else ""

    def _remember(self, request: Request, values: list[Value], outcome: Outcome) -> None:
        """Note what later calls ask for by handle: memory of textures, kernels got by name, kernels of nodes."""
        if request.kernel_value is not None:
            for parameter, value in zip(request.signature.parameters, values, strict=False):
                made = outcome.outputs.get(parameter.name) if parameter.is_out else value
                if isinstance(made, Handle) and made.type == "node":
                    self._node_kernels[made] = request.kernel_value
                    break
        elif _MAKES_IMAGE.search(request.api.name):
            from streamsan.model.queries.textures import memory_behind  # few programs make textures

            memory = memory_behind(request.structures)
            for made in outcome.outputs.values():
                if isinstance(made, Symbol) and isinstance(memory, Pointer | Symbol):
                    self.machine.device.images[made] = memory
        elif _GETS_KERNEL.search(request.api.name):
            kernel = next((found for value in values if (found := self._kernel_named(value))), None)
            for made in outcome.outputs.values():
                if kernel is not None and isinstance(made, Symbol | Handle):
                    self._kernels[made] = kernel

    def _kernel_named(self, value: Value) -> str | FunctionValue | None:
        """Return the kernel that an argument names: by its text, as a function, or by another handle."""
        if isinstance(value, str | FunctionValue):
            return value
        return self._kernels.get(value) if isinstance(value, Symbol | Handle) else None

    def _give_back(self, request: Request, values: list[Value], span: Span) -> None:
        """The parameters of a kernel's node, read back, hold the kernel that the program put there."""
        if "KernelNodeGetParams" not in request.api.name or len(values) < 2:
            return
        node = self.machine.device.plain(values[0])
        held = self.structures.object_of(values[1])
        cell = self.machine.objects.field(held, "func") if held is not None else None
        kernel = self._node_kernels.get(node) if isinstance(node, Handle) else None
        if cell is not None and kernel is not None:
            cell.value = kernel

    def _is_symbol(self, operand: Operand) -> bool:
        cell = operand.cell
        return cell is not None and cell.kind == MemoryKind.DEVICE_SYMBOL and cell.owner is None

    def _hint(self, value: Value) -> model_values.Value:
        if is_pointer(value) or isinstance(value, str):
            return _PLACEHOLDER
        return value if isinstance(value, int | float | Handle | Symbol) else None

    def _issue(self, request: Request, site: int) -> Outcome:
        body = None if request.host_function is None else self._host_body(*request.host_function, request.span)
        self.machine.issued += 1
        self.machine.polls.calls(request.api)
        return self.machine.device.model.call(
            self.machine.device.thread,
            request.api.name,
            request.arguments,
            site,
            signature=request.signature,
            kernel_arguments=request.kernel_arguments,
            early_arguments=request.early_arguments,
            structures=request.structures,
            payload=body,
            **self._given_use(request),
        )

    def _given_use(self, request: Request) -> GivenUse:
        """Return how a host function uses what it is given."""
        if request.host_function is None:
            return {}
        # Few programs have host functions: what reads them is loaded when the first one comes.
        from streamsan.cuda_source.device.given_data import GivenData

        return GivenData(self.machine).use(request.host_function[0])

    def _host_body(self, function: Value, data: Value, span: Span) -> Callable[[], None] | None:
        """Return what runs the body of a host function; None: it is not in view."""
        if not isinstance(function, FunctionValue | Closure | Native):
            return None
        return lambda: self._call_host_function(function, data, span)

    def _call_host_function(self, function: Value, data: Value, span: Span) -> None:
        self.machine.functions.call_value(function, self._callback_operands(function, data), span)

    def _callback_operands(self, function: Value, data: Value) -> list[Operand]:
        count = 1
        if isinstance(function, FunctionValue) and function.functions:
            count = len(function.functions[0].parameters)
        elif isinstance(function, Closure):
            count = len(function.node.parameters)
        # cudaStreamAddCallback's functions take (stream, status, data), cudaLaunchHostFunc's take (data)
        return [Operand(0)] * max(0, count - 1) + [Operand(data)]

    def _user_data(self, signature: Signature, values: list[Value]) -> Value:
        for position, parameter in enumerate(signature.parameters):
            if parameter.role is Role.USER_DATA and position < len(values):
                return values[position]
        return 0

    def _argument(
        self, request: Request, parameter: Parameter, position: int, values: list[Value], operand: Operand
    ) -> model_values.Value:
        machine = self.machine
        role = parameter.role
        span = request.span
        value = values[position]
        if role is Role.STRUCTURE:
            if isinstance(value, LibraryObject):
                value = _first_part(value)
            request.structures[parameter.name] = self.structures.fields(value, span)
            return 0 if machine.objects.is_null(value) else 1
        if role is Role.LIST:
            count = self.structures.list_count(request.signature, position, values)
            request.structures[parameter.name] = self.structures.items(value, count, span)
            return 0 if machine.objects.is_null(value) else 1
        if isinstance(value, StructObject):
            if role in (Role.EXTENT, Role.PITCHED):
                request.structures[parameter.name] = self.structures.fields(value, span)
            wanted = (
                CType("void", pointers=1)
                if role in POINTER_ROLES or parameter.is_out
                else CType(_handle_type(parameter))
            )
            value = machine.class_operators.convert(value, wanted, span)
        if isinstance(value, LibraryObject):
            value = _first_part(value)
        if role is Role.IN_OUT:
            request.structures[parameter.name] = self.structures.fields(value, span)
        if parameter.is_out:
            return 0 if machine.objects.is_null(value) else self.structures.capacity(parameter, value)
        if role in POINTER_ROLES:
            if self._is_symbol(operand) and operand.cell is not None:
                value = CellPointer(operand.cell)
            if role is Role.READ:
                machine.reach.copied_from(value)
            return machine.device.address(value, span)
        return machine.device.plain(value)

    def write(self, target: Value, result: model_values.Value, span: Span) -> None:
        """Store a result of the API where an out-argument points."""
        machine = self.machine
        if isinstance(target, int | float | str) or target is None:
            return
        cell = machine.expressions.dereference(target, span).cell
        if cell is None:
            return
        if isinstance(cell.value, StructObject):
            if isinstance(result, Symbol):
                cell.value = StructObject(cell.value.cls, result)
                machine.objects.adopt(cell)
            return
        if isinstance(cell.value, ArrayObject | LibraryObject):
            return
        old = cell.value
        if isinstance(result, Pointer):
            element = cell.type.element() if cell.type.pointers else None
            cell.value = DevicePointer(result, element or (CHAR if cell.type.name == "CUdeviceptr" else None))
        else:
            cell.value = machine.objects.convert(result, cell.type)
            if isinstance(cell.value, Symbol) and cell.type.pointers:
                machine.live_handles.add(cell.value.number)
        machine.objects.adopt(cell)
        if isinstance(old, DevicePointer | Handle):
            machine.reach.overwritten(old, span)

    def _result(self, outcome: Outcome, request: Request, values: list[Value], site: int, node: Call) -> Value:
        status = outcome.outputs.get("return", outcome.status)
        if isinstance(status, Symbol):
            handle = self.machine.device.plain(values[0]) if values else 0
            self.machine.device.queries[status] = (handle, site)
            return status
        if not isinstance(status, int):
            return self.machine.fresh("status", "opaque")
        made = Status(status)
        if status > 0:
            self.machine.failures.made(made, site, request.api, node)
        return made

    def launch(self, node: Launch) -> Operand:
        """Launch a kernel by triple chevrons."""
        self.machine.issued += 1
        self.machine.polls.worked += 1
        self.machine.failures.go_on()
        self.machine.failures.say_unread()
        return kernel_memory.launch(self.machine, node)


def _has_attributes(request: Request) -> bool:
    """Tell whether a launch's configuration is known to have attributes."""
    return any(key.startswith("attrs.") for fields in request.structures.values() for key in fields)


def _first_part(value: LibraryObject) -> Value:
    """Return what a library object stands for where the API takes a pointer or a handle."""
    return next((part for part in value.parts() if not isinstance(part, Cell | ArrayObject)), None)


def _handle_type(parameter: Parameter) -> str:
    return {"stream": "cudaStream_t", "event": "cudaEvent_t", "context": "CUcontext"}.get(parameter.handle, "")
