"""Pools: order of allocation and use, reuse by policy."""

from __future__ import annotations

import time

from conformance.lab import SIZE, Lab
from conformance.registry import Family, Observations

pool_case = Family("pool")
default_case = Family("pool/default")

FOLLOW, OPPORTUNISTIC, INTERNAL = (
    "cudaMemPoolReuseFollowEventDependencies",
    "cudaMemPoolReuseAllowOpportunistic",
    "cudaMemPoolReuseAllowInternalDependencies",
)


POLICIES = {
    "all": {FOLLOW: 1, OPPORTUNISTIC: 1, INTERNAL: 1},
    "none": {FOLLOW: 0, OPPORTUNISTIC: 0, INTERNAL: 0},
    "follow-events": {FOLLOW: 1, OPPORTUNISTIC: 0, INTERNAL: 0},
    "opportunistic": {FOLLOW: 0, OPPORTUNISTIC: 1, INTERNAL: 0},
    "internal": {FOLLOW: 0, OPPORTUNISTIC: 0, INTERNAL: 1},
    "not-follow-events": {FOLLOW: 0, OPPORTUNISTIC: 1, INTERNAL: 1},
    "not-opportunistic": {FOLLOW: 1, OPPORTUNISTIC: 0, INTERNAL: 1},
    "not-internal": {FOLLOW: 1, OPPORTUNISTIC: 1, INTERNAL: 0},
}


SITUATIONS = {
    "pending": "the free is pending, the streams are not ordered",
    "pending-event": "the free is pending, the allocating stream waits for an event behind it",
    "complete": "the free is complete, the host waited for an event behind it",
    "complete-unasked": "the free is complete, and nobody asked",
    "complete-asked": "the free is complete, the host waited for its stream",
    "same-stream": "the free is pending in the allocating stream itself",
}


FACTS = {
    "pending": ("A-02",),
    "pending-event": ("F-06",),
    "complete": ("A-09",),
    "complete-asked": ("A-03", "A-09"),
    "complete-unasked": ("A-09",),
}


def _reuse(lab: Lab, policy: str, situation: str) -> Observations:
    """Free in one stream, allocate in another: is the address the same, and is the new owner behind the old work."""
    rt = lab.rt
    pool = lab.pool(**POLICIES[policy])
    freeing, allocating = lab.stream(), lab.stream()
    if situation == "same-stream":
        allocating = freeing
    block = lab.from_pool(pool, freeing)
    lab.ok(rt.cudaStreamSynchronize(freeing))
    pending = None if situation.startswith("complete") else lab.busy(freeing)
    lab.ok(rt.cudaFreeAsync(block, freeing))
    if situation == "pending-event":
        lab.after(allocating, freeing)
    elif situation == "complete-asked":
        lab.ok(rt.cudaStreamSynchronize(freeing))
    elif situation == "complete":
        lab.ok(rt.cudaEventSynchronize(lab.event(freeing)))
    elif situation == "complete-unasked":
        for _ in range(10):
            time.sleep(0.005)  # on either device work goes on meanwhile
    again = lab.from_pool(pool, allocating)
    observed: Observations = {"reused": int(again) == int(block)}
    if pending is not None:
        observed["still pending"] = not pending.done
        lab.ok(rt.cudaMemsetAsync(again, 1, 64, allocating))
        _, observed["new owner waits"] = lab.timed(pending, lambda: rt.cudaStreamSynchronize(allocating))
    return observed


for policy in POLICIES:
    for situation, statement in SITUATIONS.items():
        pool_case.row(
            f"reuse/{policy}/{situation}",
            f"reuse in a pool with the policies '{policy}' allowed: {statement}",
            (*FACTS.get(situation, ()), "reuse-policies"),
            _reuse,
            policy,
            situation,
            timed=situation.startswith(("pending", "same")),
        )


@pool_case("A-01", timed=True)
def used_on_other_stream(lab: Lab) -> Observations:
    """Allocated in a busy stream, written at once in another."""
    rt, busy, other = lab.rt, lab.stream(), lab.stream()
    pending = lab.busy(busy)
    block = lab.pooled(busy)
    write = lab.status(rt.cudaMemsetAsync(block, 5, SIZE, other))
    wait = lab.status(rt.cudaStreamSynchronize(other))
    return {
        "write": write,
        "wait": wait,
        "allocating stream still busy": not pending.done,
        "wrong": lab.wrong(block, 5),
    }


@default_case("A-02", timed=True)
def no_early_reuse(lab: Lab) -> Observations:
    """Freed in a busy stream, allocated in another, default pool."""
    rt, s1, s2 = lab.rt, lab.stream(), lab.stream()
    block = lab.pooled(s1)
    lab.busy(s1)
    lab.ok(rt.cudaFreeAsync(block, s1))
    return {"reused": int(lab.pooled(s2)) == int(block)}


@default_case("A-03")
def complete(lab: Lab) -> Observations:
    """Freed in a stream that was waited for, allocated in another, default pool (its threshold raised)."""
    rt, s1, s2 = lab.rt, lab.stream(), lab.stream()
    pool = lab.ok(rt.cudaDeviceGetDefaultMemPool(0))
    before = lab.get_pool(pool, "cudaMemPoolAttrReleaseThreshold")
    lab.set_pool(pool, "cudaMemPoolAttrReleaseThreshold", 1 << 40)
    block = lab.pooled(s1)
    lab.ok(rt.cudaFreeAsync(block, s1))
    lab.ok(rt.cudaStreamSynchronize(s1))
    reused = int(lab.pooled(s2)) == int(block)
    lab.set_pool(pool, "cudaMemPoolAttrReleaseThreshold", before)
    return {"reused": reused}


@pool_case("F-08", "F-09", "reuse-policies", timed=True)
def legacy_order(lab: Lab) -> Observations:
    """Freed in the legacy default stream under its kernel, allocated in a blocking and in a non-blocking stream."""
    rt = lab.rt
    observed: Observations = {}
    for name, blocking in (("blocking", True), ("non-blocking", False)):
        pool = lab.pool()
        stream = lab.stream(blocking)
        block = lab.from_pool(pool, 0)
        lab.ok(rt.cudaDeviceSynchronize())
        lab.busy(0)
        lab.ok(rt.cudaFreeAsync(block, 0))
        observed[name] = int(lab.from_pool(pool, stream)) == int(block)
        lab.ok(rt.cudaDeviceSynchronize())
    return observed


@pool_case("reuse-policies", "F-06", timed=True)
def two_hops(lab: Lab) -> Observations:
    """Freed in s1; s2 waits for s1 by an event, s3 for s2: does s3 get the block while s1 is busy."""
    rt, s1, s2, s3 = lab.rt, lab.stream(), lab.stream(), lab.stream()
    pool = lab.pool(**POLICIES["follow-events"])
    block = lab.from_pool(pool, s1)
    lab.ok(rt.cudaStreamSynchronize(s1))
    lab.busy(s1)
    lab.ok(rt.cudaFreeAsync(block, s1))
    lab.after(s2, s1)
    lab.after(s3, s2)
    return {"reused": int(lab.from_pool(pool, s3)) == int(block)}


@pool_case("reuse-policies", "A-02", timed=True)
def event_before_free(lab: Lab) -> Observations:
    """The event is recorded before the free: does the waiting stream get the block while the first is busy."""
    rt, s1, s2 = lab.rt, lab.stream(), lab.stream()
    pool = lab.pool(**POLICIES["follow-events"])
    block = lab.from_pool(pool, s1)
    lab.ok(rt.cudaStreamSynchronize(s1))
    lab.busy(s1)
    event = lab.event(s1)
    lab.ok(rt.cudaFreeAsync(block, s1))
    lab.ok(rt.cudaStreamWaitEvent(s2, event, 0))
    return {"reused": int(lab.from_pool(pool, s2)) == int(block)}


@pool_case("A-10", "recycled-address")
def smaller_size(lab: Lab) -> Observations:
    """A freed block of 8 MiB, complete: do two allocations of 4 MiB in its stream lie in it."""
    rt, stream, pool = lab.rt, lab.stream(), lab.pool()
    block = int(lab.from_pool(pool, stream, 8 << 20))
    lab.ok(rt.cudaFreeAsync(block, stream))
    lab.ok(rt.cudaStreamSynchronize(stream))
    found = sorted(int(lab.from_pool(pool, stream)) for _ in range(2))
    return {"both inside": all(block <= address < block + (8 << 20) for address in found)}
