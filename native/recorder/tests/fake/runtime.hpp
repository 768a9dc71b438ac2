// The CUDA runtime's functions that test programs call, with the types that they need, in the shape of the real header.
#pragma once
#include <cstddef>
#include <cstring>

#include "kernel.hpp"

extern "C" {

using cudaError_t = int;
using cudaStream_t = struct fakeStream*;
using cudaEvent_t = struct fakeEvent*;
using cudaGraph_t = struct fakeGraph*;
using cudaGraphExec_t = struct fakeGraphExec*;
using cudaHostFn_t = void (*)(void*);
struct dim3 {
    unsigned x = 1, y = 1, z = 1;
};
enum cudaMemcpyKind { cudaMemcpyHostToDevice = 1, cudaMemcpyDeviceToHost = 2, cudaMemcpyDeviceToDevice = 3 };
enum cudaStreamCaptureMode {
    cudaStreamCaptureModeGlobal = 0,
    cudaStreamCaptureModeThreadLocal = 1,
    cudaStreamCaptureModeRelaxed = 2,
};
constexpr cudaError_t cudaSuccess = 0;
constexpr unsigned cudaStreamNonBlocking = 1;
constexpr unsigned cudaEventDisableTiming = 2;
constexpr unsigned cudaMemAttachGlobal = 1;

cudaError_t cudaSetDevice(int device);
cudaError_t cudaGetLastError();
cudaError_t cudaDeviceSynchronize();
cudaError_t cudaDeviceReset();
cudaError_t cudaMalloc(void** address, std::size_t size);
cudaError_t cudaMallocManaged(void** address, std::size_t size, unsigned flags);
cudaError_t cudaMallocHost(void** address, std::size_t size);
cudaError_t cudaHostAlloc(void** address, std::size_t size, unsigned flags);
cudaError_t cudaHostRegister(void* address, std::size_t size, unsigned flags);
cudaError_t cudaHostUnregister(void* address);
cudaError_t cudaMallocAsync(void** address, std::size_t size, cudaStream_t stream);
cudaError_t cudaFree(void* address);
cudaError_t cudaFreeHost(void* address);
cudaError_t cudaFreeAsync(void* address, cudaStream_t stream);
cudaError_t cudaMemset(void* address, int value, std::size_t size);
cudaError_t cudaMemsetAsync(void* address, int value, std::size_t size, cudaStream_t stream);
cudaError_t cudaMemcpy(void* destination, const void* source, std::size_t size, cudaMemcpyKind kind);
cudaError_t cudaMemcpyAsync(void* destination, const void* source, std::size_t size, cudaMemcpyKind kind,
                            cudaStream_t stream);
cudaError_t cudaStreamCreate(cudaStream_t* stream);
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags);
cudaError_t cudaStreamDestroy(cudaStream_t stream);
cudaError_t cudaStreamSynchronize(cudaStream_t stream);
cudaError_t cudaStreamQuery(cudaStream_t stream);
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags);
cudaError_t cudaEventCreate(cudaEvent_t* event);
cudaError_t cudaEventDestroy(cudaEvent_t event);
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream);
cudaError_t cudaEventSynchronize(cudaEvent_t event);
cudaError_t cudaEventQuery(cudaEvent_t event);
cudaError_t cudaLaunchKernel(const void* kernel, dim3 grid, dim3 block, void** arguments, std::size_t shared,
                             cudaStream_t stream);
cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void* user);
cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode);
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph);
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* executable, cudaGraph_t graph, unsigned long long flags);
cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream);
cudaError_t cudaGraphDestroy(cudaGraph_t graph);
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable);

}  // extern "C"

namespace fake {

/// The values of a launch, and pointers to them.
template <class... Values>
class LaunchValues {
public:
    explicit LaunchValues(Values... values) { ((pointers_[count_++] = keep(values)), ...); }
    void** pointers() { return pointers_; }

private:
    template <class Value>
    void* keep(const Value& value) {
        void* place = words_[count_];
        std::memcpy(place, &value, sizeof value);
        return place;
    }
    unsigned char words_[sizeof...(Values)][8]{};
    void* pointers_[sizeof...(Values)]{};
    std::size_t count_ = 0;
};

}  // namespace fake

/// `kernel<<<1, block, 0, stream>>>(values...)`: a macro, so that the call is on the line of the program that makes it.
#define LAUNCH_WITH(block, kernel, stream, ...) \
    cudaLaunchKernel(&(kernel), dim3{}, dim3{block}, fake::LaunchValues(__VA_ARGS__).pointers(), 0, stream)
#define LAUNCH(kernel, stream, ...) LAUNCH_WITH(32, kernel, stream, __VA_ARGS__)
