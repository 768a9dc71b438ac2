"""How much memory pools use."""

from __future__ import annotations

from typing import Any

from conformance.cases.pools import FOLLOW, INTERNAL, OPPORTUNISTIC
from conformance.lab import SIZE, Lab
from conformance.registry import Family, Observations

accounting_case = Family("pool/accounting")


def _usage(lab: Lab, pool: Any) -> list[int]:
    """Return in units of 4 MiB: used, its high mark, reserved rounded up to 32 MiB's units, its high mark so."""
    used, used_high, reserved, reserved_high = (
        lab.get_pool(pool, f"cudaMemPoolAttr{name}")
        for name in ("UsedMemCurrent", "UsedMemHigh", "ReservedMemCurrent", "ReservedMemHigh")
    )
    return [used // SIZE, used_high // SIZE, reserved >> 20, reserved_high >> 20]


@accounting_case("A-11", "accounting")
def life(lab: Lab) -> Observations:
    """Used, its high mark (in 4 MiB), reserved, its high mark (in MiB) of an own pool that keeps what it has."""
    rt, stream, pool = lab.rt, lab.stream(), lab.pool()
    observed: Observations = {"new": _usage(lab, pool)}
    one, other = lab.from_pool(pool, stream), lab.from_pool(pool, stream)
    observed["two allocations"] = _usage(lab, pool)
    lab.ok(rt.cudaFreeAsync(one, stream))
    observed["a free issued"] = _usage(lab, pool)
    lab.ok(rt.cudaStreamSynchronize(stream))
    observed["and complete"] = _usage(lab, pool)
    lab.ok(rt.cudaFree(other))
    observed["cudaFree of the other"] = _usage(lab, pool)
    lab.ok(rt.cudaMemPoolTrimTo(pool, 0))
    observed["trimmed"] = _usage(lab, pool)
    lab.set_pool(pool, "cudaMemPoolAttrUsedMemHigh", 0)
    lab.set_pool(pool, "cudaMemPoolAttrReservedMemHigh", 0)
    observed["high marks set back"] = _usage(lab, pool)
    return observed


@accounting_case("A-13", "accounting", timed=True)
def pending_free(lab: Lab) -> Observations:
    """Used memory of a pool while a free is pending behind a kernel."""
    rt, stream, pool = lab.rt, lab.stream(), lab.pool()
    block = lab.from_pool(pool, stream)
    pending = lab.busy(stream)
    lab.ok(rt.cudaFreeAsync(block, stream))
    used = lab.get_pool(pool, "cudaMemPoolAttrUsedMemCurrent") // SIZE
    return {"used": used, "still pending": not pending.done}


@accounting_case("A-12", "accounting")
def threshold(lab: Lab) -> Observations:
    """Reserved memory (MiB) of an own pool with threshold 0 after a free, at the wait, after the next allocation."""
    rt, stream = lab.rt, lab.stream()
    pool = lab.pool(cudaMemPoolAttrReleaseThreshold=0)
    block = lab.from_pool(pool, stream, 64 << 20)
    observed: Observations = {"allocated": lab.get_pool(pool, "cudaMemPoolAttrReservedMemCurrent") >> 20}
    lab.ok(rt.cudaFreeAsync(block, stream))
    lab.ok(rt.cudaEventSynchronize(lab.event(stream)))
    observed["after an event"] = lab.get_pool(pool, "cudaMemPoolAttrReservedMemCurrent") >> 20
    lab.ok(rt.cudaStreamSynchronize(stream))
    observed["after a stream's wait"] = lab.get_pool(pool, "cudaMemPoolAttrReservedMemCurrent") >> 20
    return observed


@accounting_case("A-13", "accounting")
def sizes(lab: Lab) -> Observations:
    """Used bytes of an own pool for allocations of 1, 512, 513, 1 MiB + 1, 2 MiB + 1 bytes, each alone."""
    rt, stream, pool = lab.rt, lab.stream(), lab.pool()
    observed: Observations = {}
    for size in (1, 512, 513, (1 << 20) + 1, (2 << 20) + 1):
        block = lab.from_pool(pool, stream, size)
        observed[str(size)] = lab.get_pool(pool, "cudaMemPoolAttrUsedMemCurrent")
        lab.ok(rt.cudaFreeAsync(block, stream))
        lab.ok(rt.cudaStreamSynchronize(stream))
    return observed


@accounting_case("accounting", "reuse-policies")
def defaults(lab: Lab) -> Observations:
    """Attributes of the default pool and of a new one: threshold, policies."""
    rt = lab.rt
    default = lab.ok(rt.cudaDeviceGetDefaultMemPool(0))
    new = lab.pool()
    names = {
        "threshold": "cudaMemPoolAttrReleaseThreshold",
        "follow": FOLLOW,
        "opportunistic": OPPORTUNISTIC,
        "internal": INTERNAL,
    }
    observed: Observations = {
        f"{word} pool, {name}": lab.get_pool(pool, attribute)
        for word, pool in (("default", default), ("new", new))
        for name, attribute in names.items()
        if (word, name) != ("new", "threshold")
    }
    current = lab.ok(rt.cudaDeviceGetMemPool(0))
    observed["the current one is the default one"] = int(current) == int(default)
    return observed
