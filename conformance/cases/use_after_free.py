"""Uses of memory after its free, and what the driver says of an address."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from conformance.lab import SIZE, Lab
from conformance.registry import Family, Observations

use_after_async_free_case = Family("wrong-free/use-after-async-free", fresh=True)
wrong_free_case = Family("wrong-free")

USES = ("fill", "asynchronous fill", "copy", "copy from", "copy by default direction", "copy to host", "kernel")


def _use_after_free(lab: Lab, use: str) -> Observations:
    rt, stream, memory, other = lab.rt, lab.stream(), lab.plain(64 << 20), lab.plain(byte=1)
    pages = int(lab.pageable().ctypes.data)
    lab.ok(rt.cudaFree(memory))
    calls: dict[str, Callable[[], Any]] = {
        "fill": lambda: rt.cudaMemset(memory, 1, SIZE),
        "asynchronous fill": lambda: rt.cudaMemsetAsync(memory, 1, SIZE, stream),
        "copy": lambda: rt.cudaMemcpy(memory, other, SIZE, lab.d2d),
        "copy from": lambda: rt.cudaMemcpyAsync(other, memory, SIZE, lab.d2d, stream),
        "copy by default direction": lambda: rt.cudaMemcpy(other, memory, SIZE, lab.default),
        "copy to host": lambda: rt.cudaMemcpy(pages, memory, SIZE, lab.d2h),
        "kernel": lambda: lab.write_words(memory, 1, stream),
    }
    return {"status": lab.status(calls[use]()), "wait": lab.status(rt.cudaStreamSynchronize(stream))}


for use in USES:
    wrong_free_case.row(
        f"use-after-free/{use.replace(' ', '-')}",
        f"{use} of cudaMalloc memory after cudaFree",
        ("W-14" if use == "copy by default direction" else "W-13", "W-03", "recycled-address"),
        _use_after_free,
        use,
        fresh=True,
        # The driver takes the address for the host's own, and reads what lies there: on the H200 nothing (SIGSEGV).
        undefined=use == "copy by default direction",
    )


def _use_after_async_free(lab: Lab, pending: bool) -> Observations:
    rt, stream, memory = lab.rt, lab.stream(), None
    memory = lab.from_pool(lab.pool(), stream)
    lab.ok(rt.cudaStreamSynchronize(stream))
    if pending:
        lab.busy(stream)
    lab.ok(rt.cudaFreeAsync(memory, stream))
    if not pending:
        lab.ok(rt.cudaStreamSynchronize(stream))
    return {
        "fill": lab.status(rt.cudaMemsetAsync(memory, 1, SIZE, stream)),
        "kernel": lab.status(lab.write_words(memory, 1, stream)),
        "wait": lab.status(rt.cudaStreamSynchronize(stream)),
    }


@use_after_async_free_case("W-13", "W-10", timed=True)
def pending(lab: Lab) -> Observations:
    """Fill of, and a kernel on, pool memory after cudaFreeAsync, the free pending behind a kernel."""
    return _use_after_async_free(lab, pending=True)


@use_after_async_free_case("W-13", "W-10")
def complete(lab: Lab) -> Observations:
    """The same, the free complete."""
    return _use_after_async_free(lab, pending=False)


@wrong_free_case("recycled-address", fresh=True)
def use_after_free_managed(lab: Lab) -> Observations:
    """A kernel on managed memory after cudaFree."""
    rt, stream, memory = lab.rt, lab.stream(), lab.managed()
    lab.ok(rt.cudaFree(memory))
    return {
        "kernel": lab.status(lab.write_words(memory, 1, stream)),
        "wait": lab.status(rt.cudaStreamSynchronize(stream)),
    }


@wrong_free_case("wrong-frees", "recycled-address")
def pointer_attributes(lab: Lab) -> Observations:
    """What cudaPointerGetAttributes says of each kind of memory, freed memory among them."""
    rt, stream = lab.rt, lab.stream()
    freed = lab.plain(64 << 20)
    lab.ok(rt.cudaFree(freed))
    rows = {
        "plain": lab.plain(),
        "pooled": lab.pooled(stream),
        "pinned": lab.pinned(),
        "managed": lab.managed(),
        "pageable": int(lab.pageable().ctypes.data),
        "freed": freed,
        "NULL": 0,
    }
    observed: Observations = {}
    for name, memory in rows.items():
        result = rt.cudaPointerGetAttributes(memory)
        kind = getattr(result[1], "type", None) if int(result[0]) == 0 else None
        observed[name] = [lab.status(result), str(getattr(kind, "name", kind))]
    return observed
