"""Copies: when the call returns against its completion, by kinds of memory, direction, size and form."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from conformance.lab import SIZE, Lab
from conformance.registry import Case, Observation, Observations, case, family

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


FACTS: dict[tuple[str, str, str], tuple[tuple[str, ...], dict[str, Observation]]] = {
    ("pageable", "to-device", "async"): (("L-09",), {"1 KiB": False, "1 MiB": False}),
    ("pageable", "to-host", "async"): (("L-10",), {"1 KiB": True, "16 MiB": True}),
    ("pageable", "to-device", "sync-blocking"): (("L-06",), {"1 KiB": True, "16 MiB": True}),
    ("pageable", "to-device", "sync-non-blocking"): (("L-07",), {"1 KiB": False, "16 MiB": False}),
    ("pinned", "to-device", "sync-blocking"): (("L-08",), {"1 KiB": True, "16 MiB": True}),
}


def _copy(lab: Lab, host: str, direction: str, form: str) -> Observations:
    rt, device, other = lab.rt, lab.plain(MOST), HOSTS[host](lab)
    stream = lab.stream(blocking=form == "sync-blocking")
    to, source, kind = (device, other, lab.h2d) if direction == "to-device" else (other, device, lab.d2h)
    lab.ok(rt.cudaMemcpy(to, source, MOST, kind))  # the pages are there
    observed: Observations = {}
    for name, size in SIZES.items():
        pending = lab.busy(stream)
        if form == "async":
            _, observed[name] = lab.timed(pending, lambda size=size: rt.cudaMemcpyAsync(to, source, size, kind, stream))  # type: ignore[misc]
        else:
            _, observed[name] = lab.timed(pending, lambda size=size: rt.cudaMemcpy(to, source, size, kind))  # type: ignore[misc]
        lab.ok(rt.cudaDeviceSynchronize())
    return observed


def _rows() -> Any:
    for host in HOSTS:
        for direction in ("to-device", "to-host"):
            for form, statement in FORMS.items():
                covers, expected = FACTS.get((host, direction, form), ((), {}))
                yield (
                    Case(
                        f"copy/{host}/{direction}/{form}",
                        f"{statement}, {direction.replace('-', ' ')}, {host} memory: does the call wait for the kernel",
                        (*covers, "copy-return"),
                        lambda lab: {},
                        expected,
                        timed=True,
                    ),
                    _copy,
                    (host, direction, form),
                )


family(_rows())


def _threshold(lab: Lab, direction: str) -> Observations:
    rt, stream = lab.rt, lab.stream()
    device, pages = lab.plain(64 << 20), int(lab.pageable(64 << 20).ctypes.data)
    to, source, kind = (device, pages, lab.h2d) if direction == "to-device" else (pages, device, lab.d2h)
    lab.ok(rt.cudaMemcpy(to, source, 64 << 20, kind))
    observed: Observations = {}
    for mib in (2, 4, 8, 32, 64):
        pending = lab.busy(stream)
        _, observed[f"{mib} MiB"] = lab.timed(
            pending,
            lambda mib=mib: rt.cudaMemcpyAsync(to, source, mib << 20, kind, stream),  # type: ignore[misc]
        )
        lab.ok(rt.cudaStreamSynchronize(stream))
    return observed


@case(
    "copy/pageable/to-device/large",
    "cudaMemcpyAsync from pageable memory of 2 to 64 MiB behind a kernel",
    ["L-25", "L-09", "copy-return"],
    timed=True,
    expected={"64 MiB": True},
)
def large_to_device(lab: Lab) -> Observations:
    return _threshold(lab, "to-device")


@case(
    "copy/pageable/to-host/large",
    "cudaMemcpyAsync to pageable memory of 2 to 64 MiB behind a kernel",
    ["L-10", "copy-return"],
    timed=True,
    expected={"64 MiB": True},
)
def large_to_host(lab: Lab) -> Observations:
    return _threshold(lab, "to-host")


@case(
    "copy/pageable/small",
    "cudaMemcpyAsync from pageable memory of 4 bytes to 64 KiB, one after the other behind one kernel",
    ["L-09", "copy-return"],
    timed=True,
)
def small_pageable(lab: Lab) -> Observations:
    rt, stream, device, pages = lab.rt, lab.stream(), lab.plain(), int(lab.pageable().ctypes.data)
    pending = lab.busy(stream)
    observed: Observations = {}
    for size in (4, 256, 4096, 32 << 10, 64 << 10):
        _, observed[str(size)] = lab.timed(
            pending,
            lambda size=size: rt.cudaMemcpyAsync(device, pages, size, lab.h2d, stream),  # type: ignore[misc]
        )
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
    lab.ok(calls[call]())
    lab.ok(rt.cudaDeviceSynchronize())
    pending = lab.busy(stream)
    return lab.waited(pending, calls[call])


def _device_rows() -> Any:
    for call in (
        "cudaMemcpy",
        "cudaMemcpyDefault",
        "cudaMemcpyAsync",
        "cudaMemcpy2D",
        "cuMemcpyDtoD",
        "cuMemcpy",
        "cudaMemcpyPeer",
    ):
        expected: dict[str, Observation] = {"status": "cudaSuccess", "waited": False} if call == "cudaMemcpy" else {}
        yield (
            Case(
                f"copy/device-to-device/{call}",
                f"{call} within the device while a kernel runs on a blocking stream",
                ("L-11", "copy-return"),
                lambda lab: {},
                expected,
                timed=True,
            ),
            _device_to_device,
            (call,),
        )


family(_device_rows())


def _driver_copy(lab: Lab, call: str) -> Observations:
    cu, rt = lab.cu, lab.rt
    device, host, stream = int(lab.plain()), lab.pinned(), lab.stream(blocking=True)
    pages = int(lab.pageable().ctypes.data)
    handle = int(stream)
    calls: dict[str, Call] = {
        "cuMemcpyHtoD pageable": lambda: cu.cuMemcpyHtoD(device, pages, SIZE),
        "cuMemcpyHtoD pinned": lambda: cu.cuMemcpyHtoD(device, host, SIZE),
        "cuMemcpyDtoH pageable": lambda: cu.cuMemcpyDtoH(pages, device, SIZE),
        "cuMemcpyDtoH pinned": lambda: cu.cuMemcpyDtoH(host, device, SIZE),
        "cuMemcpyHtoDAsync pageable": lambda: cu.cuMemcpyHtoDAsync(device, pages, 4096, handle),
        "cuMemcpyHtoDAsync pinned": lambda: cu.cuMemcpyHtoDAsync(device, host, SIZE, handle),
        "cuMemcpyDtoHAsync pageable": lambda: cu.cuMemcpyDtoHAsync(pages, device, 4096, handle),
        "cuMemcpyDtoHAsync pinned": lambda: cu.cuMemcpyDtoHAsync(host, device, SIZE, handle),
    }
    lab.ok(calls[call]())
    lab.ok(rt.cudaDeviceSynchronize())
    pending = lab.busy(stream)
    return lab.waited(pending, calls[call])


family(
    (
        Case(
            f"copy/driver/{call.replace(' ', '-')}",
            f"{call.replace(' ', ', ')} memory, while a kernel runs on a blocking stream (its own if asynchronous)",
            ("L-06", "L-08", "copy-return") if "HtoD" in call else ("L-10", "copy-return"),
            lambda lab: {},
            timed=True,
        ),
        _driver_copy,
        (call,),
    )
    for call in (
        "cuMemcpyHtoD pageable",
        "cuMemcpyHtoD pinned",
        "cuMemcpyDtoH pageable",
        "cuMemcpyDtoH pinned",
        "cuMemcpyHtoDAsync pageable",
        "cuMemcpyHtoDAsync pinned",
        "cuMemcpyDtoHAsync pageable",
        "cuMemcpyDtoHAsync pinned",
    )
)
