// The next frame is uploaded into the buffer that the graph's launch still reads.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CHECK(call)                                                                               \
    do {                                                                                          \
        const cudaError_t status_ = (call);                                                       \
        if (status_ != cudaSuccess) {                                                             \
            std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(status_)); \
            std::exit(EXIT_FAILURE);                                                              \
        }                                                                                         \
    } while (0)

__global__ void analyse(const float *frame, float *result, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) result[i] = frame[i] * frame[i];
}

class Camera {
public:
    explicit Camera(int n) : n_(n)
    {
        CHECK(cudaStreamCreateWithFlags(&upload_, cudaStreamNonBlocking));
        CHECK(cudaStreamCreateWithFlags(&compute_, cudaStreamNonBlocking));
        CHECK(cudaEventCreateWithFlags(&uploaded_, cudaEventDisableTiming));
        CHECK(cudaEventCreateWithFlags(&analysed_, cudaEventDisableTiming));
        CHECK(cudaMalloc(&frame_, bytes()));
        CHECK(cudaMalloc(&result_, bytes()));
        CHECK(cudaMallocHost(&staging_, bytes()));
        cudaGraph_t graph;
        CHECK(cudaStreamBeginCapture(compute_, cudaStreamCaptureModeThreadLocal));
        analyse<<<(n_ + 255) / 256, 256, 0, compute_>>>(frame_, result_, n_);
        CHECK(cudaStreamEndCapture(compute_, &graph));
        CHECK(cudaGraphInstantiate(&exec_, graph, 0));
        CHECK(cudaGraphDestroy(graph));
    }
    ~Camera()
    {
        cudaGraphExecDestroy(exec_);
        cudaFreeHost(staging_);
        cudaFree(result_);
        cudaFree(frame_);
        cudaEventDestroy(analysed_);
        cudaEventDestroy(uploaded_);
        cudaStreamDestroy(compute_);
        cudaStreamDestroy(upload_);
    }

    void next()
    {
        CHECK(cudaMemcpyAsync(frame_, staging_, bytes(), cudaMemcpyHostToDevice, upload_));  // expect: SS109
        CHECK(cudaEventRecord(uploaded_, upload_));
        CHECK(cudaStreamWaitEvent(compute_, uploaded_, 0));
        CHECK(cudaGraphLaunch(exec_, compute_));
        CHECK(cudaEventRecord(analysed_, compute_));
    }
    void finish() { CHECK(cudaDeviceSynchronize()); }

private:
    size_t bytes() const { return n_ * sizeof(float); }

    int n_;
    cudaStream_t upload_, compute_;
    cudaEvent_t uploaded_, analysed_;
    cudaGraphExec_t exec_;
    float *frame_, *result_, *staging_;
};

int main()
{
    Camera camera(1 << 16);
    for (int frame = 0; frame < 4; ++frame) camera.next();
    camera.finish();
    return 0;
}
