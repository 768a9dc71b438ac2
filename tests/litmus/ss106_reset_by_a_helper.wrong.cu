// A helper thread resets the device while the main thread goes on using it: its calls may come before, during or after.
#include <cuda_runtime.h>
#include <thread>

static void start_over() { cudaDeviceReset(); }  // expect: SS106

int main() {
    std::thread helper(start_over);
    float* table;
    cudaMalloc(&table, 1024 * sizeof(float));
    cudaMemset(table, 0, 1024 * sizeof(float));
    cudaDeviceSynchronize();
    cudaFree(table);
    helper.join();
    return 0;
}
