// The job's input is uploaded in `copies`; `jobs` is told to wait for the event of the upload, which is never recorded.
// On hardware the upload comes behind a slow step of its stream, and the job multiplies what was there before.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CHECK(call)                                                                             \
    do {                                                                                        \
        if (cudaError_t status = (call); status != cudaSuccess) {                               \
            std::printf("error: %s, line %d\n", cudaGetErrorString(status), __LINE__);          \
            std::exit(1);                                                                       \
        }                                                                                       \
    } while (0)

struct Job {
    long long* input = nullptr;
    long long* output = nullptr;
    cudaEvent_t uploaded = nullptr;
};

__global__ void unpack(long long cycles)
{
    const long long begin = clock64();
    while (clock64() - begin < cycles) {
    }
}

__global__ void multiply(const long long* input, long long* output, long long factor, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) output[i] = factor * input[i];
}

int main()
{
    setenv("CUDA_MODULE_LOADING", "EAGER", 1);  // loading a kernel later may wait for the device
    const int n = 1 << 19;
    const size_t bytes = n * sizeof(long long);
    cudaStream_t copies, jobs;
    CHECK(cudaStreamCreateWithFlags(&copies, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&jobs, cudaStreamNonBlocking));
    Job job;
    CHECK(cudaEventCreateWithFlags(&job.uploaded, cudaEventDisableTiming));
    CHECK(cudaMalloc(&job.input, bytes));
    CHECK(cudaMalloc(&job.output, bytes));
    long long* staged = nullptr;
    CHECK(cudaMallocHost(&staged, bytes));
    for (int i = 0; i < n; ++i) staged[i] = i + 1;
    CHECK(cudaMemset(job.input, 0, bytes));
    CHECK(cudaDeviceSynchronize());

    unpack<<<1, 1, 0, copies>>>(100'000'000);
    CHECK(cudaMemcpyAsync(job.input, staged, bytes, cudaMemcpyHostToDevice, copies));
    CHECK(cudaStreamWaitEvent(jobs, job.uploaded, 0));
    multiply<<<n / 256, 256, 0, jobs>>>(job.input, job.output, 11, n);  // expect: SS109

    CHECK(cudaStreamSynchronize(jobs));
    CHECK(cudaStreamSynchronize(copies));
    std::vector<long long> host(n);
    CHECK(cudaMemcpy(host.data(), job.output, bytes, cudaMemcpyDeviceToHost));
    CHECK(cudaFreeHost(staged));
    CHECK(cudaFree(job.output));
    CHECK(cudaFree(job.input));
    CHECK(cudaEventDestroy(job.uploaded));
    CHECK(cudaStreamDestroy(jobs));
    CHECK(cudaStreamDestroy(copies));
    int wrong = 0;
    for (int i = 0; i < n; ++i) wrong += host[i] != 11LL * (i + 1);
    std::printf("wrong words: %d\n", wrong);
    return wrong != 0;
}
