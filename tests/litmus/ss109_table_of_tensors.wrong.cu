// A kernel takes a table of pointers and steps some of its tensors; one of those is being saved on another stream.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CHECK(call)                                                                                 \
    do {                                                                                            \
        cudaError_t status = (call);                                                                \
        if (status != cudaSuccess) {                                                                \
            std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(status));    \
            std::exit(1);                                                                           \
        }                                                                                           \
    } while (0)

constexpr int elements = 1 << 14, most = 8;

struct Table {
    float* weights[most];
    const float* gradients[most];
    int count;
};

__global__ void step(Table table, float rate)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float* weights = table.weights[blockIdx.y];
    const float* gradients = table.gradients[blockIdx.y];
    if (i < elements) weights[i] -= rate * gradients[i];
}

int main()
{
    cudaStream_t compute, transfer;
    CHECK(cudaStreamCreateWithFlags(&compute, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&transfer, cudaStreamNonBlocking));
    std::vector<float*> weights(most), gradients(most);
    for (int k = 0; k < most; ++k) {
        CHECK(cudaMalloc(&weights[k], elements * sizeof(float)));
        CHECK(cudaMalloc(&gradients[k], elements * sizeof(float)));
        CHECK(cudaMemset(weights[k], 0, elements * sizeof(float)));
        CHECK(cudaMemset(gradients[k], 0, elements * sizeof(float)));
    }
    float* saved;
    CHECK(cudaMallocHost(&saved, elements * sizeof(float)));
    CHECK(cudaDeviceSynchronize());

    Table table{};
    table.count = most / 2;  // the other half is frozen
    for (int k = 0; k < most; ++k) {
        table.weights[k] = weights[k];
        table.gradients[k] = gradients[k];
    }
    step<<<dim3(elements / 256, table.count), 256, 0, compute>>>(table, 0.1f);
    CHECK(cudaMemcpyAsync(saved, weights[most / 2 - 1], elements * sizeof(float), cudaMemcpyDeviceToHost, transfer));  // expect: SS109
    CHECK(cudaStreamSynchronize(transfer));
    std::printf("%f\n", saved[0]);
    CHECK(cudaStreamSynchronize(compute));

    for (float* each : weights) CHECK(cudaFree(each));
    for (float* each : gradients) CHECK(cudaFree(each));
    CHECK(cudaFreeHost(saved));
    CHECK(cudaStreamDestroy(compute));
    CHECK(cudaStreamDestroy(transfer));
    return 0;
}
