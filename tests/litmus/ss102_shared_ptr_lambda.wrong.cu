// shared_ptr with a lambda as its deleter, a list of jobs that keep the memory alive, each on a stream of its own.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

#define CUDA_CHECK(x)                                        \
    do {                                                     \
        cudaError_t e = (x);                                 \
        if (e != cudaSuccess) {                              \
            fprintf(stderr, "%s\n", cudaGetErrorString(e));  \
            exit(1);                                         \
        }                                                    \
    } while (0)

using Memory = std::shared_ptr<float>;

static Memory shared_memory(int n, cudaStream_t stream)
{
    float* p;
    CUDA_CHECK(cudaMallocAsync(&p, n * sizeof(float), stream));
    return Memory(p, [stream](float* q) {
        cudaFreeAsync(q, stream);  // expect: SS102
    });
}

struct Job {
    Memory input;
    cudaStream_t stream;
    cudaEvent_t done;
};

__global__ void read_all(const float* in, float* out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] += in[i];
}

int main()
{
    const int n = 1 << 14, count = 2;
    cudaStream_t base;
    cudaEvent_t ready;
    float* out[count];
    CUDA_CHECK(cudaStreamCreateWithFlags(&base, cudaStreamNonBlocking));
    CUDA_CHECK(cudaEventCreateWithFlags(&ready, cudaEventDisableTiming));

    std::vector<Job> jobs;
    {
        Memory memory = shared_memory(n, base);
        CUDA_CHECK(cudaMemsetAsync(memory.get(), 0, n * sizeof(float), base));
        CUDA_CHECK(cudaEventRecord(ready, base));
        for (int i = 0; i < count; ++i) {
            Job job;
            job.input = memory;
            CUDA_CHECK(cudaStreamCreateWithFlags(&job.stream, cudaStreamNonBlocking));
            CUDA_CHECK(cudaEventCreateWithFlags(&job.done, cudaEventDisableTiming));
            CUDA_CHECK(cudaMalloc(&out[i], n * sizeof(float)));
            jobs.push_back(job);
        }
    }
    for (int i = 0; i < count; ++i) {
        CUDA_CHECK(cudaStreamWaitEvent(jobs[i].stream, ready, 0));
        CUDA_CHECK(cudaMemsetAsync(out[i], 0, n * sizeof(float), jobs[i].stream));
        read_all<<<n / 256, 256, 0, jobs[i].stream>>>(jobs[i].input.get(), out[i], n);
        CUDA_CHECK(cudaEventRecord(jobs[i].done, jobs[i].stream));
    }
    for (Job& job : jobs) job.input.reset();

    CUDA_CHECK(cudaDeviceSynchronize());
    for (int i = 0; i < count; ++i) {
        CUDA_CHECK(cudaFree(out[i]));
        CUDA_CHECK(cudaEventDestroy(jobs[i].done));
        CUDA_CHECK(cudaStreamDestroy(jobs[i].stream));
    }
    CUDA_CHECK(cudaEventDestroy(ready));
    CUDA_CHECK(cudaStreamDestroy(base));
    return 0;
}
