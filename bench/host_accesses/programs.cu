// Programs whose host touches memory that work uses: `programs NAME`. Those whose names end in `_wrong` do it while the work
// may be under way; what a program prints is the same in every run.
#include <cuda_runtime.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#define CHECK(call)                                                                           \
    do {                                                                                      \
        if (const cudaError_t status = (call); status != cudaSuccess) {                       \
            std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(status));               \
            std::exit(1);                                                                     \
        }                                                                                     \
    } while (0)

namespace {

constexpr std::size_t bytes = 1 << 20;

__global__ void add(char* data, std::size_t count) {
    for (std::size_t at = blockIdx.x * blockDim.x + threadIdx.x; at < count; at += gridDim.x * blockDim.x) ++data[at];
}

__global__ void sum(const char* data, std::size_t count, int* result) {
    int mine = 0;
    for (std::size_t at = threadIdx.x; at < count; at += blockDim.x) mine += data[at];
    atomicAdd(result, mine);
}

std::map<std::string, int (*)()> programs;
#define PROGRAM(name)                                                  \
    int name();                                                        \
    const bool name##_is_there = programs.emplace(#name, name).second; \
    int name()

cudaStream_t stream() {
    cudaStream_t made;
    CHECK(cudaStreamCreateWithFlags(&made, cudaStreamNonBlocking));
    return made;
}
char* device(std::size_t size = bytes) {
    void* made;
    CHECK(cudaMalloc(&made, size));
    CHECK(cudaMemset(made, 7, size));
    CHECK(cudaDeviceSynchronize());
    return static_cast<char*>(made);
}
char* pinned(std::size_t size = bytes) {
    void* made;
    CHECK(cudaMallocHost(&made, size));
    return static_cast<char*>(made);
}
char* mapped(std::size_t size = bytes) {
    void* made;
    CHECK(cudaHostAlloc(&made, size, cudaHostAllocMapped | cudaHostAllocPortable));
    return static_cast<char*>(made);
}
char* combined(std::size_t size = bytes) {
    void* made;
    CHECK(cudaHostAlloc(&made, size, cudaHostAllocWriteCombined));
    return static_cast<char*>(made);
}
char* registered(std::size_t size = bytes) {
    char* made = static_cast<char*>(std::malloc(size + 8192)) + 1000;
    CHECK(cudaHostRegister(made, size, cudaHostRegisterDefault));
    return made;
}
char* managed(std::size_t size = bytes) {
    void* made;
    CHECK(cudaMallocManaged(&made, size));
    return static_cast<char*>(made);
}

int upload(char* host, bool waits) {
    cudaStream_t s = stream();
    char* d = device();
    std::memset(host, 1, bytes);
    CHECK(cudaMemcpyAsync(d, host, bytes, cudaMemcpyDefault, s));
    if (waits) CHECK(cudaStreamSynchronize(s));
    host[bytes / 2] = 2;
    CHECK(cudaStreamSynchronize(s));
    return 0;
}
int download(char* host, bool waits) {
    cudaStream_t s = stream();
    char* d = device();
    std::memset(host, 1, bytes);
    CHECK(cudaMemcpyAsync(host, d, bytes, cudaMemcpyDefault, s));
    if (waits) CHECK(cudaStreamSynchronize(s));
    volatile char* at = host + bytes / 2;
    static_cast<void>(*at);
    CHECK(cudaStreamSynchronize(s));
    std::printf("%d %d\n", host[0], host[bytes - 1]);
    return 0;
}
#define KIND(kind)                                                     \
    PROGRAM(kind##_upload_wrong) { return upload(kind(), false); }     \
    PROGRAM(kind##_upload_right) { return upload(kind(), true); }      \
    PROGRAM(kind##_download_wrong) { return download(kind(), false); } \
    PROGRAM(kind##_download_right) { return download(kind(), true); }
KIND(pinned)
KIND(mapped)
KIND(combined)
KIND(registered)
KIND(managed)

/// Kernels that reach the host's memory themselves.
int by_kernel(char* host, bool waits) {
    cudaStream_t s = stream();
    for (int round = 0; round < 3; ++round) {
        std::memset(host, round, bytes);
        add<<<64, 256, 0, s>>>(host, bytes);
        if (waits) CHECK(cudaStreamSynchronize(s));
        volatile char* at = host + bytes / 2;
        static_cast<void>(*at);
        CHECK(cudaStreamSynchronize(s));
        std::printf("%d %d\n", host[0], host[bytes - 1]);
    }
    return 0;
}
PROGRAM(mapped_kernel_wrong) { return by_kernel(mapped(), false); }
PROGRAM(mapped_kernel_right) { return by_kernel(mapped(), true); }
PROGRAM(managed_kernel_wrong) { return by_kernel(managed(), false); }
PROGRAM(managed_kernel_right) { return by_kernel(managed(), true); }

/// Managed memory that is nowhere yet, on the host, on the device, larger than what is resident: the GPU's page faults must be
/// served while the host's pages are closed.
PROGRAM(managed_pages_move_right) {
    cudaStream_t s = stream();
    constexpr std::size_t large = 64 << 20;
    char* m = managed(large);
    int* result;
    CHECK(cudaMallocManaged(&result, sizeof *result));
    add<<<256, 256, 0, s>>>(m, large);  // nowhere yet
    add<<<256, 256, 0, s>>>(m, large);
    CHECK(cudaStreamSynchronize(s));
    for (std::size_t at = 0; at < large; at += 4096) ++m[at];  // comes to the host
    add<<<256, 256, 0, s>>>(m, large);                         // and back
    sum<<<1, 256, 0, s>>>(m, 1 << 16, result);
    CHECK(cudaStreamSynchronize(s));
    std::printf("%d %d %d\n", m[0], m[1], *result);
    return 0;
}

PROGRAM(system_calls_right) {
    cudaStream_t s = stream();
    char* d = device();
    for (char* host : {pinned(), mapped(), registered(), managed()}) {
        const int zeros = open("/dev/zero", O_RDWR);
        FILE* file = std::fopen("/dev/zero", "r");
        const auto in_flight = [&] {
            CHECK(cudaMemcpyAsync(host, d, bytes, cudaMemcpyDefault, s));
            CHECK(cudaStreamSynchronize(s));
        };
        in_flight();
        std::printf("read %zd, %d\n", read(zeros, host, bytes), host[5]);
        in_flight();
        std::printf("fread %zu, %d\n", std::fread(host, 1, bytes, file), host[5]);
        in_flight();
        std::printf("write %zd\n", write(zeros, host, bytes));
        in_flight();
        std::printf("syscall %ld, %d\n", syscall(SYS_read, zeros, host, bytes), host[5]);
        close(zeros);
        std::fclose(file);
    }
    return 0;
}

int ring(bool right) {
    constexpr int slots = 4;
    constexpr std::size_t size = 300000;  // no multiple of a page
    cudaStream_t s = stream();
    char* host = pinned(slots * size);
    char* d = device(slots * size);
    cudaEvent_t done[slots];
    for (cudaEvent_t& each : done) CHECK(cudaEventCreateWithFlags(&each, cudaEventDisableTiming));
    for (int round = 0; round < 200; ++round) {
        const int slot = round % slots;
        if (round >= slots) CHECK(cudaEventSynchronize(done[slot]));
        std::memset(host + slot * size, round, size);
        if (!right) CHECK(cudaEventRecord(done[slot], s));
        CHECK(cudaMemcpyAsync(d + slot * size, host + slot * size, size, cudaMemcpyHostToDevice, s));
        if (right) CHECK(cudaEventRecord(done[slot], s));
    }
    CHECK(cudaStreamSynchronize(s));
    return 0;
}
PROGRAM(ring_wrong) { return ring(false); }
PROGRAM(ring_right) { return ring(true); }

PROGRAM(free_while_closed_right) {
    cudaStream_t s = stream();
    char* d = device();
    for (int round = 0; round < 20; ++round) {
        char* host = pinned();
        char* other = registered();
        CHECK(cudaMemcpyAsync(host, d, bytes, cudaMemcpyDeviceToHost, s));
        CHECK(cudaMemcpyAsync(other, d, bytes, cudaMemcpyDeviceToHost, s));
        CHECK(cudaStreamSynchronize(s));
        CHECK(cudaFreeHost(host));
        CHECK(cudaHostUnregister(other));
        std::memset(other, 1, bytes);
        std::free(other - 1000);
    }
    std::puts("freed");
    return 0;
}

/// Synchronous calls, for which the driver itself may touch the memory.
PROGRAM(synchronous_right) {
    cudaStream_t s = stream();
    char* d = device();
    char* host = pinned();
    std::vector<char> pageable(bytes);
    for (int round = 0; round < 5; ++round) {
        CHECK(cudaMemcpyAsync(host, d, bytes, cudaMemcpyDeviceToHost, s));
        CHECK(cudaStreamSynchronize(s));
        CHECK(cudaMemcpy(pageable.data(), host, bytes, cudaMemcpyHostToHost));
        CHECK(cudaMemcpyAsync(d, host, bytes, cudaMemcpyHostToDevice, s));
        CHECK(cudaStreamSynchronize(s));
        CHECK(cudaMemcpy(host, d, 100, cudaMemcpyDeviceToHost));
        CHECK(cudaMemset(host, 3, bytes));
        CHECK(cudaDeviceSynchronize());
    }
    std::printf("%d %d\n", pageable[0], host[0]);
    return 0;
}

/// Upload, wait, fill, and again: `loop_SIZE` prints microseconds of a round, the least of five.
int loop(std::size_t size) {
    cudaStream_t s = stream();
    char* host = pinned(size);
    char* d = device(size);
    double least = 1e9;
    for (int part = 0; part < 5; ++part) {
        const auto begin = std::chrono::steady_clock::now();
        constexpr int rounds = 200;
        for (int round = 0; round < rounds; ++round) {
            std::memset(host, round, size);
            CHECK(cudaMemcpyAsync(d, host, size, cudaMemcpyHostToDevice, s));
            CHECK(cudaStreamSynchronize(s));
        }
        const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - begin;
        least = std::min(least, took.count() / rounds);
    }
    std::printf("%f\n", least);
    return 0;
}
PROGRAM(loop_4k) { return loop(4096); }
PROGRAM(loop_256k) { return loop(256 << 10); }
PROGRAM(loop_16m) { return loop(16 << 20); }

/// What the driver does with a kernel that writes managed memory whose pages the host has closed: `closed_MEANS_PLACE`.
int closed(bool by_key, bool on_device) {
    constexpr std::size_t size = 4 << 20;
    char* m = managed(size);
    std::memset(m, 1, size);
    if (on_device) {
        add<<<64, 256>>>(m, size);
        CHECK(cudaDeviceSynchronize());
    }
    const int key = by_key ? static_cast<int>(syscall(SYS_pkey_alloc, 0, 1)) : 0;
    const long done = by_key ? syscall(SYS_pkey_mprotect, m, size, PROT_READ | PROT_WRITE, key)
                             : syscall(SYS_mprotect, m, size, PROT_NONE);
    if (key < 0 || done != 0) {
        std::puts("the kernel refuses");
        return 0;
    }
    add<<<64, 256>>>(m, size);
    const cudaError_t status = cudaDeviceSynchronize();
    if (by_key) syscall(SYS_pkey_mprotect, m, size, PROT_READ | PROT_WRITE, 0);
    else syscall(SYS_mprotect, m, size, PROT_READ | PROT_WRITE);
    std::printf("%s", cudaGetErrorString(status));
    if (status == cudaSuccess) std::printf(", %d", m[5]);
    std::puts("");
    return 0;
}
PROGRAM(closed_rights_host) { return closed(false, false); }
PROGRAM(closed_rights_device) { return closed(false, true); }
PROGRAM(closed_key_host) { return closed(true, false); }
PROGRAM(closed_key_device) { return closed(true, true); }

}  // namespace

int main(int count, char** arguments) {
    if (const auto found = programs.find(count > 1 ? arguments[1] : ""); found != programs.end()) return found->second();
    for (const auto& [name, run] : programs) std::puts(name.c_str());
    return 64;
}
