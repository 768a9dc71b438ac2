"""Copies of other shapes and places: arrays, rows, managed memory, prefetches, within the host."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from conformance.cases.copies import Call
from conformance.lab import SIZE, Lab
from conformance.registry import Family, Observations

copy_case = Family("copy", timed=True)


@copy_case("copy-return")
def host_to_host(lab: Lab) -> Observations:
    """cudaMemcpyAsync from host to host memory behind a kernel: does it wait; are the words there on return."""
    rt = lab.rt
    observed: Observations = {}
    makers: dict[str, Callable[[], Any]] = {
        "pageable": lab.pageable,
        "pinned": lambda: lab.host_bytes(lab.pinned()),
    }
    for name, make in makers.items():
        stream = lab.stream()
        to, source = make(), make()
        source[:], to[:] = 4, 1
        pending = lab.busy(stream)
        places = int(to.ctypes.data), int(source.ctypes.data)
        _, observed[f"{name} waited"] = lab.timed(pending, partial(rt.cudaMemcpyAsync, *places, SIZE, lab.h2h, stream))
        observed[f"{name} wrong"] = lab.amount(to, 4)
        lab.ok(rt.cudaStreamSynchronize(stream))
    return observed


@copy_case("L-24", "copy-return")
def managed_to_managed(lab: Lab) -> Observations:
    """cudaMemcpyAsync and cudaMemcpy between managed buffers behind a kernel."""
    rt, stream, to, source = lab.rt, lab.stream(blocking=True), lab.managed(), lab.managed()
    lab.ok(rt.cudaMemcpy(to, source, SIZE, lab.default))
    lab.ok(rt.cudaDeviceSynchronize())
    pending = lab.busy(stream)
    _, first = lab.timed(pending, lambda: rt.cudaMemcpyAsync(to, source, SIZE, lab.default, stream))
    _, second = lab.timed(pending, lambda: rt.cudaMemcpy(to, source, SIZE, lab.default))
    return {"cudaMemcpyAsync": first, "cudaMemcpy": second}


def _managed(lab: Lab, managed: str, kind: str, form: str) -> Observations:
    rt, stream = lab.rt, lab.stream(blocking=True)
    source = lab.plain() if managed == "target" else lab.managed()
    to = lab.plain() if managed == "source" else lab.managed()
    direction = getattr(lab, kind)
    lab.ok(rt.cudaMemcpy(to, source, SIZE, direction))
    lab.ok(rt.cudaDeviceSynchronize())
    pending = lab.busy(stream)
    if form == "async":
        return lab.waited(pending, lambda: rt.cudaMemcpyAsync(to, source, SIZE, direction, stream))
    return lab.waited(pending, lambda: rt.cudaMemcpy(to, source, SIZE, direction))


DIRECTIONS = {
    "source": ("default", "d2d", "h2d"),
    "target": ("default", "d2d", "d2h"),
    "both": ("default", "d2d", "h2d", "d2h"),
}
for managed, kinds in DIRECTIONS.items():
    for kind in kinds:
        for form, function, fact in (("async", "cudaMemcpyAsync", "L-23"), ("sync", "cudaMemcpy", "L-24")):
            copy_case.row(
                f"managed-{managed}/{kind}/{form}",
                f"{function}, direction {kind}, managed memory is its {managed}",
                (fact, "copy-return"),
                _managed,
                managed,
                kind,
                form,
            )


@copy_case("L-15")
def legacy_itself(lab: Lab) -> Observations:
    """cudaMemcpy of 4 bytes from pageable memory, the kernel in the legacy default stream itself."""
    device, pages = lab.plain(), int(lab.pageable().ctypes.data)
    pending = lab.busy(0)
    return lab.waited(pending, lambda: lab.rt.cudaMemcpy(device, pages, 4, lab.h2d))


@copy_case("copy-return")
def array(lab: Lab) -> Observations:
    """Copies between arrays and host memory behind a kernel."""
    rt, stream = lab.rt, lab.stream()
    kind = rt.cudaChannelFormatKind.cudaChannelFormatKindUnsigned
    array = lab.ok(rt.cudaMallocArray(lab.ok(rt.cudaCreateChannelDesc(32, 0, 0, 0, kind)), 256, 64, 0))
    pages, host = int(lab.pageable().ctypes.data), lab.pinned()
    calls: dict[str, Call] = {
        "to array, pinned": lambda: rt.cudaMemcpy2DToArrayAsync(array, 0, 0, host, 1024, 1024, 64, lab.h2d, stream),
        "to array, pageable": lambda: rt.cudaMemcpy2DToArrayAsync(array, 0, 0, pages, 1024, 1024, 64, lab.h2d, stream),
        "from array, pinned": lambda: rt.cudaMemcpy2DFromArrayAsync(host, 1024, array, 0, 0, 1024, 64, lab.d2h, stream),
        "from array, pageable": lambda: rt.cudaMemcpy2DFromArrayAsync(
            pages, 1024, array, 0, 0, 1024, 64, lab.d2h, stream
        ),
    }
    for call in calls.values():
        lab.ok(call())
    lab.ok(rt.cudaStreamSynchronize(stream))
    return lab.waits(stream, calls)


@copy_case("copy-return", name="2d-pageable")
def strided(lab: Lab) -> Observations:
    """cudaMemcpy2DAsync between pitched device memory and pageable memory behind a kernel, 64 KiB and 4 MiB."""
    rt, stream, device, pages = lab.rt, lab.stream(), lab.plain(16 << 20), int(lab.pageable(16 << 20).ctypes.data)
    calls: dict[str, Call] = {}
    for name, rows in (("64 KiB", 64), ("4 MiB", 4096)):
        to_device = (device, 2048, pages, 2048, 1024, rows, lab.h2d, stream)
        to_host = (pages, 2048, device, 2048, 1024, rows, lab.d2h, stream)
        calls[f"to device, {name}"] = partial(rt.cudaMemcpy2DAsync, *to_device)
        calls[f"to host, {name}"] = partial(rt.cudaMemcpy2DAsync, *to_host)
    for call in calls.values():
        lab.ok(call())
    lab.ok(rt.cudaStreamSynchronize(stream))
    return lab.waits(stream, calls)


@copy_case("copy-return")
def prefetch(lab: Lab) -> Observations:
    """cudaMemPrefetchAsync of managed memory behind a kernel, to the device and to the host."""
    rt, stream, memory = lab.rt, lab.stream(), lab.managed()
    here, host = rt.cudaMemLocation(), rt.cudaMemLocation()
    here.type, here.id = rt.cudaMemLocationType.cudaMemLocationTypeDevice, 0
    host.type, host.id = rt.cudaMemLocationType.cudaMemLocationTypeHost, 0
    lab.ok(rt.cudaMemPrefetchAsync(memory, SIZE, here, 0, stream))
    lab.ok(rt.cudaStreamSynchronize(stream))
    places = {"to host": host, "to device": here}
    return lab.waits(
        stream,
        {name: partial(rt.cudaMemPrefetchAsync, memory, SIZE, place, 0, stream) for name, place in places.items()},
    )
