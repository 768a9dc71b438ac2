// A kernel writes a result into mapped memory and sets a flag; the host reads the result before it has seen the flag.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <thread>

#define CHECK(call)                                                                                 \
    do {                                                                                            \
        cudaError_t status = (call);                                                                \
        if (status != cudaSuccess) {                                                                \
            std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(status));    \
            std::exit(1);                                                                           \
        }                                                                                           \
    } while (0)

constexpr int count = 1024;

__global__ void produce(int* result, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) result[i] = i;
}

__global__ void announce(volatile int* flag)
{
    __threadfence_system();
    *flag = 1;
}

class Mailbox {
public:
    Mailbox()
    {
        CHECK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
        CHECK(cudaHostAlloc(&result_, count * sizeof(int), cudaHostAllocMapped));
        CHECK(cudaHostAlloc(&flag_, sizeof(int), cudaHostAllocMapped));
        *flag_ = 0;
    }
    ~Mailbox()
    {
        cudaFreeHost(flag_);
        cudaFreeHost(result_);
        cudaStreamDestroy(stream_);
    }
    void post()
    {
        int *result, *flag;
        CHECK(cudaHostGetDevicePointer(&result, result_, 0));
        CHECK(cudaHostGetDevicePointer(&flag, flag_, 0));
        produce<<<count / 256, 256, 0, stream_>>>(result, count);
        announce<<<1, 1, 0, stream_>>>(flag);
    }
    void await() const
    {
        while (*static_cast<volatile int*>(flag_) == 0) std::this_thread::yield();
    }
    int sum() const
    {
        int total = 0;
        for (int i = 0; i < count; ++i) total += result_[i];  // expect: SS108
        return total;
    }
    void close() { CHECK(cudaStreamSynchronize(stream_)); }

private:
    cudaStream_t stream_ = nullptr;
    int *result_ = nullptr, *flag_ = nullptr;
};

int main()
{
    Mailbox mailbox;
    mailbox.post();
    int early = mailbox.sum();
    mailbox.await();
    mailbox.close();
    std::printf("%d\n", early);
    return 0;
}
