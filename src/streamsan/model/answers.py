"""Calls that only ask or set something: what they answer on a machine that is known.

The generic handlers (`others`) ask here before they write the operation. Where nobody knows the machine there is no
answer: results stay symbols.
"""

from __future__ import annotations

from collections.abc import Callable

from streamsan.model.call import Call
from streamsan.model.core import ModelCore
from streamsan.model.hardware import Machine
from streamsan.model.values import Outcome, RefusalError

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
    try:
        return function(core, call, core.machine)
    except RefusalError as refusal:
        return refusal.outcome
