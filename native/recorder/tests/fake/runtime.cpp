// The runtime: each function is a callback of the runtime domain around calls of the driver. The driver is loaded at
// the first call, as the real runtime does it; programs do not link it.
#include "runtime.hpp"

#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>

#include "tool.hpp"

using namespace fake;

namespace {

constexpr Status no_driver = 35;
constexpr Status runtime_unloading = 4;

bool unloading = false;
thread_local Status last_error = 0;

void* library() {
    static void* loaded = dlopen("libcuda.so.1", RTLD_NOW);
    return loaded;
}

/// Calls a function of the driver by its name.
template <class... Arguments>
Status driver(const char* name, Arguments... arguments) {
    return reinterpret_cast<Status (*)(Arguments...)>(dlsym(library(), name))(arguments...);
}

template <class Function>
Function* internal(const char* name) {
    return reinterpret_cast<Function*>(dlsym(library(), name));
}

Status initialise() {
    static const Status status = [] {
        if (library() == nullptr) return no_driver;
        const Status of = driver("cuInit", 0u);
        std::atexit([] { unloading = true; });
        return of;
    }();
    return status;
}

/// Every thread's first call makes the primary context current to it.
Status need_context() {
    Word context = 0;
    driver("cuCtxGetCurrent", &context);
    int active = 0;
    unsigned flags = 0;
    driver("cuDevicePrimaryCtxGetState", 0, &flags, &active);
    if (context != 0 && active != 0) return 0;
    driver("cuCtxSetCurrent", Word{0});
    if (const Status status = driver("cuDevicePrimaryCtxRetain", &context, 0); status != 0) return status;
    internal<void(Word)>("fake_set_current_context")(context);
    return 0;
}

bool has_context() {
    int active = 0;
    unsigned flags = 0;
    driver("cuDevicePrimaryCtxGetState", 0, &flags, &active);
    return internal<Word()>("fake_current_context")() != 0 && active != 0;
}

/// A runtime call: its callback around `body`.
template <class Body, class... Arguments>
Status runtime_call(std::uint32_t id, const char* name, const char* symbol, Body body, Arguments... arguments) {
    if (const Status status = initialise(); status != 0) return last_error = status;
    const Parameters<Arguments...> parameters(arguments...);
    SeenCall seen(abi::Domain::runtime, id, name, parameters.data(), symbol);
    Status status = 0;
    if (internal<bool()>("fake_is_child")()) {
        status = 3;
    } else if (unloading) {
        status = runtime_unloading;
    } else {
        if (!has_context()) status = need_context();
        if (status == 0) status = body();
    }
    seen.returned(status);
    if (status != 0 && status != 600) last_error = status;
    return status;
}

/// A runtime call that is one call of the driver with the same arguments.
template <class... Arguments>
Status forward(std::uint32_t id, const char* name, const char* of_driver, Arguments... arguments) {
    return runtime_call(id, name, nullptr, [&] { return driver(of_driver, arguments...); }, arguments...);
}

Word word(const void* handle) { return reinterpret_cast<Word>(handle); }

}  // namespace

// The subscriber's place is the driver's.
extern "C" Tool* fake_tool() { return internal<Tool*()>("fake_tool")(); }
extern "C" std::uint32_t fake_next_correlation() { return internal<std::uint32_t()>("fake_next_correlation")(); }
extern "C" std::uint32_t* fake_work_correlation() { return internal<std::uint32_t*()>("fake_work_correlation")(); }
extern "C" Word fake_current_context() { return internal<Word()>("fake_current_context")(); }

extern "C" {

cudaError_t cudaSetDevice(int device) {
    return runtime_call(16, "cudaSetDevice", nullptr, [&] { return device == 0 ? 0 : 101; }, device);
}

cudaError_t cudaGetLastError() {
    const Status before = last_error;
    runtime_call(10, "cudaGetLastError", nullptr, [] { return 0; });
    last_error = 0;
    return before;
}

cudaError_t cudaDeviceSynchronize() {
    return runtime_call(165, "cudaDeviceSynchronize", nullptr,
                        [] { return driver("cuCtxSynchronize_v2", fake_current_context()); });
}

cudaError_t cudaDeviceReset() {
    return runtime_call(164, "cudaDeviceReset", nullptr, [] { return driver("cuDevicePrimaryCtxReset_v2", 0); });
}

cudaError_t cudaMalloc(void** address, std::size_t size) {
    return forward(20, "cudaMalloc", "cuMemAlloc_v2", address, size);
}

cudaError_t cudaMallocManaged(void** address, std::size_t size, unsigned flags) {
    return forward(206, "cudaMallocManaged", "cuMemAllocManaged", address, size, flags);
}

cudaError_t cudaMallocHost(void** address, std::size_t size) {
    return runtime_call(
        25, "cudaMallocHost", nullptr, [&] { return driver("cuMemHostAlloc", address, size, 0u); }, address, size);
}

cudaError_t cudaHostAlloc(void** address, std::size_t size, unsigned flags) {
    return forward(27, "cudaHostAlloc", "cuMemHostAlloc", address, size, flags);
}

cudaError_t cudaHostRegister(void* address, std::size_t size, unsigned flags) {
    return forward(152, "cudaHostRegister", "cuMemHostRegister_v2", address, size, flags);
}

cudaError_t cudaHostUnregister(void* address) {
    return forward(153, "cudaHostUnregister", "cuMemHostUnregister", address);
}

cudaError_t cudaMallocAsync(void** address, std::size_t size, cudaStream_t stream) {
    return forward(373, "cudaMallocAsync", "cuMemAllocAsync", address, size, stream);
}

cudaError_t cudaFree(void* address) { return forward(22, "cudaFree", "cuMemFree_v2", address); }

cudaError_t cudaFreeHost(void* address) { return forward(26, "cudaFreeHost", "cuMemFreeHost", address); }

cudaError_t cudaFreeAsync(void* address, cudaStream_t stream) {
    return forward(375, "cudaFreeAsync", "cuMemFreeAsync", address, stream);
}

cudaError_t cudaMemset(void* address, int value, std::size_t size) {
    return runtime_call(
        49, "cudaMemset", nullptr,
        [&] { return driver("cuMemsetD8_v2", word(address), static_cast<unsigned char>(value), size); }, address, value,
        size);
}

cudaError_t cudaMemsetAsync(void* address, int value, std::size_t size, cudaStream_t stream) {
    return runtime_call(
        51, "cudaMemsetAsync", nullptr,
        [&] { return driver("cuMemsetD8Async", word(address), static_cast<unsigned char>(value), size, word(stream)); },
        address, value, size, stream);
}

cudaError_t cudaMemcpy(void* destination, const void* source, std::size_t size, cudaMemcpyKind kind) {
    return runtime_call(
        31, "cudaMemcpy", nullptr,
        [&] {
            if (kind == cudaMemcpyHostToDevice) return driver("cuMemcpyHtoD_v2", word(destination), source, size);
            if (kind == cudaMemcpyDeviceToHost) return driver("cuMemcpyDtoH_v2", destination, word(source), size);
            return driver("cuMemcpyDtoD_v2", word(destination), word(source), size);
        },
        destination, source, size, kind);
}

cudaError_t cudaMemcpyAsync(void* destination, const void* source, std::size_t size, cudaMemcpyKind kind,
                            cudaStream_t stream) {
    return runtime_call(
        41, "cudaMemcpyAsync", nullptr,
        [&] {
            const Word on = word(stream);
            if (kind == cudaMemcpyHostToDevice)
                return driver("cuMemcpyHtoDAsync_v2", word(destination), source, size, on);
            if (kind == cudaMemcpyDeviceToHost)
                return driver("cuMemcpyDtoHAsync_v2", destination, word(source), size, on);
            return driver("cuMemcpyDtoDAsync_v2", word(destination), word(source), size, on);
        },
        destination, source, size, kind, stream);
}

cudaError_t cudaStreamCreate(cudaStream_t* stream) {
    return runtime_call(129, "cudaStreamCreate", nullptr, [&] { return driver("cuStreamCreate", stream, 0u); }, stream);
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
    return forward(198, "cudaStreamCreateWithFlags", "cuStreamCreate", stream, flags);
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
    return forward(201, "cudaStreamDestroy", "cuStreamDestroy_v2", stream);
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
    return forward(131, "cudaStreamSynchronize", "cuStreamSynchronize", stream);
}

cudaError_t cudaStreamQuery(cudaStream_t stream) { return forward(132, "cudaStreamQuery", "cuStreamQuery", stream); }

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags) {
    return forward(147, "cudaStreamWaitEvent", "cuStreamWaitEvent", stream, event, flags);
}

cudaError_t cudaEventCreate(cudaEvent_t* event) {
    return runtime_call(133, "cudaEventCreate", nullptr, [&] { return driver("cuEventCreate", event, 0u); }, event);
}

cudaError_t cudaEventDestroy(cudaEvent_t event) { return forward(136, "cudaEventDestroy", "cuEventDestroy_v2", event); }

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
    return forward(135, "cudaEventRecord", "cuEventRecord", event, stream);
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
    return forward(137, "cudaEventSynchronize", "cuEventSynchronize", event);
}

cudaError_t cudaEventQuery(cudaEvent_t event) { return forward(138, "cudaEventQuery", "cuEventQuery", event); }

cudaError_t cudaLaunchKernel(const void* kernel, dim3 grid, dim3 block, void** arguments, std::size_t shared,
                             cudaStream_t stream) {
    return runtime_call(
        211, "cudaLaunchKernel", static_cast<const Kernel*>(kernel)->mangled,
        [&] {
            const Status status =
                driver("cuLaunchKernel", word(kernel), grid.x, grid.y, grid.z, block.x, block.y, block.z,
                       static_cast<unsigned>(shared), word(stream), arguments, static_cast<void**>(nullptr));
            return status == 1 ? 9 : status;
        },
        kernel, grid, block, arguments, shared, stream);
}

cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void* user) {
    return forward(284, "cudaLaunchHostFunc", "cuLaunchHostFunc", stream, function, user);
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode) {
    return runtime_call(
        315, "cudaStreamBeginCapture", nullptr,
        [&] { return driver("cuStreamBeginCapture_v2", word(stream), static_cast<int>(mode)); }, stream, mode);
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
    return forward(319, "cudaStreamEndCapture", "cuStreamEndCapture", stream, graph);
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* executable, cudaGraph_t graph, unsigned long long flags) {
    return forward(443, "cudaGraphInstantiate", "cuGraphInstantiateWithFlags", executable, graph, flags);
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream) {
    return forward(311, "cudaGraphLaunch", "cuGraphLaunch", executable, stream);
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) { return forward(314, "cudaGraphDestroy", "cuGraphDestroy", graph); }

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable) {
    return forward(313, "cudaGraphExecDestroy", "cuGraphExecDestroy", executable);
}

}  // extern "C"
