// The graph goes, and the memory that its last launch allocated stays: destroying and trimming do not free it.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>

#define CHECK(call)                                                                        \
    do {                                                                                   \
        const cudaError_t status_ = (call);                                                \
        if (status_ != cudaSuccess) {                                                      \
            std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(status_)); \
            std::exit(EXIT_FAILURE);                                                       \
        }                                                                                  \
    } while (0)

__global__ void render(uchar4 *image, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) image[i] = make_uchar4(i & 255, 0, 0, 255);
}

int main()
{
    const int n = 1920 * 1080;
    cudaStream_t stream;
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    uchar4 *image = nullptr;
    cudaGraph_t graph;
    cudaGraphExec_t exec;

    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    CHECK(cudaMallocAsync(&image, n * sizeof(uchar4), stream));  // expect: SS402
    render<<<(n + 255) / 256, 256, 0, stream>>>(image, n);
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    CHECK(cudaGraphLaunch(exec, stream));
    CHECK(cudaStreamSynchronize(stream));

    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(graph));
    CHECK(cudaDeviceGraphMemTrim(0));
    CHECK(cudaStreamDestroy(stream));
    return 0;
}
