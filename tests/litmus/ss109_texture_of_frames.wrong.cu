// Camera frames are uploaded into two pitched images, which a kernel samples through texture objects. The upload of the
// next but one frame does not wait for the kernel that still samples the image.
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

constexpr int kWidth = 512, kHeight = 256, kImages = 2, kFrames = 10;

struct Image {
    float* pixels;
    size_t pitch;
    cudaTextureObject_t texture;
    cudaEvent_t uploaded, sampled;
};

__global__ void mirror(cudaTextureObject_t frame, float* out, int width, int height) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
    if (x < width && y < height) out[y * width + x] = tex2D<float>(frame, x + 0.5f, y + 0.5f);
}

Image make() {
    Image image;
    CUDA(cudaMallocPitch(&image.pixels, &image.pitch, kWidth * sizeof(float), kHeight));
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypePitch2D;
    resource.res.pitch2D.devPtr = image.pixels;
    resource.res.pitch2D.desc = cudaCreateChannelDesc<float>();
    resource.res.pitch2D.width = kWidth;
    resource.res.pitch2D.height = kHeight;
    resource.res.pitch2D.pitchInBytes = image.pitch;
    cudaTextureDesc texture = {};
    texture.filterMode = cudaFilterModePoint;
    texture.readMode = cudaReadModeElementType;
    CUDA(cudaCreateTextureObject(&image.texture, &resource, &texture, nullptr));
    CUDA(cudaEventCreateWithFlags(&image.uploaded, cudaEventDisableTiming));
    CUDA(cudaEventCreateWithFlags(&image.sampled, cudaEventDisableTiming));
    return image;
}

int main() {
    const size_t row = kWidth * sizeof(float), frame = row * kHeight;
    float *frames, *out;
    CUDA(cudaMallocHost(&frames, kFrames * frame));
    CUDA(cudaMalloc(&out, kFrames * frame));
    cudaStream_t upload, filter;
    CUDA(cudaStreamCreateWithFlags(&upload, cudaStreamNonBlocking));
    CUDA(cudaStreamCreateWithFlags(&filter, cudaStreamNonBlocking));
    Image images[kImages] = {make(), make()};

    for (int f = 0; f < kFrames; ++f) {
        Image& image = images[f % kImages];
        CUDA(cudaMemcpy2DAsync(image.pixels, image.pitch, frames + f * kWidth * kHeight, row, row, kHeight,  // expect: SS109
                               cudaMemcpyHostToDevice, upload));
        CUDA(cudaEventRecord(image.uploaded, upload));
        CUDA(cudaStreamWaitEvent(filter, image.uploaded, 0));
        mirror<<<dim3(kWidth / 128, kHeight), 128, 0, filter>>>(image.texture, out + f * kWidth * kHeight, kWidth,
                                                               kHeight);
        CUDA(cudaEventRecord(image.sampled, filter));
    }
    CUDA(cudaStreamSynchronize(filter));

    for (Image& image : images) {
        CUDA(cudaDestroyTextureObject(image.texture));
        CUDA(cudaEventDestroy(image.uploaded));
        CUDA(cudaEventDestroy(image.sampled));
        CUDA(cudaFree(image.pixels));
    }
    CUDA(cudaStreamDestroy(upload));
    CUDA(cudaStreamDestroy(filter));
    CUDA(cudaFree(out));
    CUDA(cudaFreeHost(frames));
    return 0;
}
