"""Copies: when the call returns against its completion, by kinds of memory, direction, size and form."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from conformance.lab import SIZE, Lab
from conformance.registry import Family, Observations

copy_case = Family("copy", timed=True)

Call = Callable[[], Sequence[Any]]


SIZES = {"1 KiB": 1 << 10, "64 KiB": 64 << 10, "128 KiB": 128 << 10, "1 MiB": 1 << 20, "16 MiB": 16 << 20}


MOST = max(SIZES.values())


def _pageable(lab: Lab) -> int:
    return int(lab.pageable(MOST).ctypes.data)


def _pinned(lab: Lab) -> int:
    return int(lab.pinned(MOST))


def _managed_address(lab: Lab) -> int:
    return int(lab.managed(MOST))


def _registered(lab: Lab) -> int:
    address = _pageable(lab)
    lab.ok(lab.rt.cudaHostRegister(address, MOST, 0))
    return address


HOSTS = {"pageable": _pageable, "pinned": _pinned, "managed": _managed_address, "registered": _registered}


FORMS = {
    "async": "cudaMemcpyAsync behind a kernel on its own non-blocking stream",
    "sync-blocking": "cudaMemcpy while a kernel runs on a blocking stream",
    "sync-non-blocking": "cudaMemcpy while a kernel runs on a non-blocking stream",
}


FACTS = {
    ("pageable", "to-device", "async"): ("L-09",),
    ("pageable", "to-host", "async"): ("L-10",),
    ("pageable", "to-device", "sync-blocking"): ("L-06",),
    ("pageable", "to-device", "sync-non-blocking"): ("L-07",),
    ("pinned", "to-device", "sync-blocking"): ("L-08",),
}


def _copy(lab: Lab, host: str, direction: str, form: str) -> Observations:
    rt, device, other = lab.rt, lab.plain(MOST), HOSTS[host](lab)
    stream = lab.stream(blocking=form == "sync-blocking")
    to, source, kind = (device, other, lab.h2d) if direction == "to-device" else (other, device, lab.d2h)
    lab.ok(rt.cudaMemcpy(to, source, MOST, kind))  # the pages are there
    calls: dict[str, Call] = {}
    for name, size in SIZES.items():
        if form == "async":
            calls[name] = partial(rt.cudaMemcpyAsync, to, source, size, kind, stream)
        else:
            calls[name] = partial(rt.cudaMemcpy, to, source, size, kind)
    return lab.waits(stream, calls)


for host in HOSTS:
    for direction in ("to-device", "to-host"):
        for form, statement in FORMS.items():
            copy_case.row(
                f"{host}/{direction}/{form}",
                f"{statement}, {direction.replace('-', ' ')}, {host} memory: does the call wait for the kernel",
                (*FACTS.get((host, direction, form), ()), "copy-return"),
                _copy,
                host,
                direction,
                form,
            )


def _threshold(lab: Lab, direction: str) -> Observations:
    rt, stream = lab.rt, lab.stream()
    device, pages = lab.plain(64 << 20), int(lab.pageable(64 << 20).ctypes.data)
    to, source, kind = (device, pages, lab.h2d) if direction == "to-device" else (pages, device, lab.d2h)
    lab.ok(rt.cudaMemcpy(to, source, 64 << 20, kind))
    sizes = {f"{mib} MiB": mib << 20 for mib in (2, 4, 8, 32, 64)}
    return lab.waits(
        stream, {name: partial(rt.cudaMemcpyAsync, to, source, size, kind, stream) for name, size in sizes.items()}
    )


@copy_case("L-25", "L-09", "copy-return", name="pageable/to-device/large")
def large_to_device(lab: Lab) -> Observations:
    """cudaMemcpyAsync from pageable memory of 2 to 64 MiB behind a kernel."""
    return _threshold(lab, "to-device")


@copy_case("L-10", "copy-return", name="pageable/to-host/large")
def large_to_host(lab: Lab) -> Observations:
    """cudaMemcpyAsync to pageable memory of 2 to 64 MiB behind a kernel."""
    return _threshold(lab, "to-host")


@copy_case("L-09", "copy-return", name="pageable/small")
def small_pageable(lab: Lab) -> Observations:
    """cudaMemcpyAsync from pageable memory of 4 bytes to 64 KiB, one after the other behind one kernel."""
    rt, stream, device, pages = lab.rt, lab.stream(), lab.plain(), int(lab.pageable().ctypes.data)
    pending = lab.busy(stream)
    observed: Observations = {}
    for size in (4, 256, 4096, 32 << 10, 64 << 10):
        _, observed[str(size)] = lab.timed(pending, partial(rt.cudaMemcpyAsync, device, pages, size, lab.h2d, stream))
    return observed


def _device_to_device(lab: Lab, call: str) -> Observations:
    rt, cu = lab.rt, lab.cu
    to, source, stream = lab.plain(64 << 20), lab.plain(64 << 20), lab.stream(blocking=True)
    size = 64 << 20
    pitch = 1 << 16
    calls: dict[str, Call] = {
        "cudaMemcpy": lambda: rt.cudaMemcpy(to, source, size, lab.d2d),
        "cudaMemcpyDefault": lambda: rt.cudaMemcpy(to, source, size, lab.default),
        "cudaMemcpyAsync": lambda: rt.cudaMemcpyAsync(to, source, size, lab.d2d, stream),
        "cudaMemcpy2D": lambda: rt.cudaMemcpy2D(to, pitch, source, pitch, 1000, 512, lab.d2d),
        "cuMemcpyDtoD": lambda: cu.cuMemcpyDtoD(int(to), int(source), size),
        "cuMemcpy": lambda: cu.cuMemcpy(int(to), int(source), size),
        "cudaMemcpyPeer": lambda: rt.cudaMemcpyPeer(to, 0, source, 0, size),
    }
    return lab.repeated(stream, calls[call])


for call in (
    "cudaMemcpy",
    "cudaMemcpyDefault",
    "cudaMemcpyAsync",
    "cudaMemcpy2D",
    "cuMemcpyDtoD",
    "cuMemcpy",
    "cudaMemcpyPeer",
):
    statement = f"{call} within the device while a kernel runs on a blocking stream"
    copy_case.row(f"device-to-device/{call}", statement, ("L-11", "copy-return"), _device_to_device, call)


def _driver_copy(lab: Lab, call: str, memory: str) -> Observations:
    device, stream = int(lab.plain()), lab.stream(blocking=True)
    host = int(lab.pageable().ctypes.data if memory == "pageable" else lab.pinned())
    size = 4096 if call.endswith("Async") and memory == "pageable" else SIZE
    places = (device, host) if "HtoD" in call else (host, device)
    queue = (int(stream),) if call.endswith("Async") else ()
    return lab.repeated(stream, partial(getattr(lab.cu, call), *places, size, *queue))


for call in ("cuMemcpyHtoD", "cuMemcpyDtoH", "cuMemcpyHtoDAsync", "cuMemcpyDtoHAsync"):
    for memory in ("pageable", "pinned"):
        copy_case.row(
            f"driver/{call}-{memory}",
            f"{call}, {memory} memory, while a kernel runs on a blocking stream (its own if asynchronous)",
            ("L-06", "L-08", "copy-return") if "HtoD" in call else ("L-10", "copy-return"),
            _driver_copy,
            call,
            memory,
        )
