"""Streams: flags, priority, identity, device, attributes."""

from __future__ import annotations

from streamsan.model.answers import answers, give
from streamsan.model.call import Call
from streamsan.model.core import ModelCore
from streamsan.model.hardware import Machine
from streamsan.model.statuses import SUCCESS
from streamsan.model.streams import stream_argument
from streamsan.model.streams_and_graphs import PER_THREAD_HANDLE
from streamsan.model.values import Outcome

_PRIORITY_ATTRIBUTE = 8
"""cudaLaunchAttributePriority"""
_POLICY_ATTRIBUTE = 3
"""cudaLaunchAttributeSynchronizationPolicy"""


give(
    {
        "cudaStreamGetFlags cuStreamGetFlags": lambda core, call, machine: stream_argument(core, call).flags,
        "cudaStreamGetPriority cuStreamGetPriority": lambda core, call, machine: stream_argument(core, call).priority,
        "cudaStreamGetDevice cuStreamGetDevice": lambda core, call, machine: (
            (stream_argument(core, call).context or core.current(call.thread, call.site)).ordinal
        ),
    }
)


@answers("cudaStreamGetId", "cuStreamGetId")
def _identity(core: ModelCore, call: Call, machine: Machine) -> Outcome:
    """Give a number that no other stream of the process has. Default streams are one for each context."""
    stream = stream_argument(core, call)
    if stream.handle > PER_THREAD_HANDLE:
        return call.gives(stream.handle)
    return call.gives(core.current(call.thread, call.site).handle * 4 + stream.handle)


@answers("cudaStreamGetAttribute", "cuStreamGetAttribute")
def _get_attribute(core: ModelCore, call: Call, machine: Machine) -> Outcome:
    stream, out = stream_argument(core, call), call.signature.outs[0].name
    wanted = call.named("attr")
    outputs = {f"{out}.priority": stream.priority} if wanted == _PRIORITY_ATTRIBUTE else {}
    if wanted == _POLICY_ATTRIBUTE:
        outputs = {f"{out}.syncPolicy": stream.policy}
    return Outcome(SUCCESS, dict(outputs))


@answers("cudaStreamSetAttribute", "cuStreamSetAttribute")
def _set_attribute(core: ModelCore, call: Call, machine: Machine) -> Outcome:
    """Set a stream's attribute: none changes memory or order."""
    stream, fields = stream_argument(core, call), call.structures.get("value", {})
    policy, level = fields.get("syncPolicy"), fields.get("priority")
    if call.named("attr") == _POLICY_ATTRIBUTE and isinstance(policy, int):
        stream.policy = policy
    if call.named("attr") == _PRIORITY_ATTRIBUTE and isinstance(level, int):
        stream.priority = max(machine.greatest_priority, min(level, 0))
    return Outcome()
