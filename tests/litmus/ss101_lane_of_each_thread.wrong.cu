// Each worker has a lane of its own, thread_local: it goes with the thread, and with it the result that main reads.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <thread>

inline void gpu_assert(cudaError_t code, const char* file, int line, bool abort = true)
{
    if (code != cudaSuccess) {
        std::fprintf(stderr, "GPU assert: %s %s %d\n", cudaGetErrorString(code), file, line);
        if (abort) std::exit(code);
    }
}
#define CHECK(ans) { gpu_assert((ans), __FILE__, __LINE__); }

constexpr int kCount = 4096;

__global__ void tabulate(int* out, int factor, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = factor * i;
}

class Lane {
public:
    Lane()
    {
        CHECK(cudaStreamCreate(&stream_));
        CHECK(cudaMallocAsync(&values_, kCount * sizeof(int), stream_));
    }
    Lane(const Lane&) = delete;
    Lane& operator=(const Lane&) = delete;
    ~Lane()
    {
        cudaFreeAsync(values_, stream_);
        cudaStreamSynchronize(stream_);
        cudaStreamDestroy(stream_);
    }
    static Lane& current()
    {
        static thread_local Lane lane;
        return lane;
    }
    const int* tabulate(int factor)
    {
        ::tabulate<<<kCount / 256, 256, 0, stream_>>>(values_, factor, kCount);
        return values_;
    }
    void download(int* to) const
    {
        CHECK(cudaMemcpyAsync(to, values_, kCount * sizeof(int), cudaMemcpyDeviceToHost, stream_));
        CHECK(cudaStreamSynchronize(stream_));
    }

private:
    cudaStream_t stream_ = nullptr;
    int* values_ = nullptr;
};

int main()
{
    static int host[2][kCount];
    const int* results[2] = {};
    std::thread workers[2];
    for (int i = 0; i < 2; ++i)
        workers[i] = std::thread([&, i] { results[i] = Lane::current().tabulate(i + 1); });
    for (std::thread& worker : workers) worker.join();
    for (int i = 0; i < 2; ++i)
        CHECK(cudaMemcpy(host[i], results[i], kCount * sizeof(int), cudaMemcpyDeviceToHost));  // expect: SS101
    std::printf("%d %d\n", host[0][7], host[1][7]);
    return 0;
}
