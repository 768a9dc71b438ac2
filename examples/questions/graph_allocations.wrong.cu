// A captured loop allocates in each round and never frees: the graph can be launched once.
#include <cuda_runtime.h>

__global__ void step(float* scratch, float* state) { state[threadIdx.x] += scratch[threadIdx.x] + 1.0f; }

int main() {
    cudaStream_t stream;
    cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    float* state;
    cudaMallocAsync(&state, 256 * sizeof(float), stream);
    cudaMemsetAsync(state, 0, 256 * sizeof(float), stream);

    cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
    for (int round = 0; round < 4; ++round) {
        float* scratch;
        cudaMallocAsync(&scratch, 256 * sizeof(float), stream);
        cudaMemsetAsync(scratch, 0, 256 * sizeof(float), stream);
        step<<<1, 256, 0, stream>>>(scratch, state);
    }
    cudaGraph_t graph;
    cudaStreamEndCapture(stream, &graph);
    cudaGraphExec_t loop;
    cudaGraphInstantiate(&loop, graph, 0);

    for (int repeat = 0; repeat < 10; ++repeat) cudaGraphLaunch(loop, stream);

    cudaFreeAsync(state, stream);
    cudaStreamSynchronize(stream);
    cudaGraphExecDestroy(loop);
    cudaGraphDestroy(graph);
    cudaStreamDestroy(stream);
}
