// What host calls wait for that the documentation leaves open. Each row prints a fact id, what was tried, and
// milliseconds; a kernel that spins for 200 ms makes "did it wait?" a ratio, not a matter of taste.
// Build and run: nvcc -arch=sm_90 -std=c++17 -o implicit_waits probes/implicit_waits.cu -lcuda && ./implicit_waits
#include <cuda.h>
#include <cuda_runtime.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>

#define CHECK(call)                                                                                      \
    do {                                                                                                 \
        cudaError_t status_ = (call);                                                                    \
        if (status_ != cudaSuccess) {                                                                    \
            std::fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, cudaGetErrorString(status_)); \
            std::exit(2);                                                                                \
        }                                                                                                \
    } while (0)

__global__ void spin(long long cycles, int* touch) {
    long long start = clock64();
    while (clock64() - start < cycles) {
    }
    if (touch) atomicAdd(touch, 1);
}

static long long cycles_200ms() {
    int khz = 0;
    CHECK(cudaDeviceGetAttribute(&khz, cudaDevAttrClockRate, 0));
    return 200LL * khz;
}

static double milliseconds(const std::function<void()>& body) {
    auto start = std::chrono::steady_clock::now();
    body();
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

int main() {
    CHECK(cudaSetDevice(0));
    CHECK(cudaFree(nullptr));
    const long long cycles = cycles_200ms();
    cudaStream_t blocking, other_stream;
    CHECK(cudaStreamCreate(&blocking));
    CHECK(cudaStreamCreateWithFlags(&other_stream, cudaStreamNonBlocking));
    int* device = nullptr;
    CHECK(cudaMalloc(&device, 64 << 20));
    int* device_b = nullptr;
    CHECK(cudaMalloc(&device_b, 64 << 20));
    char* pageable = static_cast<char*>(std::calloc(64 << 20, 1));
    char* pinned = nullptr;
    CHECK(cudaMallocHost(&pinned, 64 << 20));
    char* managed = nullptr;
    CHECK(cudaMallocManaged(&managed, 1 << 20));
    cudaEvent_t event;
    CHECK(cudaEventCreate(&event));
    spin<<<1, 1>>>(1000, device);
    CHECK(cudaDeviceSynchronize());

    auto row = [&](const char* id, const char* what, cudaStream_t busy, const std::function<void()>& call) {
        spin<<<1, 1, 0, busy>>>(cycles, device);
        CHECK(cudaGetLastError());
        double took = milliseconds(call);
        bool still_running = cudaStreamQuery(busy) == cudaErrorNotReady;
        (void)cudaGetLastError();
        CHECK(cudaDeviceSynchronize());
        std::printf("%-5s %-86s %8.2f ms  kernel %s\n", id, what, took, still_running ? "still running" : "complete");
    };
    row("L-00", "control: cudaDeviceSynchronize, kernel on a blocking stream", blocking, [&] { CHECK(cudaDeviceSynchronize()); });
    row("L-01", "cudaStreamSynchronize(legacy), kernel on a blocking stream", blocking, [&] { CHECK(cudaStreamSynchronize(0)); });
    row("L-02", "cudaStreamSynchronize(legacy), kernel on a non-blocking stream", other_stream, [&] { CHECK(cudaStreamSynchronize(0)); });
    row("L-03", "cudaStreamQuery(legacy) answers; kernel on a blocking stream", blocking, [&] {
        std::printf("      cudaStreamQuery(legacy) = %s\n", cudaGetErrorName(cudaStreamQuery(0)));
        (void)cudaGetLastError();
    });
    row("L-04", "event recorded on legacy, EventSynchronize; kernel on a blocking stream", blocking, [&] {
        CHECK(cudaEventRecord(event, 0));
        CHECK(cudaEventSynchronize(event));
    });
    row("L-05", "event recorded on legacy, EventSynchronize; kernel on a non-blocking stream", other_stream, [&] {
        CHECK(cudaEventRecord(event, 0));
        CHECK(cudaEventSynchronize(event));
    });
    for (size_t bytes : {size_t(1) << 10, size_t(64) << 10, size_t(1) << 20, size_t(64) << 20}) {
        char what[128];
        std::snprintf(what, sizeof what, "cudaMemcpy pageable H2D %zu KiB; kernel on a blocking stream", bytes >> 10);
        row("L-06", what, blocking, [&] { CHECK(cudaMemcpy(device_b, pageable, bytes, cudaMemcpyHostToDevice)); });
        std::snprintf(what, sizeof what, "cudaMemcpy pageable H2D %zu KiB; kernel on a non-blocking stream", bytes >> 10);
        row("L-07", what, other_stream, [&] { CHECK(cudaMemcpy(device_b, pageable, bytes, cudaMemcpyHostToDevice)); });
        std::snprintf(what, sizeof what, "cudaMemcpy pinned H2D %zu KiB; kernel on a blocking stream", bytes >> 10);
        row("L-08", what, blocking, [&] { CHECK(cudaMemcpy(device_b, pinned, bytes, cudaMemcpyHostToDevice)); });
        std::snprintf(what, sizeof what, "cudaMemcpyAsync pageable H2D %zu KiB behind the kernel on its stream", bytes >> 10);
        row("L-09", what, blocking, [&] { CHECK(cudaMemcpyAsync(device_b, pageable, bytes, cudaMemcpyHostToDevice, blocking)); });
        std::snprintf(what, sizeof what, "cudaMemcpyAsync pageable D2H %zu KiB behind the kernel on its stream", bytes >> 10);
        row("L-10", what, blocking, [&] { CHECK(cudaMemcpyAsync(pageable, device_b, bytes, cudaMemcpyDeviceToHost, blocking)); });
    }
    row("L-11", "cudaMemcpy D2D 64 MiB; kernel on a blocking stream", blocking, [&] { CHECK(cudaMemcpy(device_b, device, 64 << 20, cudaMemcpyDeviceToDevice)); });
    row("L-12", "cudaMemset device 64 MiB; kernel on a blocking stream", blocking, [&] { CHECK(cudaMemset(device_b, 0, 64 << 20)); });
    row("L-13", "cudaMemset of pinned host memory; kernel on a blocking stream", blocking, [&] { CHECK(cudaMemset(pinned, 0, 1 << 20)); });
    row("L-14", "cudaMemset of managed memory; kernel on a blocking stream", blocking, [&] { CHECK(cudaMemset(managed, 0, 1 << 20)); });
    row("L-15", "cudaMemcpyToSymbol-like small pageable copy to legacy; kernel on legacy itself", 0, [&] { CHECK(cudaMemcpy(device_b, pageable, 4, cudaMemcpyHostToDevice)); });
    row("L-16", "cudaHostRegister of unrelated pages under load", blocking, [&] {
        CHECK(cudaHostRegister(pageable, 1 << 20, cudaHostRegisterDefault));
    });
    row("L-17", "cudaHostUnregister of unrelated pages under load", blocking, [&] { CHECK(cudaHostUnregister(pageable)); });
    char* unrelated = nullptr;
    CHECK(cudaMallocHost(&unrelated, 1 << 20));
    row("L-18", "cudaFreeHost of unrelated pinned memory under load", blocking, [&] { CHECK(cudaFreeHost(unrelated)); });
    char* plain_async = nullptr;
    CHECK(cudaMallocAsync(&plain_async, 1 << 20, blocking));
    row("L-19", "cudaMallocAsync pointer freed with cudaFree under unrelated load", other_stream, [&] { CHECK(cudaFree(plain_async)); });
    row("L-20", "cudaMallocHost under load", blocking, [&] { CHECK(cudaMallocHost(&unrelated, 1 << 20)); });
    row("L-21", "cudaEventDestroy/cudaStreamDestroy of idle handles under load", blocking, [&] {
        cudaStream_t idle;
        CHECK(cudaStreamCreate(&idle));
        CHECK(cudaStreamDestroy(idle));
    });

    // A created context destroyed with work pending, and what its wait does to the primary one.
    CUdevice cu_device;
    CUcontext created;
    cuDeviceGet(&cu_device, 0);
    if (cuCtxCreate(&created, nullptr, 0, cu_device) == CUDA_SUCCESS) {
        spin<<<1, 1>>>(cycles, nullptr);
        CHECK(cudaGetLastError());
        double took = milliseconds([&] { cuCtxDestroy(created); });
        std::printf("%-5s %-86s %8.2f ms\n", "L-22", "cuCtxDestroy with that context's 200 ms kernel pending", took);
    }
    CHECK(cudaSetDevice(0));
    CHECK(cudaDeviceSynchronize());
    int driver = 0;
    CHECK(cudaDriverGetVersion(&driver));
    std::printf("driver API %d\n", driver);
    return 0;
}
