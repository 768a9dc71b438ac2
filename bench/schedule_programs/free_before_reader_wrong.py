"""A buffer is freed on the stream that made it while another stream still reads it (SS102, F-05)."""

from gpu import SIZE, TO_DEVICE, add, after, check, kernel, launch, pinned, runtime, stream

SIMULATED_KERNELS = {"add": add}


def main():
    """Return the number of wrong words."""
    function, upload, compute = kernel(), stream(), stream()
    source, words = pinned(5)
    next_source, _ = pinned(9)
    result, answer = pinned()
    to = check(runtime.cudaMalloc(SIZE))
    data = check(runtime.cudaMallocAsync(SIZE, upload))
    check(runtime.cudaMemcpyAsync(data, source, SIZE, TO_DEVICE, upload))
    after(compute, upload)
    launch(function, to, data, 1, compute)
    check(runtime.cudaFreeAsync(data, upload))
    following = check(runtime.cudaMallocAsync(SIZE, upload))
    check(runtime.cudaMemcpyAsync(following, next_source, SIZE, TO_DEVICE, upload))
    check(runtime.cudaMemcpyAsync(result, to, SIZE, runtime.cudaMemcpyKind.cudaMemcpyDeviceToHost, compute))
    check(runtime.cudaDeviceSynchronize())
    return int((answer != words + 1).sum())
