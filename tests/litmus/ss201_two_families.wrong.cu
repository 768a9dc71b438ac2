// Ownership handed over to the stream, and freed once more by the object that had it.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <utility>

static void require(cudaError_t status)
{
    if (status != cudaSuccess) {
        std::fprintf(stderr, "%s\n", cudaGetErrorString(status));
        std::exit(1);
    }
}

class Temp {
public:
    Temp(size_t bytes, cudaStream_t stream) : stream_(stream) { require(cudaMallocAsync(&p_, bytes, stream)); }
    ~Temp()
    {
        if (p_) require(cudaFreeAsync(p_, stream_));  // expect: SS201
    }
    Temp(Temp&& other) noexcept : p_(std::exchange(other.p_, nullptr)), stream_(other.stream_) {}
    Temp(const Temp&) = delete;
    void* get() const { return p_; }
    void* release() { return p_; }

private:
    void* p_ = nullptr;
    cudaStream_t stream_;
};

__global__ void zero(char* p, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) p[i] = 0;
}

int main()
{
    const int n = 1 << 14;
    cudaStream_t stream;
    require(cudaStreamCreate(&stream));
    {
        Temp first(n, stream);
        Temp temp(std::move(first));
        zero<<<n / 128, 128, 0, stream>>>(static_cast<char*>(temp.get()), n);
        void* raw = temp.release();
        require(cudaFreeAsync(raw, stream));
    }
    require(cudaStreamSynchronize(stream));
    require(cudaStreamDestroy(stream));
    return 0;
}
