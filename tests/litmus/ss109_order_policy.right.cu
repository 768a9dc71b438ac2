// How stages are ordered is a policy of a template; the wrong program was built with the one for a single stream.
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

struct SameStream {
    void operator()(cudaStream_t, cudaStream_t) const {}
};

struct ByEvent {
    void operator()(cudaStream_t first, cudaStream_t then) const
    {
        cudaEvent_t event;
        CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
        CHECK(cudaEventRecord(event, first));
        CHECK(cudaStreamWaitEvent(then, event, 0));
        CHECK(cudaEventDestroy(event));
    }
};

__global__ void encode(const int* in, int* codes, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) codes[i] = in[i] ^ (in[i] >> 1);
}

__global__ void pack(const int* codes, unsigned char* bytes, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) bytes[i] = codes[i] & 255;
}

template <typename Order>
class Encoder : private Order {
public:
    Encoder(cudaStream_t encoding, cudaStream_t packing) : encoding_(encoding), packing_(packing) {}
    void operator()(const int* in, int* codes, unsigned char* bytes, int n) const
    {
        encode<<<n / 256, 256, 0, encoding_>>>(in, codes, n);
        Order::operator()(encoding_, packing_);
        pack<<<n / 256, 256, 0, packing_>>>(codes, bytes, n);
    }

private:
    cudaStream_t encoding_, packing_;
};

int main()
{
    const int n = 1 << 16;
    int *in, *codes;
    unsigned char* bytes;
    cudaStream_t a, b;
    CHECK(cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking));
    CHECK(cudaMalloc(&in, n * sizeof(int)));
    CHECK(cudaMalloc(&codes, n * sizeof(int)));
    CHECK(cudaMalloc(&bytes, n));
    CHECK(cudaMemset(in, 77, n * sizeof(int)));
    CHECK(cudaDeviceSynchronize());
    const Encoder<ByEvent> encoder(a, b);
    encoder(in, codes, bytes, n);
    CHECK(cudaStreamSynchronize(b));
    CHECK(cudaStreamSynchronize(a));
    CHECK(cudaFree(bytes));
    CHECK(cudaFree(codes));
    CHECK(cudaFree(in));
    CHECK(cudaStreamDestroy(b));
    CHECK(cudaStreamDestroy(a));
    return 0;
}
