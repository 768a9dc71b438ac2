// The download depends on the first kernel only, not on the child graph that goes on writing.
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

static cudaMemsetParams filling(float *buffer, size_t count, unsigned value)
{
    cudaMemsetParams fill = {};
    fill.dst = buffer;
    fill.value = value;
    fill.elementSize = sizeof(float);
    fill.width = count;
    fill.height = 1;
    return fill;
}

class Builder {
public:
    Builder() { CHECK(cudaGraphCreate(&graph_, 0)); }
    ~Builder() { cudaGraphDestroy(graph_); }

    cudaGraphNode_t fill(float *buffer, size_t count, const std::vector<cudaGraphNode_t> &after)
    {
        cudaGraphNode_t node;
        const cudaMemsetParams params = filling(buffer, count, 0);
        CHECK(cudaGraphAddMemsetNode(&node, graph_, after.data(), after.size(), &params));
        return node;
    }
    cudaGraphNode_t embed(cudaGraph_t child, const std::vector<cudaGraphNode_t> &after)
    {
        cudaGraphNode_t node;
        CHECK(cudaGraphAddChildGraphNode(&node, graph_, after.data(), after.size(), child));
        return node;
    }
    cudaGraphNode_t copy(float *to, const float *from, size_t bytes, const std::vector<cudaGraphNode_t> &after)
    {
        cudaGraphNode_t node;
        CHECK(cudaGraphAddMemcpyNode1D(&node, graph_, after.data(), after.size(), to, from, bytes,  // expect: SS109
                                       cudaMemcpyDefault));
        return node;
    }
    cudaGraph_t graph() const { return graph_; }

private:
    cudaGraph_t graph_;
};

int main()
{
    const size_t count = 1 << 14;
    float *device, *host;
    CHECK(cudaMalloc(&device, count * sizeof(float)));
    CHECK(cudaMallocHost(&host, count * sizeof(float)));
    cudaStream_t stream;
    CHECK(cudaStreamCreate(&stream));
    {
        Builder border, whole;
        border.fill(device, count / 2, {});
        const cudaGraphNode_t first = whole.fill(device, count, {});
        const cudaGraphNode_t second = whole.embed(border.graph(), {first});
        whole.copy(host, device, count * sizeof(float), {first});
        (void)second;
        cudaGraphExec_t exec;
        CHECK(cudaGraphInstantiate(&exec, whole.graph(), 0));
        CHECK(cudaGraphLaunch(exec, stream));
        CHECK(cudaStreamSynchronize(stream));
        std::printf("%g\n", host[0]);
        CHECK(cudaGraphExecDestroy(exec));
    }
    CHECK(cudaStreamDestroy(stream));
    CHECK(cudaFreeHost(host));
    CHECK(cudaFree(device));
    return 0;
}
