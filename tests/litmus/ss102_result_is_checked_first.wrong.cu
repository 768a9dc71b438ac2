// A reduction checks its first result, and leaves if that is wrong. The second one gives its memory back in the order of
// a stream that does not wait for it.
#include <cstdio>

__global__ void sum(const int* values, int count, int* result)
{
    int total = 0;
    for (int i = threadIdx.x; i < count; i += blockDim.x) total += values[i];
    atomicAdd(result, total);
}

int main()
{
    const int count = 1 << 16;
    int result = -1;
    int *values, *device_result, *scratch;
    cudaStream_t work, memory;
    cudaStreamCreate(&work);
    cudaStreamCreate(&memory);
    cudaMalloc(&values, count * sizeof(int));
    cudaMalloc(&device_result, sizeof(int));
    cudaMemset(values, 0, count * sizeof(int));
    cudaMemset(device_result, 0, sizeof(int));
    sum<<<1, 256>>>(values, count, device_result);
    cudaMemcpy(&result, device_result, sizeof(int), cudaMemcpyDeviceToHost);
    if (result != 0) {
        printf("wrong: %d\n", result);
        return 1;
    }
    cudaMallocAsync(&scratch, sizeof(int), work);
    cudaMemsetAsync(scratch, 0, sizeof(int), work);
    sum<<<1, 256, 0, work>>>(values, count, scratch);
    cudaFreeAsync(scratch, memory);  // expect: SS102
    cudaDeviceSynchronize();
    cudaFree(device_result);
    cudaFree(values);
    cudaStreamDestroy(memory);
    cudaStreamDestroy(work);
    return 0;
}
