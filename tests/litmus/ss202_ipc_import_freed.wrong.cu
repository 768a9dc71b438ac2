// A worker frees the buffer that another process shared with it, where it should close it.
#include <cuda_runtime.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#define CUDA_CHECK(x)                                                        \
    do {                                                                     \
        const cudaError_t rc = (x);                                          \
        if (rc != cudaSuccess) {                                             \
            fprintf(stderr, "%s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(rc)); \
            exit(1);                                                         \
        }                                                                    \
    } while (0)

static int connect_to(const char* path)
{
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    strncpy(address.sun_path, path, sizeof(address.sun_path) - 1);
    if (connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0) {
        close(fd);
        return -1;
    }
    return fd;
}

__global__ void gain(float* samples, float factor, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) samples[i] *= factor;
}

int main()
{
    int fd = connect_to("/tmp/mixer.sock");
    if (fd < 0) return 1;
    cudaIpcMemHandle_t handle;
    if (read(fd, &handle, sizeof(handle)) != (ssize_t)sizeof(handle)) return 1;

    float* samples = nullptr;
    CUDA_CHECK(cudaSetDevice(0));
    CUDA_CHECK(cudaIpcOpenMemHandle((void**)&samples, handle, cudaIpcMemLazyEnablePeerAccess));
    gain<<<64, 256>>>(samples, 0.5f, 64 * 256);
    CUDA_CHECK(cudaGetLastError());
    CUDA_CHECK(cudaDeviceSynchronize());
    CUDA_CHECK(cudaFree(samples));  // expect: SS202

    char done = 1;
    if (write(fd, &done, 1) != 1) return 1;
    close(fd);
    return 0;
}
