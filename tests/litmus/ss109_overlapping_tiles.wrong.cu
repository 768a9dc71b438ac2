// Nodes fill the tiles of an image side by side, and each tile is one column too wide.
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

constexpr size_t columns = 256, lines = 128, tiles = 4;

class Image {
public:
    Image() { CHECK(cudaMallocPitch(&data_, &pitch_, columns * sizeof(float), lines)); }
    ~Image() { cudaFree(data_); }

    cudaMemsetParams tile(size_t number, size_t width) const
    {
        cudaMemsetParams fill = {};
        fill.dst = data_ + number * (columns / tiles);
        fill.pitch = pitch_;
        fill.elementSize = sizeof(float);
        fill.width = width;
        fill.height = lines;
        return fill;
    }

private:
    float *data_;
    size_t pitch_;
};

int main()
{
    Image image;
    cudaStream_t stream;
    CHECK(cudaStreamCreate(&stream));
    cudaGraph_t graph;
    CHECK(cudaGraphCreate(&graph, 0));
    for (size_t number = 0; number < tiles; ++number) {
        const size_t width = columns / tiles + (number + 1 < tiles ? 1 : 0);
        const cudaMemsetParams fill = image.tile(number, width);
        cudaGraphNode_t node;
        CHECK(cudaGraphAddMemsetNode(&node, graph, nullptr, 0, &fill));  // expect: SS109
    }
    cudaGraphExec_t exec;
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    CHECK(cudaGraphLaunch(exec, stream));
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(graph));
    CHECK(cudaStreamDestroy(stream));
    return 0;
}
