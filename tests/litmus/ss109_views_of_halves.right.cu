#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

inline void require(cudaError_t status, const char* what) {
    if (status == cudaSuccess) return;
    std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(status));
    std::exit(2);
}

namespace field {

template <class T>
struct View {
    T* data;
    int length;
    __host__ __device__ T& operator[](int i) const { return data[i]; }
    __host__ __device__ View part(int first, int count) const { return {data + first, count}; }
};

template <class T>
class Field {
public:
    explicit Field(int length) : length_(length) { require(cudaMalloc(&data_, sizeof(T) * length), "field"); }
    Field(Field&& other) noexcept : data_(std::exchange(other.data_, nullptr)), length_(other.length_) {}
    Field(const Field&) = delete;
    ~Field() { cudaFree(data_); }
    View<T> view() const { return {data_, length_}; }

private:
    T* data_ = nullptr;
    int length_;
};

}  // namespace field

__device__ inline int mixed(int value, int salt) { return value * 31 + salt; }

template <class T>
__global__ void fill(field::View<T> out, T salt, long long cycles) {
    const long long begin = clock64();
    while (clock64() - begin < cycles) {
    }
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < out.length) out[i] = mixed(i, salt);
}

template <int Threads, class T>
__global__ void gather(field::View<const T> in, field::View<T> out) {
    const int i = blockIdx.x * Threads + threadIdx.x;
    if (i >= in.length) return;
    out[i] = in[i];
}

int main() {
    constexpr int length = 1 << 14, threads = 256, half = length / 2;
    cudaStream_t lower, upper;
    cudaEvent_t filled;
    require(cudaStreamCreateWithFlags(&lower, cudaStreamNonBlocking), "stream");
    require(cudaStreamCreateWithFlags(&upper, cudaStreamNonBlocking), "stream");
    require(cudaEventCreateWithFlags(&filled, cudaEventDisableTiming), "event");
    std::vector<int> host(length);
    {
        field::Field<int> source(length), target(length);
        const field::View<int> all = source.view();
        const field::View<const int> read{all.data, all.length};
        fill<int><<<half / threads, threads, 0, lower>>>(all.part(0, half), 5, 30000000LL);
        require(cudaEventRecord(filled, lower), "record");
        fill<int><<<half / threads, threads, 0, upper>>>({all.data + half, half}, 9, 0LL);
        require(cudaStreamWaitEvent(upper, filled, 0), "wait");
        gather<threads><<<length / threads, threads, 0, upper>>>(read, target.view());
        require(cudaGetLastError(), "gather");
        require(cudaStreamSynchronize(lower), "lower");
        require(cudaStreamSynchronize(upper), "upper");
        require(cudaMemcpy(host.data(), target.view().data, sizeof(int) * length, cudaMemcpyDeviceToHost), "copy");
    }
    int wrong = 0;
    for (int i = 0; i < length; ++i) wrong += host[i] != (i < half ? i * 31 + 5 : (i - half) * 31 + 9);
    require(cudaEventDestroy(filled), "event");
    require(cudaStreamDestroy(upper), "stream");
    require(cudaStreamDestroy(lower), "stream");
    std::printf("%d wrong elements\n", wrong);
    return wrong != 0;
}
