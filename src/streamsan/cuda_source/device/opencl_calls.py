"""Calls of OpenCL: lists with their counts, arguments of kernels, results that are returned, callbacks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING

from streamsan.cuda_source.device.structures import Fields, Structures
from streamsan.cuda_source.machine import Machine
from streamsan.cuda_source.values.cells import (
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
    Value,
    cell_name,
)
from streamsan.cuda_source.values.types import CHAR, CType
from streamsan.cuda_syntax.tree import Call, Span
from streamsan.effects import POINTER_ROLES, Api, Effect, Parameter, Role, Signature
from streamsan.model import values as model_values
from streamsan.model.values import Handle, Outcome, Pointer, Symbol
from streamsan.vocabulary import OperationKind

if TYPE_CHECKING:
    from streamsan.cuda_source.device.opencl_kernels import OpenClKernels

_ADDRESSES = POINTER_ROLES | {Role.HOST_POINTER, Role.HELD}
_THREE = frozenset({Role.ORIGIN, Role.SOURCE_ORIGIN, Role.REGION})
_LISTS = frozenset({Role.LIST, Role.WAIT_LIST, Role.KERNEL_ARGUMENT}) | _THREE
_STRUCTURES = ("_info", "_desc", "_format")
"""How parameters are called that point to one structure."""
_OBJECTS = frozenset({Role.READ_OBJECT, Role.WRITE_OBJECT, Role.USE_OBJECT})
_TYPES = {
    "stream": "cl_command_queue",
    "memory": "cl_mem",
    "platform": "cl_platform_id",
    "device": "cl_device_id",
    "command_buffer": "cl_command_buffer_khr",
}
"""OpenCL's types of handles, where they are not called as here."""


class OpenClCalls:
    """Makes the OpenCL calls of one path."""

    def __init__(self, machine: Machine, structures: Structures) -> None:
        self.machine = machine
        self.structures = structures

    @cached_property
    def kernels(self) -> OpenClKernels:
        """The kernels of its programs."""
        # Imported late, for the time that it takes: most sources have no call of OpenCL.
        from streamsan.cuda_source.device.opencl_kernels import OpenClKernels

        return OpenClKernels(self.machine)

    def call(self, api: Api, node: Call, operands: list[Operand]) -> Operand:
        """Make a call."""
        machine, span = self.machine, node.span
        values = [machine.expressions.load(operand, span) for operand in operands]
        signature = api.bind(len(values))
        if signature is None:
            if not node.missing_arguments:
                reason = api.explain_mismatch(len(operands))
                machine.device.model.malformed(machine.device.thread, machine.device.site(span, reason), "", api.name)
            signature = api.best_guess(len(operands))
        values = [self._converted(signature.parameter(at), value, span) for at, value in enumerate(values)]
        structures: dict[str, Fields] = {}
        arguments = [self._argument(signature, position, values, structures, node) for position in range(len(values))]
        if api.name == "clBuildProgram" and len(values) > 3 and isinstance(arguments[0], Handle):
            self.kernels.built(arguments[0], values[3])
        event = self._label(signature, values, node)
        site = machine.device.site(span, self._made_for() if api.returns and not event else "")
        first_slot = machine.device.builder.lengths.slots
        machine.issued += 1
        machine.polls.calls(api)
        outcome = machine.device.model.call(
            machine.device.thread,
            api.name,
            arguments,
            site,
            signature=signature,
            structures=structures,
            payload=self._payload(api, signature, values, arguments, structures),
        )
        if event:
            slots = (first_slot, machine.device.builder.lengths.slots)
            machine.device.builder.rename(slots, (OperationKind.EVENT_CREATE,), site, event)
        self._ask(api, arguments, values, outcome, site)
        self.structures.write_outputs(outcome, signature, values, span)
        return Operand(self._result(api, outcome, first_slot, site, node, structures))

    # -- arguments ---------------------------------------------------------------------------------
    def _converted(self, parameter: Parameter | None, value: Value, span: Span) -> Value:
        """Return what an object of a class of the program's becomes by its conversion operator."""
        if not isinstance(value, StructObject) or parameter is None or parameter.role in _LISTS:
            return value
        if parameter.role in _ADDRESSES or parameter.is_out:
            wanted = CType("void", pointers=1)
        elif parameter.role in _OBJECTS:
            wanted = CType("cl_mem")
        else:
            word = parameter.handle
            wanted = CType(_TYPES.get(word, f"cl_{word}") if word else "")
        return self.machine.class_operators.convert(value, wanted, span)

    def _argument(
        self,
        signature: Signature,
        position: int,
        values: list[Value],
        structures: dict[str, Fields],
        node: Call,
    ) -> model_values.Value:
        machine, span = self.machine, node.span
        parameter = signature.parameter(position)
        value = values[position]
        if parameter is None:
            return machine.device.plain(value)
        if parameter.role in _LISTS:
            count = self._count(signature, parameter, position, values)
            items = self.structures.items(_start(value), count, span)
            structures[parameter.name] = items if parameter.name.endswith(_STRUCTURES) else _unwrapped(items)
            return 0 if machine.objects.is_null(value) else 1
        if isinstance(value, LibraryObject):
            value = next((part for part in value.parts() if not isinstance(part, Cell)), None)
        if parameter.is_out:
            return 0 if machine.objects.is_null(value) else 1
        if parameter.role in _ADDRESSES:
            if parameter.role is Role.READ:
                machine.reach.copied_from(value)
            return machine.device.address(value, span)
        if parameter.role is Role.USER_DATA:
            machine.reach.kept.append(value)  # the callback has it
        if parameter.role is Role.FUNCTION:
            return 0 if machine.objects.is_null(value) else 1
        return machine.device.plain(value)

    def _count(self, signature: Signature, parameter: Parameter, position: int, values: list[Value]) -> int | None:
        """Return how many entries a list has; None: as many as are known."""
        if parameter.role is Role.KERNEL_ARGUMENT:
            return 1
        if parameter.role in _THREE:
            return 3
        wanted = Role.WAIT_COUNT if parameter.role is Role.WAIT_LIST else Role.COUNT
        for earlier in range(position - 1, -1, -1):
            before = signature.parameters[earlier]
            if before.role is wanted and earlier < len(values):
                known = self.machine.known(values[earlier])
                return known if isinstance(known, int) else None
        if parameter.name == "param_value" and signature.parameters[position - 1].role is Role.SIZE:
            known = self.machine.known(values[position - 1])
            return known // 8 if isinstance(known, int) else None
        if parameter.name.endswith(_STRUCTURES):
            return 1
        return None

    def _label(self, signature: Signature, values: list[Value], node: Call) -> str:
        """Return the name of the variable that receives the event."""
        machine = self.machine
        for position, parameter in enumerate(signature.parameters):
            if parameter.role is Role.OUT_HANDLE and position < len(values):
                if machine.objects.is_null(values[position]):
                    return ""
                if machine.device.sites.is_wrappers(machine.frame.declaration):
                    wanted = machine.find("event")
                    return machine.device.sites.label(wanted.value, None) if isinstance(wanted, Cell) else ""
                argument = node.arguments[position] if position < len(node.arguments) else None
                return machine.device.sites.label(values[position], argument)
        return ""

    def _made_for(self) -> str:
        """Return the name of the object whose constructor, in a header of OpenCL's, makes the call."""
        machine = self.machine
        name = ""
        for frame in reversed(machine.frames):
            if not machine.device.sites.is_wrappers(frame.declaration):
                break
            if frame.this is not None:
                name = cell_name(frame.this)
        return name

    # -- callbacks and kernels ---------------------------------------------------------------------
    def _payload(
        self,
        api: Api,
        signature: Signature,
        values: list[Value],
        arguments: list[model_values.Value],
        structures: dict[str, Fields],
    ) -> object:
        if api.effect is Effect.KERNEL_CREATE and len(values) > 1 and isinstance(values[1], str):
            program = arguments[0]
            return self.kernels.text_of(values[1], program if isinstance(program, Handle) else None)
        if api.effect is Effect.EVENT_CALLBACK and len(values) > 3:
            return self._callback(values[2], [values[0], 0, values[3]])
        return None

    def _callback(self, function: Value, given: list[Value]) -> Callable[[], None] | None:
        if not isinstance(function, FunctionValue | Closure | Native):
            return None
        machine = self.machine
        place = function.functions[0].span if isinstance(function, FunctionValue) and function.functions else None
        if isinstance(function, Closure):
            place = function.node.span
        if place is None:
            return None
        where = place
        return lambda: _ignore(machine.functions.call_value(function, [Operand(each) for each in given], where))

    # -- results -----------------------------------------------------------------------------------
    def _ask(
        self,
        api: Api,
        arguments: list[model_values.Value],
        values: list[Value],
        outcome: Outcome,
        site: int,
    ) -> None:
        """Keep what a query of an event's status gave, until the program decides by it."""
        # Imported late: sources of CUDA make no such call.
        from streamsan.model.opencl.order import EXECUTION_STATUS

        if api.effect is not Effect.EVENT_QUERY or len(arguments) < 2 or arguments[1] != EXECUTION_STATUS:
            return
        answer = outcome.outputs.get("param_value")
        if isinstance(answer, Symbol):
            self.machine.device.queries[answer] = (arguments[0], site)

    def _result(
        self, api: Api, outcome: Outcome, first_slot: int, site: int, node: Call, structures: dict[str, Fields]
    ) -> Value:
        machine = self.machine
        if not api.returns:
            return Status(outcome.status)
        made = outcome.outputs.get("return")
        if api.effect is Effect.PROGRAM_CREATE and isinstance(made, Handle):
            self.kernels.program_made(made, structures)
        if isinstance(made, Pointer):
            machine.made_names.returned(first_slot, site, made, node)
            return DevicePointer(made, CHAR)
        if isinstance(made, Handle):
            machine.made_names.returned(first_slot, site, made, node)
            return made
        if isinstance(made, Symbol):
            return made
        return 0 if api.returns == "nothing" else machine.fresh(api.name, "opaque")


def _start(value: Value) -> Value:
    """Return the first element where a whole array or container is given as a list."""
    if isinstance(value, StructObject) and value.cell is not None:
        return CellPointer(value.cell)
    if isinstance(value, ElementPointer | CellPointer):
        return value
    return value


def _unwrapped(items: Fields) -> Fields:
    """Return a list in which an object of a class that holds one value stands for that."""
    inside = Counter(key.partition(".")[0] for key in items)
    return {place if inside[place := key.partition(".")[0]] == 1 else key: item for key, item in items.items()}


def _ignore(value: object) -> None:
    del value
