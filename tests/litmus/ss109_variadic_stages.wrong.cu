// Stages are given one after the other to a function that calls itself with the rest; each goes to the next stream.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>

#define CHECK(call)                                                                              \
    do {                                                                                         \
        const cudaError_t status = (call);                                                       \
        if (status != cudaSuccess) {                                                             \
            std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(status)); \
            std::exit(1);                                                                        \
        }                                                                                        \
    } while (0)

__global__ void blank(float* p, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) p[i] = 1.0f;
}

__global__ void twice(float* p, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) p[i] *= 2.0f;
}

class Lanes {
public:
    static inline cudaStream_t stream[2] = {};
    static void open()
    {
        for (cudaStream_t& each : stream) CHECK(cudaStreamCreateWithFlags(&each, cudaStreamNonBlocking));
    }
    static void close()
    {
        for (cudaStream_t each : stream) {
            CHECK(cudaStreamSynchronize(each));
            CHECK(cudaStreamDestroy(each));
        }
    }
};

template <typename Stage, typename... Rest>
void run(float* p, int n, Stage stage, Rest... rest)
{
    cudaStream_t stream = Lanes::stream[sizeof...(rest) % 2];
    stage(p, n, stream);
    if constexpr (sizeof...(rest) > 0) {
        run(p, n, rest...);
    }
}

static void fill_stage(float* p, int n, cudaStream_t stream) { blank<<<n / 256, 256, 0, stream>>>(p, n); }

int main()
{
    const int n = 1 << 14;
    float* p;
    void (*started)() = Lanes::open;
    CHECK(cudaMalloc(&p, n * sizeof(float)));
    started();
    run(p, n, fill_stage, [](float* at, int count, cudaStream_t stream) {
        twice<<<count / 256, 256, 0, stream>>>(at, count);  // expect: SS109
    });
    Lanes::close();
    CHECK(cudaFree(p));
    return 0;
}
