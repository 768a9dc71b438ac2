// Views convert into views of other elements: a template that also fits their own type, and must not call itself without end.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <type_traits>

#define CHECK(call)                                                                              \
    do {                                                                                         \
        const cudaError_t status = (call);                                                       \
        if (status != cudaSuccess) {                                                             \
            std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(status)); \
            std::exit(1);                                                                        \
        }                                                                                        \
    } while (0)

template <typename T>
class View {
public:
    View(T* data, int size) : data_(data), size_(size) {}
    template <typename U, typename = std::enable_if_t<std::is_convertible<T*, U*>::value>>
    operator View<U>() const
    {
        return View<U>(*this, size_);
    }
    operator T*() const { return data_; }
    int size() const { return size_; }

private:
    T* data_;
    int size_;
};

__global__ void integrate(const float* speed, float* place, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) place[i] += 0.1f * speed[i];
}

static void move(View<const float> speed, View<float> place, cudaStream_t stream)
{
    integrate<<<place.size() / 128, 128, 0, stream>>>(speed, place, place.size());
}

static void slow_down(View<float> speed, cudaStream_t stream)
{
    CHECK(cudaMemsetAsync(speed, 0, speed.size() * sizeof(float), stream));
}

int main()
{
    const int n = 1 << 16;
    float *speeds, *places;
    cudaStream_t a, b;
    cudaEvent_t moved;
    CHECK(cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking));
    CHECK(cudaEventCreateWithFlags(&moved, cudaEventDisableTiming));
    CHECK(cudaMalloc(&speeds, n * sizeof(float)));
    CHECK(cudaMalloc(&places, n * sizeof(float)));
    CHECK(cudaMemset(speeds, 62, n * sizeof(float)));
    CHECK(cudaMemset(places, 0, n * sizeof(float)));
    CHECK(cudaDeviceSynchronize());
    View<float> speed(speeds, n), place{places, n};
    View<float> alias = speed;
    move(alias, place, a);
    CHECK(cudaEventRecord(moved, a));
    CHECK(cudaStreamWaitEvent(b, moved, 0));
    slow_down(speed, b);
    CHECK(cudaStreamSynchronize(a));
    CHECK(cudaStreamSynchronize(b));
    CHECK(cudaFree(places));
    CHECK(cudaFree(speeds));
    CHECK(cudaEventDestroy(moved));
    CHECK(cudaStreamDestroy(b));
    CHECK(cudaStreamDestroy(a));
    return 0;
}
