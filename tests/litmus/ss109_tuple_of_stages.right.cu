// Stages in a tuple, run by a fold over std::apply: each stage goes to the next stream, and only some wait.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <tuple>

#define CHECK(call)                                                                              \
    do {                                                                                         \
        const cudaError_t status = (call);                                                       \
        if (status != cudaSuccess) {                                                             \
            std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(status)); \
            std::exit(1);                                                                        \
        }                                                                                        \
    } while (0)

__global__ void blank(int* p, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) p[i] = -1;
}

__global__ void number(int* p, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) p[i] += i;
}

struct Blank {
    void operator()(int* p, int n, cudaStream_t stream) const { blank<<<n / 256, 256, 0, stream>>>(p, n); }
};

struct Number {
    void operator()(int* p, int n, cudaStream_t stream) const { number<<<n / 256, 256, 0, stream>>>(p, n); }
};

template <typename... Stages>
class Chain {
public:
    explicit Chain(Stages... stages) : stages_(stages...) {}
    void run(int* p, int n, const cudaStream_t* streams)
    {
        std::size_t k = 0;
        auto one = [&](auto& stage) {
            if (k > 0) CHECK(cudaStreamSynchronize(streams[k - 1]));
            stage(p, n, streams[k++]);
        };
        std::apply([&](auto&... each) { (one(each), ...); }, stages_);
    }

private:
    std::tuple<Stages...> stages_;
};

int main()
{
    const int n = 1 << 16;
    int* p;
    cudaStream_t streams[2];
    CHECK(cudaMalloc(&p, n * sizeof(int)));
    for (cudaStream_t& stream : streams) CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    Chain<Blank, Number> chain{Blank{}, Number{}};
    chain.run(p, n, streams);
    for (cudaStream_t stream : streams) {
        CHECK(cudaStreamSynchronize(stream));
        CHECK(cudaStreamDestroy(stream));
    }
    CHECK(cudaFree(p));
    return 0;
}
