"""What a host function uses of the memory that it is given: read off its body, by the layout of what lies there."""

from __future__ import annotations

from typing import TypedDict

from streamsan.cuda_source.machine import Machine
from streamsan.cuda_source.values.cells import Closure, FunctionValue, Value
from streamsan.cuda_source.values.types import CType
from streamsan.cuda_syntax.tree import Function, Lambda
from streamsan.kernels.host_access import given_access, given_object
from streamsan.kernels.host_members import computed_members
from streamsan.vocabulary import AccessMode

Part = tuple[int, int, AccessMode]
DEEPEST = 4


class GivenUse(TypedDict, total=False):
    """What a call of the model is told of it; the names are those of `Call`."""

    user_data: AccessMode
    user_data_size: int | None
    user_data_parts: list[Part]


class GivenData:
    """What host functions of one path use."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine

    def use(self, function: Value) -> GivenUse:
        """Return how a host function uses what it is given, as far as its body is in view."""
        body = _body(function)
        if body is None:
            return GivenUse(user_data=AccessMode.OPAQUE, user_data_size=None, user_data_parts=[])
        # Kept: a call on many paths, or in many turns, walks the body once.
        program = self._machine.program
        if id(body) not in program.given_uses:
            members = computed_members(body, program.unit)
            program.given_uses[id(body)] = body, given_access(body, program.unit), members
        _, mode, members = program.given_uses[id(body)]
        given = given_object(body)
        type = None if given is None else self._machine.resolve(given)
        size = None if type is None else self._machine.objects.size_of(type)
        parts = [] if type is None else self._parts(type, members)
        return GivenUse(user_data=mode, user_data_size=size, user_data_parts=parts)

    def _parts(self, type: CType, members: dict[str, AccessMode]) -> list[Part]:
        """Return where members lie; nothing unless all of them are known, and are plain data."""
        objects = self._machine.objects
        cls = self._machine.program.class_of(type) if members else None
        if cls is None:
            return []
        types = {field.name: of for field, of in objects.all_fields(cls)}
        found: list[Part] = []
        for name, mode in members.items():
            of = types.get(name)
            offset, size = objects.offset_of(cls, name), None if of is None else objects.size_of(of)
            if of is None or offset is None or size is None:
                return []
            if mode is not AccessMode.READ and not self._is_data(of):
                return []
            found.append((offset, size, mode))
        return found

    def _is_data(self, type: CType, depth: int = 0) -> bool:
        """Tell whether a type holds numbers only, and none that is a mere yes or no."""
        objects = self._machine.objects
        if objects.is_plain(type):
            return not type.pointers and not type.reference and (type.name != "bool" or depth > 0)
        cls = self._machine.program.class_of(type) if depth < DEEPEST else None
        return cls is not None and all(self._is_data(of, depth + 1) for _, of in objects.all_fields(cls))


def _body(function: Value) -> Function | Lambda | None:
    if isinstance(function, FunctionValue) and len(function.functions) == 1:
        return function.functions[0]
    return function.node if isinstance(function, Closure) else None
