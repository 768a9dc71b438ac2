// Statistics of a batch lie in managed memory; the host prints them right behind the launch, before the device is done.
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

constexpr int channels = 64;

__global__ void column_means(const float* samples, float* means, int rows)
{
    float sum = 0.0f;
    for (int row = 0; row < rows; ++row) sum += samples[row * channels + threadIdx.x];
    means[threadIdx.x] = sum / rows;
}

class Statistics {
public:
    explicit Statistics(int rows) : rows_(rows)
    {
        CHECK(cudaMallocManaged(&samples_, sizeof(float) * channels * rows));
        CHECK(cudaMallocManaged(&means_, sizeof(float) * channels));
    }
    ~Statistics()
    {
        cudaFree(means_);
        cudaFree(samples_);
    }
    Statistics(const Statistics&) = delete;

    void load(const std::vector<float>& values)
    {
        for (int i = 0; i < rows_ * channels; ++i) samples_[i] = values[i];
    }
    void update() { column_means<<<1, channels>>>(samples_, means_, rows_); }
    void print() const
    {
        for (int i = 0; i < channels; ++i) std::printf("%d %g\n", i, means_[i]);  // expect: SS108
    }

private:
    int rows_;
    float* samples_ = nullptr;
    float* means_ = nullptr;
};

int main()
{
    const int rows = 1024;
    Statistics statistics(rows);
    statistics.load(std::vector<float>(rows * channels, 1.5f));
    statistics.update();
    CHECK(cudaGetLastError());
    statistics.print();
    CHECK(cudaDeviceSynchronize());
    return 0;
}
