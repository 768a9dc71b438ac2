"""Copies of other shapes and places: arrays, rows, managed memory, prefetches, within the host."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from conformance.cases.copies import Call
from conformance.lab import SIZE, Lab
from conformance.registry import Case, Observations, case, family


@case(
    "copy/host-to-host",
    "cudaMemcpyAsync from host to host memory behind a kernel: does it wait; are the words there on return",
    ["copy-return"],
    timed=True,
)
def host_to_host(lab: Lab) -> Observations:
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
        _, observed[f"{name} waited"] = lab.timed(
            pending,
            lambda to=to, source=source, stream=stream: rt.cudaMemcpyAsync(  # type: ignore[misc]
                int(to.ctypes.data), int(source.ctypes.data), SIZE, lab.h2h, stream
            ),
        )
        observed[f"{name} wrong"] = lab.amount(to, 4)
        lab.ok(rt.cudaStreamSynchronize(stream))
    return observed


@case(
    "copy/managed-to-managed",
    "cudaMemcpyAsync and cudaMemcpy between managed buffers behind a kernel",
    ["L-24", "copy-return"],
    timed=True,
)
def managed_to_managed(lab: Lab) -> Observations:
    rt, stream, to, source = lab.rt, lab.stream(blocking=True), lab.managed(), lab.managed()
    lab.ok(rt.cudaMemcpy(to, source, SIZE, lab.default))
    lab.ok(rt.cudaDeviceSynchronize())
    pending = lab.busy(stream)
    _, first = lab.timed(pending, lambda: rt.cudaMemcpyAsync(to, source, SIZE, lab.default, stream))
    _, second = lab.timed(pending, lambda: rt.cudaMemcpy(to, source, SIZE, lab.default))
    return {"cudaMemcpyAsync": first, "cudaMemcpy": second}


def _managed(lab: Lab, source_managed: bool, to_managed: bool, kind: str, form: str) -> Observations:
    rt, stream = lab.rt, lab.stream(blocking=True)
    source = lab.managed() if source_managed else lab.plain()
    to = lab.managed() if to_managed else lab.plain()
    direction = getattr(lab, kind)
    lab.ok(rt.cudaMemcpy(to, source, SIZE, direction))
    lab.ok(rt.cudaDeviceSynchronize())
    pending = lab.busy(stream)
    if form == "async":
        return lab.waited(pending, lambda: rt.cudaMemcpyAsync(to, source, SIZE, direction, stream))
    return lab.waited(pending, lambda: rt.cudaMemcpy(to, source, SIZE, direction))


family(
    (
        Case(
            f"copy/managed-{name}/{kind}/{form}",
            f"{'cudaMemcpyAsync' if form == 'async' else 'cudaMemcpy'}, direction {kind}, managed memory is its {name}",
            ("L-23" if form == "async" else "L-24", "copy-return"),
            lambda lab: {},
            timed=True,
        ),
        _managed,
        (source, to, kind, form),
    )
    for name, source, to, kinds in (
        ("source", True, False, ("default", "d2d", "h2d")),
        ("target", False, True, ("default", "d2d", "d2h")),
        ("both", True, True, ("default", "d2d", "h2d", "d2h")),
    )
    for kind in kinds
    for form in ("async", "sync")
)


@case(
    "copy/legacy-itself",
    "cudaMemcpy of 4 bytes from pageable memory, the kernel in the legacy default stream itself",
    ["L-15"],
    timed=True,
    expected={"status": "cudaSuccess", "waited": True},
)
def behind_legacy(lab: Lab) -> Observations:
    device, pages = lab.plain(), int(lab.pageable().ctypes.data)
    pending = lab.busy(0)
    return lab.waited(pending, lambda: lab.rt.cudaMemcpy(device, pages, 4, lab.h2d))


@case(
    "copy/array",
    "copies between arrays and host memory behind a kernel",
    ["copy-return"],
    timed=True,
)
def arrays(lab: Lab) -> Observations:
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
    observed: Observations = {}
    for name, call in calls.items():
        lab.ok(call())
        lab.ok(rt.cudaStreamSynchronize(stream))
        pending = lab.busy(stream)
        _, observed[name] = lab.timed(pending, call)
        lab.ok(rt.cudaStreamSynchronize(stream))
    return observed


@case(
    "copy/2d-pageable",
    "cudaMemcpy2DAsync between pitched device memory and pageable memory behind a kernel, 64 KiB and 4 MiB",
    ["copy-return"],
    timed=True,
)
def strided(lab: Lab) -> Observations:
    rt, stream, device, pages = lab.rt, lab.stream(), lab.plain(16 << 20), int(lab.pageable(16 << 20).ctypes.data)
    observed: Observations = {}
    for name, rows in (("64 KiB", 64), ("4 MiB", 4096)):
        for direction, to, source, kind in (
            ("to device", device, pages, lab.h2d),
            ("to host", pages, device, lab.d2h),
        ):

            def call(to: Any = to, source: Any = source, rows: int = rows, kind: Any = kind) -> Sequence[Any]:
                return rt.cudaMemcpy2DAsync(to, 2048, source, 2048, 1024, rows, kind, stream)  # type: ignore[no-any-return]

            lab.ok(call())
            lab.ok(rt.cudaStreamSynchronize(stream))
            pending = lab.busy(stream)
            _, observed[f"{direction}, {name}"] = lab.timed(pending, call)
            lab.ok(rt.cudaStreamSynchronize(stream))
    return observed


@case(
    "copy/prefetch",
    "cudaMemPrefetchAsync of managed memory behind a kernel, to the device and to the host",
    ["copy-return"],
    timed=True,
)
def prefetch(lab: Lab) -> Observations:
    rt, stream, memory = lab.rt, lab.stream(), lab.managed()
    here, host = rt.cudaMemLocation(), rt.cudaMemLocation()
    here.type, here.id = rt.cudaMemLocationType.cudaMemLocationTypeDevice, 0
    host.type, host.id = rt.cudaMemLocationType.cudaMemLocationTypeHost, 0
    lab.ok(rt.cudaMemPrefetchAsync(memory, SIZE, here, 0, stream))
    lab.ok(rt.cudaStreamSynchronize(stream))
    observed: Observations = {}
    for name, place in (("to host", host), ("to device", here)):
        pending = lab.busy(stream)
        _, observed[name] = lab.timed(
            pending,
            lambda place=place: rt.cudaMemPrefetchAsync(memory, SIZE, place, 0, stream),  # type: ignore[misc]
        )
        lab.ok(rt.cudaStreamSynchronize(stream))
    return observed
