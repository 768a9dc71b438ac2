// The fill of a graph's own buffer depends on its allocation.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CHECK(call)                                                                        \
    do {                                                                                   \
        const cudaError_t status_ = (call);                                                \
        if (status_ != cudaSuccess) {                                                      \
            std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(status_)); \
            std::exit(EXIT_FAILURE);                                                       \
        }                                                                                  \
    } while (0)

class GraphBuilder {
public:
    GraphBuilder() { CHECK(cudaGraphCreate(&graph_, 0)); }
    ~GraphBuilder() { cudaGraphDestroy(graph_); }

    cudaGraphNode_t allocate(size_t bytes, void **address)
    {
        cudaGraphNodeParams params = {};
        params.type = cudaGraphNodeTypeMemAlloc;
        params.alloc.bytesize = bytes;
        params.alloc.poolProps.allocType = cudaMemAllocationTypePinned;
        params.alloc.poolProps.location = {cudaMemLocationTypeDevice, 0};
        cudaGraphNode_t node = add({}, params);
        *address = params.alloc.dptr;
        return node;
    }
    cudaGraphNode_t fill(const std::vector<cudaGraphNode_t> &after, void *address, size_t bytes)
    {
        cudaGraphNodeParams params = {};
        params.type = cudaGraphNodeTypeMemset;
        params.memset.dst = address;
        params.memset.elementSize = 1;
        params.memset.width = bytes;
        params.memset.height = 1;
        return add(after, params);
    }
    cudaGraphNode_t release(const std::vector<cudaGraphNode_t> &after, void *address)
    {
        cudaGraphNodeParams params = {};
        params.type = cudaGraphNodeTypeMemFree;
        params.free.dptr = address;
        return add(after, params);
    }
    cudaGraph_t graph() const { return graph_; }

private:
    cudaGraphNode_t add(const std::vector<cudaGraphNode_t> &after, cudaGraphNodeParams &params)
    {
        cudaGraphNode_t node;
        CHECK(cudaGraphAddNode(&node, graph_, after.data(), nullptr, after.size(), &params));
        return node;
    }
    cudaGraph_t graph_;
};

int main()
{
    const size_t bytes = 1 << 20;
    GraphBuilder builder;
    void *scratch;
    cudaGraphNode_t made = builder.allocate(bytes, &scratch);
    cudaGraphNode_t filled = builder.fill({made}, scratch, bytes);
    builder.release({made, filled}, scratch);

    cudaGraphExec_t exec;
    CHECK(cudaGraphInstantiate(&exec, builder.graph(), 0));
    cudaStream_t stream;
    CHECK(cudaStreamCreate(&stream));
    for (int i = 0; i < 4; ++i) CHECK(cudaGraphLaunch(exec, stream));
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaStreamDestroy(stream));
    CHECK(cudaGraphExecDestroy(exec));
    return 0;
}
