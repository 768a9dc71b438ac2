"""One call of an API with its arguments bound by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypedDict

from msgspec import Struct, field

from streamsan.effects import Api, Hint, Parameter, Role, Signature
from streamsan.model.process_state import HostThread
from streamsan.model.values import Fields, Handle, KernelArguments, Outcome, Pointer, Value
from streamsan.patterns.late_pattern import late_pattern
from streamsan.platforms import CUDA
from streamsan.vocabulary import AccessMode

_NUMBER = late_pattern(r"\d+$")


class CallDetails(TypedDict, total=False):
    """What a caller knows of a call beyond its arguments: fields of `Call`."""

    kernel_arguments: KernelArguments | None
    structures: Mapping[str, Fields]
    payload: object
    user_data: AccessMode
    user_data_size: int | None
    user_data_parts: Sequence[tuple[int, int, AccessMode]]
    early_arguments: KernelArguments | None


class Call(Struct):
    """A call as a handler sees it."""

    thread: HostThread
    api: Api
    signature: Signature
    site: int
    values: dict[str, Value]
    """arguments by parameter name; what the call left out has its default, or is missing"""
    per_thread: bool
    """stream 0 is the per-thread default stream"""
    kernel_arguments: KernelArguments | None = None
    """those behind a launch's `void**`"""
    structures: Mapping[str, Fields] = field(default_factory=dict)
    """the known fields of structures and lists, by parameter name"""
    payload: object = None
    """for the executor: how to compute a kernel (its `name` labels the site), or a host function, called without
    arguments"""
    user_data: AccessMode = AccessMode.OPAQUE
    """how a host function uses what it is given"""
    user_data_size: int | None = None
    """bytes of that which it may touch; None: all that is there"""
    user_data_parts: Sequence[tuple[int, int, AccessMode]] = ()
    """the parts of that which it uses, no others, where they are known: offset, size, how"""
    early_arguments: KernelArguments | None = None
    """of a kernel: what it uses before it may wait for the kernel before it (programmatic dependent launch); None: it
    waits before it uses anything, or nobody knows"""

    def value(self, role: Role, handle: str = "") -> Value:
        """Return the first argument of a role; None when the call has none or nobody knows it."""
        parameter = self.signature.first(role, handle)
        return None if parameter is None else self.values.get(parameter.name)

    def has(self, role: Role, handle: str = "") -> bool:
        """Return whether the argument list has a parameter of this role."""
        return self.signature.first(role, handle) is not None

    def number(self, role: Role) -> int | None:
        """Return the first argument of a role when it is a known number."""
        value = self.value(role)
        return value if isinstance(value, int) else None

    def named(self, name: str) -> int | None:
        """Return an argument when it is a known number."""
        value = self.values.get(name)
        return value if isinstance(value, int) else None

    def setting(self, name: str) -> int | None:
        """Return what a `value` argument points to: given as a number, or as the only field of a structure."""
        fields = self.structures.get(name)
        if not fields:
            return self.named(name)
        found = fields.get("value", next(iter(fields.values())))
        return found if isinstance(found, int) else None

    def gives(self, *values: Value) -> Outcome:
        """Return success with values for the out-arguments, in their order; those passed as NULL are left out."""
        outs = zip(self.signature.outs, values, strict=False)
        return Outcome(0, {out.name: value for out, value in outs if self.values.get(out.name) != 0})

    def gives_fields(self, fields: Mapping[str, Value]) -> Outcome:
        """Return success with the fields of the structure that the first out-argument points to."""
        outs = self.signature.outs
        if not outs or self.values.get(outs[0].name) == 0:
            return Outcome()
        return Outcome(0, {f"{outs[0].name}.{name}": value for name, value in fields.items()})

    def out(self, role: Role) -> Parameter | None:
        """Return the parameter that receives the result, None when the program passed NULL."""
        parameter = self.signature.first(role)
        return None if parameter is None or self.values.get(parameter.name) == 0 else parameter


def bind_values(signature: Signature, arguments: Sequence[Value]) -> dict[str, Value]:
    """Return the arguments by parameter name, with the defaults of those left out."""
    values: dict[str, Value] = {}
    for position, parameter in enumerate(signature.parameters):
        if position < len(arguments):
            values[parameter.name] = arguments[position]
        elif parameter.default is not None:
            values[parameter.name] = default_value(parameter.default)
    return values


def default_value(text: str) -> Value:
    """Return the value of a default argument as the header writes it."""
    if text == "NULL":
        return 0
    return int(text) if _NUMBER.match(text) else CUDA.constants.get(text)


def hints(arguments: Sequence[Value]) -> list[Hint]:
    """Return what the values themselves say of the argument list that was meant."""
    return [_hint(value) for value in arguments]


def _hint(value: Value) -> Hint:
    if isinstance(value, Handle):
        return value.type
    if isinstance(value, Pointer):
        return "pointer"
    return "number" if isinstance(value, int | float) and not isinstance(value, bool) else None
