"""What memory of each kind answers after the end of the context that made it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from conformance.cases.virtual_memory import UNIT, mapped
from conformance.interprocess import be_importer, exporter, open_memory
from conformance.lab import PAGE, Lab
from conformance.registry import Family, Observations

context_end_case = Family("context-end", fresh=True)

BYTE = 90
Free = Callable[[Lab, Any], Any]


def _graph(lab: Lab) -> Any:
    stream = lab.stream()
    graph, pointer = lab.memory_graph(stream, size=UNIT)
    lab.ok(lab.rt.cudaGraphLaunch(lab.instantiate(graph), stream))
    lab.ok(lab.rt.cudaStreamSynchronize(stream))
    return pointer


def _registered(lab: Lab) -> int:
    address = int(lab.pageable(UNIT).ctypes.data)
    lab.ok(lab.rt.cudaHostRegister(address, UNIT, 3))
    return address


def _symbol(lab: Lab) -> Any:
    return lab.ok(lab.cu.cuModuleGetGlobal(lab.module(), b"words"))[0]


_DEVICE: Free = lambda lab, pointer: lab.rt.cudaFree(int(pointer))  # noqa: E731
_ASYNC: Free = lambda lab, pointer: lab.rt.cudaFreeAsync(int(pointer), 0)  # noqa: E731
KINDS: dict[str, tuple[Callable[[Lab], Any], Free | None, int]] = {
    "plain": (lambda lab: lab.plain(UNIT), _DEVICE, UNIT),
    "managed": (lambda lab: lab.managed(UNIT), _DEVICE, UNIT),
    "pinned": (lambda lab: lab.pinned(UNIT), lambda lab, pointer: lab.rt.cudaFreeHost(pointer), UNIT),
    "pooled": (lambda lab: lab.pooled(0, UNIT), _ASYNC, UNIT),
    "own pool": (lambda lab: lab.from_pool(lab.pool(), 0, UNIT), _ASYNC, UNIT),
    "graph": (_graph, _ASYNC, UNIT),
    "mapped": (lambda lab: mapped(lab)[0], lambda lab, pointer: lab.cu.cuMemUnmap(pointer, UNIT), UNIT),
    "registered": (_registered, lambda lab, pointer: lab.rt.cudaHostUnregister(pointer), UNIT),
    "symbol": (_symbol, None, PAGE),
}


def _end_context(lab: Lab, end: str, created: Any) -> None:
    if end == "cuCtxDestroy":
        lab.ok(lab.cu.cuCtxDestroy(created))
    elif end == "cudaDeviceReset":
        lab.ok(lab.rt.cudaDeviceReset())
    else:
        lab.ok(lab.cu.cuDevicePrimaryCtxReset(0))
    lab.ok(lab.rt.cudaSetDevice(0))
    lab.ok(lab.rt.cudaFree(0))


def _answers(lab: Lab, end: str, created: Any, pointer: Any, free: Free | None, size: int) -> Observations:
    """Fill the memory, end its context, and read, fill and free it in the primary one."""
    lab.ok(lab.cu.cuMemsetD8(int(pointer), BYTE, size))
    lab.ok(lab.cu.cuCtxSynchronize())
    _end_context(lab, end, created)
    back = lab.pageable(size)
    observed: Observations = {"copy": lab.status(lab.cu.cuMemcpyDtoH(back.ctypes.data, int(pointer), size))}
    if observed["copy"] == "CUDA_SUCCESS":
        observed["wrong words"] = lab.amount(back, BYTE)
    observed["fill"] = lab.status(lab.cu.cuMemsetD8(int(pointer), 1, size))
    observed["wait"] = lab.status(lab.rt.cudaDeviceSynchronize())
    if free is not None:
        observed["free"] = lab.status(free(lab, pointer))
    return observed


def _created(lab: Lab, end: str) -> Any:
    return lab.ok(lab.cu.cuCtxCreate(None, 0, 0)) if end == "cuCtxDestroy" else None


def after_end(lab: Lab, end: str, kind: str) -> Observations:
    """Make memory in a context that then ends."""
    make, free, size = KINDS[kind]
    created = _created(lab, end)
    return _answers(lab, end, created, make(lab), free, size)


def imported_after_end(lab: Lab, end: str) -> Observations:
    """Open another process's memory in a context that then ends."""
    companion, content = be_importer(lab, exporter(lab))
    created = _created(lab, end)
    pointer = lab.ok(open_memory(lab, content))
    observed = _answers(lab, end, created, pointer, lambda lab, pointer: lab.rt.cudaIpcCloseMemHandle(pointer), UNIT)
    companion.send("done")
    return observed


DEAD = ("plain", "managed", "pinned", "registered", "symbol", "imported")
ENDS = ("cuCtxDestroy", "cudaDeviceReset", "cuDevicePrimaryCtxReset")


for end in ENDS:
    for kind in (*KINDS, "imported"):
        context_end_case.row(
            f"{end}/{kind}",
            f"{kind} memory is read, filled and freed after {end} of the context that made it",
            ("contexts", "E-01" if kind in DEAD else "E-02"),
            *((imported_after_end, end) if kind == "imported" else (after_end, end, kind)),
            bare=kind == "imported",
        )
