"""A graph is replayed after memory that it bakes in was freed and handed out again (SS303, G-13)."""

from gpu import SIZE, TO_HOST, add, check, kernel, launch, pinned, runtime, stream

SIMULATED_KERNELS = {"add": add}


def main():
    """Return the number of wrong words."""
    function, work = kernel(), stream()
    counter = check(runtime.cudaMalloc(SIZE))
    check(runtime.cudaMemset(counter, 0, SIZE))
    check(runtime.cudaDeviceSynchronize())
    check(runtime.cudaStreamBeginCapture(work, runtime.cudaStreamCaptureMode.cudaStreamCaptureModeGlobal))
    launch(function, counter, counter, 1, work)
    graph = check(runtime.cudaStreamEndCapture(work))
    replay = check(runtime.cudaGraphInstantiate(graph, 0))
    check(runtime.cudaGraphLaunch(replay, work))
    check(runtime.cudaStreamSynchronize(work))
    check(runtime.cudaFree(counter))
    other = check(runtime.cudaMalloc(SIZE))
    check(runtime.cudaMemset(other, 0, SIZE))
    check(runtime.cudaDeviceSynchronize())
    check(runtime.cudaGraphLaunch(replay, work))
    result, answer = pinned(1)
    check(runtime.cudaMemcpyAsync(result, other, SIZE, TO_HOST, work))
    check(runtime.cudaStreamSynchronize(work))
    return int((answer != 0).sum())
