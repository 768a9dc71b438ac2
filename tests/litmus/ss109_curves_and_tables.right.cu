// Colours are graded by a curve, a line of memory behind a texture, and by a table, an array. An editor uploads both anew for
// each frame on a stream of its own. It waits until the last frame is graded.
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

constexpr int kSteps = 256, kSide = 64, kFrames = 8;

__global__ void apply_curve(cudaTextureObject_t curve, float* graded) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < kSteps) graded[i] = tex1Dfetch<float>(curve, i);
}

__global__ void apply_table(cudaTextureObject_t table, float* graded) {
    int x = threadIdx.x, y = blockIdx.x;
    graded[y * kSide + x] += tex2D<float>(table, x + 0.5f, y + 0.5f);
}

cudaTextureObject_t texture_of(const cudaResourceDesc& resource) {
    cudaTextureDesc sampling = {};
    sampling.readMode = cudaReadModeElementType;
    cudaTextureObject_t texture;
    CUDA(cudaCreateTextureObject(&texture, &resource, &sampling, nullptr));
    return texture;
}

int main() {
    cudaStream_t editor, grading;
    CUDA(cudaStreamCreateWithFlags(&editor, cudaStreamNonBlocking));
    CUDA(cudaStreamCreateWithFlags(&grading, cudaStreamNonBlocking));
    cudaEvent_t uploaded, graded;
    CUDA(cudaEventCreateWithFlags(&uploaded, cudaEventDisableTiming));
    CUDA(cudaEventCreateWithFlags(&graded, cudaEventDisableTiming));

    float *steps, *colours, *curve, *curve_result, *table_result;
    CUDA(cudaMallocHost(&steps, kFrames * kSteps * sizeof(float)));
    CUDA(cudaMallocHost(&colours, kFrames * kSide * kSide * sizeof(float)));
    CUDA(cudaMalloc(&curve, kSteps * sizeof(float)));
    CUDA(cudaMalloc(&curve_result, kSteps * sizeof(float)));
    CUDA(cudaMalloc(&table_result, kSide * kSide * sizeof(float)));
    cudaArray_t table;
    cudaChannelFormatDesc channel = cudaCreateChannelDesc<float>();
    CUDA(cudaMallocArray(&table, &channel, kSide, kSide));

    cudaResourceDesc line = {};
    line.resType = cudaResourceTypeLinear;
    line.res.linear.devPtr = curve;
    line.res.linear.desc = channel;
    line.res.linear.sizeInBytes = kSteps * sizeof(float);
    cudaTextureObject_t curve_texture = texture_of(line);
    cudaResourceDesc image = {};
    image.resType = cudaResourceTypeArray;
    image.res.array.array = table;
    cudaTextureObject_t table_texture = texture_of(image);

    for (int frame = 0; frame < kFrames; ++frame) {
        if (frame > 0) CUDA(cudaStreamWaitEvent(editor, graded, 0));
        CUDA(cudaMemcpyAsync(curve, steps + frame * kSteps, kSteps * sizeof(float), cudaMemcpyHostToDevice, editor));
        CUDA(cudaMemcpy2DToArrayAsync(table, 0, 0, colours + frame * kSide * kSide, kSide * sizeof(float),
                                      kSide * sizeof(float), kSide, cudaMemcpyHostToDevice, editor));
        CUDA(cudaEventRecord(uploaded, editor));
        CUDA(cudaStreamWaitEvent(grading, uploaded, 0));
        apply_curve<<<kSteps / 64, 64, 0, grading>>>(curve_texture, curve_result);
        apply_table<<<kSide, kSide, 0, grading>>>(table_texture, table_result);
        CUDA(cudaEventRecord(graded, grading));
    }
    CUDA(cudaStreamSynchronize(grading));

    CUDA(cudaDestroyTextureObject(curve_texture));
    CUDA(cudaDestroyTextureObject(table_texture));
    CUDA(cudaFreeArray(table));
    for (float* each : {curve, curve_result, table_result}) CUDA(cudaFree(each));
    for (float* each : {steps, colours}) CUDA(cudaFreeHost(each));
    for (cudaEvent_t each : {uploaded, graded}) CUDA(cudaEventDestroy(each));
    for (cudaStream_t each : {editor, grading}) CUDA(cudaStreamDestroy(each));
    return 0;
}
