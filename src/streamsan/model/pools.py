"""Memory pools: which pool an allocation comes from, and what a pool says of itself."""

from __future__ import annotations

from collections.abc import Iterator

from streamsan.effects import Role
from streamsan.model.answers import answers
from streamsan.model.call import Call
from streamsan.model.core import ModelCore
from streamsan.model.hardware import Machine
from streamsan.model.makers import makes
from streamsan.model.process_state import Process
from streamsan.model.resources import Context, Pool
from streamsan.model.statuses import INVALID_DEVICE, INVALID_VALUE, NOT_SUPPORTED, SUCCESS
from streamsan.model.streams_and_graphs import Stream
from streamsan.model.values import Handle, Outcome, RefusalError, Value
from streamsan.platforms import CUDA

RELEASE_THRESHOLD = CUDA.constants["cudaMemPoolAttrReleaseThreshold"]
_RESERVED, _RESERVED_HIGH = (CUDA.constants[f"cudaMemPoolAttrReservedMem{word}"] for word in ("Current", "High"))
_USED, _USED_HIGH = (CUDA.constants[f"cudaMemPoolAttrUsedMem{word}"] for word in ("Current", "High"))
_POLICIES = frozenset(
    CUDA.constants[f"cudaMemPoolReuse{word}"]
    for word in ("FollowEventDependencies", "AllowOpportunistic", "AllowInternalDependencies")
)
_DEVICE_LOCATION = CUDA.constants["cudaMemLocationTypeDevice"]
_READ_WRITE = CUDA.constants["cudaMemAccessFlagsProtReadWrite"]
_FILE_DESCRIPTOR = CUDA.constants["cudaMemHandleTypePosixFileDescriptor"]
_PINNED = CUDA.constants["cudaMemAllocationTypePinned"]


def default_pool(core: ModelCore, process: Process, ordinal: int) -> Pool:
    """Return a device's default pool, made when it is first needed."""
    pool = process.default_pools.get(ordinal)
    if pool is None:
        pool = Pool(core.fresh_handle(), "pool", None, outlives_reset=True, owned=False, ordinal=ordinal)
        process.default_pools[ordinal] = process.handles[pool.handle] = pool
    return pool


def current_pool(core: ModelCore, process: Process, ordinal: int) -> Pool:
    """Return the pool that cudaMallocAsync takes memory of a device from."""
    chosen = process.current_pools.get(ordinal)
    return chosen if chosen is not None and chosen.alive else default_pool(core, process, ordinal)


def stream_pool(core: ModelCore, call: Call, stream: Stream | None, context: Context) -> tuple[Pool | None, int]:
    """Return the pool of a stream-ordered allocation, and the status of choosing it. None where nobody knows it."""
    if stream is None:
        return None, SUCCESS
    named = named_pool(call)
    if named is not None:
        return named, INVALID_VALUE if named.imported else SUCCESS
    if core.machine is None:
        return None, SUCCESS
    return current_pool(core, call.thread.process, (stream.context or context).ordinal), SUCCESS


def named_pool(call: Call) -> Pool | None:
    """Return the pool that a call names."""
    value = call.value(Role.HANDLE, "pool")
    found = call.thread.process.handles.get(value.value) if isinstance(value, Handle) else None
    return found if isinstance(found, Pool) else None


def note_pool_usage(core: ModelCore, pool: Pool | None) -> None:
    """Keep the highest usage of a pool. It rises by allocations only."""
    if pool is None or core.machine is None:
        return
    reserved, used = core.executor.pool_usage(pool)
    pool.attributes[_RESERVED_HIGH] = max(reserved, pool.attributes.get(_RESERVED_HIGH, 0))
    pool.attributes[_USED_HIGH] = max(used, pool.attributes.get(_USED_HIGH, 0))


@makes("cudaMemPoolCreate", "cuMemPoolCreate")
def _create_pool(core: ModelCore, call: Call, handle: int) -> Pool | int:
    fields = call.structures.get("poolProps", {})
    where = fields.get("location.id", 0)
    kind = fields.get("location.type", _DEVICE_LOCATION)
    pool = Pool(handle, "pool", None, outlives_reset=True)
    if core.machine is None:
        return pool
    if call.values.get("poolProps") == 0 or fields.get("allocType", _PINNED) != _PINNED:
        return INVALID_VALUE
    if kind == _DEVICE_LOCATION and isinstance(where, int) and not core.machine.has(where):
        return INVALID_DEVICE
    types = fields.get("handleTypes", 0)
    pool.ordinal = where if isinstance(where, int) and kind == _DEVICE_LOCATION else 0
    pool.handle_types = types if isinstance(types, int) else 0
    return pool


@makes("cudaMemPoolImportFromShareableHandle", "cuMemPoolImportFromShareableHandle")
def _import_pool(core: ModelCore, call: Call, handle: int) -> Pool | int:
    """Take a pool of another process: memory comes from it by import only."""
    if core.machine is not None and not core.executor.open_pool(call.named(call.signature.parameters[1].name) or -1):
        return INVALID_VALUE
    return Pool(handle, "pool", None, outlives_reset=True, imported=True)


def _fetched(call: Call) -> int | None:
    """Return the device whose pool is asked for."""
    fields = call.structures.get("location")
    value = fields.get("id") if fields is not None else call.value(Role.DEVICE)
    return value if isinstance(value, int) else None


@makes("cudaDeviceGetDefaultMemPool", "cuDeviceGetDefaultMemPool", "cudaMemGetDefaultMemPool", "cuMemGetDefaultMemPool",
       "cudaDeviceGetMemPool", "cuDeviceGetMemPool", "cudaMemGetMemPool", "cuMemGetMemPool")  # fmt: skip
def _fetch_pool(core: ModelCore, call: Call, handle: int) -> Pool | int:
    """Give a device's default pool, or its current one."""
    ordinal = _fetched(call)
    if core.machine is None or ordinal is None:
        return Pool(handle, "pool", None, outlives_reset=True, owned=False)
    if not core.machine.has(ordinal):
        return INVALID_DEVICE
    pool_of = default_pool if "Default" in call.api.name else current_pool
    return pool_of(core, call.thread.process, ordinal)


@answers("cudaDeviceSetMemPool", "cuDeviceSetMemPool", "cudaMemSetMemPool", "cuMemSetMemPool")
def _set_pool(core: ModelCore, call: Call, machine: Machine) -> Outcome:
    """Make a pool the one that cudaMallocAsync takes memory from."""
    pool, ordinal = _live_pool(call), _fetched(call)
    if ordinal is None or pool.ordinal != ordinal:
        return Outcome(INVALID_VALUE)
    call.thread.process.current_pools[ordinal] = pool
    return Outcome()


@answers("cudaMemPoolTrimTo", "cuMemPoolTrimTo")
def _trim_pool(core: ModelCore, call: Call, machine: Machine) -> Outcome:
    """Give unused memory back. The executor does it; blocks in use stay."""
    core.executor.trim(_own_pool(call), call.named("minBytesToKeep") or 0)
    return Outcome()


@answers("cudaMemPoolGetAttribute", "cuMemPoolGetAttribute")
def _get_attribute(core: ModelCore, call: Call, machine: Machine) -> Outcome:
    """Give a policy, the release threshold, or usage."""
    pool, attribute = _live_pool(call), call.named("attr")
    reserved, used = core.executor.pool_usage(pool)
    if attribute in (_RESERVED, _USED):
        return call.gives(reserved if attribute == _RESERVED else used)
    if attribute in _POLICIES:
        return call.gives(pool.attributes.get(attribute, 1))
    if attribute in (RELEASE_THRESHOLD, _RESERVED_HIGH, _USED_HIGH):
        return call.gives(pool.attributes.get(attribute, 0))
    return Outcome(INVALID_VALUE)


@answers("cudaMemPoolSetAttribute", "cuMemPoolSetAttribute")
def _set_attribute(core: ModelCore, call: Call, machine: Machine) -> Outcome:
    """Set a policy or the release threshold; 0 puts a high-water mark back to what is now."""
    pool, attribute, value = _live_pool(call), call.named("attr"), call.setting("value")
    if attribute in (_RESERVED_HIGH, _USED_HIGH) and value == 0:
        reserved, used = core.executor.pool_usage(pool)
        pool.attributes[attribute] = reserved if attribute == _RESERVED_HIGH else used
    elif attribute not in (*_POLICIES, RELEASE_THRESHOLD):
        return Outcome(INVALID_VALUE)
    elif value is not None:
        pool.attributes[attribute] = value
    return Outcome()


@answers("cudaMemPoolSetAccess", "cuMemPoolSetAccess")
def _set_access(core: ModelCore, call: Call, machine: Machine) -> Outcome:
    """Let other devices touch a pool's memory, or no longer."""
    pool = _live_pool(call)
    for where, flags, _ in access_wishes(call, machine, "descList", "map"):
        if not machine.has(where):
            return Outcome(INVALID_DEVICE)
        if where == pool.ordinal and flags != _READ_WRITE:
            return Outcome(INVALID_VALUE)  # its own device cannot lose access
        pool.access[where] = flags
    return Outcome()


@answers("cudaMemPoolGetAccess", "cuMemPoolGetAccess")
def _get_access(core: ModelCore, call: Call, machine: Machine) -> Outcome:
    """Say whether a device may touch a pool's memory."""
    pool, where = _live_pool(call), call.structures.get("location", {}).get("id")
    if not isinstance(where, int) or not machine.has(where):
        return Outcome(INVALID_VALUE)
    return call.gives(pool.access.get(where, _READ_WRITE if where == pool.ordinal else 0))


@answers("cudaMemPoolExportToShareableHandle", "cuMemPoolExportToShareableHandle")
def _export_pool(core: ModelCore, call: Call, machine: Machine) -> Outcome:
    """Give a handle for other processes, where the pool was made for it."""
    pool, kind = _own_pool(call), call.named("handleType")
    if not kind or not pool.handle_types & kind:
        return Outcome(INVALID_VALUE if pool.owned else NOT_SUPPORTED)
    file = core.executor.share_pool(pool) if kind == _FILE_DESCRIPTOR else None
    return Outcome(NOT_SUPPORTED) if file is None else call.gives(file)


def access_wishes(call: Call, machine: Machine, *names: str) -> Iterator[tuple[int, int, Value]]:
    """Yield device, flags and kind of location of the entries of a list, by whatever name it has, as far as known."""
    fields = next((call.structures[name] for name in names if name in call.structures), {})
    for index in range(min(call.named("count") or 0, machine.count + 1)):
        prefix = f"{index}." if f"{index}.location.id" in fields else ""
        where, flags = fields.get(f"{prefix}location.id"), fields.get(f"{prefix}flags")
        if isinstance(where, int) and isinstance(flags, int):
            yield where, flags, fields.get(f"{prefix}location.type", _DEVICE_LOCATION)


def _live_pool(call: Call) -> Pool:
    pool = named_pool(call)
    if pool is None or not pool.alive:
        raise RefusalError(INVALID_VALUE)
    return pool


def _own_pool(call: Call) -> Pool:
    """Return a pool that is no other process's."""
    pool = _live_pool(call)
    if pool.imported:
        raise RefusalError(INVALID_VALUE)
    return pool
