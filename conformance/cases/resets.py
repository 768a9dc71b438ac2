"""Resets of devices: pending work, pointers, handles, other threads."""

from __future__ import annotations

from conformance.lab import SIZE, Lab
from conformance.registry import Family, Observations

reset_case = Family("reset", fresh=True)


@reset_case("R-01", "reset-pending", timed=True)
def pending(lab: Lab) -> Observations:
    """cudaDeviceReset with a kernel and a cudaFreeAsync pending."""
    rt, stream = lab.rt, lab.stream()
    memory = lab.pooled(stream)
    pending = lab.busy(stream, 8)
    lab.ok(rt.cudaFreeAsync(memory, stream))
    return lab.waited(pending, lambda: rt.cudaDeviceReset())


@reset_case("R-03", "R-04")
def pointers(lab: Lab) -> Observations:
    """Pointers from before a reset: frees and uses of plain, pinned, managed, pool memory."""
    rt, stream = lab.rt, lab.stream()
    plain, pooled, other = lab.plain(), lab.pooled(stream), lab.pooled(stream)
    pinned, managed = lab.pinned(), lab.managed()
    lab.ok(rt.cudaStreamSynchronize(stream))
    lab.ok(rt.cudaDeviceReset())
    lab.ok(rt.cudaFree(0))
    return {
        "fill of plain": lab.status(rt.cudaMemset(plain, 1, SIZE)),
        "cudaFree of plain": lab.status(rt.cudaFree(plain)),
        "cudaFreeHost of pinned": lab.status(rt.cudaFreeHost(pinned)),
        "cudaFree of managed": lab.status(rt.cudaFree(managed)),
        "fill of pooled": lab.status(rt.cudaMemset(pooled, 1, SIZE)),
        "cudaFreeAsync of pooled": lab.status(rt.cudaFreeAsync(pooled, 0)),
        "cudaFree of pooled": lab.status(rt.cudaFree(other)),
    }


@reset_case("I-11", "wrong-handles", "R-03", undefined=True)
def stream_handle(lab: Lab) -> Observations:
    """A stream from before a reset is used."""
    rt, stream = lab.rt, lab.stream()
    lab.ok(rt.cudaDeviceReset())
    lab.ok(rt.cudaFree(0))
    return {"synchronize": lab.status(rt.cudaStreamSynchronize(stream))}


@reset_case("wrong-handles", "R-03", undefined=True)
def event_handle(lab: Lab) -> Observations:
    """An event from before a reset is queried."""
    rt, event = lab.rt, lab.event()
    lab.ok(rt.cudaDeviceReset())
    lab.ok(rt.cudaFree(0))
    return {"query": lab.status(rt.cudaEventQuery(event))}


@reset_case("R-02", "reset-pending", timed=True)
def other_thread(lab: Lab) -> Observations:
    """cudaDeviceReset on thread B while a kernel of thread A is pending; A's next call."""
    rt, stream = lab.rt, lab.stream()
    memory = lab.plain()
    pending = lab.busy(stream, 8)
    status, waited = lab.on_thread(lambda: lab.timed(pending, lambda: rt.cudaDeviceReset()))
    observed: Observations = {"reset": status, "reset waited": waited}
    observed["A's allocation"] = lab.status(rt.cudaMalloc(64))
    observed["A's free"] = lab.status(rt.cudaFree(memory))
    return observed


@reset_case("R-02")
def other_thread_launches(lab: Lab) -> Observations:
    """A thread that was inside the context launches by the driver API after another thread's reset."""
    rt, stream, memory = lab.rt, lab.stream(), lab.plain()
    values, types = lab.spin_arguments(lab.busy(stream, 0.01))
    function = lab.kernel("spin")
    lab.ok(rt.cudaStreamSynchronize(stream))
    reset = lab.on_thread(lambda: lab.status(rt.cudaDeviceReset()))
    launched = lab.cu.cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, 0, (values, types), 0)
    return {"reset": reset, "launch": lab.status(launched), "cuMemFree": lab.status(lab.cu.cuMemFree(int(memory)))}


@reset_case("R-04")
def device_memory_content(lab: Lab) -> Observations:
    """Pool memory through a reset: are its words there afterwards."""
    rt, stream = lab.rt, lab.stream()
    memory = lab.pooled(stream, byte=5)
    lab.ok(rt.cudaDeviceReset())
    lab.ok(rt.cudaFree(0))
    return {"wrong": lab.wrong(memory, 5)}


@reset_case("accounting", "R-04")
def memory_accounting(lab: Lab) -> Observations:
    """Used memory of the default pool (in 4 MiB) before and after a reset."""
    rt, stream = lab.rt, lab.stream()
    lab.pooled(stream)
    lab.ok(rt.cudaStreamSynchronize(stream))
    pool = lab.ok(rt.cudaDeviceGetDefaultMemPool(0))
    before = lab.get_pool(pool, "cudaMemPoolAttrUsedMemCurrent") // SIZE
    lab.ok(rt.cudaDeviceReset())
    pool = lab.ok(rt.cudaDeviceGetDefaultMemPool(0))
    return {"before": before, "after": lab.get_pool(pool, "cudaMemPoolAttrUsedMemCurrent") // SIZE}
