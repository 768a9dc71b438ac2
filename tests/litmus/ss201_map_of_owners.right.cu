// Owners in a map: an owner that can be copied by accident is looked up by value, and ends twice.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <utility>

#define CHECK(call)                                                                              \
    do {                                                                                         \
        const cudaError_t status = (call);                                                       \
        if (status != cudaSuccess) {                                                             \
            std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(status)); \
            std::exit(1);                                                                        \
        }                                                                                        \
    } while (0)

class Tensor {
public:
    Tensor() = default;
    explicit Tensor(int n) { CHECK(cudaMalloc(&data_, n * sizeof(float))); }
    Tensor(Tensor&& other) noexcept : data_(std::exchange(other.data_, nullptr)) {}
    Tensor& operator=(Tensor&& other) noexcept
    {
        std::swap(data_, other.data_);
        return *this;
    }
    ~Tensor()
    {
        if (data_) cudaFree(data_);
    }
    float* data() const { return data_; }

private:
    float* data_ = nullptr;
};

__global__ void bias(float* p, float by, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) p[i] = by;
}

int main()
{
    const int n = 1 << 12;
    std::map<std::string, Tensor> weights;
    weights.emplace("input", Tensor(n));
    weights["output"] = Tensor(n);
    {
        const Tensor& output = weights.at("output");
        bias<<<n / 256, 256>>>(output.data(), 0.5f, n);
        CHECK(cudaDeviceSynchronize());
    }
    return 0;
}
