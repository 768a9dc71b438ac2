"""Calls that only ask or set something: what they answer on a machine that is known.

The generic handlers (`others`) ask here before they write the operation. Where nobody knows the machine there is no
answer: results stay symbols.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from streamsan.model.call import Call
from streamsan.model.core import ModelCore
from streamsan.model.hardware import Machine
from streamsan.model.values import Outcome, RefusalError, Value
from streamsan.model.verb_registry import Registry

Answer = Callable[[ModelCore, Call, Machine], Outcome]

ANSWERS: Registry[str, Answer] = Registry()
"""by API name, without `_v2`"""
answers = ANSWERS.of


def give(rows: Mapping[str, Callable[[ModelCore, Call, Machine], Value]]) -> None:
    """Register what some APIs (names, separated by spaces) give: one value, which they always have."""

    def answer_of(value: Callable[[ModelCore, Call, Machine], Value]) -> Answer:
        return lambda core, call, machine: call.gives(value(core, call, machine))

    for names, value in rows.items():
        answers(*names.split())(answer_of(value))


def answer(core: ModelCore, call: Call) -> Outcome:
    """Return what a call gives; nothing, with success, where that is not known."""
    function = ANSWERS.get(call.api.name)
    if function is None or core.machine is None:
        return Outcome()
    try:
        return function(core, call, core.machine)
    except RefusalError as refusal:
        return refusal.outcome
