"""Memory that grows in place: physical memory mapped into a reserved range."""

from cuda.bindings import driver
from gpu_common import check


class MappedBuffer:
    def __init__(self, device):
        prop = driver.CUmemAllocationProp()
        prop.type = driver.CUmemAllocationType.CU_MEM_ALLOCATION_TYPE_PINNED
        prop.location.type = driver.CUmemLocationType.CU_MEM_LOCATION_TYPE_DEVICE
        prop.location.id = int(device)
        minimum = driver.CUmemAllocationGranularity_flags.CU_MEM_ALLOC_GRANULARITY_MINIMUM
        self.size = check(driver.cuMemGetAllocationGranularity(prop, minimum))
        self.address = check(driver.cuMemAddressReserve(self.size, 0, 0, 0))
        self.handle = check(driver.cuMemCreate(self.size, prop, 0))
        check(driver.cuMemMap(self.address, self.size, 0, self.handle, 0))
        access = driver.CUmemAccessDesc()
        access.location = prop.location
        access.flags = driver.CUmemAccess_flags.CU_MEM_ACCESS_FLAGS_PROT_READWRITE
        check(driver.cuMemSetAccess(self.address, self.size, [access], 1))

    def close(self):
        check(driver.cuCtxSynchronize())
        check(driver.cuMemUnmap(self.address, self.size))
        check(driver.cuMemRelease(self.handle))
        check(driver.cuMemAddressFree(self.address, self.size))


def main():
    check(driver.cuInit(0))
    device = check(driver.cuDeviceGet(0))
    context = check(driver.cuDevicePrimaryCtxRetain(device))
    check(driver.cuCtxSetCurrent(context))
    stream = check(driver.cuStreamCreate(driver.CUstream_flags.CU_STREAM_NON_BLOCKING))
    buffer = MappedBuffer(device)
    check(driver.cuMemsetD8Async(buffer.address, 1, buffer.size, stream))
    buffer.close()
    check(driver.cuStreamSynchronize(stream))
    check(driver.cuStreamDestroy(stream))


if __name__ == "__main__":
    main()
