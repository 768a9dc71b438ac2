"""RMM: pool, arena, binning and asynchronous resources under CuPy and Numba, buffers on streams. Prints results."""

import sys
import threading

import numpy

if not hasattr(numpy, "row_stack"):  # some versions of numba-cuda name it, NumPy 2.5 has it no more
    numpy.row_stack = numpy.vstack

try:
    import rmm
except ImportError:
    print("no rmm")
    sys.exit(0)

import cupy
from numba import cuda
from rmm.allocators.cupy import rmm_cupy_allocator
from rmm.allocators.numba import RMMNumbaManager
from rmm.pylibrmm.stream import Stream

COUNT = 1 << 18

scale = cupy.ElementwiseKernel("float32 x, float32 factor", "float32 y", "y = x * factor", "scale_values")


@cuda.jit
def add_one(values):
    """Add one to each value."""
    place = cuda.grid(1)
    if place < values.size:
        values[place] += 1


class Pipeline:
    """Loads batches on one stream and computes on another; buffers are the device's current resource's."""

    def __init__(self) -> None:
        self.load, self.compute = (cupy.cuda.Stream(non_blocking=True) for _ in range(2))
        pinned = cupy.cuda.alloc_pinned_memory(2 * COUNT * 4)
        self.staging = numpy.frombuffer(pinned, numpy.float32, 2 * COUNT).reshape(2, COUNT)
        self.loaded = [cupy.cuda.Event() for _ in range(2)]

    def __call__(self, batches: int) -> list[float]:
        """Return the sum of each batch."""
        sums = []
        for number in range(batches):
            slot = number % 2
            if number >= 2:
                self.loaded[slot].synchronize()
            self.staging[slot] = number
            buffer = rmm.DeviceBuffer.to_device(self.staging[slot].view(numpy.uint8), stream=Stream(self.load))
            self.loaded[slot].record(self.load)
            self.compute.wait_event(self.loaded[slot])
            with self.compute:
                values = cupy.ndarray(COUNT, cupy.float32, cupy.cuda.MemoryPointer(owned(buffer), 0))
                doubled = scale(values, numpy.float32(2))
                sums.append((doubled + values).sum())
            self.load.wait_event(self.compute.record())  # the buffer goes back on the stream that it came on
            del values, buffer, doubled
        self.compute.synchronize()
        self.load.synchronize()
        return [float(each) for each in sums]


def owned(buffer: rmm.DeviceBuffer) -> cupy.cuda.UnownedMemory:
    """Return CuPy's view of a buffer, which keeps it."""
    return cupy.cuda.UnownedMemory(buffer.ptr, buffer.size, buffer)


def numba_rounds(rounds: int) -> float:
    """Return what Numba's kernels made of some arrays."""
    stream = cuda.stream()
    total = 0.0
    for number in range(rounds):
        host = numpy.full(4096, number, numpy.float32)
        values = cuda.to_device(host, stream=stream)
        add_one[16, 256, stream](values)
        stream.synchronize()
        total += float(values.copy_to_host().sum())
    return total


def grown() -> int:
    """Return the sum of a buffer that grew on a stream, and was copied."""
    stream = Stream()
    buffer = rmm.DeviceBuffer.to_device(bytes(range(100)), stream=stream)
    stream.synchronize()
    buffer.resize(1000, stream=stream)
    buffer.resize(100, stream=stream)
    stream.synchronize()
    return sum(buffer.copy().tobytes())


def threads(count: int) -> list[float]:
    """Return what threads computed, each on a stream of its own."""
    found = [0.0] * count

    def work(number: int) -> None:
        cupy.cuda.set_allocator(rmm_cupy_allocator)
        with cupy.cuda.Stream(non_blocking=True) as stream:
            for step in range(4):
                values = cupy.full(COUNT // (step + 1), number + 1, cupy.float32)
                found[number] += float((values * 2).sum())
            stream.synchronize()

    workers = [threading.Thread(target=work, args=(number,)) for number in range(count)]
    for each in workers:
        each.start()
    for each in workers:
        each.join()
    return found


def main() -> None:
    """Run the same on every kind of resource."""
    rmm.mr.set_current_device_resource(rmm.mr.CudaMemoryResource())
    cuda.set_memory_manager(RMMNumbaManager)
    cupy.cuda.set_allocator(rmm_cupy_allocator)
    size = 64 << 20
    made = {
        "pool": lambda: rmm.mr.PoolMemoryResource(rmm.mr.CudaMemoryResource(), initial_pool_size=size),
        "arena": lambda: rmm.mr.ArenaMemoryResource(rmm.mr.CudaMemoryResource(), arena_size=size),
        "binning": lambda: rmm.mr.BinningMemoryResource(
            rmm.mr.PoolMemoryResource(rmm.mr.CudaMemoryResource(), initial_pool_size=size), 18, 22
        ),
        "async": lambda: rmm.mr.CudaAsyncMemoryResource(initial_pool_size=size),
        "statistics": lambda: rmm.mr.StatisticsResourceAdaptor(
            rmm.mr.PoolMemoryResource(rmm.mr.CudaMemoryResource(), initial_pool_size=size)
        ),
    }
    for name, make in made.items():
        rmm.mr.set_current_device_resource(make())
        print(name, Pipeline()(6), numba_rounds(3), grown(), threads(3))
    cupy.cuda.Device().synchronize()
    rmm.mr.set_current_device_resource(rmm.mr.CudaMemoryResource())


main()
