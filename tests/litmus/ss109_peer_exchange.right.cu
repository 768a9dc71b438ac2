// Halos go from one device to the other, and the second device's kernel waits for the copy by an event.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>

#define CHECK(call)                                                                                 \
    do {                                                                                            \
        cudaError_t status = (call);                                                                \
        if (status != cudaSuccess) {                                                                \
            std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(status));    \
            std::exit(1);                                                                           \
        }                                                                                           \
    } while (0)

constexpr int cells = 1 << 16, halo = 256;

__global__ void relax(float* field, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) field[i] = 0.5f * (field[i] + 1.0f);
}

struct Domain {
    int device;
    cudaStream_t stream = nullptr;
    cudaEvent_t sent = nullptr;
    float* field = nullptr;

    explicit Domain(int id) : device(id)
    {
        CHECK(cudaSetDevice(device));
        CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
        CHECK(cudaEventCreateWithFlags(&sent, cudaEventDisableTiming));
        CHECK(cudaMalloc(&field, cells * sizeof(float)));
        CHECK(cudaMemsetAsync(field, 0, cells * sizeof(float), stream));
        CHECK(cudaStreamSynchronize(stream));
    }
    ~Domain()
    {
        cudaSetDevice(device);
        cudaFree(field);
        cudaEventDestroy(sent);
        cudaStreamDestroy(stream);
    }
    void step()
    {
        CHECK(cudaSetDevice(device));
        relax<<<cells / 256, 256, 0, stream>>>(field, cells);
    }
    void send(const Domain& other)
    {
        CHECK(cudaSetDevice(device));
        CHECK(cudaMemcpyPeerAsync(other.field, other.device, field + cells - halo, device, halo * sizeof(float), stream));
        CHECK(cudaEventRecord(sent, stream));
    }
};

int main()
{
    Domain west(0), east(1);
    west.step();
    west.send(east);
    CHECK(cudaSetDevice(east.device));
    CHECK(cudaStreamWaitEvent(east.stream, west.sent, 0));
    east.step();
    for (Domain* domain : {&west, &east}) {
        CHECK(cudaSetDevice(domain->device));
        CHECK(cudaStreamSynchronize(domain->stream));
    }
    return 0;
}
