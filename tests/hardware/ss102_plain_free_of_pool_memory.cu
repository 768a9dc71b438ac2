/* The allocation moved to the pool, the old cudaFree stayed: it does not wait for the kernel that still reads.
 * On hardware another stream's allocation gets the block at once, and the delayed kernel sums that one. */
#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>

static void check(cudaError_t status, int line)
{
    if (status == cudaSuccess) return;
    printf("error: %s, line %d\n", cudaGetErrorName(status), line);
    exit(1);
}
#define CK(x) check((x), __LINE__)

__global__ void wait_for_instrument(long long cycles)
{
    long long begin = clock64();
    while (clock64() - begin < cycles)
        ;
}

__global__ void set(unsigned* words, unsigned value, unsigned n)
{
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) words[i] = value ^ i;
}

__global__ void decode(const unsigned* words, unsigned* out, unsigned n)
{
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) out[i] = words[i] + 7u;
}

int main(void)
{
    const unsigned n = 1u << 20;
    const size_t bytes = n * sizeof(unsigned);
    setenv("CUDA_MODULE_LOADING", "EAGER", 1); /* loading a kernel later may wait for the device */

    cudaStream_t record, show;
    CK(cudaStreamCreateWithFlags(&record, cudaStreamNonBlocking));
    CK(cudaStreamCreateWithFlags(&show, cudaStreamNonBlocking));
    unsigned *words, *picture, *out;
    CK(cudaMalloc((void**)&out, bytes));

    CK(cudaMallocAsync((void**)&words, bytes, record));
    set<<<256, 256, 0, record>>>(words, 0xabcdu, n);
    CK(cudaStreamSynchronize(record));
    wait_for_instrument<<<1, 1, 0, record>>>(100000000LL);
    decode<<<256, 256, 0, record>>>(words, out, n);
    CK(cudaFree(words)); // expect: SS102

    CK(cudaMallocAsync((void**)&picture, bytes, show));
    set<<<256, 256, 0, show>>>(picture, 0xffffffffu, n);
    CK(cudaStreamSynchronize(show));
    CK(cudaFreeAsync(picture, show));

    unsigned* host = (unsigned*)malloc(bytes);
    CK(cudaMemcpyAsync(host, out, bytes, cudaMemcpyDeviceToHost, record));
    CK(cudaStreamSynchronize(record));
    unsigned wrong = 0;
    for (unsigned i = 0; i < n; ++i) wrong += host[i] != (0xabcdu ^ i) + 7u;
    printf("wrong words: %u\n", wrong);

    free(host);
    CK(cudaFree(out));
    CK(cudaStreamDestroy(show));
    CK(cudaStreamDestroy(record));
    return wrong ? 1 : 0;
}
