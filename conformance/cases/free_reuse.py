"""Frees and the next owner: who gets the block, and what the last reader sees."""

from __future__ import annotations

from conformance.cases.frees import Call
from conformance.lab import SIZE, Lab
from conformance.registry import Observations, case


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


@case(
    "free/reuse/cudaFree",
    "cudaFree of pool memory under its reader; another stream allocates and writes",
    ["F-03", "F-04"],
    timed=True,
    expected={"status": "cudaSuccess", "waited": False, "reused": True, "wrong": "all"},
)
def reuse_after_plain_free(lab: Lab) -> Observations:
    return _then_reused(lab, "cudaFree", "other")


@case(
    "free/reuse/other-stream",
    "cudaFreeAsync in a stream without an order to the reader; that stream allocates and writes",
    ["F-05"],
    timed=True,
    expected={"status": "cudaSuccess", "waited": False, "reused": True, "wrong": "all"},
)
def reuse_in_other_stream(lab: Lab) -> Observations:
    return _then_reused(lab, "cudaFreeAsync", "other")


@case(
    "free/reuse/event",
    "the same with an event from the reader to the freeing stream",
    ["F-06"],
    timed=True,
    expected={"status": "cudaSuccess", "reused": True, "wrong": "none"},
)
def reuse_behind_event(lab: Lab) -> Observations:
    return _then_reused(lab, "cudaFreeAsync", "other", event=True)


@case(
    "free/reuse/same-stream",
    "cudaFreeAsync in the reader's own stream, which allocates and writes",
    ["F-06"],
    timed=True,
    expected={"wrong": "none"},
)
def reuse_in_same_stream(lab: Lab) -> Observations:
    return _then_reused(lab, "cudaFreeAsync", "reading")


@case(
    "free/reuse/legacy-blocking",
    "cudaFreeAsync in the legacy default stream under a reader in a blocking stream",
    ["F-08"],
    timed=True,
    expected={"wrong": "none"},
)
def reuse_behind_legacy(lab: Lab) -> Observations:
    return _then_reused(lab, "cudaFreeAsync", "legacy", reading_blocking=True)


@case(
    "free/reuse/legacy-non-blocking",
    "cudaFreeAsync in the legacy default stream under a reader in a non-blocking stream",
    ["F-09"],
    timed=True,
    expected={"wrong": "all"},
)
def reuse_beside_legacy(lab: Lab) -> Observations:
    return _then_reused(lab, "cudaFreeAsync", "legacy")


@case(
    "free/plain-by-async-then-again",
    "cudaFreeAsync of cudaMalloc memory, then cudaFree and cudaFreeAsync of it",
    ["F-07", "W-02"],
    expected={"first": "cudaSuccess", "cudaFree": "cudaErrorInvalidValue"},
)
def plain_by_async(lab: Lab) -> Observations:
    rt, stream, memory = lab.rt, lab.stream(), lab.plain()
    first = lab.status(rt.cudaFreeAsync(memory, stream))
    lab.ok(rt.cudaStreamSynchronize(stream))
    return {
        "first": first,
        "cudaFree": lab.status(rt.cudaFree(memory)),
        "cudaFreeAsync": lab.status(rt.cudaFreeAsync(memory, stream)),
    }


@case(
    "free/plain-by-async-reuse",
    "cudaFreeAsync of cudaMalloc memory behind a kernel: who gives the address out before it is done",
    ["F-07", "implicit-free"],
    timed=True,
)
def plain_by_async_reuse(lab: Lab) -> Observations:
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


@case(
    "free/after-use/host-ordered",
    "cudaFree of pool memory whose reader was waited for; the next allocation of another stream",
    ["F-03", "recycled-address"],
)
def free_host_ordered(lab: Lab) -> Observations:
    rt, s1, s2 = lab.rt, lab.stream(), lab.stream()
    block = lab.pooled(s1, byte=5)
    result = lab.read_later(block, s1)
    lab.ok(rt.cudaStreamSynchronize(s1))
    status = lab.status(rt.cudaFree(block))
    again = lab.pooled(s2)
    lab.ok(rt.cudaMemsetAsync(again, 9, SIZE, s2))
    return {"status": status, "reused": int(again) == int(block), "wrong": lab.wrong(result, 5)}


@case(
    "free/stream-ordered-loop",
    "mallocAsync, write, freeAsync again and again in one stream, without a wait: addresses and words",
    ["F-18"],
)
def stream_ordered_loop(lab: Lab) -> Observations:
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
