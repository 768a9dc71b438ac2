"""Frees of what is no allocation, of another family's memory, a second time, of an address that came back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from conformance.cases.frees import KINDS, Kind
from conformance.lab import SIZE, Lab
from conformance.registry import Family, Observations

wrong_free_case = Family("wrong-free")
recycled_case = Family("wrong-free/recycled", fresh=True)


def _functions(lab: Lab) -> dict[str, Callable[[Any], Any]]:
    rt, cu = lab.rt, lab.cu
    stream = lab.stream()
    return {
        "cudaFree": lambda memory: rt.cudaFree(int(memory)),
        "cudaFreeAsync": lambda memory: rt.cudaFreeAsync(int(memory), stream),
        "cudaFreeHost": lambda memory: rt.cudaFreeHost(int(memory)),
        "cudaHostUnregister": lambda memory: rt.cudaHostUnregister(int(memory)),
        "cuMemFree": lambda memory: cu.cuMemFree(int(memory)),
        "cuMemFreeHost": lambda memory: cu.cuMemFreeHost(int(memory)),
        "cudaIpcCloseMemHandle": lambda memory: rt.cudaIpcCloseMemHandle(int(memory)),
    }


def _foreign(lab: Lab, kind: Kind) -> Observations:
    """Give memory of one kind to every free function; each gets memory of its own."""
    functions = _functions(lab)
    observed: Observations = {}
    for name, function in functions.items():
        memory = kind.make(lab)
        observed[name] = lab.status(function(memory))
    lab.rt.cudaGetLastError()
    observed["afterwards"] = lab.status(lab.rt.cudaDeviceSynchronize())
    return observed


FACTS = {"pinned": ("W-11", "W-20"), "registered": ("W-11",), "plain": ("F-07",), "managed": ("W-20",)}
for kind in KINDS:
    if kind.name in ("array", "mipmapped", "pitched", "write-combined"):
        continue  # handles, no addresses; or as their kin
    wrong_free_case.row(
        f"{kind.name}-to-every-function",
        f"{kind.name} memory given to every free function",
        (*FACTS.get(kind.name, ()), "wrong-frees"),
        _foreign,
        kind,
        fresh=kind.name in ("registered", "pinned"),
    )


@wrong_free_case("W-01")
def no_allocation(lab: Lab) -> Observations:
    """Both frees of base + 1 and + 256 of plain and of pool memory, of a wild address, of a host address; then work."""
    rt, stream = lab.rt, lab.stream()
    plain, pooled = int(lab.plain()), int(lab.pooled(stream))
    addresses = {
        "plain + 1": plain + 1,
        "plain + 256": plain + 256,
        "plain's end": plain + SIZE,
        "pooled + 1": pooled + 1,
        "pooled + 256": pooled + 256,
        "wild": 0x1234560,
        "host": int(lab.pageable().ctypes.data),
    }
    observed: Observations = {}
    for name, address in addresses.items():
        if name == "plain's end":
            continue
        observed[f"{name}, cudaFree"] = lab.status(rt.cudaFree(address))
        observed[f"{name}, cudaFreeAsync"] = lab.status(rt.cudaFreeAsync(address, stream))
        observed[f"{name}, cuMemFree"] = lab.status(lab.cu.cuMemFree(address))
    observed["last error"] = lab.status(rt.cudaGetLastError())
    observed["afterwards"] = lab.status(rt.cudaDeviceSynchronize())
    observed["still usable"] = lab.status(rt.cudaMemset(plain, 1, SIZE))
    return observed


@wrong_free_case("W-01", "Q-02")
def host_interior(lab: Lab) -> Observations:
    """cudaFreeHost inside pinned memory; cudaHostUnregister inside a registration."""
    rt, host = lab.rt, int(lab.pinned())
    pages = int(lab.pageable().ctypes.data)
    lab.ok(rt.cudaHostRegister(pages, SIZE, 0))
    return {
        "cudaFreeHost": lab.status(rt.cudaFreeHost(host + 4096)),
        "cudaHostUnregister": lab.status(rt.cudaHostUnregister(pages + 4096)),
        "registered again": lab.status(rt.cudaHostRegister(pages, SIZE, 0)),
        "unregistered": lab.status(rt.cudaHostUnregister(pages)),
        "unregistered again": lab.status(rt.cudaHostUnregister(pages)),
    }


@wrong_free_case("W-02", fresh=True)
def twice(lab: Lab) -> Observations:
    """Each free function called twice."""
    rt, cu, stream = lab.rt, lab.cu, lab.stream()
    rows: dict[str, tuple[Any, Callable[[Any], Any]]] = {
        "cudaFree": (lab.plain(), lambda memory: rt.cudaFree(memory)),
        "cuMemFree": (int(lab.plain()), lambda memory: cu.cuMemFree(memory)),
        "cudaFreeAsync": (lab.pooled(stream), lambda memory: rt.cudaFreeAsync(memory, stream)),
        "cudaFree of pool memory": (lab.pooled(stream), lambda memory: rt.cudaFree(memory)),
        "cudaFreeHost": (lab.pinned(), lambda memory: rt.cudaFreeHost(memory)),
        "cudaFree of managed memory": (lab.managed(), lambda memory: rt.cudaFree(memory)),
    }
    observed: Observations = {}
    for name, (memory, free) in rows.items():
        lab.ok(free(memory))
        observed[name] = lab.status(free(memory))
    return observed


@wrong_free_case("W-02", timed=True)
def twice_pending(lab: Lab) -> Observations:
    """A second cudaFreeAsync while the first is pending behind a kernel; cudaFree then."""
    rt, stream, memory = lab.rt, lab.stream(), None
    memory = lab.pooled(stream)
    lab.ok(rt.cudaStreamSynchronize(stream))
    lab.busy(stream)
    lab.ok(rt.cudaFreeAsync(memory, stream))
    return {
        "cudaFreeAsync": lab.status(rt.cudaFreeAsync(memory, stream)),
        "cudaFreeAsync in another stream": lab.status(rt.cudaFreeAsync(memory, lab.stream())),
        "cudaFree": lab.status(rt.cudaFree(memory)),
    }


@recycled_case("W-03", "recycled-address")
def plain(lab: Lab) -> Observations:
    """Free p; allocate q, which gets the address; free p again; use and free q."""
    rt, first = lab.rt, lab.plain()
    lab.ok(rt.cudaFree(first))
    second = lab.plain()
    observed: Observations = {"reused": int(second) == int(first), "free of p": lab.status(rt.cudaFree(first))}
    observed["fill of q"] = lab.status(rt.cudaMemset(second, 1, SIZE))
    observed["wait"] = lab.status(rt.cudaDeviceSynchronize())
    observed["free of q"] = lab.status(rt.cudaFree(second))
    return observed


@recycled_case("W-03", "recycled-address")
def pool(lab: Lab) -> Observations:
    """The same with stream-ordered memory."""
    rt, stream = lab.rt, lab.stream()
    first = lab.pooled(stream)
    lab.ok(rt.cudaFreeAsync(first, stream))
    second = lab.pooled(stream)
    observed: Observations = {
        "reused": int(second) == int(first),
        "free of p": lab.status(rt.cudaFreeAsync(first, stream)),
    }
    observed["fill of q"] = lab.status(rt.cudaMemsetAsync(second, 1, SIZE, stream))
    observed["wait"] = lab.status(rt.cudaDeviceSynchronize())
    observed["free of q"] = lab.status(rt.cudaFreeAsync(second, stream))
    return observed


@wrong_free_case("Q-02")
def registration_freed(lab: Lab) -> Observations:
    """Registered pages: a second registration inside, of pages beside it, and unregistration of another address."""
    rt = lab.rt
    pages = lab.pageable(3 * 4096)
    address = int(pages.ctypes.data)
    lab.ok(rt.cudaHostRegister(address, 160, 0))
    return {
        "inside": lab.status(rt.cudaHostRegister(address + 80, 80, 0)),
        "unregistered inside": lab.status(rt.cudaHostUnregister(address + 80)),
        "unregistered": lab.status(rt.cudaHostUnregister(address)),
        "again": lab.status(rt.cudaHostUnregister(address)),
        "another address of the page": lab.status(rt.cudaHostUnregister(address + 4000)),
    }


@wrong_free_case("Q-01")
def array(lab: Lab) -> Observations:
    """Arrays of odd descriptions."""
    rt = lab.rt
    kind = rt.cudaChannelFormatKind.cudaChannelFormatKindUnsigned
    good = lab.ok(rt.cudaCreateChannelDesc(32, 0, 0, 0, kind))
    zeros = lab.ok(rt.cudaCreateChannelDesc(0, 0, 0, 0, kind))
    three = lab.ok(rt.cudaCreateChannelDesc(8, 8, 8, 0, kind))
    return {
        "zeros": lab.status(rt.cudaMallocArray(zeros, 64, 16, 0)),
        "three channels": lab.status(rt.cudaMallocArray(three, 64, 16, 0)),
        "width 0": lab.status(rt.cudaMallocArray(good, 0, 16, 0)),
    }


@wrong_free_case("W-02", fresh=True, undefined=True)
def array_twice(lab: Lab) -> Observations:
    """cudaFreeArray twice."""
    rt = lab.rt
    kind = rt.cudaChannelFormatKind.cudaChannelFormatKindUnsigned
    array = lab.ok(rt.cudaMallocArray(lab.ok(rt.cudaCreateChannelDesc(32, 0, 0, 0, kind)), 64, 16, 0))
    return {"first": lab.status(rt.cudaFreeArray(array)), "second": lab.status(rt.cudaFreeArray(array))}
