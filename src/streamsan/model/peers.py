"""Access from one device to the memory of another."""

from __future__ import annotations

from streamsan.effects import Effect, Role
from streamsan.model.answers import answers
from streamsan.model.call import Call
from streamsan.model.core import ModelCore
from streamsan.model.handlers import handles
from streamsan.model.hardware import Machine
from streamsan.model.resources import Context
from streamsan.model.statuses import (
    INVALID_DEVICE,
    INVALID_VALUE,
    PEER_ALREADY_ENABLED,
    PEER_NOT_ENABLED,
    PEER_UNSUPPORTED,
    SUCCESS,
)
from streamsan.model.values import Outcome
from streamsan.vocabulary import OperationKind


@handles(Effect.PEER_ENABLE)
def peer_enable(core: ModelCore, call: Call) -> Outcome:
    """Let the current context reach another's memory."""
    context = core.current(call.thread, call.site)
    peer = _peer(core, call)
    status = SUCCESS
    if core.machine is not None:
        status = _enable_status(call, context, peer)
    if peer is not None and not status:
        context.peers.add(peer.handle)
    return core.say(
        call,
        OperationKind.PEER_ENABLE if peer and not status else OperationKind.CALL,
        object=peer.handle if peer and not status else 0,
        status=status,
    )


@answers("cudaDeviceDisablePeerAccess", "cuCtxDisablePeerAccess")
def peer_disable(core: ModelCore, call: Call, machine: Machine) -> Outcome:
    """End the access."""
    context, peer = core.current(call.thread, call.site), _peer(core, call)
    if peer is None or peer.handle not in context.peers:
        return Outcome(PEER_NOT_ENABLED)
    context.peers.discard(peer.handle)
    return Outcome()


@answers("cudaDeviceCanAccessPeer", "cuDeviceCanAccessPeer")
def can_access(core: ModelCore, call: Call, machine: Machine) -> Outcome:
    """All devices reach each other; none is its own peer."""
    one, other = (call.named(parameter.name) for parameter in list(call.signature.with_role(Role.DEVICE))[:2])
    return call.gives(int(one != other))


def _enable_status(call: Call, context: Context, peer: Context | None) -> int:
    if call.number(Role.FLAGS):
        return INVALID_VALUE
    if peer is None:
        return INVALID_DEVICE
    if peer.ordinal == context.ordinal:
        return PEER_UNSUPPORTED
    return PEER_ALREADY_ENABLED if peer.handle in context.peers else SUCCESS


def _peer(core: ModelCore, call: Call) -> Context | None:
    if call.has(Role.HANDLE):
        return core.context_of(call.thread, call.value(Role.HANDLE, "context"), call.site)
    return core.primary(call.thread, call.value(Role.DEVICE), call.site)
