"""Calls while a stream captures: in each mode, by the capturing thread and by another one."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from conformance.lab import PAGE, Lab
from conformance.registry import Family, Observations

capture_case = Family("capture")

MODES = ("Global", "ThreadLocal", "Relaxed")


class Bench:
    """What a call may use. All is made before the capture begins."""

    def __init__(self, lab: Lab, legacy: bool) -> None:
        """Prepare a capture. `legacy`: its stream is a blocking one."""
        self.lab, self.rt, self.cu = lab, lab.rt, lab.cu
        self.capturing, self.other, self.blocking = lab.stream(legacy), lab.stream(), lab.stream(blocking=True)
        self.captured, self.recorded, self.fresh = lab.event(), lab.event(self.other), lab.event()
        """events: to be recorded in the capture, recorded outside, never recorded"""
        self.plain, self.victim = lab.plain(PAGE), lab.plain(PAGE)
        self.pooled, self.host_victim, self.managed = lab.pooled(self.other, PAGE), lab.pinned(PAGE), lab.managed(PAGE)
        self.page = int(lab.pageable(2 * PAGE).ctypes.data)
        graph = lab.ok(lab.rt.cudaGraphCreate(0))
        lab.ok(lab.rt.cudaGraphAddEmptyNode(graph, None, 0))
        self.graph, self.exec = graph, lab.instantiate(graph)
        self.pool, self.default_pool = lab.pool(), lab.ok(lab.rt.cudaDeviceGetDefaultMemPool(0))
        lab.ok(lab.rt.cudaDeviceSynchronize())


Call = Callable[[Bench], Sequence[Any]]


@dataclass(frozen=True, slots=True)
class Row:
    """A call."""

    name: str
    call: Call
    facts: tuple[str, ...] = ()
    legacy: bool = False
    """the capturing stream is a blocking one"""


def _location(b: Bench) -> Any:
    location = b.rt.cudaMemLocation()
    location.type, location.id = b.rt.cudaMemLocationType.cudaMemLocationTypeDevice, 0
    return location


def _host_function(b: Bench) -> Sequence[Any]:
    return b.lab.host_function(b.capturing, lambda: None)  # type: ignore[no-any-return]


def _callback(b: Bench) -> Sequence[Any]:
    kind = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p)
    function = kind(lambda stream, status, data: None)
    b.lab._kept.append(function)
    address = ctypes.cast(function, ctypes.c_void_p).value
    return b.rt.cudaStreamAddCallback(b.capturing, b.rt.cudaStreamCallback_t(address), 0, 0)  # type: ignore[no-any-return]


def _pool_create(b: Bench) -> Sequence[Any]:
    properties = b.rt.cudaMemPoolProps()
    properties.allocType = b.rt.cudaMemAllocationType.cudaMemAllocationTypePinned
    properties.location.type = b.rt.cudaMemLocationType.cudaMemLocationTypeDevice
    return b.rt.cudaMemPoolCreate(properties)  # type: ignore[no-any-return]


ROWS = (
    Row("cudaStreamSynchronize(capturing)", lambda b: b.rt.cudaStreamSynchronize(b.capturing), ("C-01", "G-05")),
    Row("cudaStreamQuery(capturing)", lambda b: b.rt.cudaStreamQuery(b.capturing), ("C-01",)),
    Row("cudaDeviceSynchronize", lambda b: b.rt.cudaDeviceSynchronize(), ("C-01",)),
    Row("cuCtxSynchronize", lambda b: b.cu.cuCtxSynchronize(), ("C-01",)),
    Row("cudaEventSynchronize(captured)", lambda b: b.rt.cudaEventSynchronize(b.captured), ("C-02",)),
    Row("cudaEventQuery(captured)", lambda b: b.rt.cudaEventQuery(b.captured), ("C-02",)),
    Row("cudaEventElapsedTime(captured)", lambda b: b.rt.cudaEventElapsedTime(b.captured, b.captured), ("C-03",)),
    Row("cudaStreamSynchronize(other)", lambda b: b.rt.cudaStreamSynchronize(b.other), ("C-04",)),
    Row("cudaStreamQuery(other)", lambda b: b.rt.cudaStreamQuery(b.other), ("C-04",)),
    Row("cudaEventSynchronize(other)", lambda b: b.rt.cudaEventSynchronize(b.recorded), ("C-04",)),
    Row("cudaEventQuery(other)", lambda b: b.rt.cudaEventQuery(b.recorded), ("C-04",)),
    Row("cudaMalloc", lambda b: b.rt.cudaMalloc(256), ("C-05", "G-06")),
    Row("cuMemAlloc", lambda b: b.cu.cuMemAlloc(256), ("C-05",)),
    Row("cudaMallocPitch", lambda b: b.rt.cudaMallocPitch(64, 4), ("C-05",)),
    Row("cudaMallocManaged", lambda b: b.rt.cudaMallocManaged(256, b.rt.cudaMemAttachGlobal), ("C-05",)),
    Row("cudaMallocHost", lambda b: b.rt.cudaMallocHost(256), ("C-05",)),
    Row("cudaFree", lambda b: b.rt.cudaFree(b.victim), ("C-05", "G-06")),
    Row("cuMemFree", lambda b: b.cu.cuMemFree(int(b.victim)), ("C-05",)),
    Row("cudaFree(NULL)", lambda b: b.rt.cudaFree(0), ("C-05",)),
    Row("cudaFree(pool memory)", lambda b: b.rt.cudaFree(b.pooled), ("C-05",)),
    Row("cudaFreeHost", lambda b: b.rt.cudaFreeHost(b.host_victim), ("C-05",)),
    Row("cudaHostRegister", lambda b: b.rt.cudaHostRegister(b.page, PAGE, 0), ("C-05",)),
    Row("cudaMallocAsync(other)", lambda b: b.rt.cudaMallocAsync(256, b.other), ("C-06",)),
    Row("cudaFreeAsync(pool memory, other)", lambda b: b.rt.cudaFreeAsync(b.pooled, b.other), ("C-06",)),
    Row("cudaMemPoolCreate", _pool_create, ("C-06",)),
    Row("cudaMemPoolTrimTo", lambda b: b.rt.cudaMemPoolTrimTo(b.default_pool, 0), ("C-06",)),
    Row("cudaMemPoolDestroy", lambda b: b.rt.cudaMemPoolDestroy(b.pool), ("C-22",)),
    Row(
        "cudaMemPoolGetAttribute",
        lambda b: b.rt.cudaMemPoolGetAttribute(b.default_pool, b.rt.cudaMemPoolAttr.cudaMemPoolAttrUsedMemCurrent),
        ("C-22",),
    ),
    Row("cudaGraphInstantiate", lambda b: b.rt.cudaGraphInstantiate(b.graph, 0), ("C-06",)),
    Row(
        "cudaDeviceSetLimit",
        lambda b: b.rt.cudaDeviceSetLimit(b.rt.cudaLimit.cudaLimitPrintfFifoSize, 1 << 21),
        ("C-06",),
    ),
    Row("cudaFreeAsync(pool memory, capturing)", lambda b: b.rt.cudaFreeAsync(b.pooled, b.capturing), ("C-07", "G-09")),
    Row(
        "cudaFreeAsync(cudaMalloc memory, capturing)",
        lambda b: b.rt.cudaFreeAsync(b.plain, b.capturing),
        ("C-07", "G-09"),
    ),
    Row("cudaMallocAsync(capturing)", lambda b: b.rt.cudaMallocAsync(256, b.capturing)),
    Row("cudaMemcpy pageable", lambda b: b.rt.cudaMemcpy(b.plain, b.page, 256, b.lab.h2d), ("C-08",)),
    Row("cudaMemcpy within the device", lambda b: b.rt.cudaMemcpy(b.plain, b.victim, 64, b.lab.d2d), ("C-08",)),
    Row("cudaMemset", lambda b: b.rt.cudaMemset(b.plain, 0, 256), ("C-08",)),
    Row("launch(legacy)", lambda b: b.lab.write_words(b.plain, 1, 0, 256), ("C-08",)),
    Row("launch(legacy), blocking", lambda b: b.lab.write_words(b.plain, 1, 0, 256), ("C-09",), True),
    Row("cudaMemsetAsync(legacy), blocking", lambda b: b.rt.cudaMemsetAsync(b.plain, 0, 64, 0), ("C-09",), True),
    Row("cudaMemcpy, blocking", lambda b: b.rt.cudaMemcpy(b.plain, b.page, 256, b.lab.h2d), ("C-09",), True),
    Row("cudaStreamSynchronize(legacy), blocking", lambda b: b.rt.cudaStreamSynchronize(0), ("C-09",), True),
    Row("cudaStreamQuery(legacy), blocking", lambda b: b.rt.cudaStreamQuery(0), ("C-09",), True),
    Row("cudaEventRecord(legacy), blocking", lambda b: b.rt.cudaEventRecord(b.fresh, 0), ("C-09",), True),
    Row(
        "cudaStreamWaitEvent(legacy, captured), blocking",
        lambda b: b.rt.cudaStreamWaitEvent(0, b.captured, 0),
        ("C-09",),
        True,
    ),
    Row("launch(other blocking), blocking", lambda b: b.lab.write_words(b.plain, 1, b.blocking, 256), ("C-10",), True),
    Row("cudaMemsetAsync(other)", lambda b: b.rt.cudaMemsetAsync(b.plain, 0, 256, b.other), ("C-10",)),
    Row(
        "cudaMemcpyAsync(pageable, capturing)",
        lambda b: b.rt.cudaMemcpyAsync(b.plain, b.page, 256, b.lab.h2d, b.capturing),
        ("C-10",),
    ),
    Row(
        "cudaMemcpyAsync(to pageable, capturing)",
        lambda b: b.rt.cudaMemcpyAsync(b.page, b.plain, 256, b.lab.d2h, b.capturing),
        ("C-10",),
    ),
    Row(
        "cudaStreamWaitEvent(capturing, from outside)",
        lambda b: b.rt.cudaStreamWaitEvent(b.capturing, b.recorded, 0),
        ("C-11",),
    ),
    Row(
        "cudaStreamWaitEvent(capturing, never recorded)",
        lambda b: b.rt.cudaStreamWaitEvent(b.capturing, b.fresh, 0),
        ("C-11",),
    ),
    Row(
        "cudaStreamWaitEvent(capturing, from outside, external)",
        lambda b: b.rt.cudaStreamWaitEvent(b.capturing, b.recorded, b.rt.cudaEventWaitExternal),
        ("C-11",),
    ),
    Row(
        "cudaEventRecordWithFlags(capturing, external)",
        lambda b: b.rt.cudaEventRecordWithFlags(b.fresh, b.capturing, b.rt.cudaEventRecordExternal),
    ),
    Row(
        "cudaStreamBeginCapture(capturing)",
        lambda b: b.rt.cudaStreamBeginCapture(b.capturing, b.lab.capture_mode("Global")),
        ("C-12",),
    ),
    Row("cudaStreamEndCapture(other)", lambda b: b.rt.cudaStreamEndCapture(b.other), ("C-12",)),
    Row(
        "cudaStreamBeginCapture(legacy)",
        lambda b: b.rt.cudaStreamBeginCapture(0, b.lab.capture_mode("Global")),
        ("C-13",),
    ),
    Row("cudaGraphLaunch(capturing)", lambda b: b.rt.cudaGraphLaunch(b.exec, b.capturing), ("C-14",)),
    Row("cudaStreamAddCallback(capturing)", _callback, ("C-14",)),
    Row(
        "cudaStreamAttachMemAsync(capturing)",
        lambda b: b.rt.cudaStreamAttachMemAsync(b.capturing, b.managed, 0, b.rt.cudaMemAttachSingle),
        ("C-14",),
    ),
    Row(
        "cudaMemPrefetchAsync(managed, capturing)",
        lambda b: b.rt.cudaMemPrefetchAsync(b.managed, 256, _location(b), 0, b.capturing),
        ("C-14",),
    ),
    Row("cudaGraphLaunch(other)", lambda b: b.rt.cudaGraphLaunch(b.exec, b.other), ("C-15",)),
    Row("cudaGraphUpload(other)", lambda b: b.rt.cudaGraphUpload(b.exec, b.other), ("C-15",)),
    Row("cudaLaunchHostFunc(capturing)", _host_function, ("C-15",)),
    Row("cudaStreamCreate", lambda b: b.rt.cudaStreamCreate(), ("C-15",)),
    Row("cudaStreamDestroy(other)", lambda b: b.rt.cudaStreamDestroy(b.other)),
    Row("cudaEventCreate", lambda b: b.rt.cudaEventCreate(), ("C-15",)),
    Row("cudaEventRecord(other)", lambda b: b.rt.cudaEventRecord(b.fresh, b.other)),
    Row("cudaEventDestroy(captured)", lambda b: b.rt.cudaEventDestroy(b.captured), ("C-15",)),
    Row("cudaMemGetInfo", lambda b: b.rt.cudaMemGetInfo(), ("C-15",)),
    Row("cudaPointerGetAttributes", lambda b: b.rt.cudaPointerGetAttributes(b.plain), ("C-15",)),
    Row("cudaDeviceGraphMemTrim", lambda b: b.rt.cudaDeviceGraphMemTrim(0), ("C-15",)),
    Row("cudaStreamWaitEvent(other, captured)", lambda b: b.rt.cudaStreamWaitEvent(b.other, b.captured, 0)),
    Row("cudaStreamIsCapturing(legacy)", lambda b: b.rt.cudaStreamIsCapturing(0)),
    Row("cudaStreamIsCapturing(legacy), blocking", lambda b: b.rt.cudaStreamIsCapturing(0), legacy=True),
    Row("cudaGetLastError", lambda b: b.rt.cudaGetLastError()),
    Row("cudaSetDevice", lambda b: b.rt.cudaSetDevice(0)),
    Row("cuModuleLoadData", lambda b: b.cu.cuModuleLoadData(b.lab._image)),
    Row("cuStreamWriteValue32(capturing)", lambda b: b.cu.cuStreamWriteValue32(int(b.capturing), int(b.plain), 1, 0)),
    Row("cuMemAddressReserve", lambda b: b.cu.cuMemAddressReserve(2 << 20, 0, 0, 0), ("C-22",)),
    Row(
        "cudaMallocArray",
        lambda b: b.rt.cudaMallocArray(
            b.lab.ok(b.rt.cudaCreateChannelDesc(32, 0, 0, 0, b.rt.cudaChannelFormatKind.cudaChannelFormatKindUnsigned)),
            64,
            4,
            0,
        ),
        ("C-22",),
    ),
)


def _call(lab: Lab, row: Row) -> Observations:
    """Observe of each mode and thread: the status of the call, then that of the capture's end."""
    rt = lab.rt
    observed: Observations = {}
    lab.kernel("write_words")
    for mode in MODES:
        for thread in ("same", "other"):
            bench = Bench(lab, row.legacy)
            lab.begin_capture(bench.capturing, mode)
            lab.ok(rt.cudaMemsetAsync(bench.plain, 1, PAGE, bench.capturing))
            lab.ok(rt.cudaEventRecord(bench.captured, bench.capturing))

            def call(bench: Bench = bench) -> str:
                status = lab.status(row.call(bench))
                rt.cudaGetLastError()
                return status

            try:
                status = call() if thread == "same" else lab.on_thread(call)
            finally:
                end = lab.status(rt.cudaStreamEndCapture(bench.capturing))
            rt.cudaGetLastError()
            rt.cudaDeviceSynchronize()
            for stream in (bench.capturing, bench.blocking):
                lab.ok(rt.cudaStreamDestroy(stream))
            observed[f"{mode}, {thread} thread"] = [status, end]
    return observed


for row in ROWS:
    kind = "blocking" if row.legacy else "non-blocking"
    statement = f"{row.name} while a {kind} stream captures"
    capture_case.row(row.name, statement, (*row.facts, "capture-modes"), _call, row)
