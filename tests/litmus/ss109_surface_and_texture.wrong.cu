// A height field in a CUDA array: one stream raises it through a surface object, another one shades it through a texture
// object. The next step is raised while the last one may still be shaded.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>

#define CUDA(call)                                                                             \
    do {                                                                                       \
        cudaError_t error = (call);                                                            \
        if (error != cudaSuccess) {                                                            \
            std::fprintf(stderr, "line %d: %s\n", __LINE__, cudaGetErrorString(error));        \
            std::exit(2);                                                                      \
        }                                                                                      \
    } while (false)

constexpr int kSide = 256, kSteps = 8;

struct Field {
    cudaSurfaceObject_t heights;
    int side;
};

__device__ void put(const Field& field, float height, int x, int y) {
    surf2Dwrite(height, field.heights, x * sizeof(float), y);
}

__global__ void raise(Field field, float height) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
    if (x >= field.side || y >= field.side) return;
    put(field, height, x, y);
}

__global__ void shade(cudaTextureObject_t heights, float* light, int side) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
    if (x < side && y < side) light[y * side + x] = 1 / (1 + tex2D<float>(heights, x, y));
}

int main() {
    cudaArray_t array;
    cudaChannelFormatDesc channel = cudaCreateChannelDesc<float>();
    CUDA(cudaMallocArray(&array, &channel, kSide, kSide, cudaArraySurfaceLoadStore));
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = array;
    cudaTextureDesc sampling = {};
    sampling.readMode = cudaReadModeElementType;
    Field field = {0, kSide};
    cudaTextureObject_t heights;
    CUDA(cudaCreateSurfaceObject(&field.heights, &resource));
    CUDA(cudaCreateTextureObject(&heights, &resource, &sampling, nullptr));
    float* light;
    CUDA(cudaMalloc(&light, kSide * kSide * sizeof(float)));
    cudaStream_t terrain, view;
    cudaEvent_t raised, shaded;
    CUDA(cudaStreamCreateWithFlags(&terrain, cudaStreamNonBlocking));
    CUDA(cudaStreamCreateWithFlags(&view, cudaStreamNonBlocking));
    CUDA(cudaEventCreateWithFlags(&raised, cudaEventDisableTiming));
    CUDA(cudaEventCreateWithFlags(&shaded, cudaEventDisableTiming));

    for (int step = 0; step < kSteps; ++step) {
        raise<<<dim3(kSide / 64, kSide), 64, 0, terrain>>>(field, float(step));  // expect: SS109
        CUDA(cudaEventRecord(raised, terrain));
        CUDA(cudaStreamWaitEvent(view, raised, 0));
        shade<<<dim3(kSide / 64, kSide), 64, 0, view>>>(heights, light, kSide);
    }
    CUDA(cudaStreamSynchronize(view));

    CUDA(cudaDestroyTextureObject(heights));
    CUDA(cudaDestroySurfaceObject(field.heights));
    CUDA(cudaFreeArray(array));
    CUDA(cudaFree(light));
    CUDA(cudaEventDestroy(raised));
    CUDA(cudaEventDestroy(shaded));
    CUDA(cudaStreamDestroy(terrain));
    CUDA(cudaStreamDestroy(view));
    return 0;
}
