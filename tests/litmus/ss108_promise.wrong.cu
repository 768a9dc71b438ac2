// A host function fulfils a promise behind the download; the consumer reads the buffer without asking the future.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <future>

#define CHECK(call)                                                                                 \
    do {                                                                                            \
        cudaError_t status = (call);                                                                \
        if (status != cudaSuccess) {                                                                \
            std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(status));    \
            std::exit(1);                                                                           \
        }                                                                                           \
    } while (0)

constexpr int count = 4096;

__global__ void square(float* x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = x[i] * x[i];
}

struct Job {
    cudaStream_t stream = nullptr;
    float *device = nullptr, *host = nullptr;
    std::promise<void> done;

    Job()
    {
        CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
        CHECK(cudaMalloc(&device, count * sizeof(float)));
        CHECK(cudaMallocHost(&host, count * sizeof(float)));
    }
    ~Job()
    {
        cudaFreeHost(host);
        cudaFree(device);
        cudaStreamDestroy(stream);
    }
};

static void CUDART_CB finished(void* data) { static_cast<Job*>(data)->done.set_value(); }

static void submit(Job& job)
{
    CHECK(cudaMemsetAsync(job.device, 0, count * sizeof(float), job.stream));
    square<<<count / 256, 256, 0, job.stream>>>(job.device, count);
    CHECK(cudaMemcpyAsync(job.host, job.device, count * sizeof(float), cudaMemcpyDeviceToHost, job.stream));
    CHECK(cudaLaunchHostFunc(job.stream, finished, &job));
}

int main()
{
    Job job;
    std::future<void> ready = job.done.get_future();
    submit(job);
    float first = job.host[0];  // expect: SS108
    ready.get();
    CHECK(cudaStreamSynchronize(job.stream));
    std::printf("%g\n", first);
    return 0;
}
