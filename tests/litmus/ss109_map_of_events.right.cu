// Events by the name of what they stand for; a consumer asks the map for a name that nobody has recorded.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <unordered_map>

#define CHECK(call)                                                                              \
    do {                                                                                         \
        const cudaError_t status = (call);                                                       \
        if (status != cudaSuccess) {                                                             \
            std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(status)); \
            std::exit(1);                                                                        \
        }                                                                                        \
    } while (0)

class Timeline {
public:
    ~Timeline()
    {
        for (auto& [name, event] : events_) cudaEventDestroy(event);
    }
    void mark(const std::string& name, cudaStream_t stream) { CHECK(cudaEventRecord(event(name), stream)); }
    void after(const std::string& name, cudaStream_t stream) { CHECK(cudaStreamWaitEvent(stream, event(name), 0)); }

private:
    cudaEvent_t event(const std::string& name)
    {
        auto found = events_.find(name);
        if (found == events_.end()) {
            cudaEvent_t made;
            CHECK(cudaEventCreateWithFlags(&made, cudaEventDisableTiming));
            found = events_.emplace(name, made).first;
        }
        return found->second;
    }
    std::unordered_map<std::string, cudaEvent_t> events_;
};

__global__ void shade(float* pixels, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) pixels[i] = i * 0.001f;
}

__global__ void tonemap(float* pixels, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) pixels[i] = pixels[i] / (1.0f + pixels[i]);
}

int main()
{
    const int n = 1 << 18;
    float* pixels;
    cudaStream_t render, post;
    CHECK(cudaStreamCreateWithFlags(&render, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&post, cudaStreamNonBlocking));
    CHECK(cudaMalloc(&pixels, n * sizeof(float)));
    {
        Timeline timeline;
        shade<<<n / 256, 256, 0, render>>>(pixels, n);
        timeline.mark("shading", render);
        timeline.after("shading", post);
        tonemap<<<n / 256, 256, 0, post>>>(pixels, n);
    }
    CHECK(cudaStreamSynchronize(render));
    CHECK(cudaStreamSynchronize(post));
    CHECK(cudaFree(pixels));
    CHECK(cudaStreamDestroy(post));
    CHECK(cudaStreamDestroy(render));
    return 0;
}
