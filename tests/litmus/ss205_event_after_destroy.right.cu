// A timer whose events are destroyed in stop(), and which is asked for the time afterwards.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>

static void chk(cudaError_t e)
{
    if (e != cudaSuccess) {
        std::printf("%s\n", cudaGetErrorString(e));
        std::exit(1);
    }
}

struct Timer {
    cudaEvent_t begin, end;
    cudaStream_t stream;

    void start(cudaStream_t s)
    {
        stream = s;
        chk(cudaEventCreate(&begin));
        chk(cudaEventCreate(&end));
        chk(cudaEventRecord(begin, stream));
    }
    void stop()
    {
        chk(cudaEventRecord(end, stream));
        chk(cudaEventSynchronize(end));
    }
    float milliseconds() const
    {
        float ms = 0.0f;
        chk(cudaEventElapsedTime(&ms, begin, end));
        return ms;
    }
    void release()
    {
        chk(cudaEventDestroy(begin));
        chk(cudaEventDestroy(end));
    }
};

__global__ void busy(float* x)
{
    for (int i = 0; i < 1000; ++i) x[threadIdx.x] = x[threadIdx.x] * 0.99f + 0.01f;
}

int main()
{
    float* x;
    cudaStream_t stream;
    chk(cudaStreamCreate(&stream));
    chk(cudaMalloc(&x, 256 * sizeof(float)));
    chk(cudaMemsetAsync(x, 0, 256 * sizeof(float), stream));

    Timer timer;
    timer.start(stream);
    busy<<<1, 256, 0, stream>>>(x);
    timer.stop();
    std::printf("%.3f ms\n", timer.milliseconds());
    timer.release();

    chk(cudaStreamSynchronize(stream));
    chk(cudaFree(x));
    chk(cudaStreamDestroy(stream));
    return 0;
}
