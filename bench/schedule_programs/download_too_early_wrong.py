"""A result is copied to the host on a stream that nothing orders after the kernel (SS109)."""

from gpu import SIZE, TO_HOST, add, check, kernel, launch, pinned, runtime, stream

SIMULATED_KERNELS = {"add": add}


def main():
    """Return the number of wrong words."""
    function, compute, download = kernel(), stream(), stream()
    data = check(runtime.cudaMalloc(SIZE))
    check(runtime.cudaMemsetAsync(data, 0, SIZE, compute))
    check(runtime.cudaStreamSynchronize(compute))
    result, answer = pinned()
    for _ in range(3):
        launch(function, data, data, 1, compute)
    check(runtime.cudaMemcpyAsync(result, data, SIZE, TO_HOST, download))
    check(runtime.cudaDeviceSynchronize())
    wrong = int((answer != 3).sum())
    check(runtime.cudaFree(data))
    return wrong
