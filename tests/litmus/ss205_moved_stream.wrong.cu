// A move constructor that forgets to empty its source: the stream is destroyed twice.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

static void ensure(cudaError_t e)
{
    if (e != cudaSuccess) {
        std::fprintf(stderr, "%s\n", cudaGetErrorString(e));
        std::exit(1);
    }
}

class Stream {
public:
    Stream() { ensure(cudaStreamCreate(&handle_)); }
    Stream(Stream&& other) noexcept : handle_(other.handle_) {}
    Stream(const Stream&) = delete;
    ~Stream()
    {
        if (handle_) cudaStreamDestroy(handle_);  // expect: SS205
    }
    cudaStream_t handle() const { return handle_; }

private:
    cudaStream_t handle_ = nullptr;
};

struct Job {
    explicit Job(Stream&& s) : stream(std::move(s)) { ensure(cudaMalloc(&data, 1024)); }
    ~Job() { cudaFree(data); }
    Job(const Job&) = delete;
    Stream stream;
    float* data = nullptr;
};

__global__ void set(float* p) { p[threadIdx.x] = threadIdx.x; }

int main()
{
    Stream stream;
    {
        Job job(std::move(stream));
        set<<<1, 256, 0, job.stream.handle()>>>(job.data);
        ensure(cudaStreamSynchronize(job.stream.handle()));
    }
    ensure(cudaDeviceSynchronize());
    return 0;
}
