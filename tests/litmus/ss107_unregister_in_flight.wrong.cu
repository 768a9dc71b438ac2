// A file buffer is registered for a fast download and unregistered before the download is known to be complete.
#include <cuda_runtime.h>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

static inline void check_cuda(cudaError_t result, char const* const func, const char* const file, int const line)
{
    if (result) {
        fprintf(stderr, "CUDA error at %s:%d code=%d \"%s\"\n", file, line, static_cast<unsigned int>(result), func);
        exit(EXIT_FAILURE);
    }
}
#define checkCudaErrors(val) check_cuda((val), #val, __FILE__, __LINE__)

class HostRegistration {
public:
    HostRegistration(void* p, size_t bytes) : p_(p)
    {
        checkCudaErrors(cudaHostRegister(p, bytes, cudaHostRegisterDefault));
    }
    ~HostRegistration() { checkCudaErrors(cudaHostUnregister(p_)); }  // expect: SS107
    HostRegistration(const HostRegistration&) = delete;

private:
    void* p_;
};

__global__ void squares(uint32_t* out, uint32_t n)
{
    uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = i * i;
}

int main()
{
    const uint32_t n = 1 << 20;
    std::vector<uint32_t> page(n);
    uint32_t* device;
    cudaStream_t stream;
    checkCudaErrors(cudaStreamCreate(&stream));
    checkCudaErrors(cudaMalloc((void**)&device, n * sizeof(uint32_t)));
    squares<<<n / 256, 256, 0, stream>>>(device, n);
    {
        HostRegistration pin(page.data(), page.size() * sizeof(uint32_t));
        checkCudaErrors(cudaMemcpyAsync(page.data(), device, n * sizeof(uint32_t), cudaMemcpyDeviceToHost, stream));
    }
    checkCudaErrors(cudaStreamSynchronize(stream));
    printf("%u\n", page[3]);
    checkCudaErrors(cudaFree(device));
    checkCudaErrors(cudaStreamDestroy(stream));
    return 0;
}
