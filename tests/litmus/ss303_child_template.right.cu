// The node gets the new buffer before the child is copied into its parent.
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

class Template {
public:
    Template(float *buffer, size_t count)
    {
        CHECK(cudaGraphCreate(&graph_, 0));
        const cudaMemsetParams fill = filling(buffer, count);
        CHECK(cudaGraphAddMemsetNode(&fill_, graph_, nullptr, 0, &fill));
    }
    ~Template() { cudaGraphDestroy(graph_); }

    void use(float *buffer, size_t count)
    {
        const cudaMemsetParams fill = filling(buffer, count);
        CHECK(cudaGraphMemsetNodeSetParams(fill_, &fill));
    }
    cudaGraph_t graph() const { return graph_; }

private:
    static cudaMemsetParams filling(float *buffer, size_t count)
    {
        cudaMemsetParams fill = {};
        fill.dst = buffer;
        fill.elementSize = sizeof(float);
        fill.width = count;
        fill.height = 1;
        return fill;
    }

    cudaGraph_t graph_;
    cudaGraphNode_t fill_;
};

int main()
{
    const size_t count = 4096;
    float *old_buffer, *new_buffer;
    CHECK(cudaMalloc(&old_buffer, count * sizeof(float)));
    CHECK(cudaMalloc(&new_buffer, count * sizeof(float)));
    cudaStream_t stream;
    CHECK(cudaStreamCreate(&stream));

    Template part(old_buffer, count);
    cudaGraph_t whole;
    CHECK(cudaGraphCreate(&whole, 0));
    cudaGraphNode_t embedded;
    part.use(new_buffer, count);
    CHECK(cudaGraphAddChildGraphNode(&embedded, whole, nullptr, 0, part.graph()));
    CHECK(cudaFree(old_buffer));
    cudaGraphExec_t exec;
    CHECK(cudaGraphInstantiate(&exec, whole, 0));
    CHECK(cudaGraphLaunch(exec, stream));
    CHECK(cudaStreamSynchronize(stream));

    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(whole));
    CHECK(cudaStreamDestroy(stream));
    CHECK(cudaFree(new_buffer));
    return 0;
}
