"""What a program asks of the memory that the graphs of a device use."""

from __future__ import annotations

from streamsan.effects import Effect, Role
from streamsan.model.call import Call
from streamsan.model.core import ModelCore
from streamsan.model.graphs import memory_nodes
from streamsan.model.graphs.lookup import accept
from streamsan.model.handlers import handles
from streamsan.model.resources import Context
from streamsan.model.streams_and_graphs import GraphMemory
from streamsan.model.values import Outcome
from streamsan.vocabulary import OperationKind

_USED_CURRENT, _USED_HIGH, _RESERVED_CURRENT, _RESERVED_HIGH = range(4)
"""cudaGraphMemAttributeType"""


@handles(Effect.GRAPH_MEMORY)
def attribute(core: ModelCore, call: Call) -> Outcome:
    """Give, or set back to zero, how much memory the graphs of a device use."""
    context = _device(core, call)
    core.current(call.thread, call.site)
    number = call.values.get("attr")
    process = call.thread.process
    memory = process.graphs.memory.setdefault(context.ordinal, GraphMemory())
    # What graphs got from the device counts as used until it is trimmed.
    used = memory.reserved
    if "Set" in call.api.name:
        if number == _USED_HIGH:
            memory.used_high = used
        elif number == _RESERVED_HIGH:
            memory.reserved_high = memory.reserved
        return core.say(call)
    values = {
        _USED_CURRENT: used,
        _USED_HIGH: memory.used_high,
        _RESERVED_CURRENT: memory.reserved,
        _RESERVED_HIGH: memory.reserved_high,
    }
    if not isinstance(number, int) or number not in values or context.assumed:
        return core.say(call)
    return accept(core, call, **{parameter.name: values[number] for parameter in call.signature.outs})


@handles(Effect.GRAPH_TRIM)
def trim(core: ModelCore, call: Call) -> Outcome:
    """Give memory that no graph uses back; what is alive stays (G-04)."""
    context = _device(core, call)
    core.say(call, OperationKind.GRAPH_TRIM, address=context.ordinal)
    memory_nodes.trim(call.thread.process, context.ordinal)
    core.executor.trim(None, 0)
    return Outcome()


def _device(core: ModelCore, call: Call) -> Context:
    return core.primary(call.thread, call.value(Role.DEVICE), call.site)
