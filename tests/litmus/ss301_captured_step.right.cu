// A step is captured with its scratch memory, allocated and freed in stream order, and replayed.
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

__global__ void expand(const float *in, float *scratch, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) scratch[i] = in[i] * in[i];
}

__global__ void reduce(const float *scratch, float *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(out, scratch[i]);
}

static void step(const float *in, float *out, int n, cudaStream_t stream)
{
    float *scratch = nullptr;
    CHECK(cudaMallocAsync(&scratch, n * sizeof(float), stream));
    expand<<<(n + 255) / 256, 256, 0, stream>>>(in, scratch, n);
    reduce<<<(n + 255) / 256, 256, 0, stream>>>(scratch, out, n);
    CHECK(cudaFreeAsync(scratch, stream));
}

int main()
{
    const int n = 1 << 20;
    float *in, *out;
    CHECK(cudaMalloc(&in, n * sizeof(float)));
    CHECK(cudaMalloc(&out, sizeof(float)));
    CHECK(cudaMemset(in, 0, n * sizeof(float)));
    CHECK(cudaMemset(out, 0, sizeof(float)));
    CHECK(cudaDeviceSynchronize());

    cudaStream_t stream;
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    step(in, out, n, stream);
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaGraphInstantiate(&exec, graph, 0));

    for (int iteration = 0; iteration < 1000; ++iteration) {
        CHECK(cudaGraphLaunch(exec, stream));
    }
    CHECK(cudaStreamSynchronize(stream));

    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(graph));
    CHECK(cudaStreamDestroy(stream));
    CHECK(cudaFree(in));
    CHECK(cudaFree(out));
    return 0;
}
