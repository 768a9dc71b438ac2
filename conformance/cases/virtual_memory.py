"""Virtual memory: unmap under a kernel, release of addresses and of physical memory, access."""

from __future__ import annotations

from typing import Any

from conformance.lab import Lab
from conformance.registry import Family, Observations

vmm_case = Family("vmm")

UNIT = 2 << 20
READ_AND_WRITE = 3


def _properties(lab: Lab) -> Any:
    properties = lab.cu.CUmemAllocationProp()
    properties.type = lab.cu.CUmemAllocationType.CU_MEM_ALLOCATION_TYPE_PINNED
    properties.location.type = lab.cu.CUmemLocationType.CU_MEM_LOCATION_TYPE_DEVICE
    properties.location.id = 0
    return properties


def _access(lab: Lab, start: Any, size: int = UNIT, flags: int = READ_AND_WRITE) -> Any:
    access = lab.cu.CUmemAccessDesc()
    access.location = _properties(lab).location
    access.flags = lab.cu.CUmemAccess_flags(flags)
    return lab.cu.cuMemSetAccess(start, size, [access], 1)


def mapped(lab: Lab) -> tuple[Any, Any]:
    """Return addresses with memory, and the handle of the memory."""
    cu = lab.cu
    physical = lab.ok(cu.cuMemCreate(UNIT, _properties(lab), 0))
    start = lab.ok(cu.cuMemAddressReserve(UNIT, 0, 0, 0))
    lab.ok(cu.cuMemMap(start, UNIT, 0, physical, 0))
    lab.ok(_access(lab, start))
    return start, physical


@vmm_case("F-13", "vmm", fresh=True, timed=True)
def unmap_under_kernel(lab: Lab) -> Observations:
    """cuMemUnmap of a range that a pending kernel will write."""
    stream, (start, _) = lab.stream(), mapped(lab)
    pending = lab.busy(stream)
    lab.ok(lab.write_words(int(start), 1, stream, UNIT))
    observed = lab.waited(pending, lambda: lab.cu.cuMemUnmap(start, UNIT))
    observed["wait"] = lab.status(lab.rt.cudaStreamSynchronize(stream))
    observed["and then"] = lab.status(lab.rt.cudaStreamSynchronize(stream))
    return observed


@vmm_case("F-13", "vmm", fresh=True, timed=True)
def unmap_under_fill(lab: Lab) -> Observations:
    """cuMemUnmap of a range with a fill of it pending behind a kernel."""
    stream, (start, _) = lab.stream(), mapped(lab)
    pending = lab.busy(stream)
    lab.ok(lab.cu.cuMemsetD8Async(start, 1, UNIT, int(stream)))
    observed = lab.waited(pending, lambda: lab.cu.cuMemUnmap(start, UNIT))
    observed["wait"] = lab.status(lab.rt.cudaStreamSynchronize(stream))
    return observed


@vmm_case("vmm", "implicit-free", timed=True)
def unmap_idle(lab: Lab) -> Observations:
    """cuMemUnmap, cuMemAddressFree and cuMemRelease of an idle range while an unrelated kernel runs."""
    cu, (start, physical) = lab.cu, mapped(lab)
    pending = lab.busy(lab.stream())
    observed: Observations = {}
    for name, call in (
        ("cuMemUnmap", lambda: cu.cuMemUnmap(start, UNIT)),
        ("cuMemAddressFree", lambda: cu.cuMemAddressFree(start, UNIT)),
        ("cuMemRelease", lambda: cu.cuMemRelease(physical)),
    ):
        observed[name], observed[f"{name} waited"] = lab.timed(pending, call)
    return observed


@vmm_case("vmm", "F-16", timed=True)
def create_under_kernel(lab: Lab) -> Observations:
    """cuMemCreate, cuMemAddressReserve, cuMemMap, cuMemSetAccess while a kernel runs."""
    cu = lab.cu
    properties = _properties(lab)
    pending = lab.busy(lab.stream(), 4)
    observed: Observations = {}
    made: dict[str, Any] = {}

    def create() -> Any:
        made["physical"] = cu.cuMemCreate(UNIT, properties, 0)
        return made["physical"]

    def reserve() -> Any:
        made["start"] = cu.cuMemAddressReserve(UNIT, 0, 0, 0)
        return made["start"]

    _, observed["cuMemCreate"] = lab.timed(pending, create)
    _, observed["cuMemAddressReserve"] = lab.timed(pending, reserve)
    start, physical = lab.ok(made["start"]), lab.ok(made["physical"])
    _, observed["cuMemMap"] = lab.timed(pending, lambda: cu.cuMemMap(start, UNIT, 0, physical, 0))
    _, observed["cuMemSetAccess"] = lab.timed(pending, lambda: _access(lab, start))
    return observed


@vmm_case("vmm")
def release_before_unmap(lab: Lab) -> Observations:
    """cuMemRelease before cuMemUnmap: the mapping stays usable."""
    cu, (start, physical) = lab.cu, mapped(lab)
    released = lab.status(cu.cuMemRelease(physical))
    fill = lab.status(cu.cuMemsetD8(start, 5, UNIT))
    return {
        "release": released,
        "fill": fill,
        "wrong": lab.wrong(int(start), 5, UNIT),
        "unmap": lab.status(cu.cuMemUnmap(start, UNIT)),
        "address free": lab.status(cu.cuMemAddressFree(start, UNIT)),
    }


@vmm_case("V-01", "vmm", "W-01")
def wrong_calls(lab: Lab) -> Observations:
    """Unmap of a part, address free while mapped, of another size, twice; cudaFree of mapped memory."""
    cu, (start, physical) = lab.cu, mapped(lab)
    observed: Observations = {
        "unmap of a part": lab.status(cu.cuMemUnmap(start, UNIT // 2)),
        "address free while mapped": lab.status(cu.cuMemAddressFree(start, UNIT)),
        "cudaFree": lab.status(lab.rt.cudaFree(int(start))),
        "cuMemFree": lab.status(cu.cuMemFree(int(start))),
        "unmap": lab.status(cu.cuMemUnmap(start, UNIT)),
        "unmap again": lab.status(cu.cuMemUnmap(start, UNIT)),
        "address free of another size": lab.status(cu.cuMemAddressFree(start, 2 * UNIT)),
        "address free": lab.status(cu.cuMemAddressFree(start, UNIT)),
        "address free again": lab.status(cu.cuMemAddressFree(start, UNIT)),
        "release": lab.status(cu.cuMemRelease(physical)),
    }
    return observed


@vmm_case("V-02", "vmm", "wrong-handles")
def odd_sizes(lab: Lab) -> Observations:
    """Sizes and offsets that are no multiples of the unit."""
    cu = lab.cu
    start = lab.ok(cu.cuMemAddressReserve(UNIT, 0, 0, 0))
    physical = lab.ok(cu.cuMemCreate(UNIT, _properties(lab), 0))
    return {
        "create": lab.status(cu.cuMemCreate(4096, _properties(lab), 0)),
        "reserve": lab.status(cu.cuMemAddressReserve(4096 + 1, 0, 0, 0)),
        "map a part": lab.status(cu.cuMemMap(start, 4096, 0, physical, 0)),
        "map more": lab.status(cu.cuMemMap(start, 2 * UNIT, 0, physical, 0)),
        "access before a mapping": lab.status(_access(lab, start)),
    }


@vmm_case("vmm", fresh=True)
def without_access(lab: Lab) -> Observations:
    """A mapping without cuMemSetAccess is filled."""
    cu, stream = lab.cu, lab.stream()
    physical = lab.ok(cu.cuMemCreate(UNIT, _properties(lab), 0))
    start = lab.ok(cu.cuMemAddressReserve(UNIT, 0, 0, 0))
    lab.ok(cu.cuMemMap(start, UNIT, 0, physical, 0))
    return {
        "kernel": lab.status(lab.write_words(int(start), 1, stream, UNIT)),
        "wait": lab.status(lab.rt.cudaStreamSynchronize(stream)),
    }


@vmm_case("vmm")
def two_mappings(lab: Lab) -> Observations:
    """One physical allocation mapped twice: words written through one are read through the other."""
    cu, (start, physical) = lab.cu, mapped(lab)
    other = lab.ok(cu.cuMemAddressReserve(UNIT, 0, 0, 0))
    lab.ok(cu.cuMemMap(other, UNIT, 0, physical, 0))
    lab.ok(_access(lab, other))
    lab.ok(cu.cuMemsetD8(start, 5, UNIT))
    first = lab.wrong(int(other), 5, UNIT)
    lab.ok(cu.cuMemUnmap(start, UNIT))
    return {"wrong": first, "wrong after one unmap": lab.wrong(int(other), 5, UNIT)}


@vmm_case("vmm")
def words_survive_unmap(lab: Lab) -> Observations:
    """Words through an unmap and a new mapping of the same memory."""
    cu, (start, physical) = lab.cu, mapped(lab)
    lab.ok(cu.cuMemsetD8(start, 5, UNIT))
    lab.ok(lab.rt.cudaDeviceSynchronize())
    lab.ok(cu.cuMemUnmap(start, UNIT))
    lab.ok(cu.cuMemMap(start, UNIT, 0, physical, 0))
    lab.ok(_access(lab, start))
    return {"wrong": lab.wrong(int(start), 5, UNIT)}
