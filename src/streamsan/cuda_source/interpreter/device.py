"""The interpreter's side of the device model: values of the program to values of the API and back."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from streamsan.cuda_source.interpreter import kernels
from streamsan.cuda_source.interpreter.failures import Failures
from streamsan.cuda_source.interpreter.host_memory import HostMemory
from streamsan.cuda_source.interpreter.made_names import MadeNames
from streamsan.cuda_source.interpreter.places import Places
from streamsan.cuda_source.interpreter.program import last_name
from streamsan.cuda_source.interpreter.structures import Fields, Structures
from streamsan.cuda_source.interpreter.types import CHAR, CType
from streamsan.cuda_source.interpreter.values import (
    ArrayObject,
    Cell,
    CellPointer,
    Closure,
    DevicePointer,
    ElementPointer,
    FunctionValue,
    LibraryObject,
    Native,
    Operand,
    Status,
    StructObject,
    SymbolPointer,
    Term,
    Value,
    is_pointer,
)
from streamsan.cuda_syntax.tree import Call, Expression, Launch, Name, Span, Variable
from streamsan.effects import POINTER_ROLES, Api, Parameter, Role, Signature
from streamsan.kernels.host_access import given_access
from streamsan.model import events
from streamsan.model import values as model_values
from streamsan.model.device_model import DeviceModel
from streamsan.model.state import HostThread, Lifetime
from streamsan.model.values import Handle, Outcome, Pointer, Symbol
from streamsan.platforms import CUDA
from streamsan.vocabulary import AccessMode, FreeClass, LostKind, MemoryKind

if TYPE_CHECKING:
    from streamsan.cuda_source.interpreter.machine import Machine

NOT_READY = 600
MEM_ALLOC_NODE = 10
"""cudaGraphNodeTypeMemAlloc"""
_PLACEHOLDER = Pointer(1, 1, 0)
_GETS_KERNEL = re.compile(r"Get(Function|Kernel)$|GetFuncBySymbol$|GetEntryPoint")


@dataclass(slots=True)
class Request:
    """One call of the API, while its arguments are read."""

    api: Api
    signature: Signature
    span: Span
    arguments: list[model_values.Value] = field(default_factory=list)
    structures: dict[str, Fields] = field(default_factory=dict)
    kernel: kernels.Kernel = kernels.NO_KERNEL
    kernel_value: Value = None
    """the kernel of a node, as the program wrote it"""
    kernel_arguments: kernels.KernelArguments | None = None
    early_arguments: kernels.KernelArguments | None = None
    """what the kernel uses before it may wait for the kernel before it"""
    host_function: tuple[Value, Value] | None = None
    """a host function and what it is given"""


class Device:
    """Issues operations through the device model."""

    def __init__(self, model: DeviceModel, files: dict[str, str]) -> None:
        self.model = model
        self.builder = model.builder
        self.thread: HostThread = model.main_thread
        model.core.on_host_call = self._on_drivers_thread
        self.places = Places(model.builder, files)
        self.memory = HostMemory(self)
        self.made_names = MadeNames(self)
        self.machine: Machine
        self.queries: dict[Symbol, tuple[model_values.Value, int]] = {}
        """Results of queries that are not decided yet: the handle that was asked, and where."""
        self.structures = Structures(self)
        self.kernel_names: dict[Symbol | Handle, str] = {}
        """Kernels that were got from a module, by the name that the program asked for."""
        self._node_kernels: dict[Handle, Value] = {}
        """Nodes of graphs -> the kernel that they were given."""
        self.failures = Failures(self)
        self._terms: dict[Any, Symbol] = {}

    def attach(self, machine: Machine) -> None:
        """Tell the device which path it serves."""
        self.machine = machine

    @property
    def operations(self) -> int:
        """How many operations the path has issued."""
        return self.builder.operations

    # -- places ------------------------------------------------------------------------------------

    def site(self, span: Span, label: str = "") -> int:
        """Return the site id of a place in the current frame."""
        return self.places.site(self.machine, span, label)

    def enter_macro(self, span: Span) -> None:
        """What follows is the body of a macro used here."""
        self.places.macros.append(span)

    def leave_macro_once(self) -> None:
        """The innermost macro's body ends."""
        if self.places.macros:
            self.places.macros.pop()

    def leave_macro(self) -> list[Span]:
        """What follows is an argument of the innermost macro: written where the macro is used."""
        saved = self.places.macros
        self.places.macros = saved[:-1]
        return saved

    def enter_macros(self, saved: list[Span]) -> None:
        """Back from a macro's argument."""
        self.places.macros = saved

    def set_conditional(self, conditional: bool) -> None:
        """Say whether what follows stands under an undecided branch."""
        self.thread.conditional = conditional

    def not_understood(self, span: Span, what: str) -> None:
        """Note what could not be followed."""
        self.model.not_understood(self.thread, self.site(span, what), "")

    # -- host memory -------------------------------------------------------------------------------

    def host_access(self, cell: Cell, mode: AccessMode, span: Span) -> None:
        """Host code reads or writes a cell."""
        self.memory.access(cell, mode, span)

    def host_end(self, storage: Cell | ArrayObject, span: Span) -> None:
        """A variable's or block's memory ends."""
        self.memory.end(storage, span)

    def heap_free(self, pointer: DevicePointer, span: Span) -> None:
        """Memory that the API gave out is given to the host's own `free` or `delete` (SS202)."""
        self.model.host_free(self.thread, pointer.pointer, FreeClass.HOST_HEAP, self.site(span))

    def contents(self, pointer: DevicePointer) -> tuple[ArrayObject, Any]:
        """Return the elements behind a pointer of the API."""
        self.made_names.used(pointer)
        return self.memory.contents(pointer)

    def symbol_contents(self, pointer: SymbolPointer) -> ArrayObject:
        """Return the elements behind an unknown pointer."""
        return self.memory.symbol_contents(pointer)

    def pointer_into(self, array: ArrayObject, key: Any) -> Value:
        """Return the address of an element of the API's memory."""
        return self.memory.pointer_into(array, key)

    def device_symbol(self, cell: Cell, variable: Variable) -> None:
        """A `__device__`, `__constant__` or `__managed__` variable."""
        cell.kind = MemoryKind.MANAGED if variable.device == "managed" else MemoryKind.DEVICE_SYMBOL

    def kind_of(self, pointer: Pointer) -> MemoryKind:
        """Return the kind of the memory behind a pointer."""
        allocation = self.model.core.allocation_of(self.thread, pointer)
        return allocation.kind if allocation is not None else MemoryKind.UNKNOWN

    def is_live(self, pointer: Pointer) -> bool:
        """Tell whether the allocation behind a pointer is alive for certain, and made by the program."""
        allocation = self.model.core.allocation_of(self.thread, pointer)
        return allocation is not None and allocation.lifetime is Lifetime.LIVE and not allocation.assumed

    def pointer_lost(self, pointer: Pointer, kind: LostKind, span: Span) -> None:
        """The last pointer to an allocation is gone."""
        self.model.pointer_lost(self.thread, pointer, kind, self.site(span))

    def symbol_block(self, symbol: Symbol) -> Pointer | None:
        """Return the assumed memory behind an unknown pointer, if CUDA has seen the pointer."""
        allocation = self.thread.process.assumed_memory.get(symbol)
        return allocation.pointer if allocation is not None else None

    def symbol_pointer(self, symbol: Symbol, offset: Any, span: Span) -> Pointer | None:
        """Return an address at an offset in bytes from an unknown pointer."""
        base = self.model.memory_of(self.thread, symbol, self.site(span))
        if base is None:
            return None
        if isinstance(offset, int) and 0 <= base.address + offset < 1 << 62:
            return replace(base, address=base.address + offset)
        return replace(base, exact=False)

    # -- values ------------------------------------------------------------------------------------

    def plain(self, value: Value) -> model_values.Value:
        """Return a number, handle or unknown as the model takes it."""
        if isinstance(value, Term):
            known = self.machine.known(value)
            if not isinstance(known, Term):
                return self.plain(known)
            symbol = self._terms.get(known)
            if symbol is None:
                symbol = self.machine.fresh("value", "opaque")
                self._terms[known] = symbol
            return symbol
        if isinstance(value, Symbol):
            known = self.machine.known(value)
            return known if isinstance(known, int | float | Symbol) else value
        if isinstance(value, Handle | DevicePointer):
            self.made_names.used(value)
        if isinstance(value, int | float | str | Handle):
            return value
        if isinstance(value, DevicePointer):
            return value.pointer
        if isinstance(value, SymbolPointer):
            return value.symbol
        return None

    def address(self, value: Value, span: Span) -> model_values.Value:
        """Return an address as the model takes it; host variables get one."""
        if isinstance(value, SymbolPointer):
            if isinstance(value.offset, int) and value.offset == 0:
                return value.symbol
            size = self.machine.objects.size_of(value.element) if value.element is not None else 1
            known = self.machine.known(value.offset)
            offset = known * size if isinstance(known, int) and size is not None else None
            return self.symbol_pointer(value.symbol, offset, span)
        if isinstance(value, ElementPointer | CellPointer):
            return self.memory.pointer(value, span)
        if isinstance(value, str):
            return None
        return self.plain(value)

    def is_api(self, name: str) -> bool:
        """Tell whether a name is a CUDA API that the effects table knows."""
        return name.removeprefix("::").startswith("cu") and CUDA.effects.find(last_name(name)) is not None

    # -- calls -------------------------------------------------------------------------------------

    def unknown_api(self, name: str, operands: list[Operand], span: Span) -> Operand:
        """A name that looks like an API of CUDA, or of one of its libraries, and is not in the table."""
        near = CUDA.effects.suggest(name)
        if near is not None and name not in self.machine.program.macros:
            self.machine.not_understood(span, f"`{name}` is no known API; did you mean `{near}`?")
        return self.machine.calls.opaque(name, operands, span)

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
        self.failures.go_on()
        api = CUDA.effects.find(name)
        assert api is not None
        self.failures.calls(api)
        machine = self.machine
        span = node.span
        values = [machine.expressions.load(o, span) if not self._is_symbol(o) else None for o in operands]
        signature = self.model.bind(api, [self._hint(value) for value in values])
        if signature is None:
            if not node.missing_arguments and not self._declared_otherwise(name, len(operands)):
                reason = api.explain_mismatch(len(operands))
                self.model.malformed(self.thread, self.site(span, reason), "", api.name)
            signature = api.best_guess(len(operands))
        request = Request(api, signature, span)
        label = ""
        target: Value = None
        for position, value in enumerate(values):
            parameter = signature.parameter(position)
            if parameter is None:
                request.arguments.append(self.plain(value))
                continue
            if parameter.role is Role.KERNEL_ARGUMENTS:
                self._launched(request, parameter, values, operands[position:], position)
                if parameter.variadic:
                    break
                continue
            if parameter.is_out and not label and not machine.objects.is_null(value):
                target = value
                label = self.places.label(value, node.arguments[position] if position < len(node.arguments) else None)
            if parameter.role is Role.STRUCTURE:
                label = self._functions_inside(request, value) or self._memory_inside(api, value) or label
            if parameter.role is Role.FUNCTION and signature.first(Role.KERNEL_ARGUMENTS) is None:
                request.host_function = (value, self._user_data(signature, values))
                label = label or (last_name(value.name) if isinstance(value, FunctionValue) else "")
            request.arguments.append(self._argument(request, parameter, position, values, operands[position]))
        site = self.site(span, request.kernel.name or label)
        first_slot = self.builder.tables[3]
        outcome = self._issue(request, site)
        if target is not None:
            self.made_names.made(first_slot, site, target, list(outcome.outputs.values()))
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
                request.kernel = kernels.kernel_of(self, values[other])
                break
        if parameter.variadic:
            function = request.kernel.taking(len(given))
            request.kernel_arguments = kernels.bound_arguments(self, function, given, request.span)
            if _has_attributes(request):
                request.early_arguments = kernels.early_arguments(self, function, given, request.span)
        else:
            found = kernels.packed_operands(self, request.kernel, values[position], request.span)
            if found is not None:
                request.kernel_arguments = kernels.bound_arguments(self, *found, request.span)
                if _has_attributes(request):
                    request.early_arguments = kernels.early_arguments(self, *found, request.span)
            else:
                request.kernel_arguments = []
        request.arguments.append(1)

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
        request.kernel = kernels.kernel_of(self, kernel)
        request.kernel_value = kernel
        packed = self.structures.member(held, "kernelParams", "args")
        request.kernel_arguments = kernels.packed_arguments(self, request.kernel, packed, request.span)
        return ""

    def _memory_inside(self, api: Api, value: Value) -> str:
        """A structure that describes an allocation node receives its address: memory is named after that."""
        held = self.structures.object_of(value)
        name = self.places.label(value, None)
        if held is None or not name:
            return ""
        if "MemAllocNode" in api.name:
            return f"{name}.dptr"
        kind = held.fields.get("type")
        in_any_node = api.name.endswith("GraphAddNode") and kind is not None and kind.value == MEM_ALLOC_NODE
        return f"{name}.alloc.dptr" if in_any_node else ""

    def _remember(self, request: Request, values: list[Value], outcome: Outcome) -> None:
        """Note what later calls ask for by handle: kernels got by name, and the kernels of nodes."""
        if request.kernel_value is not None:
            for parameter, value in zip(request.signature.parameters, values, strict=False):
                made = outcome.outputs.get(parameter.name) if parameter.is_out else value
                if isinstance(made, Handle) and made.type == "node":
                    self._node_kernels[made] = request.kernel_value
                    break
        elif _GETS_KERNEL.search(request.api.name):
            name = next((value for value in values if isinstance(value, str)), "")
            for made in outcome.outputs.values():
                if name and isinstance(made, Symbol | Handle):
                    self.kernel_names[made] = name

    def _give_back(self, request: Request, values: list[Value], span: Span) -> None:
        """The parameters of a kernel's node, read back, hold the kernel that the program put there."""
        if "KernelNodeGetParams" not in request.api.name or len(values) < 2:
            return
        node = self.plain(values[0])
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
        return self.model.call(
            self.thread,
            request.api.name,
            request.arguments,
            site,
            signature=request.signature,
            kernel_arguments=request.kernel_arguments,
            early_arguments=request.early_arguments,
            structures=request.structures,
            payload=body,
            user_data=self._given_access(request),
        )

    def _host_body(self, function: Value, data: Value, span: Span) -> Callable[[], None] | None:
        """Return what runs the body of a host function; None: it is not in view."""
        if not isinstance(function, FunctionValue | Closure | Native):
            return None
        return lambda: self._call_host_function(function, data, span)

    def _given_access(self, request: Request) -> AccessMode:
        """Return how a host function uses what it is given, as far as its body is in view."""
        function = request.host_function[0] if request.host_function is not None else None
        unit = self.machine.program.unit
        if isinstance(function, FunctionValue) and len(function.functions) == 1:
            return given_access(function.functions[0], unit)
        return given_access(function.node, unit) if isinstance(function, Closure) else AccessMode.OPAQUE

    def _call_host_function(self, function: Value, data: Value, span: Span) -> None:
        self.machine.functions.call_value(function, self._callback_operands(function, data), span)

    def _on_drivers_thread(self, worker: HostThread, body: Callable[[], None]) -> None:
        with_thread, self.thread = self.thread, worker
        try:
            body()
        finally:
            self.thread = with_thread

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
            value = machine.calls.convert_object(value, wanted, span)
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
            return self.address(value, span)
        return self.plain(value)

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
        if isinstance(old, DevicePointer):
            machine.reach.overwritten(old, span)

    def _result(self, outcome: Outcome, request: Request, values: list[Value], site: int, node: Call) -> Value:
        status = outcome.outputs.get("return", outcome.status)
        if isinstance(status, Symbol):
            handle = self.plain(values[0]) if values else 0
            self.queries[status] = (handle, site)
            return status
        if not isinstance(status, int):
            return self.machine.fresh("status", "opaque")
        made = Status(status)
        if status > 0:
            self.failures.made(made, site, request.api, node)
        return made

    # -- queries -----------------------------------------------------------------------------------

    def decided(self, question: Any, answer: bool) -> None:
        """A condition was decided: if it says that a query succeeded, the host knows that the work is complete."""
        if not self.queries:
            return
        symbol: Any = question
        succeeded: bool | None = None
        if isinstance(question, Symbol):
            succeeded = not answer  # the status as a condition: 0 is success
        elif isinstance(question, Term) and question.operator == "==" and NOT_READY in question.operands:
            symbol = next((operand for operand in question.operands if isinstance(operand, Symbol)), None)
            succeeded = not answer  # neither success nor NotReady is an error: not explored
        if not isinstance(symbol, Symbol) or symbol not in self.queries or succeeded is None:
            return
        handle, site = self.queries.pop(symbol)
        self.machine.assumed[symbol] = 0 if succeeded else NOT_READY
        if succeeded:
            self.model.query_succeeded(self.thread, handle, site)

    # -- launches and unseen code ------------------------------------------------------------------

    def launch(self, node: Launch) -> Operand:
        """Launch a kernel by triple chevrons."""
        self.failures.go_on()
        self.failures.say_unread()
        return kernels.launch(self, node)

    def opaque_call(self, name: str, reached: list[Value], span: Span) -> None:
        """Unseen code gets these pointers and handles."""
        self.failures.asked()
        values: list[model_values.Value] = []
        for value in reached:
            if isinstance(value, DevicePointer):
                values.append(value.pointer)
            elif isinstance(value, SymbolPointer):
                values.append(value.symbol)
            elif isinstance(value, ElementPointer | CellPointer):
                storage = value.array if isinstance(value, ElementPointer) else value.cell
                if storage.host is not None:
                    values.append(storage.host.pointer)
            elif isinstance(value, Handle | Symbol):
                values.append(value)
        events.may_be_recorded(self.thread, values)
        self.model.opaque_call(self.thread, values, self.site(span), name)


def _has_attributes(request: Request) -> bool:
    """Tell whether a launch's configuration is known to have attributes."""
    return any(key.startswith("attrs.") for fields in request.structures.values() for key in fields)


def _first_part(value: LibraryObject) -> Value:
    """Return what a library object stands for where the API takes a pointer or a handle."""
    return next((part for part in value.parts() if not isinstance(part, Cell | ArrayObject)), None)


def _handle_type(parameter: Parameter) -> str:
    return {"stream": "cudaStream_t", "event": "cudaEvent_t", "context": "CUcontext"}.get(parameter.handle, "")


__all__ = ["Device", "Expression"]
