// A global object owns device memory: its constructor runs before main, its destructor after it.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>

class LookupTable {
public:
    explicit LookupTable(int entries) : entries_(entries)
    {
        if (cudaMalloc(&table_, entries * sizeof(float)) != cudaSuccess) {
            std::fprintf(stderr, "no device memory for the table\n");
            std::exit(1);
        }
    }
    ~LookupTable()
    {
        cudaFree(table_);
    }
    LookupTable(const LookupTable&) = delete;
    float* device() const { return table_; }
    int entries() const { return entries_; }

private:
    float* table_ = nullptr;
    int entries_;
};

__global__ void build(float* table, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) table[i] = sinf(6.2831853f * i / n);
}

int main()
{
    LookupTable sine_table(1024);
    build<<<4, 256>>>(sine_table.device(), sine_table.entries());
    cudaError_t status = cudaDeviceSynchronize();
    if (status != cudaSuccess) {
        std::fprintf(stderr, "%s\n", cudaGetErrorString(status));
        return 1;
    }
    return 0;
}
