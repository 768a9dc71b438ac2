"""Fills: when the call returns against its completion."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from conformance.cases.copies import Call, _registered
from conformance.lab import SIZE, Lab
from conformance.registry import Family, Observations

fill_case = Family("fill", timed=True)


def _fill(lab: Lab, kind: str, form: str) -> Observations:
    rt, cu = lab.rt, lab.cu
    makers: dict[str, Callable[[], Any]] = {
        "plain": lambda: lab.plain(),
        "pinned": lambda: lab.pinned(),
        "managed": lambda: lab.managed(),
        "pooled": lambda: lab.pooled(0),
        "registered": lambda: _registered(lab),
    }
    memory = makers[kind]()
    stream = lab.stream(blocking=True)
    calls: dict[str, Call] = {
        "cudaMemset": lambda: rt.cudaMemset(memory, 1, SIZE),
        "cudaMemsetAsync": lambda: rt.cudaMemsetAsync(memory, 1, SIZE, stream),
        "cuMemsetD32": lambda: cu.cuMemsetD32(int(memory), 1, SIZE // 4),
        "cudaMemset2D": lambda: rt.cudaMemset2D(memory, 4096, 1, 1000, 64),
    }
    return lab.repeated(stream, calls[form])


FACTS = {("plain", "cudaMemset"): ("L-12",), ("pinned", "cudaMemset"): ("L-13",), ("managed", "cudaMemset"): ("L-14",)}
for kind in ("plain", "pooled", "pinned", "managed", "registered"):
    for form in ("cudaMemset", "cudaMemsetAsync", "cuMemsetD32", "cudaMemset2D"):
        fill_case.row(
            f"{kind}/{form}",
            f"{form} of {kind} memory while a kernel runs on a blocking stream (its own if asynchronous)",
            (*FACTS.get((kind, form), ()), "fill-return"),
            _fill,
            kind,
            form,
        )


@fill_case("fill-return", "L-12", "L-13", "L-14")
def non_blocking(lab: Lab) -> Observations:
    """cudaMemset of device, pinned and managed memory while a kernel runs on a non-blocking stream."""
    rt = lab.rt
    observed: Observations = {}
    memories = {"plain": lab.plain(), "pinned": lab.pinned(), "managed": lab.managed()}
    for memory in memories.values():
        lab.ok(rt.cudaMemset(memory, 1, SIZE))
    lab.ok(rt.cudaDeviceSynchronize())
    for name, memory in memories.items():
        pending = lab.busy(lab.stream())
        _, observed[name] = lab.timed(pending, lambda memory=memory: rt.cudaMemset(memory, 2, SIZE))  # type: ignore[misc]
        lab.ok(rt.cudaDeviceSynchronize())
    return observed
