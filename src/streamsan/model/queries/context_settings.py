"""Contexts: flags, limits, cache configurations, identities. The runtime's calls are about the current device."""

from __future__ import annotations

from streamsan.effects import Role
from streamsan.model.answers import answers
from streamsan.model.call import Call
from streamsan.model.core import ModelCore
from streamsan.model.hardware import Machine
from streamsan.model.resources import Context
from streamsan.model.statuses import INVALID_CONTEXT, INVALID_VALUE
from streamsan.model.values import Handle, Outcome
from streamsan.platforms import CUDA
from streamsan.vocabulary import ContextKind

_UNSUPPORTED_LIMIT = CUDA.constants["cudaErrorUnsupportedLimit"]
_SCHEDULES = CUDA.constants["cudaDeviceScheduleMask"]
_FLAGS = CUDA.constants["cudaDeviceMask"]
_MAP_HOST = CUDA.constants["cudaDeviceMapHost"]
_API_VERSION = 3020


def current(core: ModelCore, call: Call) -> Context:
    """Return the context that a call is about: the one it names, or the current one."""
    value = call.value(Role.HANDLE, "context") if call.has(Role.HANDLE, "context") else None
    named = call.thread.process.handles.get(value.value) if isinstance(value, Handle) else None
    return named if isinstance(named, Context) else core.current(call.thread, call.site)


@answers("cudaDeviceGetLimit", "cuCtxGetLimit", "cudaThreadGetLimit")
def get_limit(core: ModelCore, call: Call, machine: Machine) -> Outcome:
    """Give a limit."""
    limit = call.named("limit")
    if limit is None or limit not in machine.limits:
        return Outcome(_UNSUPPORTED_LIMIT if limit is not None else INVALID_VALUE)
    return call.gives(current(core, call).settings.get(f"limit {limit}", machine.limits[limit]))


@answers("cudaDeviceSetLimit", "cuCtxSetLimit", "cudaThreadSetLimit")
def set_limit(core: ModelCore, call: Call, machine: Machine) -> Outcome:
    """Set a limit."""
    limit, value = call.named("limit"), call.named("value")
    if limit not in machine.limits:
        return Outcome(_UNSUPPORTED_LIMIT)
    if value is not None:
        current(core, call).settings[f"limit {limit}"] = value
    return Outcome()


@answers("cudaDeviceGetCacheConfig", "cuCtxGetCacheConfig", "cudaThreadGetCacheConfig")
def get_cache(core: ModelCore, call: Call, machine: Machine) -> Outcome:
    """Give the preferred split of cache and shared memory."""
    return call.gives(current(core, call).settings.get("cache", 0))


@answers("cudaDeviceSetCacheConfig", "cuCtxSetCacheConfig", "cudaThreadSetCacheConfig")
def set_cache(core: ModelCore, call: Call, machine: Machine) -> Outcome:
    """Set the preferred split of cache and shared memory."""
    return _set(core, call, "cache", call.named("cacheConfig" if call.api.domain == "runtime" else "config"))


@answers("cudaDeviceGetSharedMemConfig", "cuCtxGetSharedMemConfig")
def get_banks(core: ModelCore, call: Call, machine: Machine) -> Outcome:
    """Give the size of shared memory banks."""
    return call.gives(current(core, call).settings.get("banks", CUDA.constants["cudaSharedMemBankSizeFourByte"]))


@answers("cudaDeviceSetSharedMemConfig", "cuCtxSetSharedMemConfig")
def set_banks(core: ModelCore, call: Call, machine: Machine) -> Outcome:
    """The device has one size of banks: taken and ignored."""
    return Outcome()


@answers("cudaDeviceGetStreamPriorityRange", "cuCtxGetStreamPriorityRange")
def priorities(core: ModelCore, call: Call, machine: Machine) -> Outcome:
    """Give the least and the greatest priority."""
    return call.gives(0, machine.greatest_priority)


@answers("cudaSetDeviceFlags")
def set_device_flags(core: ModelCore, call: Call, machine: Machine) -> Outcome:
    """Set the flags of the current device's primary context."""
    flags = call.named("flags")
    if flags is None or not _sound(flags):
        return Outcome(INVALID_VALUE)
    process = call.thread.process
    context = core.current(call.thread, call.site)
    process.device_flags[context.ordinal] = context.flags = flags
    return Outcome()


@answers("cudaInitDevice")
def init_device(core: ModelCore, call: Call, machine: Machine) -> Outcome:
    """Begin a device's primary context, with flags if they are said to hold."""
    context = core.primary(call.thread, call.value(Role.DEVICE), call.site)
    given_flags, valid = call.named("deviceFlags"), call.named("flags")
    if given_flags is not None and valid:
        call.thread.process.device_flags[context.ordinal] = context.flags = given_flags
    context.used_by_runtime = True
    return Outcome()


@answers("cudaGetDeviceFlags", "cuCtxGetFlags")
def get_flags(core: ModelCore, call: Call, machine: Machine) -> Outcome:
    """Give the flags of the current context."""
    context = current(core, call)
    flags = context.flags
    if context.kind is ContextKind.PRIMARY:
        flags = call.thread.process.device_flags.get(context.ordinal, flags)
    return call.gives(flags | (_MAP_HOST if call.api.domain == "runtime" else 0))


@answers("cuCtxSetFlags")
def set_flags(core: ModelCore, call: Call, machine: Machine) -> Outcome:
    """Set the flags of the current context."""
    flags = call.named("flags")
    if flags is None or not _sound(flags):
        return Outcome(INVALID_VALUE)
    current(core, call).flags = flags
    return Outcome()


@answers("cuDevicePrimaryCtxSetFlags")
def set_primary_flags(core: ModelCore, call: Call, machine: Machine) -> Outcome:
    """Set the flags of a primary context, made or not."""
    flags, device = call.named("flags"), call.number(Role.DEVICE)
    if flags is None or device is None or not _sound(flags):
        return Outcome(INVALID_VALUE)
    call.thread.process.device_flags[device] = flags
    return Outcome()


@answers("cuDevicePrimaryCtxGetState")
def primary_state(core: ModelCore, call: Call, machine: Machine) -> Outcome:
    """Give flags of a primary context, and whether it is active."""
    device = call.number(Role.DEVICE) or 0
    context = call.thread.process.primaries.get(device)
    active = context is not None and context.alive and (context.retained > 0 or context.used_by_runtime)
    return call.gives(call.thread.process.device_flags.get(device, 0), int(active))


@answers("cuCtxGetId")
def context_id(core: ModelCore, call: Call, machine: Machine) -> Outcome:
    """Give a number that no other context of the process has."""
    context = current(core, call)
    return call.gives(context.handle) if context.alive else Outcome(INVALID_CONTEXT)


@answers("cuCtxGetApiVersion")
def api_version(core: ModelCore, call: Call, machine: Machine) -> Outcome:
    """Give the version of the API that a context was made with."""
    context = current(core, call)
    return call.gives(_API_VERSION) if context.alive else Outcome(INVALID_CONTEXT)


def _set(core: ModelCore, call: Call, name: str, value: int | None) -> Outcome:
    if value is not None:
        current(core, call).settings[name] = value
    return Outcome()


def _sound(flags: int) -> bool:
    return not flags & ~_FLAGS and flags & _SCHEDULES in (0, 1, 2, 4)
