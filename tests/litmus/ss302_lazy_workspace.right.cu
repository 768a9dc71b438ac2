// The workspace is given its size before the capture begins.
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

__global__ void histogram(const unsigned char *pixels, unsigned int *bins, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(&bins[pixels[i]], 1u);
}

struct Workspace {
    unsigned int *bins = nullptr;
    size_t capacity = 0;

    void reserve(size_t count)
    {
        if (count <= capacity) return;
        if (bins != nullptr) CHECK(cudaFree(bins));
        CHECK(cudaMalloc(&bins, count * sizeof(unsigned int)));
        capacity = count;
    }
    ~Workspace() { cudaFree(bins); }
};

static void run(const unsigned char *pixels, int n, Workspace &workspace, cudaStream_t stream)
{
    workspace.reserve(256);
    CHECK(cudaMemsetAsync(workspace.bins, 0, 256 * sizeof(unsigned int), stream));
    histogram<<<(n + 255) / 256, 256, 0, stream>>>(pixels, workspace.bins, n);
}

int main()
{
    const int n = 640 * 480;
    unsigned char *pixels;
    CHECK(cudaMalloc(&pixels, n));
    CHECK(cudaMemset(pixels, 7, n));
    CHECK(cudaDeviceSynchronize());
    cudaStream_t stream;
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    Workspace workspace;
    workspace.reserve(256);

    cudaGraph_t graph;
    cudaGraphExec_t exec;
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    run(pixels, n, workspace, stream);
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    CHECK(cudaGraphDestroy(graph));
    CHECK(cudaGraphLaunch(exec, stream));
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaStreamDestroy(stream));
    CHECK(cudaFree(pixels));
    return 0;
}
