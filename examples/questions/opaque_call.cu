// A library gets the memory, and its header is not at hand: what it does with it, nobody can see here.
#include <cuda_runtime.h>
#include "filter.h"

int main() {
    cudaStream_t stream;
    cudaStreamCreate(&stream);
    float* values;
    cudaMallocAsync(&values, 256 * sizeof(float), stream);
    filter(values, 256, stream);
    cudaFreeAsync(values, stream);
    cudaStreamSynchronize(stream);
    cudaStreamDestroy(stream);
}
