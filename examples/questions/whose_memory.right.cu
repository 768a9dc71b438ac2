// Each free is of an address that an allocation gave, once, by the process that allocated.
#include <cuda_runtime.h>
#include <unistd.h>

int main() {
    if (fork() == 0) _exit(0);  // a child is made before the first call of CUDA

    char *table, *first, *second;
    cudaMalloc(&table, 4096);
    cudaFree(table);

    cudaMalloc(&first, 4096);
    cudaFree(first);
    first = nullptr;
    cudaMalloc(&second, 4096);
    cudaFree(first);  // of NULL: nothing
    cudaFree(second);
}
