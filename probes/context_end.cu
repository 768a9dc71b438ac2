// What lives on when a context ends, and which frees wait (docs/facts.md, E). Each case runs in a process of its own,
// and prints one line: how the context ended | the memory | what was asked | the answers. Takes about two minutes.
//     nvcc -arch=sm_90 -std=c++17 -o context_end probes/context_end.cu -l:libcuda.so.1 && ./context_end
#include <cuda.h>
#include <cuda_runtime.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

constexpr size_t bytes = 4 << 20;
constexpr unsigned char content = 0x5a;
constexpr unsigned limit_seconds = 60;

__device__ unsigned char variable[bytes];
__managed__ unsigned char shared_variable[bytes];
__global__ void touch(unsigned char* memory) { memory[0] = 1; }
__global__ void spin(long long nanoseconds) {
    long long begin, now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(begin));
    do asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    while (now - begin < nanoseconds);
}

static std::string name_of(CUresult status) {
    const char* name = nullptr;
    cuGetErrorName(status, &name);
    return name != nullptr ? name : std::to_string(status);
}

static std::string name_of(cudaError_t status) { return cudaGetErrorName(status); }

template <class Status>
static void show(const char* what, Status status) {
    std::printf(" %s=%s", what, name_of(status).c_str());
    std::fflush(stdout);
}

/// What the case needs to come to its question.
template <class Status>
static void need(const char* what, Status status) {
    if (static_cast<int>(status) == 0) return;
    std::printf(" cannot be asked: %s=%s", what, name_of(status).c_str());
    std::fflush(stdout);
    _exit(0);
}
#define NEED(call) need(#call, call)

// -- another process: exports memory, and lives until the case is over -----------------------------------------------
static int companion = -1;

static void send_parts(const void* data, size_t size, int file) {
    char space[CMSG_SPACE(sizeof file)] = {};
    iovec part = {const_cast<void*>(data), size};
    msghdr message = {};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    if (file >= 0) {
        message.msg_control = space;
        message.msg_controllen = sizeof space;
        cmsghdr* const header = CMSG_FIRSTHDR(&message);
        *header = {CMSG_LEN(sizeof file), SOL_SOCKET, SCM_RIGHTS};
        std::memcpy(CMSG_DATA(header), &file, sizeof file);
    }
    sendmsg(companion, &message, 0);
}

static int receive_parts(void* data, size_t size) {
    char space[CMSG_SPACE(sizeof(int))] = {};
    iovec part = {data, size};
    msghdr message = {};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = space;
    message.msg_controllen = sizeof space;
    if (recvmsg(companion, &message, 0) != static_cast<ssize_t>(size)) return -1;
    const cmsghdr* const header = CMSG_FIRSTHDR(&message);
    int file = 0;
    if (header != nullptr) std::memcpy(&file, CMSG_DATA(header), sizeof file);
    return file;
}

static CUmemPoolProps shared_pool() {
    CUmemPoolProps properties = {};
    properties.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
    return properties;
}

[[noreturn]] static void be_exporter(bool pool) {
    void* memory = nullptr;
    if (pool) {
        cudaFree(nullptr);
        const CUmemPoolProps properties = shared_pool();
        CUmemoryPool made;
        CUmemPoolPtrExportData data = {};
        int file = -1;
        NEED(cuMemPoolCreate(&made, &properties));
        NEED(cuMemAllocFromPoolAsync(reinterpret_cast<CUdeviceptr*>(&memory), bytes, made, nullptr));
        NEED(cudaMemset(memory, content, bytes));
        NEED(cudaDeviceSynchronize());
        NEED(cuMemPoolExportToShareableHandle(&file, made, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
        NEED(cuMemPoolExportPointer(&data, reinterpret_cast<CUdeviceptr>(memory)));
        send_parts(&data, sizeof data, file);
    } else {
        cudaIpcMemHandle_t handle;
        NEED(cudaMalloc(&memory, bytes));
        NEED(cudaMemset(memory, content, bytes));
        NEED(cudaDeviceSynchronize());
        NEED(cudaIpcGetMemHandle(&handle, memory));
        send_parts(&handle, sizeof handle, -1);
    }
    char end;
    (void)!read(companion, &end, 1);
    _exit(0);
}

static void start_exporter(bool pool) {
    int ends[2];
    socketpair(AF_UNIX, SOCK_STREAM, 0, ends);
    const bool child = fork() == 0;
    companion = ends[child ? 1 : 0];
    close(ends[child ? 0 : 1]);
    if (child) be_exporter(pool);
}

// -- the memory ------------------------------------------------------------------------------------------------------
struct Memory {
    unsigned char* address = nullptr;
    cudaArray_t array = nullptr;
    CUmemGenericAllocationHandle physical = 0;
};

static const std::vector<std::string> kinds = {"plain",  "pinned",         "managed", "stream_ordered", "pool",
                                               "graph",  "mapped",         "ipc",     "pool_import",    "symbol_module",
                                               "symbol", "managed_symbol", "array",   "registered"};

static bool is_host(const std::string& kind) {
    return kind == "pinned" || kind == "managed" || kind == "managed_symbol" || kind == "registered";
}

static void make_mapped(Memory& made) {
    CUmemAllocationProp properties = {};
    properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
    CUmemAccessDesc access = {properties.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    CUdeviceptr address = 0;
    NEED(cuMemAddressReserve(&address, bytes, 0, 0, 0));
    NEED(cuMemCreate(&made.physical, bytes, &properties, 0));
    NEED(cuMemMap(address, bytes, 0, made.physical, 0));
    NEED(cuMemSetAccess(address, bytes, &access, 1));
    made.address = reinterpret_cast<unsigned char*>(address);
}

static void make_graph(Memory& made) {
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t executable;
    void* memory;
    NEED(cudaStreamCreate(&stream));
    NEED(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    NEED(cudaMallocAsync(&memory, bytes, stream));
    NEED(cudaStreamEndCapture(stream, &graph));
    NEED(cudaGraphInstantiate(&executable, graph, 0));
    NEED(cudaGraphLaunch(executable, stream));
    NEED(cudaStreamSynchronize(stream));
    made.address = static_cast<unsigned char*>(memory);
}

static Memory make(const std::string& kind) {
    Memory made;
    void** const place = reinterpret_cast<void**>(&made.address);
    const auto address = reinterpret_cast<CUdeviceptr*>(&made.address);
    if (kind == "plain") NEED(cudaMalloc(place, bytes));
    if (kind == "pinned") NEED(cudaMallocHost(place, bytes));
    if (kind == "managed") NEED(cudaMallocManaged(place, bytes));
    if (kind == "stream_ordered") NEED(cudaMallocAsync(place, bytes, nullptr));
    if (kind == "graph") make_graph(made);
    if (kind == "mapped") make_mapped(made);
    if (kind == "symbol") NEED(cudaGetSymbolAddress(place, variable));
    if (kind == "managed_symbol") NEED(cudaGetSymbolAddress(place, shared_variable));
    if (kind == "pool") {
        CUmemPoolProps properties = shared_pool();
        properties.handleTypes = CU_MEM_HANDLE_TYPE_NONE;
        CUmemoryPool pool;
        NEED(cuMemPoolCreate(&pool, &properties));
        NEED(cuMemAllocFromPoolAsync(address, bytes, pool, nullptr));
    }
    if (kind == "ipc") {
        cudaIpcMemHandle_t handle;
        receive_parts(&handle, sizeof handle);
        NEED(cudaIpcOpenMemHandle(place, handle, cudaIpcMemLazyEnablePeerAccess));
    }
    if (kind == "pool_import") {
        CUmemPoolPtrExportData data;
        const auto file = static_cast<intptr_t>(receive_parts(&data, sizeof data));
        CUmemoryPool pool;
        NEED(cuMemPoolImportFromShareableHandle(&pool, reinterpret_cast<void*>(file),
                                                CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
        NEED(cuMemPoolImportPointer(address, pool, &data));
    }
    if (kind == "symbol_module") {
        const char* const text =
            ".version 7.0\n.target sm_70\n.address_size 64\n.visible .global .b8 words[4194304];\n";
        CUmodule module;
        NEED(cuModuleLoadData(&module, text));
        NEED(cuModuleGetGlobal(address, nullptr, module, "words"));
    }
    if (kind == "array") {
        const cudaChannelFormatDesc channels = cudaCreateChannelDesc<unsigned char>();
        NEED(cudaMallocArray(&made.array, &channels, 2048, bytes / 2048));
        const std::vector<unsigned char> row(bytes, content);
        NEED(cudaMemcpy2DToArray(made.array, 0, 0, row.data(), 2048, 2048, bytes / 2048, cudaMemcpyHostToDevice));
    }
    if (kind == "registered") {
        *place = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        NEED(cudaHostRegister(*place, bytes, cudaHostRegisterPortable | cudaHostRegisterMapped));
    }
    if (made.address != nullptr) NEED(cudaMemset(made.address, content, bytes));
    NEED(cudaDeviceSynchronize());
    return made;
}

static void release(const std::string& kind, const Memory& memory) {
    const auto address = reinterpret_cast<CUdeviceptr>(memory.address);
    if (kind == "plain" || kind == "managed" || kind == "pool_import") show("cudaFree", cudaFree(memory.address));
    if (kind == "pinned") show("cudaFreeHost", cudaFreeHost(memory.address));
    if (kind == "stream_ordered" || kind == "pool" || kind == "graph") {
        show("cudaFreeAsync", cudaFreeAsync(memory.address, nullptr));
    }
    if (kind == "mapped") {
        show("cuMemUnmap", cuMemUnmap(address, bytes));
        show("cuMemRelease", cuMemRelease(memory.physical));
        show("cuMemAddressFree", cuMemAddressFree(address, bytes));
    }
    if (kind == "ipc") show("cudaIpcCloseMemHandle", cudaIpcCloseMemHandle(memory.address));
    if (kind == "array") show("cudaFreeArray", cudaFreeArray(memory.array));
    if (kind == "registered") show("cudaHostUnregister", cudaHostUnregister(memory.address));
}

// -- how a context ends, and what is asked afterwards ----------------------------------------------------------------
static CUcontext begin(const std::string& end) {
    CUcontext created = nullptr;
    NEED(cuInit(0));
    if (end == "cuCtxDestroy") NEED(cuCtxCreate(&created, nullptr, 0, 0));
    else NEED(cudaFree(nullptr));
    return created;
}

static void finish(const std::string& end, CUcontext created) {
    if (end == "cuCtxDestroy") NEED(cuCtxDestroy(created));
    if (end == "cudaDeviceReset") NEED(cudaDeviceReset());
    if (end == "cuDevicePrimaryCtxReset") NEED(cuDevicePrimaryCtxReset(0));
    NEED(cudaSetDevice(0));
    NEED(cudaFree(nullptr));  // the primary context, new or anew, is current
}

static void ask(const Memory& memory) {
    const auto address = reinterpret_cast<CUdeviceptr>(memory.address);
    unsigned int type = 0;
    CUcontext owner = nullptr;
    CUdeviceptr base = 0;
    size_t size = 0;
    show("type", cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address));
    std::printf("(%u)", type);
    const CUresult status = cuPointerGetAttribute(&owner, CU_POINTER_ATTRIBUTE_CONTEXT, address);
    show("context", status);
    if (status == CUDA_SUCCESS) std::printf("(%s)", owner == nullptr ? "none" : "one");
    show("range", cuMemGetAddressRange(&base, &size, address));
}

static void copy(const Memory& memory) {
    std::vector<unsigned char> back(bytes);
    if (memory.array != nullptr) {
        show("copy",
             cudaMemcpy2DFromArray(back.data(), 2048, memory.array, 0, 0, 2048, bytes / 2048, cudaMemcpyDeviceToHost));
    } else {
        show("copy", cuMemcpyDtoH(back.data(), reinterpret_cast<CUdeviceptr>(memory.address), bytes));
    }
    size_t wrong = 0;
    for (const unsigned char each : back) wrong += each != content;
    std::printf("(wrong: %s)", wrong == 0 ? "none" : wrong == bytes ? "all" : "some");
    if (memory.array != nullptr) return;
    show("fill", cuMemsetD8(reinterpret_cast<CUdeviceptr>(memory.address), 1, bytes));
    show("synchronize", cudaDeviceSynchronize());
}

static void run_case(const std::string& end, const std::string& kind, const std::string& question) {
    alarm(limit_seconds);
    if (kind == "ipc" || kind == "pool_import") start_exporter(kind == "pool_import");
    const CUcontext created = begin(end);
    const Memory memory = make(kind);
    if (question == "waits") {
        cudaStream_t stream;
        NEED(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
        spin<<<1, 1, 0, stream>>>(1000000);
        NEED(cudaStreamSynchronize(stream));  // it is loaded
        spin<<<1, 1, 0, stream>>>(400000000);
        const auto began = std::chrono::steady_clock::now();
        release(kind == "stream_ordered" || kind == "graph" ? "plain" : kind, memory);
        const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
        std::printf(" waited=%s", took.count() > 0.2 ? "yes" : "no");
        return;
    }
    finish(end, created);
    if (question == "ask") ask(memory);
    if (question == "copy") copy(memory);
    if (question == "free") release(kind, memory);
    if (question == "host") std::printf(" read=%02x", *static_cast<volatile unsigned char*>(memory.address));
    if (question == "kernel") {
        touch<<<1, 1>>>(memory.address);
        show("launch", cudaGetLastError());
        show("synchronize", cudaDeviceSynchronize());
    }
}

static void run_apart(const std::string& end, const std::string& kind, const std::string& question) {
    std::printf("%s | %s | %s |", end.c_str(), kind.c_str(), question.c_str());
    std::fflush(stdout);
    const pid_t process = fork();
    if (process == 0) {
        run_case(end, kind, question);
        std::fflush(stdout);
        _exit(0);  // no exit handlers: the driver is not asked to tidy up
    }
    int status = 0;
    waitpid(process, &status, 0);
    if (WIFSIGNALED(status)) std::printf(" ended by signal %d", WTERMSIG(status));
    std::printf("\n");
    std::fflush(stdout);
}

int main() {
    for (const char* const end : {"cuCtxDestroy", "cudaDeviceReset", "cuDevicePrimaryCtxReset"}) {
        for (const std::string& kind : kinds) {
            if (kind != "array") run_apart(end, kind, "ask");
            run_apart(end, kind, "copy");
            if (kind != "array") run_apart(end, kind, "kernel");
            if (is_host(kind)) run_apart(end, kind, "host");
            if (kind.find("symbol") == std::string::npos) run_apart(end, kind, "free");
        }
    }
    // cudaFree also of what a pool or a graph gave.
    for (const std::string& kind : kinds) {
        if (kind.find("symbol") == std::string::npos) run_apart("none", kind, "waits");
    }
}
