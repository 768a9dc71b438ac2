// Workspace::take() allocates in its own stream; whoever takes it uses it in any stream, without waiting for that.
// On hardware the workspace is the block that its stream has still to read, and the worker overwrites it.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <vector>

static void check(cudaError_t status, int line)
{
    if (status == cudaSuccess) return;
    std::printf("error: %s, line %d\n", cudaGetErrorName(status), line);
    std::exit(1);
}
#define CHECK(call) check((call), __LINE__)

class Workspace {
public:
    Workspace(int count, cudaStream_t stream) : count_(count), stream_(stream) {}
    float* take()
    {
        float* p = nullptr;
        CHECK(cudaMallocAsync(&p, count_ * sizeof(float), stream_));
        return p;
    }
    void give_back(float* p, cudaStream_t last_user) { CHECK(cudaFreeAsync(p, last_user)); }

private:
    int count_;
    cudaStream_t stream_;
};

__global__ void settle(long long cycles)
{
    const long long begin = clock64();
    while (clock64() - begin < cycles) {
    }
}

__global__ void assign(float* p, float value, int n)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) p[i] = value + i;
}

__global__ void halve(const float* p, float* out, int n)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) out[i] = 0.5f * p[i];
}

int main()
{
    setenv("CUDA_MODULE_LOADING", "EAGER", 1);  // loading a kernel later may wait for the device
    const int n = 1 << 20;
    cudaStream_t main_stream, worker;
    CHECK(cudaStreamCreateWithFlags(&main_stream, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&worker, cudaStreamNonBlocking));
    float* out = nullptr;
    CHECK(cudaMalloc(&out, n * sizeof(float)));
    Workspace workspace(n, main_stream);

    float* mine = workspace.take();
    assign<<<128, 256, 0, main_stream>>>(mine, 2.0f, n);
    CHECK(cudaStreamSynchronize(main_stream));
    settle<<<1, 1, 0, main_stream>>>(100'000'000);
    halve<<<128, 256, 0, main_stream>>>(mine, out, n);
    workspace.give_back(mine, main_stream);

    float* theirs = workspace.take();
    assign<<<128, 256, 0, worker>>>(theirs, -8.0e6f, n);  // expect: SS103
    workspace.give_back(theirs, worker);

    CHECK(cudaDeviceSynchronize());
    std::vector<float> host(n);
    CHECK(cudaMemcpy(host.data(), out, n * sizeof(float), cudaMemcpyDeviceToHost));
    CHECK(cudaFree(out));
    CHECK(cudaStreamDestroy(worker));
    CHECK(cudaStreamDestroy(main_stream));
    int wrong = 0;
    for (int i = 0; i < n; ++i) wrong += host[i] != 0.5f * (2.0f + i);
    std::printf("wrong words: %d\n", wrong);
    return wrong != 0;
}
