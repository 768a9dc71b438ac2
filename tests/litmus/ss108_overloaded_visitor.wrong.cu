// What a job needs is a variant, visited by overloaded lambdas; the one for a download forgets to wait.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <variant>
#include <vector>

#define CHECK(...)                                                                          \
    if (cudaError_t error_ = (__VA_ARGS__); error_ != cudaSuccess) {                        \
        std::fprintf(stderr, "%s failed: %s\n", #__VA_ARGS__, cudaGetErrorString(error_)); \
        std::abort();                                                                       \
    }

template <class... Functions>
struct Overloaded : Functions... {
    using Functions::operator()...;
};
template <class... Functions>
Overloaded(Functions...) -> Overloaded<Functions...>;

struct Fill {
    unsigned char value;
};
struct Download {
    unsigned char* to;
};
using Job = std::variant<Fill, Download>;

int main()
{
    const int n = 1 << 14;
    unsigned char *device, *host;
    cudaStream_t stream;
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CHECK(cudaMalloc(&device, n));
    CHECK(cudaMallocHost(&host, n));
    const std::vector<Job> jobs = {Fill{17}, Download{host}};
    for (const Job& job : jobs)
        std::visit(Overloaded{[&](const Fill& fill) { CHECK(cudaMemsetAsync(device, fill.value, n, stream)); },
                              [&](const Download& download) {
                                  CHECK(cudaMemcpyAsync(download.to, device, n, cudaMemcpyDeviceToHost, stream));
                              }},
                   job);
    std::printf("%d\n", host[n - 1]);  // expect: SS108
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaFreeHost(host));
    CHECK(cudaFree(device));
    CHECK(cudaStreamDestroy(stream));
    return 0;
}
