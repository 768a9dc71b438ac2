"""CuPy: the stream-ordered pool, pinned memory, events, a captured graph, libraries, reductions. Prints results."""

import cupy
import numpy

cupy.random.seed(0)
cupy.cuda.set_allocator(cupy.cuda.MemoryAsyncPool().malloc)
first, second = cupy.cuda.Stream(non_blocking=True), cupy.cuda.Stream(non_blocking=True)
count = 1 << 16


def pinned(size: int) -> numpy.ndarray:
    """Return page-locked memory as an array."""
    return numpy.frombuffer(cupy.cuda.alloc_pinned_memory(size * 4), numpy.float32, size)


source, result = pinned(count), pinned(count)
source[:] = numpy.arange(count)
ready = cupy.cuda.Event()
with first:
    values = cupy.empty(count, dtype=cupy.float32)
    values.set(source, stream=first)
    values *= 2
    ready.record(first)
second.wait_event(ready)
with second:
    total = values + 1
    total.get(stream=second, out=result)
second.synchronize()
print(float(result.sum()))
for step in range(3):
    source[:] = step
    with first:
        values.set(source, stream=first)
        values += 1
        values.get(stream=first, out=result)
    first.synchronize()
    print(float(result[0]))

cupy.cuda.set_allocator(cupy.cuda.MemoryPool().malloc)
fixed = cupy.zeros(count, dtype=cupy.float32)
cupy.cuda.Device().synchronize()
with second:
    cupy.add(fixed, 1, out=fixed)  # compiled here, not inside the capture
    second.synchronize()
    second.begin_capture()
    cupy.add(fixed, 1, out=fixed)
    graph = second.end_capture()
for _ in range(3):
    graph.launch(stream=second)
second.synchronize()
print(float(fixed[0]))

matrix = cupy.random.random((64, 64), dtype=cupy.float32) + 64 * cupy.eye(64, dtype=cupy.float32)
print(round(float(cupy.linalg.norm(cupy.linalg.solve(matrix, matrix))), 3))
print(round(float(abs(cupy.fft.fft(cupy.ones(256))).sum()), 3))
print(int(cupy.argsort(cupy.arange(1000)[::-1])[0]), float(cupy.cumsum(cupy.ones(1000))[-1]))
print(cupy.unique(cupy.arange(100) % 7).tolist())
