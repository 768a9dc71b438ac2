// Sums of two sensors' windows with CUB. Scratch memory is kept by size alone:
// both streams need the same size, and so share one block.
#include <cub/device/device_reduce.cuh>
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <map>

#define CUDA(call)                                                                             \
    do {                                                                                       \
        cudaError_t error = (call);                                                            \
        if (error != cudaSuccess) {                                                            \
            std::fprintf(stderr, "line %d: %s\n", __LINE__, cudaGetErrorString(error));        \
            std::exit(2);                                                                      \
        }                                                                                      \
    } while (false)

constexpr int kSamples = 1 << 20, kSensors = 2, kWindows = 5;

__global__ void sample(float* values, int n, float base) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) values[i] = base;
}

struct Scratch {
    std::map<size_t, void*> blocks;

    void* get(size_t bytes, cudaStream_t stream) {
        void*& block = blocks[bytes];
        if (block == nullptr) CUDA(cudaMalloc(&block, bytes));
        return block;
    }

    ~Scratch() {
        for (auto& entry : blocks) cudaFree(entry.second);
    }
};

struct Sensor {
    cudaStream_t stream;
    float *values, *sum, *result;
};

void start(Sensor& sensor, Scratch& scratch, float base) {
    sample<<<kSamples / 256, 256, 0, sensor.stream>>>(sensor.values, kSamples, base);
    size_t bytes = 0;
    CUDA(cub::DeviceReduce::Sum(nullptr, bytes, sensor.values, sensor.sum, kSamples, sensor.stream));
    void* temporary = scratch.get(bytes, sensor.stream);
    CUDA(cub::DeviceReduce::Sum(temporary, bytes, sensor.values, sensor.sum, kSamples, sensor.stream));  // expect: SS109
    CUDA(cudaMemcpyAsync(sensor.result, sensor.sum, sizeof(float), cudaMemcpyDeviceToHost, sensor.stream));
}

int main() {
    Sensor sensors[kSensors];
    for (Sensor& sensor : sensors) {
        CUDA(cudaStreamCreateWithFlags(&sensor.stream, cudaStreamNonBlocking));
        CUDA(cudaMalloc(&sensor.values, kSamples * sizeof(float)));
        CUDA(cudaMalloc(&sensor.sum, sizeof(float)));
        CUDA(cudaMallocHost(&sensor.result, sizeof(float)));
    }
    int wrong = 0;
    {
        Scratch scratch;
        for (int window = 0; window < kWindows; ++window) {
            for (int s = 0; s < kSensors; ++s) start(sensors[s], scratch, float(1 + s));
            for (int s = 0; s < kSensors; ++s) {
                CUDA(cudaStreamSynchronize(sensors[s].stream));
                wrong += *sensors[s].result != float(kSamples) * (1 + s);
            }
        }
    }
    for (Sensor& sensor : sensors) {
        CUDA(cudaFreeHost(sensor.result));
        CUDA(cudaFree(sensor.sum));
        CUDA(cudaFree(sensor.values));
        CUDA(cudaStreamDestroy(sensor.stream));
    }
    return wrong != 0;
}
