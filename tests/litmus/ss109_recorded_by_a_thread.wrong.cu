// A loader thread records the event that main waits for on the device, without knowing that it has been recorded.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <thread>

#define CHECK(call)                                                                              \
    do {                                                                                         \
        const cudaError_t status = (call);                                                       \
        if (status != cudaSuccess) {                                                             \
            std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(status)); \
            std::exit(1);                                                                        \
        }                                                                                        \
    } while (0)

__global__ void load(float* p, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) p[i] = 0.25f * i;
}

__global__ void train(const float* p, float* loss, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(loss, p[i]);
}

int main()
{
    const int n = 1 << 14;
    float *batch, *loss;
    cudaStream_t loading, training;
    cudaEvent_t loaded;
    CHECK(cudaStreamCreateWithFlags(&loading, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&training, cudaStreamNonBlocking));
    CHECK(cudaEventCreateWithFlags(&loaded, cudaEventDisableTiming));
    CHECK(cudaMalloc(&batch, n * sizeof(float)));
    CHECK(cudaMalloc(&loss, sizeof(float)));
    CHECK(cudaMemset(loss, 0, sizeof(float)));
    CHECK(cudaDeviceSynchronize());
    std::thread loader([&] {
        load<<<n / 256, 256, 0, loading>>>(batch, n);  // expect: SS109
        CHECK(cudaEventRecord(loaded, loading));
    });
    CHECK(cudaStreamWaitEvent(training, loaded, 0));
    train<<<n / 256, 256, 0, training>>>(batch, loss, n);
    loader.join();
    CHECK(cudaStreamSynchronize(loading));
    CHECK(cudaStreamSynchronize(training));
    CHECK(cudaFree(loss));
    CHECK(cudaFree(batch));
    CHECK(cudaEventDestroy(loaded));
    CHECK(cudaStreamDestroy(training));
    CHECK(cudaStreamDestroy(loading));
    return 0;
}
