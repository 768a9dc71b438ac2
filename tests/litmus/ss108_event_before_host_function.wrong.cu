// Each chart is drawn on the GPU, and its extremes are found by a host function on the stream. The event that the
// reader waits for is recorded before that function.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>

#define CUDA(call)                                                                             \
    do {                                                                                       \
        cudaError_t error = (call);                                                            \
        if (error != cudaSuccess) {                                                            \
            std::fprintf(stderr, "line %d: %s\n", __LINE__, cudaGetErrorString(error));        \
            std::exit(2);                                                                      \
        }                                                                                      \
    } while (false)

constexpr int kPoints = 1 << 16, kCharts = 6;

struct Extremes {
    int least, greatest;
};

struct Chart {
    cudaStream_t stream;
    cudaEvent_t ready;
    int *device, *points;
    Extremes extremes;
};

__global__ void draw(int* points, int n, int seed) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) points[i] = (i * 37 + seed) % 1000 - 500;
}

int smaller(int a, int b) { return a < b ? a : b; }

void CUDART_CB find_extremes(void* given) {
    Chart* chart = static_cast<Chart*>(given);
    Extremes found = {0, 0};
    for (int i = 0; i < kPoints; ++i) {
        found.least = smaller(found.least, chart->points[i]);
        found.greatest = -smaller(-found.greatest, -chart->points[i]);
    }
    chart->extremes = found;
}

void start(Chart* chart, int seed) {
    draw<<<kPoints / 256, 256, 0, chart->stream>>>(chart->device, kPoints, seed);
    CUDA(cudaMemcpyAsync(chart->points, chart->device, kPoints * sizeof(int), cudaMemcpyDeviceToHost, chart->stream));
    CUDA(cudaEventRecord(chart->ready, chart->stream));
    CUDA(cudaLaunchHostFunc(chart->stream, find_extremes, chart));
}

Extremes finish(Chart* chart) {
    CUDA(cudaEventSynchronize(chart->ready));
    return chart->extremes;  // expect: SS108
}

int main() {
    Chart* chart = new Chart;
    CUDA(cudaStreamCreateWithFlags(&chart->stream, cudaStreamNonBlocking));
    CUDA(cudaEventCreateWithFlags(&chart->ready, cudaEventDisableTiming));
    CUDA(cudaMalloc(&chart->device, kPoints * sizeof(int)));
    CUDA(cudaMallocHost(&chart->points, kPoints * sizeof(int)));
    int wrong = 0;
    for (int i = 0; i < kCharts; ++i) {
        start(chart, i);
        Extremes found = finish(chart);
        wrong += found.least != -500 || found.greatest != 499;
    }
    CUDA(cudaStreamSynchronize(chart->stream));
    CUDA(cudaFreeHost(chart->points));
    CUDA(cudaFree(chart->device));
    CUDA(cudaEventDestroy(chart->ready));
    CUDA(cudaStreamDestroy(chart->stream));
    delete chart;
    return wrong != 0;
}
