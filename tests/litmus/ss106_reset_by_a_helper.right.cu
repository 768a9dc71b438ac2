// A helper thread resets the device, and the main thread uses it when that is over.
#include <cuda_runtime.h>
#include <thread>

static void start_over() { cudaDeviceReset(); }

int main() {
    std::thread helper(start_over);
    helper.join();
    float* table;
    cudaMalloc(&table, 1024 * sizeof(float));
    cudaMemset(table, 0, 1024 * sizeof(float));
    cudaDeviceSynchronize();
    cudaFree(table);
    return 0;
}
