"""Driver calls on a thread to which no context is current: which work, and what is current afterwards."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from conformance.lab import SIZE, Lab
from conformance.registry import Family, Observations

no_context_case = Family("no-context", fresh=True)

Arguments = Callable[[Any, Any, Any, Any], tuple[Any, ...]]
"""what a call is given, of a stream, an event, memory of the stream and plain memory"""

_CALLS: dict[str, Arguments] = {
    "cuEventRecord": lambda stream, event, pooled, plain: (event, stream),
    "cuEventQuery": lambda stream, event, pooled, plain: (event,),
    "cuEventSynchronize": lambda stream, event, pooled, plain: (event,),
    "cuEventDestroy": lambda stream, event, pooled, plain: (event,),
    "cuStreamSynchronize": lambda stream, event, pooled, plain: (stream,),
    "cuStreamQuery": lambda stream, event, pooled, plain: (stream,),
    "cuStreamWaitEvent": lambda stream, event, pooled, plain: (stream, event, 0),
    "cuMemsetD8Async": lambda stream, event, pooled, plain: (plain, 1, SIZE, stream),
    "cuMemFreeAsync": lambda stream, event, pooled, plain: (pooled, stream),
    "cuMemFree": lambda stream, event, pooled, plain: (plain,),
}


def _call(lab: Lab, name: str, arguments: Arguments) -> Observations:
    cu = lab.cu
    stream, event = lab.ok(cu.cuStreamCreate(1)), lab.ok(cu.cuEventCreate(0))
    plain, pooled = lab.ok(cu.cuMemAlloc(SIZE)), lab.ok(cu.cuMemAllocAsync(SIZE, stream))
    lab.ok(cu.cuStreamSynchronize(stream))
    lab.ok(cu.cuCtxPopCurrent())
    status = lab.status(getattr(cu, name)(*arguments(stream, event, pooled, plain)))
    return {"status": status, "a context is current": bool(int(lab.ok(cu.cuCtxGetCurrent())))}


for name, arguments in _CALLS.items():
    no_context_case.row(
        name, f"{name} on a thread to which no context is current", ("Q-08", "contexts"), _call, name, arguments
    )


@no_context_case("Q-08", "contexts", name="cuMemFreeHost")
def free_host(lab: Lab) -> Observations:
    """cuMemFreeHost on a thread to which no context is current."""
    cu = lab.cu
    memory = lab.ok(cu.cuMemHostAlloc(SIZE, 0))
    lab.ok(cu.cuCtxPopCurrent())
    return {
        "status": lab.status(cu.cuMemFreeHost(memory)),
        "a context is current": bool(int(lab.ok(cu.cuCtxGetCurrent()))),
    }


@no_context_case("Q-08", "wrong-handles", name="cuPointerGetAttributes")
def attributes_of_null(lab: Lab) -> Observations:
    """cuPointerGetAttributes and cuPointerGetAttribute of NULL."""
    cu = lab.cu
    kind = cu.CUpointer_attribute.CU_POINTER_ATTRIBUTE_MEMORY_TYPE
    return {
        "several": lab.status(cu.cuPointerGetAttributes(1, [kind], 0)),
        "one": lab.status(cu.cuPointerGetAttribute(kind, 0)),
    }
