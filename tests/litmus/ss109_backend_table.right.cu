// A backend whose functions stand in a table only: one uploads on a stream of its own, and waits for that before it computes on the second.
#include <cuda_runtime.h>
#include <cstddef>

struct Context {
    cudaStream_t copy = nullptr;
    cudaStream_t compute = nullptr;
    float* weights = nullptr;
    size_t count = 0;

    explicit Context(size_t n) : count(n)
    {
        cudaStreamCreateWithFlags(&copy, cudaStreamNonBlocking);
        cudaStreamCreateWithFlags(&compute, cudaStreamNonBlocking);
        cudaMalloc(&weights, n * sizeof(float));
    }
};

struct Interface {
    const char* (*name)();
    void* (*open)(size_t n);
    void (*load)(void* context, const float* pinned);
};

__global__ void dequantise(float* x, size_t n)
{
    size_t i = blockIdx.x * static_cast<size_t>(blockDim.x) + threadIdx.x;
    if (i < n) x[i] *= 0.0625f;
}

static const char* backend_name()
{
    return "cuda";
}

static void* backend_open(size_t n)
{
    return new Context(n);
}

static void backend_load(void* context, const float* pinned)
{
    Context* own = static_cast<Context*>(context);
    const unsigned blocks = static_cast<unsigned>((own->count + 255) / 256);
    cudaMemcpyAsync(own->weights, pinned, own->count * sizeof(float), cudaMemcpyHostToDevice, own->copy);
    cudaStreamSynchronize(own->copy);
    dequantise<<<blocks, 256, 0, own->compute>>>(own->weights, own->count);
    cudaStreamSynchronize(own->compute);
}

static const Interface interface = {backend_name, backend_open, backend_load};

extern "C" const Interface* backend_interface()
{
    int devices = 0;
    return cudaGetDeviceCount(&devices) == cudaSuccess && devices > 0 ? &interface : nullptr;
}
