// Members end in the reverse order of their declaration: the pinned block before the stream whose copy still reads it.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>

inline void gpu_assert(cudaError_t code, const char* file, int line, bool abort = true)
{
    if (code != cudaSuccess) {
        std::fprintf(stderr, "GPU assert: %s %s %d\n", cudaGetErrorString(code), file, line);
        if (abort) std::exit(code);
    }
}
#define CHECK(ans) { gpu_assert((ans), __FILE__, __LINE__); }

struct PinnedBlock {
    float* data = nullptr;
    explicit PinnedBlock(int n) { CHECK(cudaMallocHost((void**)&data, n * sizeof(float))); }
    ~PinnedBlock() { cudaFreeHost(data); }  // expect: SS107
    PinnedBlock(const PinnedBlock&) = delete;
};

struct SyncedStream {
    cudaStream_t raw;
    SyncedStream() { CHECK(cudaStreamCreateWithFlags(&raw, cudaStreamNonBlocking)); }
    ~SyncedStream()
    {
        cudaStreamSynchronize(raw);
        cudaStreamDestroy(raw);
    }
    SyncedStream(const SyncedStream&) = delete;
};

class Uploader {
public:
    explicit Uploader(int n) : staging_(n), n_(n) {}
    void upload(float* device)
    {
        for (int i = 0; i < n_; ++i) staging_.data[i] = 2.0f * i;
        CHECK(cudaMemcpyAsync(device, staging_.data, n_ * sizeof(float), cudaMemcpyHostToDevice, stream_.raw));
    }

private:
    SyncedStream stream_;
    PinnedBlock staging_;
    int n_;
};

int main()
{
    const int n = 1 << 12;
    float* device;
    CHECK(cudaMalloc((void**)&device, n * sizeof(float)));
    {
        Uploader uploader(n);
        uploader.upload(device);
    }
    CHECK(cudaFree(device));
    return 0;
}
