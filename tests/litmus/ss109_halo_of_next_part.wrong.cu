// Each part is computed with the first element of the next one, which another stream overwrites.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CHECK(call)                                                                                 \
    do {                                                                                            \
        cudaError_t status = (call);                                                                \
        if (status != cudaSuccess) {                                                                \
            std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(status));    \
            std::exit(1);                                                                           \
        }                                                                                           \
    } while (0)

__global__ void smooth(const float* in, float* out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = 0.5f * in[i];
}

int main(int argc, char** argv)
{
    const int n = argc > 1 ? std::atoi(argv[1]) : 1 << 20;
    constexpr int parts = 2;
    const int part = n / parts;
    cudaStream_t stream[parts];
    for (auto& each : stream) CHECK(cudaStreamCreate(&each));
    float *in, *out, *host;
    CHECK(cudaMalloc(&in, (parts * part + 1) * sizeof(float)));
    CHECK(cudaMalloc(&out, parts * (part + 1) * sizeof(float)));
    CHECK(cudaMallocHost(&host, parts * part * sizeof(float)));
    for (int i = 0; i < parts * part; ++i) host[i] = 1.0f;
    CHECK(cudaMemset(in, 0, (parts * part + 1) * sizeof(float)));
    CHECK(cudaDeviceSynchronize());

    for (int p = 0; p < parts; ++p) {
        const int begin = p * part, count = part + 1;
        CHECK(cudaMemcpyAsync(in + begin, host + begin, part * sizeof(float), cudaMemcpyHostToDevice, stream[p]));  // expect: SS109
        smooth<<<(count + 255) / 256, 256, 0, stream[p]>>>(in + begin, out + p * (part + 1), count);
        CHECK(cudaGetLastError());
    }

    CHECK(cudaDeviceSynchronize());
    CHECK(cudaMemcpy(host, out, part * sizeof(float), cudaMemcpyDeviceToHost));
    std::printf("%f\n", host[0]);
    CHECK(cudaFree(in));
    CHECK(cudaFree(out));
    CHECK(cudaFreeHost(host));
    for (auto& each : stream) CHECK(cudaStreamDestroy(each));
}
