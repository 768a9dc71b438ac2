// Two readers, two events; the free waits for one of them twice and for the other never.
// On hardware the second reader is delayed, and finds what the next owner of the block has written.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <vector>

static void check(cudaError_t status, const char* call)
{
    if (status == cudaSuccess) return;
    std::printf("error: %s: %s\n", call, cudaGetErrorString(status));
    std::exit(1);
}
#define CHECK(call) check(call, #call)

__global__ void delay(long long cycles)
{
    const long long begin = clock64();
    while (clock64() - begin < cycles) {
    }
}

__global__ void ramp(float* x, float slope, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = slope * i;
}

__global__ void shift(const float* x, float* y, float by, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] + by;
}

int main()
{
    setenv("CUDA_MODULE_LOADING", "EAGER", 1);  // loading a kernel later may wait for the device
    const int n = 1 << 20;
    const size_t bytes = n * sizeof(float);
    cudaStream_t main_stream, left, right;
    cudaEvent_t ready, left_done, right_done;
    for (cudaStream_t* s : {&main_stream, &left, &right}) CHECK(cudaStreamCreateWithFlags(s, cudaStreamNonBlocking));
    for (cudaEvent_t* e : {&ready, &left_done, &right_done}) CHECK(cudaEventCreateWithFlags(e, cudaEventDisableTiming));
    float *x, *other, *up, *down;
    CHECK(cudaMalloc(&up, bytes));
    CHECK(cudaMalloc(&down, bytes));

    CHECK(cudaMallocAsync(&x, bytes, main_stream));
    ramp<<<n / 256, 256, 0, main_stream>>>(x, 0.25f, n);
    CHECK(cudaEventRecord(ready, main_stream));

    CHECK(cudaStreamWaitEvent(left, ready, 0));
    shift<<<n / 256, 256, 0, left>>>(x, up, 1.0f, n);
    CHECK(cudaEventRecord(left_done, left));

    CHECK(cudaStreamWaitEvent(right, ready, 0));
    delay<<<1, 1, 0, right>>>(100'000'000);
    shift<<<n / 256, 256, 0, right>>>(x, down, -1.0f, n);
    CHECK(cudaEventRecord(right_done, right));

    CHECK(cudaStreamWaitEvent(main_stream, left_done, 0));
    CHECK(cudaStreamWaitEvent(main_stream, left_done, 0));
    CHECK(cudaFreeAsync(x, main_stream));  // expect: SS102
    CHECK(cudaMallocAsync(&other, bytes, main_stream));
    ramp<<<n / 256, 256, 0, main_stream>>>(other, -7.0f, n);
    CHECK(cudaFreeAsync(other, main_stream));

    CHECK(cudaDeviceSynchronize());
    std::vector<float> host_up(n), host_down(n);
    CHECK(cudaMemcpy(host_up.data(), up, bytes, cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(host_down.data(), down, bytes, cudaMemcpyDeviceToHost));
    CHECK(cudaFree(up));
    CHECK(cudaFree(down));
    for (cudaStream_t s : {main_stream, left, right}) CHECK(cudaStreamDestroy(s));
    for (cudaEvent_t e : {ready, left_done, right_done}) CHECK(cudaEventDestroy(e));
    int wrong = 0;
    for (int i = 0; i < n; ++i) wrong += (host_up[i] != 0.25f * i + 1.0f) + (host_down[i] != 0.25f * i - 1.0f);
    std::printf("wrong words: %d\n", wrong);
    return wrong != 0;
}
