// A helper synchronises its stream only when the stream is not being captured.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>

static void check(cudaError_t status, const char *file, int line)
{
    if (status == cudaSuccess) return;
    std::fprintf(stderr, "%s(%d): %s\n", file, line, cudaGetErrorString(status));
    std::exit(1);
}
#define CHECK(x) check((x), __FILE__, __LINE__)

template <typename T>
__global__ void axpy(T a, const T *x, T *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] += a * x[i];
}

template <typename T>
void launch_axpy(T a, const T *x, T *y, int n, cudaStream_t stream)
{
    axpy<T><<<(n + 127) / 128, 128, 0, stream>>>(a, x, y, n);
    CHECK(cudaGetLastError());
    cudaStreamCaptureStatus capturing;
    CHECK(cudaStreamIsCapturing(stream, &capturing));
    if (capturing == cudaStreamCaptureStatusNone) CHECK(cudaStreamSynchronize(stream));
}

int main()
{
    const int n = 4096;
    double *x, *y;
    CHECK(cudaMalloc(&x, n * sizeof(double)));
    CHECK(cudaMalloc(&y, n * sizeof(double)));
    CHECK(cudaMemset(x, 0, n * sizeof(double)));
    CHECK(cudaMemset(y, 0, n * sizeof(double)));
    CHECK(cudaDeviceSynchronize());

    cudaStream_t stream;
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    cudaGraph_t graph = nullptr;
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    launch_axpy(2.0, x, y, n, stream);
    launch_axpy(0.5, x, y, n, stream);
    CHECK(cudaStreamEndCapture(stream, &graph));

    cudaGraphExec_t exec;
    CHECK(cudaGraphInstantiateWithFlags(&exec, graph, 0));
    for (int i = 0; i < 8; ++i) CHECK(cudaGraphLaunch(exec, stream));
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(graph));
    CHECK(cudaStreamDestroy(stream));
    CHECK(cudaFree(x));
    CHECK(cudaFree(y));
    return 0;
}
