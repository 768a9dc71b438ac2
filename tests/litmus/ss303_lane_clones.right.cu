// The table is replaced before the graph is captured and cloned for the lanes.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CHECK(call)                                                                               \
    do {                                                                                          \
        const cudaError_t status_ = (call);                                                       \
        if (status_ != cudaSuccess) {                                                             \
            std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(status_)); \
            std::exit(EXIT_FAILURE);                                                              \
        }                                                                                         \
    } while (0)

__global__ void look_up(const float *table, float *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = table[n - 1 - i];
}

struct Lane {
    cudaStream_t stream = nullptr;
    cudaGraphExec_t exec = nullptr;
};

static cudaGraph_t captured(cudaStream_t stream, const float *table, float *out, int n)
{
    cudaGraph_t graph;
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    look_up<<<(n + 255) / 256, 256, 0, stream>>>(table, out, n);
    CHECK(cudaStreamEndCapture(stream, &graph));
    return graph;
}

static void replace(float **table, int n)
{
    CHECK(cudaFree(*table));
    CHECK(cudaMalloc(table, n * sizeof(float)));
    CHECK(cudaMemset(*table, 0, n * sizeof(float)));
}

int main()
{
    const int n = 1 << 12;
    float *table, *out;
    CHECK(cudaMalloc(&table, n * sizeof(float)));
    CHECK(cudaMalloc(&out, n * sizeof(float)));
    CHECK(cudaMemset(table, 0, n * sizeof(float)));
    Lane lanes[2];
    for (Lane &lane : lanes) CHECK(cudaStreamCreate(&lane.stream));

    replace(&table, 2 * n);
    cudaGraph_t graph = captured(lanes[0].stream, table, out, n);
    cudaGraph_t copies[2];
    for (cudaGraph_t &copy : copies) CHECK(cudaGraphClone(&copy, graph));
    CHECK(cudaGraphDestroy(graph));
    for (int i = 0; i < 2; ++i) CHECK(cudaGraphInstantiate(&lanes[i].exec, copies[i], 0));
    for (Lane &lane : lanes) {
        CHECK(cudaGraphLaunch(lane.exec, lane.stream));
        CHECK(cudaStreamSynchronize(lane.stream));
    }

    for (int i = 0; i < 2; ++i) {
        CHECK(cudaGraphExecDestroy(lanes[i].exec));
        CHECK(cudaGraphDestroy(copies[i]));
        CHECK(cudaStreamDestroy(lanes[i].stream));
    }
    CHECK(cudaFree(out));
    CHECK(cudaFree(table));
    return 0;
}
