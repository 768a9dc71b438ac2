"""What copies bring: sources changed after the return, words read too early, odd arguments."""

from __future__ import annotations

import numpy as np

from conformance.cases.copies import HOSTS, MOST, SIZES, Call
from conformance.lab import SIZE, Lab
from conformance.registry import Family, Observations

read_after_return_case = Family("copy/read-after-return", timed=True)
copy_case = Family("copy")


def _changed(lab: Lab, host: str) -> Observations:
    """The host changes the source once the asynchronous copy has returned."""
    rt, stream, device = lab.rt, lab.stream(), lab.plain(MOST)
    address = HOSTS[host](lab)
    source = lab.host_bytes(address, MOST)
    observed: Observations = {}
    for name, size in SIZES.items():
        source[:] = 5
        lab.ok(rt.cudaMemset(device, 0, MOST))
        lab.ok(rt.cudaDeviceSynchronize())
        lab.busy(stream)
        lab.ok(rt.cudaMemcpyAsync(device, address, size, lab.h2d, stream))
        source[:] = 9
        lab.ok(rt.cudaStreamSynchronize(stream))
        observed[name] = lab.wrong(device, 5, size)
    return observed


for host, facts in {"pageable": ("L-09",), "pinned": (), "registered": ()}.items():
    copy_case.row(
        f"changed-after-return/{host}",
        f"a {host} source is overwritten after cudaMemcpyAsync behind a kernel has returned: words that arrive changed",
        ("staging", *facts),
        _changed,
        host,
        timed=True,
    )


@read_after_return_case("copy-return")
def pinned(lab: Lab) -> Observations:
    """The host reads pinned memory after an asynchronous copy to it has returned, and after the wait."""
    rt, stream, device, host = lab.rt, lab.stream(), lab.plain(byte=5), lab.pinned()
    words = lab.host_bytes(host)
    words[:] = 1
    lab.busy(stream)
    lab.ok(rt.cudaMemcpyAsync(host, device, SIZE, lab.d2h, stream))
    early = lab.amount(words, 5)
    lab.ok(rt.cudaStreamSynchronize(stream))
    return {"wrong before the wait": early, "wrong after it": lab.amount(words, 5)}


@read_after_return_case("L-10", "copy-return")
def pageable(lab: Lab) -> Observations:
    """The host reads pageable memory after an asynchronous copy to it has returned."""
    rt, stream, device, pages = lab.rt, lab.stream(), lab.plain(byte=5), lab.pageable()
    lab.busy(stream)
    lab.ok(rt.cudaMemcpyAsync(int(pages.ctypes.data), device, SIZE, lab.d2h, stream))
    return {"wrong": lab.amount(pages, 5)}


@copy_case("opaque-order", timed=True)
def words_of_a_wrong_order(lab: Lab) -> Observations:
    """Two streams without an order: one writes late, the other copies at once."""
    rt, writing, reading, memory = lab.rt, lab.stream(), lab.stream(), lab.plain(byte=1)
    lab.busy(writing)
    lab.ok(lab.write_words(memory, 0x05050505, writing))
    result = lab.read_later(memory, reading)
    lab.ok(rt.cudaStreamSynchronize(reading))
    return {"old words": lab.wrong(result, 1) == "none", "new words at the end": lab.wrong(memory, 5) == "none"}


@copy_case("wrong-handles")
def batch_of_odd_sizes(lab: Lab) -> Observations:
    """Copies of 0 bytes, from and to NULL, and beyond an allocation."""
    rt, device = lab.rt, lab.plain()
    words = np.zeros(64, np.uint8)
    host = int(words.ctypes.data)
    calls: dict[str, Call] = {
        "0 bytes": lambda: rt.cudaMemcpy(device, host, 0, lab.h2d),
        "0 bytes to NULL": lambda: rt.cudaMemcpy(0, host, 0, lab.h2d),
        "to NULL": lambda: rt.cudaMemcpy(0, host, 64, lab.h2d),
        "from NULL": lambda: rt.cudaMemcpy(device, 0, 64, lab.h2d),
        "beyond the end, fill": lambda: rt.cudaMemset(device, 0, SIZE + (1 << 30)),
        "fill of 0 bytes at NULL": lambda: rt.cudaMemset(0, 0, 0),
        "fill at NULL": lambda: rt.cudaMemset(0, 0, 4),
        "to an address of nothing": lambda: rt.cudaMemcpy(0x1234560, host, 64, lab.h2d),
        "device memory said to be the host's": lambda: rt.cudaMemcpy(device, int(device) + 4096, 64, lab.h2d),
        "host memory said to be the device's": lambda: rt.cudaMemcpy(device, host, 64, lab.d2d),
    }
    return {name: lab.status(call()) for name, call in calls.items()}
