// The consumer side of an IPC exchange closes the imported buffer while its copy out of it is queued.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <fstream>

#define CUDA_CHECK(x)                                                 \
    do {                                                              \
        cudaError_t e = (x);                                          \
        if (e != cudaSuccess) {                                       \
            fprintf(stderr, "%s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(e)); \
            exit(1);                                                  \
        }                                                             \
    } while (0)

static bool read_handle(const char* path, cudaIpcMemHandle_t* handle)
{
    std::ifstream file(path, std::ios::binary);
    return static_cast<bool>(file.read(reinterpret_cast<char*>(handle), sizeof(*handle)));
}

int main(int argc, char** argv)
{
    if (argc < 2) {
        fprintf(stderr, "usage: %s HANDLE-FILE\n", argv[0]);
        return 2;
    }
    cudaIpcMemHandle_t handle;
    if (!read_handle(argv[1], &handle)) return 2;

    const size_t bytes = 1 << 22;
    cudaStream_t stream;
    CUDA_CHECK(cudaStreamCreate(&stream));

    void* shared = nullptr;
    void* local = nullptr;
    CUDA_CHECK(cudaIpcOpenMemHandle(&shared, handle, cudaIpcMemLazyEnablePeerAccess));
    CUDA_CHECK(cudaMalloc(&local, bytes));

    CUDA_CHECK(cudaMemcpyAsync(local, shared, bytes, cudaMemcpyDeviceToDevice, stream));
    CUDA_CHECK(cudaStreamSynchronize(stream));
    CUDA_CHECK(cudaIpcCloseMemHandle(shared));

    CUDA_CHECK(cudaStreamSynchronize(stream));
    CUDA_CHECK(cudaFree(local));
    CUDA_CHECK(cudaStreamDestroy(stream));
    return 0;
}
