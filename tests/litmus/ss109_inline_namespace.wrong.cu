// Launchers in versioned and hidden namespaces, with attributes of all kinds; nothing orders the two kernels.
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

namespace engine __attribute__((visibility("default"))) {
inline namespace v2 {
namespace [[gnu::visibility("hidden")]] detail {
__global__ void __launch_bounds__(256) decode(const short* in, float* out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = in[i] / 32768.0f;
}
__global__ void __launch_bounds__(256) window(float* samples, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) samples[i] *= 0.5f;
}
}  // namespace detail

[[nodiscard]] inline cudaError_t decode(const short* in, float* out, int n, cudaStream_t stream)
{
    detail::decode<<<(n + 255) / 256, 256, 0, stream>>>(in, out, n);
    return cudaGetLastError();
}
[[nodiscard]] inline cudaError_t window(float* samples, int n, cudaStream_t stream)
{
    detail::window<<<(n + 255) / 256, 256, 0, stream>>>(samples, n);  // expect: SS109
    return cudaGetLastError();
}
}  // namespace v2
}  // namespace engine

int main()
{
    const int n = 48000;
    short* packed;
    float* samples;
    cudaStream_t decoder, analyser;
    cudaEvent_t decoded;
    CHECK(cudaStreamCreateWithFlags(&decoder, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&analyser, cudaStreamNonBlocking));
    CHECK(cudaEventCreateWithFlags(&decoded, cudaEventDisableTiming));
    CHECK(cudaMalloc(&packed, n * sizeof(short)));
    CHECK(cudaMalloc(&samples, n * sizeof(float)));
    CHECK(cudaMemsetAsync(packed, 17, n * sizeof(short), decoder));
    CHECK(engine::decode(packed, samples, n, decoder));
    CHECK(engine::v2::window(samples, n, analyser));
    CHECK(cudaStreamSynchronize(decoder));
    CHECK(cudaStreamSynchronize(analyser));
    CHECK(cudaFree(samples));
    CHECK(cudaFree(packed));
    CHECK(cudaEventDestroy(decoded));
    CHECK(cudaStreamDestroy(analyser));
    CHECK(cudaStreamDestroy(decoder));
    return 0;
}
