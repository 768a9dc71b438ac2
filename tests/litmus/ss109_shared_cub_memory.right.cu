// Two-lane key sorter built on cub::DeviceRadixSort.
#include <cub/cub.cuh>
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>

#define CHK(x) do { auto e__ = (x); if (e__ != cudaSuccess) { \
    std::fprintf(stderr, "sorter:%d %s\n", __LINE__, cudaGetErrorString(e__)); std::exit(1); } } while (0)

constexpr int kKeys = 1 << 21;
constexpr int kBatches = 4;

__global__ void decodeKeys(unsigned* keys, int n, unsigned seed, long long cycles) {
    long long t0 = clock64();
    while (clock64() - t0 < cycles) {}
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        unsigned v = unsigned(i) * 2654435761u + seed;
        v ^= v >> 15;
        keys[i] = v * 2246822519u;
    }
}

struct TempStorage {
    void* ptr = nullptr;
    size_t bytes = 0;
    void reserve(size_t want) {
        if (want <= bytes) return;
        if (ptr) CHK(cudaFree(ptr));
        CHK(cudaMalloc(&ptr, want));
        bytes = want;
    }
    ~TempStorage() { cudaFree(ptr); }
};

struct Lane {
    cudaStream_t stream{};
    unsigned *in{}, *out{};
    TempStorage temp;
    Lane() {
        CHK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
        CHK(cudaMalloc(&in, kKeys * sizeof(unsigned)));
        CHK(cudaMalloc(&out, kKeys * sizeof(unsigned)));
    }
    ~Lane() {
        cudaFree(in);
        cudaFree(out);
        cudaStreamDestroy(stream);
    }
};

class Sorter {
public:
    Sorter() {
        size_t bytes = 0;
        CHK(cub::DeviceRadixSort::SortKeys(nullptr, bytes, lanes_[0].in, lanes_[0].out, kKeys));
        for (Lane& l : lanes_) l.temp.reserve(bytes);
        for (Lane& l : lanes_) {
            decodeKeys<<<32, 256, 0, l.stream>>>(l.in, kKeys, 0, 0);
            enqueueSort(l);
            CHK(cudaStreamSynchronize(l.stream));
        }
    }
    void submit(int batch, unsigned* hostOut) {
        Lane& l = lanes_[batch % 2];
        decodeKeys<<<32, 256, 0, l.stream>>>(l.in, kKeys, batch, 40'000'000LL);
        CHK(cudaGetLastError());
        enqueueSort(l);
        CHK(cudaMemcpyAsync(hostOut, l.out, kKeys * sizeof(unsigned), cudaMemcpyDeviceToHost, l.stream));
    }
    void finish() { for (Lane& l : lanes_) CHK(cudaStreamSynchronize(l.stream)); }

private:
    void enqueueSort(Lane& l) {
        TempStorage& t = l.temp;
        size_t bytes = t.bytes;
        CHK(cub::DeviceRadixSort::SortKeys(t.ptr, bytes, l.in, l.out, kKeys, 0, 32, l.stream));
    }
    Lane lanes_[2];
};

int main() {
    unsigned* out;
    CHK(cudaMallocHost(&out, sizeof(unsigned) * kKeys * kBatches));
    {
        Sorter sorter;
        for (int b = 0; b < kBatches; ++b) sorter.submit(b, out + size_t(b) * kKeys);
        sorter.finish();
    }
    int bad = 0;
    for (unsigned b = 0; b < kBatches; ++b) {
        const unsigned* sorted = out + size_t(b) * kKeys;
        unsigned long long want = 0, got = 0;
        bool ordered = true;
        for (unsigned i = 0; i < kKeys; ++i) {
            unsigned v = i * 2654435761u + b;
            v ^= v >> 15;
            want += (v * 2246822519u) ^ 0x9e3779b9u;
            got += sorted[i] ^ 0x9e3779b9u;
            ordered &= i == 0 || sorted[i - 1] <= sorted[i];
        }
        bad += !ordered || want != got;
    }
    CHK(cudaFreeHost(out));
    std::printf("radix lanes: %d bad batches\n", bad);
    return bad ? 1 : 0;
}
