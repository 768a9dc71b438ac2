// Small programs for callbacks.cpp to look at; the argument names one.
#include <cstdio>
#include <cstring>
#include <string>

#include <cuda_runtime.h>
#include <sys/wait.h>
#include <unistd.h>

__global__ void touch(float* data, int n)
{
    if (threadIdx.x < n) data[threadIdx.x] += 1;
}

static void say(const char* what) { std::fprintf(stderr, "I | program | %s\n", what); }

struct AtEnd {
    void* memory = nullptr;
    bool wanted = false;
    ~AtEnd()
    {
        if (!wanted) return;
        say("destructor of a static object: cudaFree");
        cudaFree(memory);
    }
};
static AtEnd at_end;

static void after_fork(float* memory)
{
    const pid_t child = fork();
    if (child == 0) {
        say("child: cudaFree, launch");
        cudaFree(memory);
        touch<<<1, 32>>>(memory, 32);
        _exit(0);
    }
    waitpid(child, nullptr, 0);
}

static void capture(float* memory)
{
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    cudaStreamCreate(&stream);
    say("capture of one launch and one fill");
    cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
    touch<<<1, 32, 0, stream>>>(memory, 32);
    cudaMemsetAsync(memory, 0, 64, stream);
    cudaStreamEndCapture(stream, &graph);
    cudaGraphInstantiate(&exec, graph, 0);
}

static void failures(float* memory)
{
    say("launch with blocks of 4096 threads");
    touch<<<1, 4096>>>(memory, 32);
    say("cudaMemcpy from NULL");
    cudaMemcpy(memory, nullptr, 64, cudaMemcpyHostToDevice);
    say("cudaSetDevice(99)");
    cudaSetDevice(99);
}

int main(int, char** arguments)
{
    const std::string what = arguments[1] != nullptr ? arguments[1] : "";
    float* memory = nullptr;
    cudaMalloc(&memory, 4096);
    if (what == "launch") touch<<<1, 32>>>(memory, 32);
    if (what == "fork") after_fork(memory);
    if (what == "capture") capture(memory);
    if (what == "failures") failures(memory);
    if (what == "destructor") at_end.memory = memory, at_end.wanted = true;
    if (what == "reset") {
        say("cudaDeviceReset");
        cudaDeviceReset();
    }
    if (what == "stale") {
        cudaStream_t stream;
        cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
        touch<<<1, 32, 0, stream>>>(memory, 32);
        cudaStreamSynchronize(stream);
        cudaDeviceReset();
        return cudaStreamDestroy(stream) == cudaSuccess ? 0 : 1;
    }
    if (what == "twice") {
        cudaStream_t stream;
        cudaStreamCreate(&stream);
        cudaStreamDestroy(stream);
        say("cudaStreamDestroy for the second time");
        cudaStreamDestroy(stream);
    }
    cudaDeviceSynchronize();
    return 0;
}
