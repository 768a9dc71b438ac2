// Default values are written in one stream, the user's overrides in another: the last writer wins, whoever that is.
// On hardware the defaults come late, and win.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

namespace {

void verify(cudaError_t status, int line)
{
    if (status == cudaSuccess) return;
    std::printf("error: %s, line %d\n", cudaGetErrorString(status), line);
    std::exit(EXIT_FAILURE);
}
#define VERIFY(call) verify((call), __LINE__)

struct DeviceFree {
    void operator()(float* p) const { cudaFree(p); }
};

__global__ void load_defaults_slowly(long long cycles)
{
    const long long begin = clock64();
    while (clock64() - begin < cycles) {
    }
}

__global__ void set_all(float* parameters, float value, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) parameters[i] = value;
}

}  // namespace

int main()
{
    setenv("CUDA_MODULE_LOADING", "EAGER", 1);  // loading a kernel later may wait for the device
    const int n = 1 << 20, overridden = n / 4;
    cudaStream_t defaults, user;
    VERIFY(cudaStreamCreateWithFlags(&defaults, cudaStreamNonBlocking));
    VERIFY(cudaStreamCreateWithFlags(&user, cudaStreamNonBlocking));
    float* raw = nullptr;
    VERIFY(cudaMalloc(&raw, n * sizeof(float)));
    std::unique_ptr<float, DeviceFree> parameters(raw);

    load_defaults_slowly<<<1, 1, 0, defaults>>>(100'000'000);
    set_all<<<n / 256, 256, 0, defaults>>>(parameters.get(), 1.0f, n);
    set_all<<<overridden / 256, 256, 0, user>>>(parameters.get(), 9.0f, overridden);  // expect: SS109

    VERIFY(cudaStreamSynchronize(user));
    VERIFY(cudaStreamSynchronize(defaults));
    std::vector<float> host(n);
    VERIFY(cudaMemcpy(host.data(), parameters.get(), n * sizeof(float), cudaMemcpyDeviceToHost));
    int wrong = 0;
    for (int i = 0; i < n; ++i) wrong += host[i] != (i < overridden ? 9.0f : 1.0f);
    std::printf("wrong words: %d\n", wrong);
    VERIFY(cudaStreamDestroy(user));
    VERIFY(cudaStreamDestroy(defaults));
    return wrong == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
