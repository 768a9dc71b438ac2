// What the driver answers to calls that ask for little sense (docs/facts.md, Q). Prints one line for each call.
//     nvcc -o odd_answers odd_answers.cu -lcuda && ./odd_answers
#include <cuda.h>
#include <cuda_runtime.h>

#include <cstdio>
#include <cstring>

#define SHOW(call) std::printf("%s: %d\n", #call, static_cast<int>(call))

static void show_graph_memory(const char* when) {
    unsigned long long values[4] = {};
    for (int number = 0; number < 4; ++number) {
        cuDeviceGetGraphMemAttribute(0, static_cast<CUgraphMem_attribute>(number), &values[number]);
    }
    std::printf("%s: used %llu, high %llu, reserved %llu, high %llu\n", when, values[0], values[1], values[2], values[3]);
}

static void arrays() {
    CUarray array;
    CUDA_ARRAY_DESCRIPTOR description = {};
    SHOW(cuArrayCreate(&array, &description));
    description.Format = CU_AD_FORMAT_FLOAT;
    description.Width = 4;
    SHOW(cuArrayCreate(&array, &description));
    description.NumChannels = 3;
    SHOW(cuArrayCreate(&array, &description));
    description.NumChannels = 1;
    description.Width = 0;
    SHOW(cuArrayCreate(&array, &description));
    cudaArray_t made;
    cudaChannelFormatDesc channels = {0, 0, 0, 0, cudaChannelFormatKindFloat};
    SHOW(cudaMallocArray(&made, &channels, 4));
    channels = {32, 32, 32, 0, cudaChannelFormatKindFloat};
    SHOW(cudaMallocArray(&made, &channels, 4));
    channels = {32, 0, 0, 0, cudaChannelFormatKindFloat};
    SHOW(cudaMallocArray(&made, &channels, 0));
}

static void registrations() {
    static unsigned char bytes[1 << 14];
    unsigned char* page = bytes + 4096 - (reinterpret_cast<size_t>(bytes) & 4095);
    SHOW(cudaHostRegister(page, 160, 3));
    SHOW(cudaHostRegister(page + 80, 160, 3));
    SHOW(cudaHostUnregister(page + 80));
    SHOW(cudaHostUnregister(page));
    SHOW(cudaHostUnregister(page));
    SHOW(cudaHostUnregister(page + 200));
}

static void advice() {
    void* memory;
    cudaMallocManaged(&memory, 4096);
    cudaMemLocation device = {cudaMemLocationTypeDevice, 0};
    cudaMemLocation host = {cudaMemLocationTypeHost, 0};
    SHOW(cudaMemAdvise(memory, 4096, cudaMemAdviseSetAccessedBy, host));
    SHOW(cudaMemAdvise(memory, 4096, cudaMemAdviseSetAccessedBy, device));
    int list[4];
    SHOW(cudaMemRangeGetAttribute(list, sizeof list, cudaMemRangeAttributeAccessedBy, memory, 4096));
    std::printf("accessed by %d %d %d %d\n", list[0], list[1], list[2], list[3]);
    unsigned int one = 1;
    bool got = false;
    CUdeviceptr pointer = reinterpret_cast<CUdeviceptr>(memory);
    SHOW(cuPointerSetAttribute(&one, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, pointer));
    SHOW(cuPointerGetAttribute(&got, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, pointer));
    std::printf("got %d\n", got);
    SHOW(cuPointerSetAttribute(&one, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, pointer));
    SHOW(cuPointerSetAttribute(&one, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, reinterpret_cast<CUdeviceptr>(&one)));
}

static void graph_memory(size_t bytes) {
    CUstream stream;
    CUgraph graph;
    CUgraphNode allocation, release;
    CUgraphExec executable;
    cuStreamCreate(&stream, 0);
    cuGraphCreate(&graph, 0);
    CUDA_MEM_ALLOC_NODE_PARAMS parameters = {};
    parameters.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    parameters.poolProps.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    parameters.bytesize = bytes;
    SHOW(cuGraphAddMemAllocNode(&allocation, graph, nullptr, 0, &parameters));
    SHOW(cuGraphAddMemFreeNode(&release, graph, &allocation, 1, parameters.dptr));
    SHOW(cuGraphInstantiate(&executable, graph, 0));
    show_graph_memory("instantiated");
    cuGraphLaunch(executable, stream);
    show_graph_memory("launched");
    cuStreamSynchronize(stream);
    show_graph_memory("waited");
    cuDeviceGraphMemTrim(0);
    show_graph_memory("trimmed");
    cuGraphLaunch(executable, stream);
    cuStreamSynchronize(stream);
    show_graph_memory("launched again");
    cuGraphExecDestroy(executable);
    cuGraphDestroy(graph);
    show_graph_memory("destroyed");
    cuDeviceGraphMemTrim(0);
    show_graph_memory("trimmed");
    unsigned long long zero = 0;
    cuDeviceSetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_USED_MEM_HIGH, &zero);
    cuDeviceSetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH, &zero);
    show_graph_memory("set back");
    cuStreamDestroy(stream);
}

static void nothing() {
    const char* name;
    CUmodule module;
    CUfunction function;
    size_t offset, size;
    int value;
    SHOW(cuKernelGetName(&name, nullptr));
    SHOW(cuFuncGetName(&name, nullptr));
    SHOW(cuFuncGetModule(&module, nullptr));
    SHOW(cuFuncGetParamInfo(nullptr, 0, &offset, &size));
    SHOW(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_NUM_REGS, nullptr));
    SHOW(cuModuleGetFunction(&function, nullptr, "x"));
    SHOW(cuLaunchKernel(nullptr, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr));
    SHOW(cuModuleUnload(nullptr));
    CUprocessState state;
    SHOW(cuCheckpointProcessGetState(123434, &state));
}

int main() {
    cudaFree(nullptr);
    arrays();
    registrations();
    advice();
    graph_memory(1);
    graph_memory(5 << 20);
    nothing();
}
