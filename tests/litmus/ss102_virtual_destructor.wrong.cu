// Layers behind a base class with a virtual destructor; a layer frees its weights in the order of the loading stream.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

inline void gpu_assert(cudaError_t code, const char* file, int line, bool abort = true)
{
    if (code != cudaSuccess) {
        std::fprintf(stderr, "GPU assert: %s %s %d\n", cudaGetErrorString(code), file, line);
        if (abort) std::exit(code);
    }
}
#define CHECK(ans) { gpu_assert((ans), __FILE__, __LINE__); }

__global__ void dense(const float* weights, float* x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = x[i] * weights[i] + 1.0f;
}

struct Streams {
    cudaStream_t loading, computing;
};

class Layer {
public:
    explicit Layer(const Streams& streams) : streams_(streams) {}
    virtual ~Layer() = default;
    virtual void forward(float* x, int n) = 0;

protected:
    const Streams& streams_;
};

class Dense final : public Layer {
public:
    Dense(const Streams& streams, int n) : Layer(streams)
    {
        CHECK(cudaMallocAsync((void**)&weights_, n * sizeof(float), streams_.loading));
        CHECK(cudaMemsetAsync(weights_, 1, n * sizeof(float), streams_.loading));
        CHECK(cudaStreamSynchronize(streams_.loading));
    }
    ~Dense() override { cudaFreeAsync(weights_, streams_.loading); }  // expect: SS102
    void forward(float* x, int n) override { dense<<<n / 256, 256, 0, streams_.computing>>>(weights_, x, n); }

private:
    float* weights_ = nullptr;
};

int main()
{
    const int n = 1 << 14;
    Streams streams;
    CHECK(cudaStreamCreateWithFlags(&streams.loading, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&streams.computing, cudaStreamNonBlocking));
    float* x;
    CHECK(cudaMalloc((void**)&x, n * sizeof(float)));
    CHECK(cudaMemset(x, 0, n * sizeof(float)));
    CHECK(cudaDeviceSynchronize());
    {
        std::vector<std::unique_ptr<Layer>> network;
        for (int i = 0; i < 2; ++i) network.push_back(std::make_unique<Dense>(streams, n));
        for (const std::unique_ptr<Layer>& layer : network) layer->forward(x, n);
    }
    CHECK(cudaStreamSynchronize(streams.computing));
    CHECK(cudaStreamSynchronize(streams.loading));
    CHECK(cudaFree(x));
    CHECK(cudaStreamDestroy(streams.computing));
    CHECK(cudaStreamDestroy(streams.loading));
    return 0;
}
