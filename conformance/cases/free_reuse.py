"""Frees and the next owner: who gets the block, and what the last reader sees."""

from __future__ import annotations

from conformance.cases.frees import Call
from conformance.lab import SIZE, Lab
from conformance.registry import Family, Observations

reuse_case = Family("free/reuse", timed=True)
free_case = Family("free")


def _then_reused(
    lab: Lab, freed_by: str, freed_in: str, reading_blocking: bool = False, event: bool = False
) -> Observations:
    """A kernel reads a block that is freed under it; the next allocation writes to it."""
    rt = lab.rt
    reading, other = lab.stream(reading_blocking), lab.stream()
    block = lab.pooled(reading, byte=5)
    pending = lab.busy(reading)
    result = lab.plain()
    lab.ok(lab.copy_words(result, block, reading))
    if event:
        lab.after(other, reading)
    target = {"other": other, "legacy": 0, "reading": reading}[freed_in]
    free: Call = (lambda: rt.cudaFree(block)) if freed_by == "cudaFree" else (lambda: rt.cudaFreeAsync(block, target))
    status, waited = lab.timed(pending, free)
    again = lab.pooled(target if freed_by == "cudaFreeAsync" else other)
    writing = target if freed_by == "cudaFreeAsync" else other
    lab.ok(rt.cudaMemsetAsync(again, 9, SIZE, writing))
    lab.ok(rt.cudaStreamSynchronize(writing))
    return {"status": status, "waited": waited, "reused": int(again) == int(block), "wrong": lab.wrong(result, 5)}


@reuse_case("F-03", "F-04", name="cudaFree")
def reuse_after_plain_free(lab: Lab) -> Observations:
    """cudaFree of pool memory under its reader; another stream allocates and writes."""
    return _then_reused(lab, "cudaFree", "other")


@reuse_case("F-05")
def other_stream(lab: Lab) -> Observations:
    """cudaFreeAsync in a stream without an order to the reader; that stream allocates and writes."""
    return _then_reused(lab, "cudaFreeAsync", "other")


@reuse_case("F-06")
def event(lab: Lab) -> Observations:
    """The same with an event from the reader to the freeing stream."""
    return _then_reused(lab, "cudaFreeAsync", "other", event=True)


@reuse_case("F-06")
def same_stream(lab: Lab) -> Observations:
    """cudaFreeAsync in the reader's own stream, which allocates and writes."""
    return _then_reused(lab, "cudaFreeAsync", "reading")


@reuse_case("F-08")
def legacy_blocking(lab: Lab) -> Observations:
    """cudaFreeAsync in the legacy default stream under a reader in a blocking stream."""
    return _then_reused(lab, "cudaFreeAsync", "legacy", reading_blocking=True)


@reuse_case("F-09")
def legacy_non_blocking(lab: Lab) -> Observations:
    """cudaFreeAsync in the legacy default stream under a reader in a non-blocking stream."""
    return _then_reused(lab, "cudaFreeAsync", "legacy")


@free_case("F-07", "W-02")
def plain_by_async_then_again(lab: Lab) -> Observations:
    """cudaFreeAsync of cudaMalloc memory, then cudaFree and cudaFreeAsync of it."""
    rt, stream, memory = lab.rt, lab.stream(), lab.plain()
    first = lab.status(rt.cudaFreeAsync(memory, stream))
    lab.ok(rt.cudaStreamSynchronize(stream))
    return {
        "first": first,
        "cudaFree": lab.status(rt.cudaFree(memory)),
        "cudaFreeAsync": lab.status(rt.cudaFreeAsync(memory, stream)),
    }


@free_case("F-07", "implicit-free", timed=True)
def plain_by_async_reuse(lab: Lab) -> Observations:
    """cudaFreeAsync of cudaMalloc memory behind a kernel: who gives the address out before it is done."""
    rt, stream, other, memory = lab.rt, lab.stream(), lab.stream(), lab.plain()
    pending = lab.busy(stream)
    lab.ok(rt.cudaFreeAsync(memory, stream))
    plain, pooled = lab.plain(), lab.pooled(other)
    early = not pending.done
    lab.ok(rt.cudaDeviceSynchronize())
    later = lab.plain()
    return {
        "still pending": early,
        "cudaMalloc reused": int(plain) == int(memory),
        "cudaMallocAsync reused": int(pooled) == int(memory),
        "cudaMalloc reused later": int(later) == int(memory),
    }


@free_case("F-03", "recycled-address", name="after-use/host-ordered")
def free_host_ordered(lab: Lab) -> Observations:
    """cudaFree of pool memory whose reader was waited for; the next allocation of another stream."""
    rt, s1, s2 = lab.rt, lab.stream(), lab.stream()
    block = lab.pooled(s1, byte=5)
    result = lab.read_later(block, s1)
    lab.ok(rt.cudaStreamSynchronize(s1))
    status = lab.status(rt.cudaFree(block))
    again = lab.pooled(s2)
    lab.ok(rt.cudaMemsetAsync(again, 9, SIZE, s2))
    return {"status": status, "reused": int(again) == int(block), "wrong": lab.wrong(result, 5)}


@free_case("F-18")
def stream_ordered_loop(lab: Lab) -> Observations:
    """mallocAsync, write, freeAsync again and again in one stream, without a wait: addresses and words."""
    rt, stream = lab.rt, lab.stream()
    addresses = set()
    results = []
    for byte in range(1, 9):
        block = lab.pooled(stream)
        addresses.add(int(block))
        lab.ok(rt.cudaMemsetAsync(block, byte, SIZE, stream))
        results.append(lab.read_later(block, stream))
        lab.ok(rt.cudaFreeAsync(block, stream))
    return {
        "addresses": len(addresses),
        "wrong": sum(lab.wrong(result, byte) != "none" for byte, result in enumerate(results, 1)),
    }
