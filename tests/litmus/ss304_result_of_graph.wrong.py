"""Fetches the result that a graph allocates, on the stream for transfers."""

from cuda.bindings import runtime as cudart
from gpu_common import check

MODE = cudart.cudaStreamCaptureMode.cudaStreamCaptureModeGlobal
NBYTES = 1 << 16


def capture_step(stream):
    check(cudart.cudaStreamBeginCapture(stream, MODE))
    result = check(cudart.cudaMallocAsync(NBYTES, stream))
    check(cudart.cudaMemsetAsync(result, 5, NBYTES, stream))
    graph = check(cudart.cudaStreamEndCapture(stream))
    return check(cudart.cudaGraphInstantiate(graph, 0)), result


def main():
    compute = check(cudart.cudaStreamCreateWithFlags(cudart.cudaStreamNonBlocking))
    transfer = check(cudart.cudaStreamCreateWithFlags(cudart.cudaStreamNonBlocking))
    host = check(cudart.cudaMallocHost(NBYTES))
    launched = check(cudart.cudaEventCreateWithFlags(cudart.cudaEventDisableTiming))
    fetched = check(cudart.cudaEventCreateWithFlags(cudart.cudaEventDisableTiming))
    executable, result = capture_step(compute)
    for _ in range(2):
        check(cudart.cudaEventRecord(launched, compute))
        check(cudart.cudaGraphLaunch(executable, compute))
        check(cudart.cudaStreamWaitEvent(transfer, launched, 0))
        download = cudart.cudaMemcpyKind.cudaMemcpyDeviceToHost
        check(cudart.cudaMemcpyAsync(host, result, NBYTES, download, transfer))  # expect: SS304
        check(cudart.cudaEventRecord(fetched, transfer))
        check(cudart.cudaStreamWaitEvent(compute, fetched, 0))
        check(cudart.cudaFreeAsync(result, compute))
        check(cudart.cudaStreamSynchronize(transfer))
    check(cudart.cudaStreamSynchronize(compute))
    check(cudart.cudaFreeHost(host))
    check(cudart.cudaGraphExecDestroy(executable))


if __name__ == "__main__":
    main()
