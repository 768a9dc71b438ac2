"""Calls that only ask or set something: what they answer on a machine that is known.

The generic handlers (`others`) ask here before they write the operation. Where nobody knows the machine there is no
answer: results stay symbols.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from streamsan.model.call import Call
from streamsan.model.core import ModelCore
from streamsan.model.hardware import Machine
from streamsan.model.statuses import SUCCESS
from streamsan.model.values import Outcome, Value

Answer = Callable[[ModelCore, Call, Machine], Outcome]

ANSWERS: dict[str, Answer] = {}
"""By API name, without `_v2`; filled by the modules of `queries` and others that `device_model` imports."""


def answers(*names: str) -> Callable[[Answer], Answer]:
    """Register a function as the answer of some APIs."""

    def register(function: Answer) -> Answer:
        for name in names:
            assert name not in ANSWERS, name
            ANSWERS[name] = function
        return function

    return register


def answer(core: ModelCore, call: Call) -> Outcome:
    """Return what a call gives; nothing, with success, where that is not known."""
    function = ANSWERS.get(call.api.name)
    if function is None or core.machine is None:
        return Outcome()
    return function(core, call, core.machine)


def given(call: Call, *values: Value) -> Outcome:
    """Return success with values for the out-arguments, in their order; those passed as NULL are left out."""
    outputs = {
        parameter.name: value
        for parameter, value in zip(call.signature.outs, values, strict=False)
        if call.values.get(parameter.name) != 0
    }
    return Outcome(SUCCESS, outputs)


def flat(call: Call, fields: Mapping[str, Value]) -> Outcome:
    """Return success with the fields of the structure that the first out-argument points to."""
    outs = call.signature.outs
    if not outs or call.values.get(outs[0].name) == 0:
        return Outcome()
    return Outcome(SUCCESS, {f"{outs[0].name}.{name}": value for name, value in fields.items()})


def number(call: Call, name: str) -> int | None:
    """Return an argument that is a known number."""
    value = call.values.get(name)
    return value if isinstance(value, int) else None


def set_value(call: Call, name: str) -> int | None:
    """Return what a `value` argument points to: given as a number, or as the only field of a structure."""
    fields = call.structures.get(name)
    if fields:
        found = fields.get("value", next(iter(fields.values())))
        return found if isinstance(found, int) else None
    return number(call, name)
