"""The registry of handlers: one for each effect."""

from __future__ import annotations

from collections.abc import Callable

from streamsan.effects import Effect
from streamsan.model.call import Call
from streamsan.model.core import ModelCore
from streamsan.model.values import Outcome

Handler = Callable[[ModelCore, Call], Outcome]

HANDLERS: dict[Effect, Handler] = {}
"""Filled by the modules that define the handlers; `device_model` imports them all."""


def handles(*effects: Effect) -> Callable[[Handler], Handler]:
    """Register a function as the handler of some effects."""

    def register(handler: Handler) -> Handler:
        for effect in effects:
            assert effect not in HANDLERS, effect
            HANDLERS[effect] = handler
        return handler

    return register
