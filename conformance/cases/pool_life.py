"""Pools: trimming, destruction, uses after the free, odd sizes."""

from __future__ import annotations

from conformance.lab import SIZE, Lab
from conformance.registry import Family, Observations

pool_case = Family("pool")


@pool_case("A-08", timed=True)
def trim_under_free(lab: Lab) -> Observations:
    """cudaMemPoolTrimTo with a free pending behind a kernel."""
    rt, stream, pool = lab.rt, lab.stream(), lab.pool()
    block = lab.from_pool(pool, stream)
    pending = lab.busy(stream)
    lab.ok(rt.cudaFreeAsync(block, stream))
    observed = lab.waited(pending, lambda: rt.cudaMemPoolTrimTo(pool, 0))
    observed["reserved under the kernel"] = lab.get_pool(pool, "cudaMemPoolAttrReservedMemCurrent") > 0
    lab.ok(rt.cudaDeviceSynchronize())
    lab.ok(rt.cudaMemPoolTrimTo(pool, 0))
    observed["reserved afterwards"] = lab.get_pool(pool, "cudaMemPoolAttrReservedMemCurrent") > 0
    return observed


@pool_case("A-07")
def destroyed_with_allocation(lab: Lab) -> Observations:
    """Pool destroyed with an allocation outstanding: use, free, and an allocation from the pool."""
    rt, stream, pool = lab.rt, lab.stream(), lab.pool()
    block = lab.from_pool(pool, stream)
    destroyed = lab.status(rt.cudaMemPoolDestroy(pool))
    use = lab.status(rt.cudaMemsetAsync(block, 5, SIZE, stream))
    wrong = lab.wrong(block, 5)
    return {"destroy": destroyed, "use": use, "wrong": wrong, "free": lab.status(rt.cudaFreeAsync(block, stream))}


@pool_case("A-07", timed=True)
def destroyed_under_work(lab: Lab) -> Observations:
    """cudaMemPoolDestroy while a kernel of the pool's memory is pending."""
    rt, stream, pool = lab.rt, lab.stream(), lab.pool()
    block = lab.from_pool(pool, stream)
    pending = lab.busy(stream)
    lab.ok(rt.cudaMemsetAsync(block, 5, SIZE, stream))
    lab.ok(rt.cudaFreeAsync(block, stream))
    return lab.waited(pending, lambda: rt.cudaMemPoolDestroy(pool))


@pool_case("wrong-handles")
def destroy_default(lab: Lab) -> Observations:
    """cudaMemPoolDestroy of the default pool, and of NULL."""
    rt = lab.rt
    return {"default": lab.status(rt.cudaMemPoolDestroy(lab.ok(rt.cudaDeviceGetDefaultMemPool(0))))}


@pool_case("W-10", fresh=True)
def after_free(lab: Lab) -> Observations:
    """A kernel issued in the same stream after cudaFreeAsync; then trimmed, and again."""
    rt, stream = lab.rt, lab.stream()
    pool = lab.pool()
    block = lab.from_pool(pool, stream)
    lab.ok(rt.cudaFreeAsync(block, stream))
    lab.ok(lab.write_words(block, 1, stream))
    after = lab.status(rt.cudaStreamSynchronize(stream))
    lab.ok(rt.cudaMemPoolTrimTo(pool, 0))
    lab.ok(lab.write_words(block, 1, stream))
    return {"after the free": after, "after the trim": lab.status(rt.cudaStreamSynchronize(stream))}


@pool_case("A-12", "W-10", fresh=True)
def after_free_threshold_zero(lab: Lab) -> Observations:
    """The same in the default pool, whose threshold is zero: freed, waited for, used by a kernel."""
    rt, stream = lab.rt, lab.stream()
    block = lab.pooled(stream)
    lab.ok(rt.cudaFreeAsync(block, stream))
    lab.ok(rt.cudaStreamSynchronize(stream))
    launched = lab.status(lab.write_words(block, 1, stream))
    return {"launch": launched, "wait": lab.status(rt.cudaStreamSynchronize(stream))}


@pool_case("wrong-frees")
def size_zero(lab: Lab) -> Observations:
    """cudaMallocAsync and cudaMalloc of 0 bytes; frees of what they give."""
    rt, stream = lab.rt, lab.stream()
    pooled, plain = rt.cudaMallocAsync(0, stream), rt.cudaMalloc(0)
    return {
        "cudaMallocAsync": lab.status(pooled),
        "cudaMallocAsync is NULL": not int(pooled[1] or 0),
        "cudaMalloc": lab.status(plain),
        "cudaMalloc is NULL": not int(plain[1] or 0),
    }


@pool_case("wrong-handles")
def too_large(lab: Lab) -> Observations:
    """Allocations larger than any device."""
    rt, stream = lab.rt, lab.stream()
    observed: Observations = {
        "cudaMalloc": lab.status(rt.cudaMalloc(1 << 50)),
        "cudaMallocAsync": lab.status(rt.cudaMallocAsync(1 << 50, stream)),
    }
    observed["last error"] = lab.status(rt.cudaGetLastError())
    observed["next allocation"] = lab.status(rt.cudaMalloc(SIZE))
    return observed


@pool_case("accounting", "A-07", fresh=True)
def set_current(lab: Lab) -> Observations:
    """cudaDeviceSetMemPool: cudaMallocAsync takes from it; the pool is destroyed while current."""
    rt, stream, pool = lab.rt, lab.stream(), lab.pool()
    lab.ok(rt.cudaDeviceSetMemPool(0, pool))
    lab.pooled(stream)
    used = lab.get_pool(pool, "cudaMemPoolAttrUsedMemCurrent") // SIZE
    destroyed = lab.status(rt.cudaMemPoolDestroy(pool))
    current = lab.ok(rt.cudaDeviceGetMemPool(0))
    return {
        "used": used,
        "destroy": destroyed,
        "the default one is current": int(current) == int(lab.ok(rt.cudaDeviceGetDefaultMemPool(0))),
        "next allocation": lab.status(rt.cudaMallocAsync(SIZE, stream)),
    }
