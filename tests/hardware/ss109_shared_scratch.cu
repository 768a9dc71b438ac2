// Two requests in two streams share one scratch buffer.
// On hardware the first request stops between its two kernels, and goes on with the scratch of the second.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CHECK(call) check((call), __LINE__)
static void check(cudaError_t status, int line)
{
    if (status == cudaSuccess) return;
    std::printf("error: %s, line %d\n", cudaGetErrorName(status), line);
    std::exit(1);
}

__global__ void hesitate(long long cycles)
{
    const long long begin = clock64();
    while (clock64() - begin < cycles) {
    }
}

__global__ void expand(int* scratch, int request, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) scratch[i] = request * n + i;
}

__global__ void answer(const int* scratch, int* out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = 2 * scratch[i];
}

int main()
{
    setenv("CUDA_MODULE_LOADING", "EAGER", 1);  // loading a kernel later may wait for the device
    const int n = 1 << 20, block = 256;
    const size_t bytes = n * sizeof(int);
    cudaStream_t one, two;
    CHECK(cudaStreamCreateWithFlags(&one, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&two, cudaStreamNonBlocking));
    int *scratch, *first, *second;
    CHECK(cudaMalloc(&scratch, bytes));
    CHECK(cudaMalloc(&first, bytes));
    CHECK(cudaMalloc(&second, bytes));

    expand<<<n / block, block, 0, one>>>(scratch, 1, n);
    CHECK(cudaStreamSynchronize(one));
    hesitate<<<1, 1, 0, one>>>(100'000'000);
    answer<<<n / block, block, 0, one>>>(scratch, first, n);

    expand<<<n / block, block, 0, two>>>(scratch, 2, n);  // expect: SS109
    answer<<<n / block, block, 0, two>>>(scratch, second, n);

    CHECK(cudaDeviceSynchronize());
    std::vector<int> host_first(n), host_second(n);
    CHECK(cudaMemcpy(host_first.data(), first, bytes, cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(host_second.data(), second, bytes, cudaMemcpyDeviceToHost));
    for (int* p : {scratch, first, second}) CHECK(cudaFree(p));
    CHECK(cudaStreamDestroy(one));
    CHECK(cudaStreamDestroy(two));
    int wrong = 0;
    for (int i = 0; i < n; ++i) wrong += (host_first[i] != 2 * (n + i)) + (host_second[i] != 2 * (2 * n + i));
    std::printf("wrong words: %d\n", wrong);
    return wrong != 0;
}
