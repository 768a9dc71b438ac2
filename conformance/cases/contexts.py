"""Contexts: destruction and release with work pending, memory of others, sticky errors."""

from __future__ import annotations

import threading
from typing import Any

from conformance.lab import SIZE, Lab
from conformance.registry import Observations, case


def _created(lab: Lab) -> tuple[Any, Any, Any]:
    cu = lab.cu
    context = lab.ok(cu.cuCtxCreate(None, 0, 0))
    stream = lab.ok(cu.cuStreamCreate(1))
    memory = lab.ok(cu.cuMemAlloc(SIZE))
    lab.busy(stream, 0.01)
    lab.ok(cu.cuCtxSynchronize())
    return context, stream, memory


@case(
    "context/destroy-pending",
    "cuCtxDestroy of a created context with its kernel pending",
    ["L-22", "reset-pending"],
    timed=True,
    fresh=True,
    expected={"status": "CUDA_SUCCESS", "waited": True},
)
def destroy_pending(lab: Lab) -> Observations:
    context, stream, _ = _created(lab)
    pending = lab.busy(stream, 16)
    return lab.waited(pending, lambda: lab.cu.cuCtxDestroy(context))


@case(
    "context/destroy-other-pending",
    "cuCtxDestroy of an idle context while a kernel of the primary context is pending",
    ["L-26", "L-22", "reset-pending", "contexts"],
    timed=True,
    fresh=True,
)
def destroy_other(lab: Lab) -> Observations:
    context, _, _ = _created(lab)
    lab.ok(lab.cu.cuCtxPopCurrent())
    pending = lab.busy(lab.stream(), 16)
    return lab.waited(pending, lambda: lab.cu.cuCtxDestroy(context))


@case(
    "context/destroy-on-other-thread",
    "cuCtxDestroy on thread B of the context that is current to thread A, a kernel pending; A's calls",
    ["reset-pending", "contexts"],
    timed=True,
    fresh=True,
)
def destroy_elsewhere(lab: Lab) -> Observations:
    cu = lab.cu
    context, stream, memory = _created(lab)
    pending = lab.busy(stream, 16)

    def destroy() -> tuple[str, bool]:
        return lab.timed(pending, lambda: cu.cuCtxDestroy(context))

    results: list[tuple[str, bool]] = []
    thread = threading.Thread(target=lambda: results.append(destroy()))
    thread.start()
    thread.join()
    status, waited = results[0]
    return {
        "destroy": status,
        "waited": waited,
        "A allocates": lab.status(cu.cuMemAlloc(64)),
        "A frees": lab.status(cu.cuMemFree(memory)),
    }


@case(
    "context/memory-of-destroyed",
    "use and free of memory whose context was destroyed",
    ["W-06"],
    fresh=True,
    expected={"fill": "CUDA_ERROR_INVALID_VALUE", "free": "CUDA_ERROR_INVALID_VALUE"},
)
def memory_of_destroyed(lab: Lab) -> Observations:
    cu = lab.cu
    context, _, memory = _created(lab)
    lab.ok(cu.cuCtxDestroy(context))
    lab.ok(lab.rt.cudaFree(0))
    return {
        "fill": lab.status(cu.cuMemsetD8(memory, 1, SIZE)),
        "free": lab.status(cu.cuMemFree(memory)),
        "cudaFree": lab.status(lab.rt.cudaFree(int(memory))),
    }


@case(
    "context/foreign-free",
    "free in the primary context of a created context's memory, twice; fill of it before",
    ["W-04", "W-05"],
    fresh=True,
    expected={"fill": "CUDA_SUCCESS", "free": "CUDA_SUCCESS", "second free": "CUDA_ERROR_INVALID_VALUE"},
)
def foreign_free(lab: Lab) -> Observations:
    cu = lab.cu
    _, _, memory = _created(lab)
    lab.ok(cu.cuCtxPopCurrent())
    return {
        "fill": lab.status(cu.cuMemsetD8(memory, 1, SIZE)),
        "free": lab.status(cu.cuMemFree(memory)),
        "second free": lab.status(cu.cuMemFree(memory)),
    }


@case(
    "context/foreign-kernel",
    "a kernel of the primary context writes to a created context's memory of the same device",
    ["W-05", "contexts"],
    fresh=True,
)
def foreign_kernel(lab: Lab) -> Observations:
    cu = lab.cu
    _, _, memory = _created(lab)
    lab.ok(cu.cuCtxPopCurrent())
    stream = lab.stream()
    lab.ok(lab.write_words(memory, 0x05050505, stream))
    return {"wait": lab.status(lab.rt.cudaStreamSynchronize(stream)), "wrong": lab.wrong(int(memory), 5)}


@case(
    "context/foreign-stream",
    "a kernel of the primary context's module in a created context's stream; an event across contexts",
    ["R-06", "contexts", "wrong-handles"],
    fresh=True,
)
def foreign_stream(lab: Lab) -> Observations:
    cu, rt = lab.cu, lab.rt
    memory = lab.plain()
    function = lab.kernel("write_words")
    _, stream, _ = _created(lab)
    lab.ok(cu.cuCtxPopCurrent())
    event = lab.event(lab.stream())
    values, types = lab.spin_arguments(lab.busy(lab.stream(), 0.01))
    return {
        "launch": lab.status(cu.cuLaunchKernel(lab.kernel("spin"), 1, 1, 1, 1, 1, 1, 0, stream, (values, types), 0)),
        "record": lab.status(cu.cuEventRecord(int(event), stream)),
        "wait": lab.status(cu.cuStreamWaitEvent(stream, int(event), 0)),
        "synchronize": lab.status(cu.cuStreamSynchronize(stream)),
        "fill": lab.status(rt.cudaMemsetAsync(memory, 1, SIZE, int(stream))),
        "a function was given": function is not None,
    }


@case(
    "context/sticky-error-is-its-own",
    "a kernel of a created context meets an illegal address: that context's and the primary one's next calls",
    ["W-21", "contexts", "F-13"],
    fresh=True,
)
def sticky(lab: Lab) -> Observations:
    cu, rt = lab.cu, lab.rt
    context, stream, _ = _created(lab)
    lab.ok(lab.write_words(0x10, 1, stream))
    observed: Observations = {
        "synchronize": lab.status(cu.cuStreamSynchronize(stream)),
        "allocate": lab.status(cu.cuMemAlloc(64)),
    }
    observed["destroy"] = lab.status(cu.cuCtxDestroy(context))
    observed["primary allocates"] = lab.status(rt.cudaMalloc(64))
    observed["primary synchronizes"] = lab.status(rt.cudaDeviceSynchronize())
    return observed


@case(
    "context/sticky-error",
    "a kernel meets an illegal address: which calls return the error, which frees work, what a reset mends",
    ["W-21", "F-13", "contexts"],
    fresh=True,
)
def sticky_primary(lab: Lab) -> Observations:
    rt, stream = lab.rt, lab.stream()
    plain, pooled, pinned = lab.plain(), lab.pooled(stream), lab.pinned()
    lab.ok(rt.cudaStreamSynchronize(stream))
    lab.ok(lab.write_words(0x10, 1, stream))
    observed: Observations = {
        "synchronize": lab.status(rt.cudaStreamSynchronize(stream)),
        "again": lab.status(rt.cudaStreamSynchronize(stream)),
        "cudaFree": lab.status(rt.cudaFree(plain)),
        "cudaFreeAsync": lab.status(rt.cudaFreeAsync(pooled, stream)),
        "cudaFreeHost": lab.status(rt.cudaFreeHost(pinned)),
        "cudaMalloc": lab.status(rt.cudaMalloc(64)),
        "cudaStreamDestroy": lab.status(rt.cudaStreamDestroy(stream)),
        "cudaGetLastError": lab.status(rt.cudaGetLastError()),
    }
    observed["reset"] = lab.status(rt.cudaDeviceReset())
    observed["allocation after it"] = lab.status(rt.cudaMalloc(64))
    return observed


@case(
    "context/last-release-pending",
    "cuDevicePrimaryCtxRelease, the last, with a kernel pending; then a runtime call",
    ["R-05", "reset-pending", "L-22"],
    timed=True,
    fresh=True,
)
def last_release(lab: Lab) -> Observations:
    cu, stream = lab.cu, lab.stream()
    pending = lab.busy(stream, 16)
    observed = lab.waited(pending, lambda: cu.cuDevicePrimaryCtxRelease(0))
    flags_and_active = cu.cuDevicePrimaryCtxGetState(0)
    observed["active afterwards"] = int(flags_and_active[2])
    observed["next allocation"] = lab.status(lab.rt.cudaMalloc(64))
    return observed


@case(
    "context/last-release-driver-only",
    "a program of the driver API alone: retain, a kernel, the last release with it pending",
    ["R-05", "reset-pending", "L-22"],
    timed=True,
    bare=True,
)
def last_release_driver(lab: Lab) -> Observations:
    cu = lab.cu
    lab.ok(cu.cuInit(0))
    context = lab.ok(cu.cuDevicePrimaryCtxRetain(0))
    lab.ok(cu.cuCtxSetCurrent(context))
    lab.prepare_driver()
    stream = lab.ok(cu.cuStreamCreate(1))
    lab.busy(stream, 0.01)
    lab.ok(cu.cuCtxSynchronize())
    memory = lab.ok(cu.cuMemAlloc(SIZE))
    pending = lab.busy(stream, 16)
    observed = lab.waited(pending, lambda: cu.cuDevicePrimaryCtxRelease(0))
    observed["active afterwards"] = int(cu.cuDevicePrimaryCtxGetState(0)[2])
    observed["free"] = lab.status(cu.cuMemFree(memory))
    return observed


@case(
    "context/release-not-last",
    "cuDevicePrimaryCtxRelease of one of two retains with a kernel pending",
    ["reset-pending"],
    timed=True,
    fresh=True,
)
def release_not_last(lab: Lab) -> Observations:
    cu, stream = lab.cu, lab.stream()
    lab.ok(cu.cuDevicePrimaryCtxRetain(0))
    pending = lab.busy(stream, 16)
    observed = lab.waited(pending, lambda: cu.cuDevicePrimaryCtxRelease(0))
    observed["active afterwards"] = int(cu.cuDevicePrimaryCtxGetState(0)[2])
    return observed


@case(
    "context/primary-reset-pending",
    "cuDevicePrimaryCtxReset with a kernel pending",
    ["R-05", "reset-pending", "R-01", "I-08"],
    timed=True,
    fresh=True,
)
def primary_reset(lab: Lab) -> Observations:
    pending = lab.busy(lab.stream(), 16)
    return lab.waited(pending, lambda: lab.cu.cuDevicePrimaryCtxReset(0))


@case(
    "context/reset-with-created-current",
    "cudaDeviceReset while a created context is current: which memory is gone",
    ["reset-pending", "R-03", "contexts"],
    fresh=True,
)
def reset_with_created(lab: Lab) -> Observations:
    cu, rt = lab.cu, lab.rt
    primary = lab.plain()
    _, _, memory = _created(lab)
    return {
        "reset": lab.status(rt.cudaDeviceReset()),
        "free of the created context's": lab.status(cu.cuMemFree(memory)),
        "free of the primary context's": lab.status(rt.cudaFree(int(primary))),
    }


@case(
    "context/pools-survive",
    "memory of the default pool allocated in a created context, which is destroyed: use and free in the primary one",
    ["R-04", "contexts"],
    fresh=True,
)
def pools_survive(lab: Lab) -> Observations:
    cu, rt = lab.cu, lab.rt
    context, stream, _ = _created(lab)
    memory = lab.ok(cu.cuMemAllocAsync(SIZE, stream))
    lab.ok(cu.cuStreamSynchronize(stream))
    lab.ok(cu.cuCtxDestroy(context))
    lab.ok(rt.cudaFree(0))
    return {
        "fill": lab.status(rt.cudaMemset(int(memory), 1, SIZE)),
        "free": lab.status(rt.cudaFreeAsync(int(memory), 0)),
    }
