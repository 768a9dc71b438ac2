// erase() moves the later elements down and ends the last one; an index from before it means another buffer now.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

#define CHECK(call)                                                                              \
    do {                                                                                         \
        const cudaError_t status = (call);                                                       \
        if (status != cudaSuccess) {                                                             \
            std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(status)); \
            std::exit(1);                                                                        \
        }                                                                                        \
    } while (0)

class Slot {
public:
    explicit Slot(cudaStream_t stream) : stream_(stream) { CHECK(cudaMallocAsync(&data_, 4096, stream_)); }
    Slot(Slot&& other) noexcept : data_(std::exchange(other.data_, nullptr)), stream_(other.stream_) {}
    Slot& operator=(Slot&& other) noexcept
    {
        std::swap(data_, other.data_);
        std::swap(stream_, other.stream_);
        return *this;
    }
    ~Slot()
    {
        if (data_) cudaFreeAsync(data_, stream_);
    }
    void* data() const { return data_; }

private:
    void* data_ = nullptr;
    cudaStream_t stream_;
};

int main()
{
    cudaStream_t stream;
    CHECK(cudaStreamCreate(&stream));
    {
        std::vector<Slot> slots;
        slots.reserve(3);
        for (int i = 0; i < 3; ++i) slots.emplace_back(stream);
        void* first = slots[0].data();
        void* second = slots[1].data();
        CHECK(cudaMemsetAsync(first, 0, 4096, stream));
        slots.erase(slots.begin());
        CHECK(cudaMemsetAsync(second, 0, 4096, stream));
    }
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaStreamDestroy(stream));
    return 0;
}
