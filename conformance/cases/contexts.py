"""Contexts: destruction and release with work pending, memory of others, sticky errors."""

from __future__ import annotations

import threading
from typing import Any

from conformance.lab import SIZE, Lab
from conformance.registry import Family, Observations

context_case = Family("context")


def _created(lab: Lab) -> tuple[Any, Any, Any]:
    cu = lab.cu
    context = lab.ok(cu.cuCtxCreate(None, 0, 0))
    stream = lab.ok(cu.cuStreamCreate(1))
    memory = lab.ok(cu.cuMemAlloc(SIZE))
    lab.busy(stream, 0.01)
    lab.ok(cu.cuCtxSynchronize())
    return context, stream, memory


@context_case("L-22", "reset-pending", fresh=True, timed=True)
def destroy_pending(lab: Lab) -> Observations:
    """cuCtxDestroy of a created context with its kernel pending."""
    context, stream, _ = _created(lab)
    pending = lab.busy(stream, 16)
    return lab.waited(pending, lambda: lab.cu.cuCtxDestroy(context))


@context_case("L-26", "L-22", "reset-pending", "contexts", fresh=True, timed=True)
def destroy_other_pending(lab: Lab) -> Observations:
    """cuCtxDestroy of an idle context while a kernel of the primary context is pending."""
    context, _, _ = _created(lab)
    lab.ok(lab.cu.cuCtxPopCurrent())
    pending = lab.busy(lab.stream(), 16)
    return lab.waited(pending, lambda: lab.cu.cuCtxDestroy(context))


@context_case("reset-pending", "contexts", fresh=True, timed=True)
def destroy_on_other_thread(lab: Lab) -> Observations:
    """cuCtxDestroy on thread B of the context that is current to thread A, a kernel pending; A's calls."""
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


@context_case("W-06", fresh=True)
def memory_of_destroyed(lab: Lab) -> Observations:
    """Use and free of memory whose context was destroyed."""
    cu = lab.cu
    context, _, memory = _created(lab)
    lab.ok(cu.cuCtxDestroy(context))
    lab.ok(lab.rt.cudaFree(0))
    return {
        "fill": lab.status(cu.cuMemsetD8(memory, 1, SIZE)),
        "free": lab.status(cu.cuMemFree(memory)),
        "cudaFree": lab.status(lab.rt.cudaFree(int(memory))),
    }


@context_case("W-04", "W-05", fresh=True)
def foreign_free(lab: Lab) -> Observations:
    """Free in the primary context of a created context's memory, twice; fill of it before."""
    cu = lab.cu
    _, _, memory = _created(lab)
    lab.ok(cu.cuCtxPopCurrent())
    return {
        "fill": lab.status(cu.cuMemsetD8(memory, 1, SIZE)),
        "free": lab.status(cu.cuMemFree(memory)),
        "second free": lab.status(cu.cuMemFree(memory)),
    }


@context_case("W-05", "contexts", fresh=True)
def foreign_kernel(lab: Lab) -> Observations:
    """A kernel of the primary context writes to a created context's memory of the same device."""
    cu = lab.cu
    _, _, memory = _created(lab)
    lab.ok(cu.cuCtxPopCurrent())
    stream = lab.stream()
    lab.ok(lab.write_words(memory, 0x05050505, stream))
    return {"wait": lab.status(lab.rt.cudaStreamSynchronize(stream)), "wrong": lab.wrong(int(memory), 5)}


@context_case("R-06", "contexts", "wrong-handles", fresh=True)
def foreign_stream(lab: Lab) -> Observations:
    """A kernel of the primary context's module in a created context's stream; an event across contexts."""
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


@context_case("W-21", "contexts", "F-13", fresh=True)
def sticky_error_is_its_own(lab: Lab) -> Observations:
    """A kernel of a created context meets an illegal address: that context's and the primary one's next calls."""
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


@context_case("W-21", "F-13", "contexts", fresh=True)
def sticky_error(lab: Lab) -> Observations:
    """A kernel meets an illegal address: which calls return the error, which frees work, what a reset mends."""
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


@context_case("R-05", "reset-pending", "L-22", fresh=True, timed=True)
def last_release_pending(lab: Lab) -> Observations:
    """cuDevicePrimaryCtxRelease, the last, with a kernel pending; then a runtime call."""
    cu, stream = lab.cu, lab.stream()
    pending = lab.busy(stream, 16)
    observed = lab.waited(pending, lambda: cu.cuDevicePrimaryCtxRelease(0))
    flags_and_active = cu.cuDevicePrimaryCtxGetState(0)
    observed["active afterwards"] = int(flags_and_active[2])
    observed["next allocation"] = lab.status(lab.rt.cudaMalloc(64))
    return observed


@context_case("R-05", "reset-pending", "L-22", bare=True, timed=True)
def last_release_driver_only(lab: Lab) -> Observations:
    """A program of the driver API alone: retain, a kernel, the last release with it pending."""
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


@context_case("reset-pending", fresh=True, timed=True)
def release_not_last(lab: Lab) -> Observations:
    """cuDevicePrimaryCtxRelease of one of two retains with a kernel pending."""
    cu, stream = lab.cu, lab.stream()
    lab.ok(cu.cuDevicePrimaryCtxRetain(0))
    pending = lab.busy(stream, 16)
    observed = lab.waited(pending, lambda: cu.cuDevicePrimaryCtxRelease(0))
    observed["active afterwards"] = int(cu.cuDevicePrimaryCtxGetState(0)[2])
    return observed


@context_case("R-05", "reset-pending", "R-01", "I-08", fresh=True, timed=True)
def primary_reset_pending(lab: Lab) -> Observations:
    """cuDevicePrimaryCtxReset with a kernel pending."""
    pending = lab.busy(lab.stream(), 16)
    return lab.waited(pending, lambda: lab.cu.cuDevicePrimaryCtxReset(0))


@context_case("reset-pending", "R-03", "contexts", fresh=True)
def reset_with_created_current(lab: Lab) -> Observations:
    """cudaDeviceReset while a created context is current: which memory is gone."""
    cu, rt = lab.cu, lab.rt
    primary = lab.plain()
    _, _, memory = _created(lab)
    return {
        "reset": lab.status(rt.cudaDeviceReset()),
        "free of the created context's": lab.status(cu.cuMemFree(memory)),
        "free of the primary context's": lab.status(rt.cudaFree(int(primary))),
    }


@context_case("R-04", "contexts", fresh=True)
def pools_survive(lab: Lab) -> Observations:
    """Memory of the default pool allocated in a created context, then destroyed: use and free in the primary one."""
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
