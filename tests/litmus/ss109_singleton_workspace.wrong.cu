// A singleton that lives to the end hands out one workspace; two handles with streams of their own use it at once.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <map>

#define CHECK(call)                                                                              \
    do {                                                                                         \
        const cudaError_t status = (call);                                                       \
        if (status != cudaSuccess) {                                                             \
            std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(status)); \
            std::exit(1);                                                                        \
        }                                                                                        \
    } while (0)

class WorkspacePool {
public:
    static WorkspacePool& instance()
    {
        static WorkspacePool* pool = new WorkspacePool;
        return *pool;
    }
    void* workspace(cudaStream_t stream, std::size_t bytes)
    {
        void*& found = blocks_[nullptr];
        (void)stream;
        if (!found) CHECK(cudaMalloc(&found, bytes));
        return found;
    }
    void clear()
    {
        for (auto& [stream, block] : blocks_) CHECK(cudaFree(block));
        blocks_.clear();
    }

private:
    WorkspacePool() = default;
    std::map<cudaStream_t, void*> blocks_;
};

__global__ void partial(const float* in, float* workspace, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) workspace[i] = in[i] * in[i];
}

__global__ void finish(const float* workspace, float* out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = sqrtf(workspace[i]);
}

class Handle {
public:
    Handle() { CHECK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking)); }
    ~Handle() { cudaStreamDestroy(stream_); }
    Handle(const Handle&) = delete;
    void norm(const float* in, float* out, int n)
    {
        auto* workspace = static_cast<float*>(WorkspacePool::instance().workspace(stream_, n * sizeof(float)));
        partial<<<n / 256, 256, 0, stream_>>>(in, workspace, n);  // expect: SS109
        finish<<<n / 256, 256, 0, stream_>>>(workspace, out, n);  // expect: SS109
    }

private:
    cudaStream_t stream_;
};

int main()
{
    const int n = 1 << 14;
    float *in, *out;
    CHECK(cudaMalloc(&in, 2 * n * sizeof(float)));
    CHECK(cudaMalloc(&out, 2 * n * sizeof(float)));
    CHECK(cudaMemset(in, 61, n * sizeof(float)));
    CHECK(cudaMemset(in + n, 62, n * sizeof(float)));
    CHECK(cudaDeviceSynchronize());
    {
        Handle first, second;
        first.norm(in, out, n);
        second.norm(in + n, out + n, n);
        CHECK(cudaDeviceSynchronize());
    }
    WorkspacePool::instance().clear();
    CHECK(cudaFree(out));
    CHECK(cudaFree(in));
    return 0;
}
