// A pinned vector class: the host sums its elements through operator[] while the download is under way.
#include <cuda_runtime.h>
#include <cstddef>
#include <cstdio>
#include <cstdlib>

inline void gpu_assert(cudaError_t code, const char* file, int line, bool abort = true)
{
    if (code != cudaSuccess) {
        std::fprintf(stderr, "GPU assert: %s %s %d\n", cudaGetErrorString(code), file, line);
        if (abort) std::exit(code);
    }
}
#define CHECK(ans) { gpu_assert((ans), __FILE__, __LINE__); }

template <typename T>
class PinnedVector {
public:
    explicit PinnedVector(std::size_t n) : size_(n) { CHECK(cudaMallocHost((void**)&data_, n * sizeof(T))); }
    ~PinnedVector() { cudaFreeHost(data_); }
    PinnedVector(const PinnedVector&) = delete;
    T& operator[](std::size_t i) { return data_[i]; }
    const T& operator[](std::size_t i) const { return data_[i]; }
    std::size_t size() const { return size_; }
    T* data() { return data_; }

private:
    T* data_ = nullptr;
    std::size_t size_;
};

__global__ void squares(double* out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = double(i) * i;
}

template <typename Vector>
static double sum(const Vector& values)
{
    double total = 0;
    for (std::size_t i = 0; i < values.size(); ++i) total += values[i];
    return total;
}

int main()
{
    const int n = 1 << 12;
    double* device;
    cudaStream_t stream;
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaMalloc((void**)&device, n * sizeof(double)));
    {
        PinnedVector<double> host(n);
        squares<<<n / 256, 256, 0, stream>>>(device, n);
        CHECK(cudaMemcpyAsync(host.data(), device, n * sizeof(double), cudaMemcpyDeviceToHost, stream));
        CHECK(cudaStreamSynchronize(stream));
        std::printf("%f\n", sum(host));
    }
    CHECK(cudaFree(device));
    CHECK(cudaStreamDestroy(stream));
    return 0;
}
