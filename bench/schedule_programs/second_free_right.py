"""Each pointer is freed once."""

from gpu import SIZE, TO_HOST, check, pinned, runtime, stream


def main():
    """Return the number of wrong words."""
    work = stream()
    first = check(runtime.cudaMallocAsync(SIZE, work))
    check(runtime.cudaFreeAsync(first, work))
    mine = check(runtime.cudaMallocAsync(SIZE, work))
    check(runtime.cudaMemsetAsync(mine, 0, SIZE, work))
    theirs = check(runtime.cudaMallocAsync(SIZE, work))
    check(runtime.cudaMemsetAsync(theirs, 1, SIZE, work))
    result, answer = pinned(1)
    check(runtime.cudaMemcpyAsync(result, mine, SIZE, TO_HOST, work))
    check(runtime.cudaStreamSynchronize(work))
    return int((answer != 0).sum())
