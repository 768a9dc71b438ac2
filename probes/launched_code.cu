// Which machine code does a recording know at each launch? Kernels that are first used in a plain launch, in a capture
// and by the instantiation of a graph; two modules of one symbol; variables of the device. launched_code.sh runs it
// recorded.
#include <cstdio>
#include <cstdlib>
#include <cuda.h>
#include <cuda_runtime.h>
#include <fstream>
#include <iterator>
#include <string>

#define CHECK(call)                                                            \
    do {                                                                       \
        if (const int status = static_cast<int>(call); status != 0) {          \
            std::printf("L | %s:%d: status %d\n", __FILE__, __LINE__, status); \
            std::exit(1);                                                      \
        }                                                                      \
    } while (0)

__device__ int counter;
__device__ int untouched;

__global__ void counts(const int* from, int n) {
    const int at = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
    if (at < n && from[at] > 0) atomicAdd(&counter, 1);
}
__global__ void scales(float* to, const float* from, int n) {
    const int at = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
    if (at < n) to[at] = 2 * from[at];
}
__global__ void only_captured(float* to) { to[threadIdx.x] = 1; }
__global__ void only_node(float* to) { to[threadIdx.x] = 2; }
__global__ void asked_before(float* to) { to[threadIdx.x] = 3; }

int main(int, char** arguments) {
    float *a = nullptr, *b = nullptr;
    CHECK(cudaMalloc(&a, 1 << 20));
    CHECK(cudaMalloc(&b, 1 << 20));
    cudaStream_t stream = nullptr;
    CHECK(cudaStreamCreate(&stream));
    for (int round = 0; round < 2; ++round) {
        counts<<<4, 64, 0, stream>>>(reinterpret_cast<int*>(a), 100);
        scales<<<4, 64, 0, stream>>>(b, a, 200);
    }
    int host = 0;
    CHECK(cudaMemcpyFromSymbolAsync(&host, counter, sizeof host, 0, cudaMemcpyDeviceToHost, stream));
    cudaFuncAttributes attributes{};
    CHECK(cudaFuncGetAttributes(&attributes, asked_before));
    asked_before<<<1, 32, 0, stream>>>(a);
    CHECK(cudaStreamSynchronize(stream));

    cudaGraph_t graph = nullptr;
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    only_captured<<<1, 32, 0, stream>>>(a);
    CHECK(cudaStreamEndCapture(stream, &graph));
    cudaKernelNodeParams node{};
    void* values[]{&b};
    node.func = reinterpret_cast<void*>(only_node);
    node.gridDim = dim3(1);
    node.blockDim = dim3(32);
    node.kernelParams = values;
    cudaGraphNode_t made = nullptr;
    CHECK(cudaGraphAddKernelNode(&made, graph, nullptr, 0, &node));
    cudaGraphExec_t executable = nullptr;
    CHECK(cudaGraphInstantiate(&executable, graph, 0));
    CHECK(cudaGraphLaunch(executable, stream));
    CHECK(cudaStreamSynchronize(stream));

    // Two modules of one symbol, as Triton makes them.
    for (const char* const path : {arguments[1], arguments[2]}) {
        std::ifstream file(path, std::ios::binary);
        const std::string image{std::istreambuf_iterator<char>(file), {}};
        CUmodule module = nullptr;
        CUfunction function = nullptr;
        CHECK(cuModuleLoadData(&module, image.data()));
        CHECK(cuModuleGetFunction(&function, module, "same_name"));
        void* given[]{&a};
        CHECK(cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, stream, given, nullptr));
        if (cuModuleGetFunction(&function, module, "nowhere") == CUDA_SUCCESS)
            std::printf("L | found what is not there\n");
    }
    CHECK(cudaStreamSynchronize(stream));
    std::printf("L | counter %d\n", host);
    return 0;
}
