// The buffer grows between two frames, the captured frame keeps the address of the small one.
// On hardware the lookup table allocated after that has this address: the next launch blurs the table.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <vector>

inline void require(cudaError_t status)
{
    if (status != cudaSuccess) throw std::runtime_error(cudaGetErrorName(status));
}

__global__ void set(float* values, float value, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) values[i] = value;
}

__global__ void blur(float* pixels, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) pixels[i] = 0.25f * pixels[i];
}

class Buffer {
public:
    ~Buffer() { cudaFree(data_); }
    void reserve(int count)
    {
        if (count <= capacity_) return;
        float* grown = nullptr;
        require(cudaMalloc(&grown, count * sizeof(float)));
        require(cudaFree(data_));
        data_ = grown;
        capacity_ = count;
    }
    float* data() const { return data_; }

private:
    float* data_ = nullptr;
    int capacity_ = 0;
};

static int run()
{
    const int n = 1 << 20;
    cudaStream_t stream;
    require(cudaStreamCreate(&stream));
    Buffer pixels, table;
    pixels.reserve(n);

    cudaGraph_t graph;
    cudaGraphExec_t frame;
    require(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    set<<<n / 256, 256, 0, stream>>>(pixels.data(), 8.0f, n);
    blur<<<n / 256, 256, 0, stream>>>(pixels.data(), n);
    require(cudaStreamEndCapture(stream, &graph));
    require(cudaGraphInstantiate(&frame, graph, 0));
    require(cudaGraphLaunch(frame, stream));
    require(cudaStreamSynchronize(stream));

    pixels.reserve(4 * n);
    table.reserve(n);
    set<<<n / 256, 256, 0, stream>>>(table.data(), 5.0f, n);
    require(cudaGraphLaunch(frame, stream));  // expect: SS303

    require(cudaStreamSynchronize(stream));
    std::vector<float> host(n);
    require(cudaMemcpy(host.data(), table.data(), n * sizeof(float), cudaMemcpyDeviceToHost));
    require(cudaGraphExecDestroy(frame));
    require(cudaGraphDestroy(graph));
    require(cudaStreamDestroy(stream));
    int wrong = 0;
    for (int i = 0; i < n; ++i) wrong += host[i] != 5.0f;
    std::printf("wrong words: %d\n", wrong);
    return wrong != 0;
}

int main()
{
    setenv("CUDA_MODULE_LOADING", "EAGER", 1);
    try {
        return run();
    } catch (const std::runtime_error& error) {
        std::printf("error: %s\n", error.what());
        return 1;
    }
}
