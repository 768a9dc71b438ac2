"""Frees: which wait for what, by kind of memory, by function, by pending work."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from conformance.lab import PAGE, SIZE, Lab
from conformance.observer import Pending
from conformance.registry import Family, Observations

free_case = Family("free", timed=True)

Call = Callable[[], Sequence[Any]]


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of memory: how it is made, and what work can use it."""

    name: str
    make: Callable[[Lab], Any]
    fill: Callable[[Lab, Any, Any], Any] | None
    """issue a fill in a stream; None: work cannot use it so"""
    frees: Mapping[str, Callable[[Lab, Any], Sequence[Any]]]


def _fill(lab: Lab, memory: Any, stream: Any) -> Any:
    return lab.rt.cudaMemsetAsync(memory, 3, PAGE, stream)


def _to_array(lab: Lab, array: Any, stream: Any) -> Any:
    return lab.rt.cudaMemcpy2DToArrayAsync(array, 0, 0, lab.plain(), 256, 256, 16, lab.d2d, stream)


def _pooled(lab: Lab) -> Any:
    stream = lab.stream()
    memory = lab.pooled(stream)
    lab.ok(lab.rt.cudaStreamSynchronize(stream))
    return memory


def _own_pool(lab: Lab) -> Any:
    stream = lab.stream()
    memory = lab.from_pool(lab.pool(), stream)
    lab.ok(lab.rt.cudaStreamSynchronize(stream))
    return memory


def _registered(lab: Lab) -> Any:
    address = int(lab.pageable().ctypes.data)
    lab.ok(lab.rt.cudaHostRegister(address, SIZE, 0))
    return address


def _array(lab: Lab) -> Any:
    return lab.ok(lab.rt.cudaMallocArray(_format(lab), 64, 16, 0))


def _format(lab: Lab) -> Any:
    kind = lab.rt.cudaChannelFormatKind.cudaChannelFormatKindUnsigned
    return lab.ok(lab.rt.cudaCreateChannelDesc(32, 0, 0, 0, kind))


def _mipmapped(lab: Lab) -> Any:
    extent = lab.rt.cudaExtent()
    extent.width, extent.height, extent.depth = 64, 64, 0
    return lab.ok(lab.rt.cudaMallocMipmappedArray(_format(lab), extent, 2, 0))


def _graph(lab: Lab) -> Any:
    stream = lab.stream()
    graph, memory = lab.memory_graph(stream)
    lab.ok(lab.rt.cudaGraphLaunch(lab.instantiate(graph), stream))
    lab.ok(lab.rt.cudaStreamSynchronize(stream))
    return memory


def _async(lab: Lab, memory: Any) -> Sequence[Any]:
    return lab.rt.cudaFreeAsync(memory, lab.stream())  # type: ignore[no-any-return]


def _driver_async(lab: Lab, memory: Any) -> Sequence[Any]:
    return lab.cu.cuMemFreeAsync(int(memory), int(lab.stream()))  # type: ignore[no-any-return]


def _free(lab: Lab, memory: Any) -> Sequence[Any]:
    return lab.rt.cudaFree(memory)  # type: ignore[no-any-return]


def _driver(lab: Lab, memory: Any) -> Sequence[Any]:
    return lab.cu.cuMemFree(int(memory))  # type: ignore[no-any-return]


DEVICE_FREES = {"cudaFree": _free, "cuMemFree": _driver, "cudaFreeAsync": _async, "cuMemFreeAsync": _driver_async}


KINDS = (
    Kind("plain", lambda lab: lab.plain(), _fill, DEVICE_FREES),
    Kind("pitched", lambda lab: lab.ok(lab.rt.cudaMallocPitch(4096, 256))[0], _fill, {"cudaFree": _free}),
    Kind("managed", lambda lab: lab.managed(), _fill, {"cudaFree": _free, "cuMemFree": _driver}),
    Kind(
        "pinned",
        lambda lab: lab.pinned(),
        _fill,
        {
            "cudaFreeHost": lambda lab, memory: lab.rt.cudaFreeHost(memory),
            "cuMemFreeHost": lambda lab, memory: lab.cu.cuMemFreeHost(memory),
        },
    ),
    Kind(
        "write-combined",
        lambda lab: lab.ok(lab.rt.cudaHostAlloc(SIZE, lab.rt.cudaHostAllocWriteCombined | lab.rt.cudaHostAllocMapped)),
        _fill,
        {"cudaFreeHost": lambda lab, memory: lab.rt.cudaFreeHost(memory)},
    ),
    Kind(
        "registered",
        _registered,
        _fill,
        {
            "cudaHostUnregister": lambda lab, memory: lab.rt.cudaHostUnregister(memory),
            "cuMemHostUnregister": lambda lab, memory: lab.cu.cuMemHostUnregister(memory),
        },
    ),
    Kind("pooled", _pooled, _fill, DEVICE_FREES),
    Kind("own-pool", _own_pool, _fill, {"cudaFree": _free, "cudaFreeAsync": _async}),
    Kind("graph", _graph, _fill, {"cudaFree": _free, "cudaFreeAsync": _async}),
    Kind(
        "array",
        _array,
        _to_array,
        {
            "cudaFreeArray": lambda lab, array: lab.rt.cudaFreeArray(array),
            "cuArrayDestroy": lambda lab, array: lab.cu.cuArrayDestroy(int(array)),
        },
    ),
    Kind(
        "mipmapped",
        _mipmapped,
        None,
        {"cudaFreeMipmappedArray": lambda lab, array: lab.rt.cudaFreeMipmappedArray(array)},
    ),
)


WORK = {
    "unrelated": "a kernel of a non-blocking stream that does not use the memory is pending",
    "unrelated-legacy": "a kernel of the legacy default stream that does not use the memory is pending",
    "user": "work of a non-blocking stream that uses the memory is pending",
}


FACTS = {
    ("plain", "cudaFree", "unrelated"): ("F-01",),
    ("plain", "cudaFreeAsync", "unrelated"): ("F-07",),
    ("plain", "cudaFreeAsync", "user"): ("F-07",),
    ("pooled", "cudaFree", "unrelated"): ("F-03", "L-19"),
    ("pooled", "cudaFree", "user"): ("F-03",),
    ("managed", "cudaFree", "unrelated"): ("F-10",),
    ("managed", "cudaFree", "user"): ("F-10",),
    ("pinned", "cudaFreeHost", "unrelated"): ("F-11", "L-18"),
    ("pinned", "cudaFreeHost", "user"): ("F-11",),
    ("registered", "cudaHostUnregister", "unrelated"): ("F-12", "L-17"),
    ("registered", "cudaHostUnregister", "user"): ("F-12",),
}


def _pending(lab: Lab, kind: Kind, memory: Any, work: str) -> Pending:
    stream = 0 if work == "unrelated-legacy" else lab.stream()
    pending = lab.busy(stream)
    if work == "user" and kind.fill is not None:
        lab.ok(kind.fill(lab, memory, stream))
    return pending


def _free_under_work(lab: Lab, kind: Kind, function: str, work: str) -> Observations:
    memory = kind.make(lab)
    if kind.name in ("array", "mipmapped") and work == "user":
        lab.plain()  # its first use is slow
    free = kind.frees[function]
    pending = _pending(lab, kind, memory, work)
    return lab.waited(pending, lambda: free(lab, memory))


for kind in KINDS:
    for function in kind.frees:
        for work, statement in WORK.items():
            if work == "user" and kind.fill is None:
                continue
            free_case.row(
                f"{kind.name}/{function}/{work}",
                f"{function} of {kind.name} memory while {statement}",
                (*FACTS.get((kind.name, function, work), ()), "implicit-free"),
                _free_under_work,
                kind,
                function,
                work,
            )
