"""Resets of devices: pending work, pointers, handles, other threads."""

from __future__ import annotations

from conformance.lab import SIZE, Lab
from conformance.registry import Observations, case

INVALID, SUCCESS = "cudaErrorInvalidValue", "cudaSuccess"


@case(
    "reset/pending",
    "cudaDeviceReset with a kernel and a cudaFreeAsync pending",
    ["R-01", "reset-pending"],
    timed=True,
    fresh=True,
    expected={"status": SUCCESS, "waited": True},
)
def reset_pending(lab: Lab) -> Observations:
    rt, stream = lab.rt, lab.stream()
    memory = lab.pooled(stream)
    pending = lab.busy(stream, 8)
    lab.ok(rt.cudaFreeAsync(memory, stream))
    return lab.waited(pending, lambda: rt.cudaDeviceReset())


@case(
    "reset/pointers",
    "pointers from before a reset: frees and uses of plain, pinned, managed, pool memory",
    ["R-03", "R-04"],
    fresh=True,
    expected={"cudaFree of plain": INVALID, "cudaFreeAsync of pooled": SUCCESS},
)
def reset_pointers(lab: Lab) -> Observations:
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


@case(
    "reset/stream-handle",
    "a stream from before a reset is used",
    ["I-11", "wrong-handles", "R-03"],
    undefined=True,
    fresh=True,
)
def reset_stream(lab: Lab) -> Observations:
    rt, stream = lab.rt, lab.stream()
    lab.ok(rt.cudaDeviceReset())
    lab.ok(rt.cudaFree(0))
    return {"synchronize": lab.status(rt.cudaStreamSynchronize(stream))}


@case(
    "reset/event-handle",
    "an event from before a reset is queried",
    ["wrong-handles", "R-03"],
    undefined=True,
    fresh=True,
)
def reset_event(lab: Lab) -> Observations:
    rt, event = lab.rt, lab.event()
    lab.ok(rt.cudaDeviceReset())
    lab.ok(rt.cudaFree(0))
    return {"query": lab.status(rt.cudaEventQuery(event))}


@case(
    "reset/other-thread",
    "cudaDeviceReset on thread B while a kernel of thread A is pending; A's next call",
    ["R-02", "reset-pending"],
    timed=True,
    fresh=True,
)
def reset_other_thread(lab: Lab) -> Observations:
    rt, stream = lab.rt, lab.stream()
    memory = lab.plain()
    pending = lab.busy(stream, 8)
    status, waited = lab.on_thread(lambda: lab.timed(pending, lambda: rt.cudaDeviceReset()))
    observed: Observations = {"reset": status, "reset waited": waited}
    observed["A's allocation"] = lab.status(rt.cudaMalloc(64))
    observed["A's free"] = lab.status(rt.cudaFree(memory))
    return observed


@case(
    "reset/other-thread-launches",
    "a thread that was inside the context launches by the driver API after another thread's reset",
    ["R-02"],
    fresh=True,
)
def reset_then_launch(lab: Lab) -> Observations:
    rt, stream, memory = lab.rt, lab.stream(), lab.plain()
    values, types = lab.spin_arguments(lab.busy(stream, 0.01))
    function = lab.kernel("spin")
    lab.ok(rt.cudaStreamSynchronize(stream))
    reset = lab.on_thread(lambda: lab.status(rt.cudaDeviceReset()))
    launched = lab.cu.cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, 0, (values, types), 0)
    return {"reset": reset, "launch": lab.status(launched), "cuMemFree": lab.status(lab.cu.cuMemFree(int(memory)))}


@case(
    "reset/device-memory-content",
    "pool memory through a reset: are its words there afterwards",
    ["R-04"],
    fresh=True,
)
def reset_words(lab: Lab) -> Observations:
    rt, stream = lab.rt, lab.stream()
    memory = lab.pooled(stream, byte=5)
    lab.ok(rt.cudaDeviceReset())
    lab.ok(rt.cudaFree(0))
    return {"wrong": lab.wrong(memory, 5)}


@case(
    "reset/memory-accounting",
    "used memory of the default pool (in 4 MiB) before and after a reset",
    ["accounting", "R-04"],
    fresh=True,
)
def reset_accounting(lab: Lab) -> Observations:
    rt, stream = lab.rt, lab.stream()
    lab.pooled(stream)
    lab.ok(rt.cudaStreamSynchronize(stream))
    pool = lab.ok(rt.cudaDeviceGetDefaultMemPool(0))
    before = lab.get_pool(pool, "cudaMemPoolAttrUsedMemCurrent") // SIZE
    lab.ok(rt.cudaDeviceReset())
    pool = lab.ok(rt.cudaDeviceGetDefaultMemPool(0))
    return {"before": before, "after": lab.get_pool(pool, "cudaMemPoolAttrUsedMemCurrent") // SIZE}
