// Three frees of what is not theirs: a pointer that was moved, an address that has a new owner, memory of the parent.
#include <cuda_runtime.h>
#include <unistd.h>

int main() {
    char *table, *first, *second;
    cudaMalloc(&table, 4096);
    table += 256;
    cudaFree(table);

    cudaMalloc(&first, 4096);
    cudaFree(first);
    cudaMalloc(&second, 4096);
    cudaFree(first);
    cudaFree(second);

    char* shared;
    cudaMalloc(&shared, 4096);
    if (fork() == 0) {
        cudaFree(shared);
        _exit(0);
    }
    cudaFree(shared);
}
