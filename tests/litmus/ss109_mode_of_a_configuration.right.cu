// A pipeline whose mode comes from a configuration: one of its modes copies on a stream of its own.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#define CHECK(call)                                                                              \
    do {                                                                                         \
        const cudaError_t status = (call);                                                       \
        if (status != cudaSuccess) {                                                             \
            std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(status)); \
            std::exit(1);                                                                        \
        }                                                                                        \
    } while (0)

enum Mode { kDirect, kStaged, kOverlapped };

int configured(const char* key);

__global__ void scale(float* data, float by, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) data[i] *= by;
}

static int run(Mode mode, float* host, int n)
{
    float* data = nullptr;
    cudaStream_t stream = nullptr, side = nullptr;
    CHECK(cudaMalloc(&data, n * sizeof(float)));
    switch (mode) {
    case kDirect:
        CHECK(cudaMemcpy(data, host, n * sizeof(float), cudaMemcpyHostToDevice));
        scale<<<n / 256, 256>>>(data, 2.0f, n);
        CHECK(cudaMemcpy(host, data, n * sizeof(float), cudaMemcpyDeviceToHost));
        break;
    case kStaged:
        CHECK(cudaStreamCreate(&stream));
        CHECK(cudaMemcpyAsync(data, host, n * sizeof(float), cudaMemcpyHostToDevice, stream));
        scale<<<n / 256, 256, 0, stream>>>(data, 2.0f, n);
        CHECK(cudaMemcpyAsync(host, data, n * sizeof(float), cudaMemcpyDeviceToHost, stream));
        CHECK(cudaStreamSynchronize(stream));
        CHECK(cudaStreamDestroy(stream));
        break;
    case kOverlapped:
        CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
        CHECK(cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking));
        CHECK(cudaMemcpyAsync(data, host, n * sizeof(float), cudaMemcpyHostToDevice, stream));
        CHECK(cudaStreamSynchronize(stream));
        scale<<<n / 256, 256, 0, side>>>(data, 2.0f, n);
        CHECK(cudaStreamSynchronize(side));
        CHECK(cudaStreamSynchronize(stream));
        CHECK(cudaStreamDestroy(stream));
        CHECK(cudaStreamDestroy(side));
        break;
    default:
        std::fprintf(stderr, "unknown mode\n");
        CHECK(cudaFree(data));
        return 1;
    }
    CHECK(cudaFree(data));
    return 0;
}

int main()
{
    const int n = 1 << 16;
    float* host = nullptr;
    CHECK(cudaMallocHost(&host, n * sizeof(float)));
    for (int i = 0; i < n; ++i) host[i] = 1.0f;
    const int status = run(static_cast<Mode>(configured("mode")), host, n);
    if (status != 0) return status;
    CHECK(cudaFreeHost(host));
    return 0;
}

int configured(const char* key)
{
    const char* text = std::getenv(key);
    return text == nullptr ? kDirect : std::atoi(text);
}
