// Two kernels take views by value on two streams: both read one buffer, and each writes its own.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>

#define CHECK(call)                                                                        \
    do {                                                                                   \
        const cudaError_t status_ = (call);                                                \
        if (status_ != cudaSuccess) {                                                      \
            std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(status_)); \
            std::exit(EXIT_FAILURE);                                                       \
        }                                                                                  \
    } while (0)

template <class T> struct Span {
    T *data;
    int size;
    __device__ T &operator[](int i) const { return data[i]; }
    __device__ bool holds(int i) const { return i < size; }
};

struct View {
    Span<const float> in;
    Span<float> out;
};

__global__ void scale(View view, float factor)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (view.out.holds(i)) view.out[i] = view.in[i] * factor;
}

int main()
{
    const int n = 1 << 20;
    float *raw, *once, *twice;
    CHECK(cudaMalloc(&raw, n * sizeof(float)));
    CHECK(cudaMalloc(&once, n * sizeof(float)));
    CHECK(cudaMalloc(&twice, n * sizeof(float)));
    CHECK(cudaMemset(raw, 0, n * sizeof(float)));
    CHECK(cudaDeviceSynchronize());
    cudaStream_t streams[2];
    for (cudaStream_t &stream : streams) CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));

    const View first{{raw, n}, {once, n}};
    scale<<<n / 256, 256, 0, streams[0]>>>(first, 0.5f);
    scale<<<n / 256, 256, 0, streams[1]>>>(View{{raw, n}, {twice, n}}, 0.25f);

    CHECK(cudaDeviceSynchronize());
    for (cudaStream_t stream : streams) CHECK(cudaStreamDestroy(stream));
    CHECK(cudaFree(raw));
    CHECK(cudaFree(once));
    CHECK(cudaFree(twice));
    return 0;
}
