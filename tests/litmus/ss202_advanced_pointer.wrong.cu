// A parser walks through a packed device buffer by moving the only pointer to it.
#include <cuda_runtime.h>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#define gpuErrchk(ans) { gpuAssert((ans), __FILE__, __LINE__); }
inline void gpuAssert(cudaError_t code, const char *file, int line, bool abort = true)
{
    if (code != cudaSuccess) {
        fprintf(stderr, "GPUassert: %s %s %d\n", cudaGetErrorString(code), file, line);
        if (abort) exit(code);
    }
}

__global__ void checksum(const uint8_t *section, int size, unsigned *sum)
{
    unsigned s = 0;
    for (int i = 0; i < size; ++i) s = s * 31 + section[i];
    *sum = s;
}

int main()
{
    const int header = 256;
    const int body = 4096;
    uint8_t *packed = nullptr;
    unsigned *sum = nullptr;
    gpuErrchk(cudaMalloc(&packed, header + body));
    gpuErrchk(cudaMalloc(&sum, sizeof(unsigned)));
    gpuErrchk(cudaMemset(packed, 0, header + body));

    checksum<<<1, 1>>>(packed, header, sum);
    packed += header;
    checksum<<<1, 1>>>(packed, body, sum);
    gpuErrchk(cudaGetLastError());

    unsigned value = 0;
    gpuErrchk(cudaMemcpy(&value, sum, sizeof(value), cudaMemcpyDeviceToHost));
    printf("%u\n", value);
    gpuErrchk(cudaFree(packed));  // expect: SS202
    gpuErrchk(cudaFree(sum));
    return 0;
}
