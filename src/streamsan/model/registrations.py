"""Host memory that CUDA pins for a while, and the device's address of host memory."""

from __future__ import annotations

from streamsan.effects import Effect, Role
from streamsan.model.call import Call
from streamsan.model.core import ModelCore
from streamsan.model.handlers import handles
from streamsan.model.memory import say_inspection
from streamsan.model.resources import Lifetime
from streamsan.model.statuses import ALREADY_REGISTERED, INVALID_VALUE, SUCCESS
from streamsan.model.values import Outcome, Pointer
from streamsan.vocabulary import MemoryKind

MAPPED_KINDS = frozenset({MemoryKind.PINNED, MemoryKind.REGISTERED, MemoryKind.MANAGED, MemoryKind.DEVICE_SYMBOL})


@handles(Effect.REGISTER)
def register(core: ModelCore, call: Call) -> Outcome:
    """Pin host memory: a registration of its own over the range of the host memory."""
    context = core.current(call.thread, call.site)
    value = call.value(Role.MAPPED)
    pointer = core.pointer_of(call.thread, value, call.site)
    if core.machine is not None and (pointer is None or call.number(Role.SIZE) == 0):
        return core.say(call, status=INVALID_VALUE)
    if pointer is None:
        return core.say(call)
    host = core.allocation_of(call.thread, pointer)
    if host is not None and (host.registration or _is_registration(host.kind, host.lifetime)):
        return core.say(call, status=ALREADY_REGISTERED)
    if core.machine is not None and host is not None and host.kind is MemoryKind.PINNED:
        return core.say(call, status=ALREADY_REGISTERED if host.lifetime is Lifetime.LIVE else INVALID_VALUE)
    registration = core.new_allocation(
        call.thread, call.value(Role.SIZE), MemoryKind.REGISTERED, context, address=pointer.address
    )
    registration.flags = call.number(Role.FLAGS) or 0
    if host is not None:
        host.registration = registration.generation
    core.say_allocation(call.thread, registration, call.site, call.api.name)
    return Outcome()


@handles(Effect.HOST_POINTER)
def host_pointer(core: ModelCore, call: Call) -> Outcome:
    """Give the device's address of host memory or of a symbol: the same one, under unified addressing."""
    core.current(call.thread, call.site)
    value = call.value(Role.INSPECTED)
    pointer = core.pointer_of(call.thread, value, call.site)
    status = SUCCESS
    if core.machine is not None:
        allocation = core.allocation_of(call.thread, pointer)
        known = allocation is not None and (allocation.kind in MAPPED_KINDS or allocation.registration != 0)
        live = allocation is not None and allocation.lifetime in (Lifetime.LIVE, Lifetime.UNCLEAR)
        status = SUCCESS if known and live else INVALID_VALUE
        value = pointer
    say_inspection(core, call, status)
    out = call.out(Role.OUT_POINTER)
    return Outcome(status, {out.name: value} if out is not None and isinstance(value, Pointer) and not status else {})


def _is_registration(kind: MemoryKind, lifetime: Lifetime) -> bool:
    return kind is MemoryKind.REGISTERED and lifetime is Lifetime.LIVE
