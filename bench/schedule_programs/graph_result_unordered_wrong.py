"""Memory that a graph allocates is read on a stream that does not wait for the launch (SS304, G-14)."""

from gpu import SIZE, TO_DEVICE, TO_HOST, check, pinned, runtime, stream


def main():
    """Return the number of wrong words."""
    work, reader = stream(), stream()
    source, words = pinned(7)
    result, answer = pinned()
    check(runtime.cudaStreamBeginCapture(work, runtime.cudaStreamCaptureMode.cudaStreamCaptureModeGlobal))
    data = check(runtime.cudaMallocAsync(SIZE, work))
    check(runtime.cudaMemcpyAsync(data, source, SIZE, TO_DEVICE, work))
    graph = check(runtime.cudaStreamEndCapture(work))
    replay = check(runtime.cudaGraphInstantiate(graph, 0))
    check(runtime.cudaGraphLaunch(replay, work))
    check(runtime.cudaMemcpyAsync(result, data, SIZE, TO_HOST, reader))
    check(runtime.cudaDeviceSynchronize())
    check(runtime.cudaFreeAsync(data, reader))
    check(runtime.cudaStreamSynchronize(reader))
    return int((answer != words).sum())
