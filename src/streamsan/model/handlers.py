"""The registry of handlers: one for each effect."""

from __future__ import annotations

from collections.abc import Callable

from streamsan.effects import Effect
from streamsan.model.call import Call
from streamsan.model.core import ModelCore
from streamsan.model.values import Outcome
from streamsan.model.verb_registry import Registry

Handler = Callable[[ModelCore, Call], Outcome]

HANDLERS: Registry[Effect, Handler] = Registry()
handles = HANDLERS.of
