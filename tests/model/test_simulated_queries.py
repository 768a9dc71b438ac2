"""What calls answer on a machine that is known: pools, contexts, peers, sharing, virtual memory, pointers."""

from __future__ import annotations

from simulated import HOST, TOTAL, Simulated

from streamsan.model.statuses import NOT_SUPPORTED
from streamsan.model.values import Pointer, Symbol
from streamsan.vocabulary import FreeClass, MemoryKind, OperationKind

OUT = 1
GRANULE = 1 << 21


def test_devices() -> None:
    program = Simulated()
    assert program.make("cudaGetDeviceCount", OUT) == 2
    assert program.make("cudaDeviceGetAttribute", OUT, 16, 0) == 132
    assert program.make("cuDeviceGetAttribute", OUT, 75, 1) == 9
    assert program.status("cudaDeviceGetAttribute", OUT, 9999, 0) == 1
    assert program.status("cudaDeviceGetAttribute", OUT, 16, 2) == 101
    properties = program.call("cudaGetDeviceProperties", OUT, 1).outputs
    assert (properties["prop.major"], properties["prop.maxThreadsDim.2"]) == (9, 64)
    assert properties["prop.totalGlobalMem"] == TOTAL
    assert len(str(properties["prop.uuid.bytes"])) == 16
    assert program.call("cuDeviceComputeCapability", OUT, OUT, 0).outputs == {"major": 9, "minor": 0}
    place = program.make("cudaDeviceGetPCIBusId", OUT, 64, 1)
    assert program.make("cudaDeviceGetByPCIBusId", OUT, place) == 1
    program.memory(4096)
    assert program.call("cudaMemGetInfo", OUT, OUT).outputs == {"free": TOTAL - 4096, "total": TOTAL}


def test_the_reader_gets_symbols() -> None:
    from model_program import Program

    program = Program()
    for call in [("cudaDeviceGetAttribute", OUT, 16, 0), ("cudaMemGetInfo", OUT, OUT), ("cudaDriverGetVersion", OUT),
                 ("cudaDeviceCanAccessPeer", OUT, 0, 1)]:  # fmt: skip
        assert all(isinstance(each, Symbol) for each in program.call(*call).outputs.values())


def test_streams_and_contexts() -> None:
    program = Simulated()
    stream = program.make("cudaStreamCreateWithPriority", OUT, 1, -99)
    assert program.call("cudaDeviceGetStreamPriorityRange", OUT, OUT).outputs == {
        "leastPriority": 0,
        "greatestPriority": -5,
    }
    assert program.make("cudaStreamGetPriority", stream, OUT) == -5
    assert program.make("cudaStreamGetFlags", stream, OUT) == 1
    assert program.make("cudaStreamGetDevice", stream, OUT) == 0
    assert program.make("cudaStreamGetId", stream, OUT) == stream.value
    assert program.status("cudaDeviceSetLimit", 0, 4096) == 0
    assert program.make("cudaDeviceGetLimit", OUT, 0) == 4096
    program.call("cudaDeviceReset")
    assert program.make("cudaDeviceGetLimit", OUT, 0) == 1024
    assert program.status("cudaDeviceGetLimit", OUT, 77) == 215
    assert program.status("cudaStreamGetFlags", stream, OUT) == 400
    assert program.call("cuDevicePrimaryCtxGetState", 1, OUT, OUT).outputs == {"flags": 0, "active": 0}
    assert program.status("cuDevicePrimaryCtxRelease", 1) == 201
    assert program.status("cuDevicePrimaryCtxSetFlags", 1, 4) == 0
    context = program.make("cuDevicePrimaryCtxRetain", OUT, 1)
    assert program.call("cuDevicePrimaryCtxGetState", 1, OUT, OUT).outputs == {"flags": 4, "active": 1}
    assert program.status("cuCtxDestroy", context) == 201
    program.call("cuCtxPushCurrent", context)
    assert program.make("cuCtxGetDevice", OUT) == 1
    assert program.make("cudaGetDevice", OUT) == 1


def test_peers() -> None:
    program = Simulated()
    assert program.make("cudaDeviceCanAccessPeer", OUT, 0, 1) == 1
    assert program.make("cudaDeviceCanAccessPeer", OUT, 0, 0) == 0
    assert program.status("cudaDeviceEnablePeerAccess", 0, 0) == 217
    assert program.status("cudaDeviceDisablePeerAccess", 1) == 705
    assert program.status("cudaDeviceEnablePeerAccess", 1, 0) == 0
    primaries = program.main.process.primaries
    assert primaries[0].peers == {primaries[1].handle}
    assert program.status("cudaDeviceEnablePeerAccess", 1, 0) == 704
    assert program.status("cudaDeviceDisablePeerAccess", 1) == 0
    assert primaries[0].peers == set()


def test_pools() -> None:
    program = Simulated()
    default = program.make("cudaDeviceGetDefaultMemPool", OUT, 0)
    assert program.make("cudaDeviceGetMemPool", OUT, 0) == default
    assert program.make("cudaDeviceGetDefaultMemPool", OUT, 1) != default
    pool = program.make("cudaMemPoolCreate", OUT, 1)
    program.call("cudaDeviceSetMemPool", 0, pool)
    assert program.make("cudaDeviceGetMemPool", OUT, 0) == pool
    assert program.status("cudaDeviceSetMemPool", 1, pool) == 1
    memory = program.make("cudaMallocAsync", OUT, 64, 0)
    placed = next(each for each in reversed(program.executor.told) if each[0] == "place")[3]
    assert (placed.handle, placed.ordinal) == (pool.value, 0)
    assert program.make("cudaMemPoolGetAttribute", pool, 4, OUT) == 0
    assert program.status("cudaMemPoolSetAttribute", pool, 4, 1, structures={"value": {"value": 1 << 20}}) == 0
    assert program.make("cudaMemPoolGetAttribute", pool, 4, OUT) == 1 << 20
    assert program.make("cudaMemPoolGetAttribute", pool, 1, OUT) == 1
    assert program.status("cudaMemPoolGetAttribute", pool, 99, OUT) == 1
    assert program.make("cudaMemPoolGetAttribute", pool, 7, OUT) == 64
    program.call("cudaFreeAsync", memory, 0)
    assert program.make("cudaMemPoolGetAttribute", pool, 7, OUT) == 0
    assert program.make("cudaMemPoolGetAttribute", pool, 8, OUT) == 64
    assert program.status("cudaMemPoolSetAttribute", pool, 8, 1, structures={"value": {"value": 5}}) == 1
    assert program.status("cudaMemPoolSetAttribute", pool, 8, 1, structures={"value": {"value": 0}}) == 0
    assert program.make("cudaMemPoolGetAttribute", pool, 8, OUT) == 0
    access = {"0.location.type": 1, "0.location.id": 1, "0.flags": 3}
    assert program.status("cudaMemPoolSetAccess", pool, 1, 1, structures={"descList": access}) == 0
    assert placed.access == {1: 3}
    assert program.status("cudaMemPoolTrimTo", pool, 32) == 0
    assert program.executor.last == ("trim", placed, 32)
    again = program.make("cudaMallocAsync", OUT, 64, 0)
    assert program.status("cudaMemPoolDestroy", pool) == 0
    assert program.status("cudaFreeAsync", again, 0) == 0
    assert program.make("cudaDeviceGetMemPool", OUT, 0) == default
    assert program.status("cudaMemPoolDestroy", default) == 1


def test_virtual_memory() -> None:
    program = Simulated()
    program.memory()
    properties = {"type": 1, "location.type": 1, "location.id": 1}
    assert program.make("cuMemGetAllocationGranularity", OUT, 1, 0) == GRANULE
    start = program.make("cuMemAddressReserve", OUT, 2 * GRANULE, 0, 0, 0)
    physical = program.call("cuMemCreate", OUT, GRANULE, 1, 0, structures={"prop": properties}).outputs["handle"]
    second = start.address + GRANULE
    assert program.status("cuMemMap", start, 2 * GRANULE, 0, physical, 0) == NOT_SUPPORTED
    assert program.status("cuMemMap", start, GRANULE, 0, physical, 0) == 0
    assert program.status("cuMemMap", start, GRANULE, 0, physical, 0) == 1
    assert program.status("cuMemMap", second, GRANULE, 0, physical, 0) == 0
    access = {"0.location.type": 1, "0.location.id": 1, "0.flags": 3}
    assert program.status("cuMemSetAccess", start, 2 * GRANULE, 1, 1, structures={"desc": access}) == 0
    assert program.call("cuMemGetAccess", OUT, 1, second, structures={"location": {"id": 1}}).outputs == {"flags": 3}
    assert program.status("cuMemRelease", physical) == 0
    assert program.status("cuMemRelease", physical) == 1
    assert program.make("cuMemRetainAllocationHandle", OUT, second) == physical
    assert program.status("cuMemRelease", physical) == 0
    assert program.status("cuMemAddressFree", start, 2 * GRANULE) == 1
    program.executor.told.clear()
    assert program.status("cuMemUnmap", start, 2 * GRANULE) == 0
    frees = [each for each in program.operations() if each.kind is OperationKind.FREE]
    assert [(each.address, each.detail) for each in frees] == [
        (start.address, FreeClass.UNMAP),
        (second, FreeClass.UNMAP),
    ]
    assert ("release_physical", physical.value) in program.executor.told
    assert program.status("cuMemMap", start, GRANULE, 0, physical, 0) == 1
    assert program.status("cuMemAddressFree", start, GRANULE) == 1
    assert program.status("cuMemAddressFree", start, 2 * GRANULE) == 0
    assert program.executor.last == ("release_addresses", start.address)


def test_memory_of_another_process() -> None:
    program = Simulated()
    importer = program.model.fork(program.main, program.site())
    memory = program.memory(128)
    handle = program.make("cudaIpcGetMemHandle", OUT, memory)
    assert program.make("cudaIpcGetMemHandle", OUT, memory) == handle
    assert program.status("cudaIpcOpenMemHandle", OUT, handle, 1) == 201
    opened = program.make("cudaIpcOpenMemHandle", OUT, handle, 1, thread=importer)
    assert opened.address == memory.address
    assert program.status("cudaFree", opened, thread=importer) == 1  # W-08
    assert program.status("cudaFree", memory) == 0  # W-09
    assert program.status("cudaMemset", opened, 0, 128, thread=importer) == 0
    assert program.status("cudaIpcCloseMemHandle", opened, thread=importer) == 0
    assert program.status("cudaIpcCloseMemHandle", opened, thread=importer) == 1
    assert program.status("cudaIpcGetMemHandle", OUT, HOST) == 1
    plain, shared = program.make("cudaEventCreate", OUT), program.make("cudaEventCreateWithFlags", OUT, 6)
    assert program.status("cudaIpcGetEventHandle", OUT, plain) == 400
    exported = program.make("cudaIpcGetEventHandle", OUT, shared)
    assert program.make("cudaIpcOpenEventHandle", OUT, exported, thread=importer) == shared


def test_managed_memory() -> None:
    program = Simulated()
    memory = program.make("cudaMallocManaged", OUT, 64, 1)
    device = {"location": {"type": 1, "id": 1}}
    assert program.make("cudaMemRangeGetAttribute", OUT, 4, 2, memory, 64) == -2
    assert program.status("cudaMemAdvise", memory, 64, 3, 1, structures=device) == 0
    assert program.make("cudaMemRangeGetAttribute", OUT, 4, 2, memory, 64) == 1
    assert program.status("cudaMemAdvise", memory, 64, 1, 1, structures=device) == 0
    assert program.make("cudaMemRangeGetAttribute", OUT, 4, 1, memory, 64) == 1
    assert program.status("cudaMemPrefetchAsync", memory, 64, 1, 0, 0, structures={"location": {"type": 2}}) == 0
    assert program.make("cudaMemRangeGetAttribute", OUT, 4, 4, memory, 64) == -1
    missing = {"location": {"type": 1, "id": 9}}
    assert program.status("cudaMemPrefetchAsync", memory, 64, 1, 0, 0, structures=missing) == 101
    assert program.status("cudaMemPrefetchAsync", memory, 65, 1, 0, 0, structures=device) == 1


def test_pointers() -> None:
    program = Simulated()
    memory, pinned = program.memory(64), program.make("cudaHostAlloc", OUT, 32, 2)
    inside = memory.address + 8

    def kind(value: int | Pointer) -> tuple[object, object]:
        outputs = program.call("cudaPointerGetAttributes", OUT, value).outputs
        return outputs["attributes.type"], outputs["attributes.device"]

    assert (kind(inside), kind(pinned), kind(HOST)) == ((2, 0), (1, 0), (0, -2))
    assert program.call("cuMemGetAddressRange", OUT, OUT, inside).outputs == {"pbase": memory, "psize": 64}
    assert program.make("cuPointerGetAttribute", OUT, 2, inside) == 2
    assert program.make("cuPointerGetAttribute", OUT, 2, pinned) == 1
    assert program.status("cuPointerGetAttribute", OUT, 2, HOST) == 1
    several = {"attributes": {"0": 12, "1": 9}}
    assert program.call("cuPointerGetAttributes", 2, 1, OUT, memory, structures=several).outputs == {
        "data.0": 64,
        "data.1": 0,
    }
    assert program.make("cudaHostGetFlags", OUT, pinned) == 2
    program.call("cudaFree", memory)
    assert kind(memory) == (0, -2)


def test_pitched_allocations_give_their_structure() -> None:
    program = Simulated()
    extent = {"extent": {"width": 100, "height": 4, "depth": 2}}
    outputs = program.call("cudaMalloc3D", OUT, 1, structures=extent).outputs
    assert (outputs["pitchedDevPtr.pitch"], outputs["pitchedDevPtr.xsize"], outputs["pitchedDevPtr.ysize"]) == (
        512,
        100,
        4,
    )
    assert program.executor.last[1:3] == (512 * 4 * 2, MemoryKind.PLAIN)
