"""Frees in special situations: under copies, threads, other contexts; allocations under load."""

from __future__ import annotations

from conformance.cases.frees import Call
from conformance.lab import SIZE, Lab
from conformance.registry import Family, Observations

free_case = Family("free", timed=True)
context_case = Family("free/context", fresh=True, timed=True)


@free_case("F-02")
def null(lab: Lab) -> Observations:
    """Each free function of NULL under a kernel."""
    rt, cu = lab.rt, lab.cu
    stream = lab.stream()
    pending = lab.busy(stream)
    observed: Observations = {}
    calls: dict[str, Call] = {
        "cudaFree": lambda: rt.cudaFree(0),
        "cudaFreeHost": lambda: rt.cudaFreeHost(0),
        "cudaFreeArray": lambda: rt.cudaFreeArray(0),
        "cudaFreeAsync": lambda: rt.cudaFreeAsync(0, stream),
        "cuMemFree": lambda: cu.cuMemFree(0),
        "cuMemFreeHost": lambda: cu.cuMemFreeHost(0),
    }
    for name, call in calls.items():
        observed[name], observed[f"{name} waited"] = lab.timed(pending, call)
    return observed


@free_case("F-11")
def copy_source_pinned(lab: Lab) -> Observations:
    """cudaFreeHost of the pinned source of an asynchronous copy behind a kernel."""
    rt, stream, target, host = lab.rt, lab.stream(), lab.plain(byte=1), lab.pinned()
    lab.host_bytes(host)[:] = 6
    pending = lab.busy(stream)
    lab.ok(rt.cudaMemcpyAsync(target, host, SIZE, lab.h2d, stream))
    observed = lab.waited(pending, lambda: rt.cudaFreeHost(host))
    return {**observed, "wrong": lab.wrong(target, 6)}


@free_case("F-12")
def copy_source_registered(lab: Lab) -> Observations:
    """cudaHostUnregister of the source of an asynchronous copy behind a kernel."""
    rt, stream, target, pages = lab.rt, lab.stream(), lab.plain(byte=1), lab.pageable()
    pages[:] = 6
    lab.ok(rt.cudaHostRegister(int(pages.ctypes.data), SIZE, 0))
    pending = lab.busy(stream)
    lab.ok(rt.cudaMemcpyAsync(target, int(pages.ctypes.data), SIZE, lab.h2d, stream))
    observed = lab.waited(pending, lambda: rt.cudaHostUnregister(int(pages.ctypes.data)))
    return {**observed, "wrong": lab.wrong(target, 6)}


@free_case("F-14")
def other_thread(lab: Lab) -> Observations:
    """cudaFree on thread B under a kernel of thread A; cudaMallocAsync on A while B is in it."""
    rt, stream, memory = lab.rt, lab.stream(), lab.plain()
    pending = lab.busy(stream)
    allocating, allocated = lab.timed(pending, lambda: rt.cudaMallocAsync(SIZE, stream))
    freeing, freed = lab.on_thread(lambda: lab.timed(pending, lambda: rt.cudaFree(memory)))
    return {
        "cudaFree": freeing,
        "cudaFree waited": freed,
        "cudaMallocAsync": allocating,
        "cudaMallocAsync waited": allocated,
    }


def _other_context(lab: Lab, function: str, busy_is_owner: bool) -> Observations:
    cu = lab.cu
    other = lab.ok(cu.cuCtxCreate(None, 0, 0))
    mine = lab.ok(cu.cuMemAlloc(SIZE))
    stream = lab.ok(cu.cuStreamCreate(1))
    lab.busy(stream, 0.01)
    lab.ok(cu.cuCtxSynchronize())
    pending = lab.busy(stream) if busy_is_owner else None
    lab.ok(cu.cuCtxPopCurrent())
    if pending is None:
        pending = lab.busy(lab.stream())
    free: Call = (lambda: cu.cuMemFree(mine)) if function == "cuMemFree" else (lambda: lab.rt.cudaFree(int(mine)))
    observed = lab.waited(pending, free)
    lab.ok(lab.rt.cudaDeviceSynchronize())
    lab.ok(cu.cuCtxDestroy(other))
    return observed


@context_case("F-15", "contexts")
def idle_owner(lab: Lab) -> Observations:
    """cuMemFree of memory of an idle context while the current context is busy."""
    return _other_context(lab, "cuMemFree", busy_is_owner=False)


@context_case("F-15", "contexts")
def busy_owner(lab: Lab) -> Observations:
    """cuMemFree of memory of a busy context while the current context is idle."""
    return _other_context(lab, "cuMemFree", busy_is_owner=True)


@context_case("F-15", "contexts")
def busy_owner_runtime(lab: Lab) -> Observations:
    """cudaFree of memory of a busy context while the idle primary context is current."""
    return _other_context(lab, "cudaFree", busy_is_owner=True)


@context_case("F-11", "contexts")
def pinned_idle_owner(lab: Lab) -> Observations:
    """cuMemFreeHost of pinned memory of an idle context while the current context is busy."""
    cu = lab.cu
    lab.ok(cu.cuCtxCreate(None, 0, 0))
    host = lab.ok(cu.cuMemAllocHost(SIZE))
    lab.ok(cu.cuCtxPopCurrent())
    pending = lab.busy(lab.stream())
    return lab.waited(pending, lambda: cu.cuMemFreeHost(host))


@free_case("F-16", "L-16", "L-20", "L-21")
def alloc_under_load(lab: Lab) -> Observations:
    """Allocations of every kind, registration, streams, events under a kernel."""
    rt = lab.rt
    stream, other, idle = lab.stream(), lab.stream(), lab.stream()
    page = int(lab.pageable().ctypes.data)
    pending = lab.busy(stream, 4)
    calls: dict[str, Call] = {
        "cudaMalloc": lambda: rt.cudaMalloc(64 << 20),
        "cudaMalloc 1 GiB": lambda: rt.cudaMalloc(1 << 30),
        "cudaMallocAsync": lambda: rt.cudaMallocAsync(SIZE, other),
        "cudaMallocHost": lambda: rt.cudaMallocHost(SIZE),
        "cudaMallocManaged": lambda: rt.cudaMallocManaged(SIZE, rt.cudaMemAttachGlobal),
        "cudaHostRegister": lambda: rt.cudaHostRegister(page, SIZE, 0),
        "cudaStreamCreate": lambda: rt.cudaStreamCreate(),
        "cudaStreamDestroy": lambda: rt.cudaStreamDestroy(idle),
        "cudaEventCreate": lambda: rt.cudaEventCreate(),
        "cudaMemGetInfo": lambda: rt.cudaMemGetInfo(),
    }
    observed: Observations = {}
    for name, call in calls.items():
        _, observed[name] = lab.timed(pending, call)
    return observed


@free_case("F-17")
def overlap(lab: Lab) -> Observations:
    """Frees of stream-ordered and of plain memory of an idle stream under another stream's kernel: do they wait."""
    rt, s1, s2 = lab.rt, lab.stream(), lab.stream()
    observed: Observations = {}
    plain, pooled = lab.plain(), lab.pooled(s2)
    lab.ok(rt.cudaStreamSynchronize(s2))
    pending = lab.busy(s1)
    _, observed["stream-ordered waited"] = lab.timed(pending, lambda: rt.cudaFreeAsync(pooled, s2))
    _, observed["plain waited"] = lab.timed(pending, lambda: rt.cudaFree(plain))
    return observed
