"""Contexts: flags, limits, cache configurations, identities. The runtime's calls are about the current device."""

from __future__ import annotations

from streamsan.effects import Role
from streamsan.model.answers import answers, give
from streamsan.model.call import Call
from streamsan.model.core import ModelCore
from streamsan.model.hardware import Machine
from streamsan.model.resources import Context
from streamsan.model.statuses import INVALID_CONTEXT, INVALID_VALUE
from streamsan.model.values import Handle, Outcome, RefusalError
from streamsan.platforms import CUDA
from streamsan.vocabulary import ContextKind

_UNSUPPORTED_LIMIT = CUDA.constants["cudaErrorUnsupportedLimit"]
_SCHEDULES = CUDA.constants["cudaDeviceScheduleMask"]
_FLAGS = CUDA.constants["cudaDeviceMask"]
_MAP_HOST = CUDA.constants["cudaDeviceMapHost"]
_BANKS = CUDA.constants["cudaSharedMemBankSizeFourByte"]
_API_VERSION = 3020


def _current(core: ModelCore, call: Call) -> Context:
    """Return the context that a call is about: the one it names, or the current one."""
    value = call.value(Role.HANDLE, "context") if call.has(Role.HANDLE, "context") else None
    named = call.thread.process.handles.get(value.value) if isinstance(value, Handle) else None
    return named if isinstance(named, Context) else core.current(call.thread, call.site)


def _alive(core: ModelCore, call: Call) -> Context:
    context = _current(core, call)
    if not context.alive:
        raise RefusalError(INVALID_CONTEXT)
    return context


give(
    {
        "cudaDeviceGetCacheConfig cuCtxGetCacheConfig cudaThreadGetCacheConfig": lambda core, call, machine: _current(
            core, call
        ).settings.get("cache", 0),
        "cudaDeviceGetSharedMemConfig cuCtxGetSharedMemConfig": lambda core, call, machine: _current(
            core, call
        ).settings.get("banks", _BANKS),
        "cuCtxGetId": lambda core, call, machine: _alive(core, call).handle,
    }
)


@answers("cuCtxGetApiVersion")
def _api_version(core: ModelCore, call: Call, machine: Machine) -> Outcome:
    _alive(core, call)
    return call.gives(_API_VERSION)


@answers("cudaDeviceGetLimit", "cuCtxGetLimit", "cudaThreadGetLimit")
def _get_limit(core: ModelCore, call: Call, machine: Machine) -> Outcome:
    limit = call.named("limit")
    if limit is None or limit not in machine.limits:
        return Outcome(_UNSUPPORTED_LIMIT if limit is not None else INVALID_VALUE)
    return call.gives(_current(core, call).settings.get(f"limit {limit}", machine.limits[limit]))


@answers("cudaDeviceSetLimit", "cuCtxSetLimit", "cudaThreadSetLimit")
def _set_limit(core: ModelCore, call: Call, machine: Machine) -> Outcome:
    limit, value = call.named("limit"), call.named("value")
    if limit not in machine.limits:
        return Outcome(_UNSUPPORTED_LIMIT)
    if value is not None:
        _current(core, call).settings[f"limit {limit}"] = value
    return Outcome()


@answers("cudaDeviceSetCacheConfig", "cuCtxSetCacheConfig", "cudaThreadSetCacheConfig")
def _set_cache(core: ModelCore, call: Call, machine: Machine) -> Outcome:
    value = call.named("cacheConfig" if call.api.domain == "runtime" else "config")
    if value is not None:
        _current(core, call).settings["cache"] = value
    return Outcome()


@answers("cudaDeviceSetSharedMemConfig", "cuCtxSetSharedMemConfig")
def _set_banks(core: ModelCore, call: Call, machine: Machine) -> Outcome:
    """The device has one size of banks: taken and ignored."""
    return Outcome()


@answers("cudaDeviceGetStreamPriorityRange", "cuCtxGetStreamPriorityRange")
def _priorities(core: ModelCore, call: Call, machine: Machine) -> Outcome:
    return call.gives(0, machine.greatest_priority)


@answers("cudaSetDeviceFlags")
def _set_device_flags(core: ModelCore, call: Call, machine: Machine) -> Outcome:
    flags = _sound_flags(call)
    context = core.current(call.thread, call.site)
    call.thread.process.device_flags[context.ordinal] = context.flags = flags
    return Outcome()


@answers("cudaInitDevice")
def _init_device(core: ModelCore, call: Call, machine: Machine) -> Outcome:
    """Begin a device's primary context, with flags if they are said to hold."""
    context = core.primary(call.thread, call.value(Role.DEVICE), call.site)
    flags, valid = call.named("deviceFlags"), call.named("flags")
    if flags is not None and valid:
        call.thread.process.device_flags[context.ordinal] = context.flags = flags
    context.used_by_runtime = True
    return Outcome()


@answers("cudaGetDeviceFlags", "cuCtxGetFlags")
def _get_flags(core: ModelCore, call: Call, machine: Machine) -> Outcome:
    context = _current(core, call)
    flags = context.flags
    if context.kind is ContextKind.PRIMARY:
        flags = call.thread.process.device_flags.get(context.ordinal, flags)
    return call.gives(flags | (_MAP_HOST if call.api.domain == "runtime" else 0))


@answers("cuCtxSetFlags")
def _set_flags(core: ModelCore, call: Call, machine: Machine) -> Outcome:
    flags = _sound_flags(call)
    _current(core, call).flags = flags
    return Outcome()


@answers("cuDevicePrimaryCtxSetFlags")
def _set_primary_flags(core: ModelCore, call: Call, machine: Machine) -> Outcome:
    """Set the flags of a primary context, made or not."""
    flags, device = _sound_flags(call), call.number(Role.DEVICE)
    if device is None:
        return Outcome(INVALID_VALUE)
    call.thread.process.device_flags[device] = flags
    return Outcome()


@answers("cuDevicePrimaryCtxGetState")
def _primary_state(core: ModelCore, call: Call, machine: Machine) -> Outcome:
    """Give flags of a primary context, and whether it is active."""
    device = call.number(Role.DEVICE) or 0
    context = call.thread.process.primaries.get(device)
    active = context is not None and context.alive and (context.retained > 0 or context.used_by_runtime)
    return call.gives(call.thread.process.device_flags.get(device, 0), int(active))


def _sound_flags(call: Call) -> int:
    flags = call.named("flags")
    if flags is None or flags & ~_FLAGS or flags & _SCHEDULES not in (0, 1, 2, 4):
        raise RefusalError(INVALID_VALUE)
    return flags
