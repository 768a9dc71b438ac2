"""The writer waits for the allocation."""

from gpu import SIZE, TO_DEVICE, TO_HOST, after, check, pinned, runtime, stream


def main():
    """Return the number of wrong words."""
    first, second = stream(), stream()
    source, words = pinned(3)
    result, answer = pinned()
    data = check(runtime.cudaMallocAsync(SIZE, first))
    after(second, first)
    check(runtime.cudaMemcpyAsync(data, source, SIZE, TO_DEVICE, second))
    check(runtime.cudaStreamSynchronize(second))
    check(runtime.cudaStreamSynchronize(first))
    check(runtime.cudaMemcpyAsync(result, data, SIZE, TO_HOST, second))
    check(runtime.cudaStreamSynchronize(second))
    check(runtime.cudaFreeAsync(data, second))
    return int((answer != words).sum())
