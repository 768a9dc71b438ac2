// Loaded before a program that uses the CUDA runtime: what its memory holds when it gives it back, and delays.
//
// New memory is filled with one byte. When a block is given back, a kernel in the stream of the free sums up what it
// holds, without any order that the free would not have. OBSERVED names the file that gets one line for each block, sorted;
// programs that do the same write the same file, whatever their addresses and the order of their frees. DELAYS, a number,
// puts kernels that only take time before work, in the work's own stream: what is not ordered then runs in another order.
//
// Nothing is done while a stream is captured: each call in it would become part of the graph.
//
// Not seen: memory of the driver API, and what is in use when the program is killed.
#include "kernels.hpp"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <map>
#include <mutex>
#include <string>
#include <unistd.h>
#include <vector>

namespace {

constexpr unsigned char kFill = 0x3B;  // as float a small number, as an int neither an index nor a count that ends
constexpr size_t kMostSummed = size_t{64} << 20;
constexpr int kSlots = 1 << 14;
constexpr int kMostDelays = 400;

/** The runtime's own function of that name. */
template <typename Function>
Function* runtime(const char* name)
{
    static std::mutex lock;
    static std::map<std::string, void*> known;
    std::lock_guard guard(lock);
    void*& found = known[name];
    if (found == nullptr) found = dlsym(RTLD_NEXT, name);
    if (found == nullptr) {
        std::fprintf(stderr, "observer: no %s\n", name);
        std::_Exit(99);
    }
    return reinterpret_cast<Function*>(found);
}

#define RUNTIME(name) runtime<decltype(name)>(#name)  // not for those that the headers overload

enum class Kind { PLAIN, ORDERED, MANAGED, PINNED };
const char* const kNames[] = {"plain", "ordered", "managed", "pinned"};

struct Block {
    size_t size;
    Kind kind;
    int device;
};

/** What is known of this process. Its lock is never held while the runtime is called. */
struct Process {
    std::mutex lock;
    std::map<std::uintptr_t, Block> blocks;
    std::vector<std::string> ended;               // lines of blocks that were given back
    std::map<int, std::string> pending;           // slot -> what its line begins with
    volatile unsigned long long* slots = nullptr;  // pinned
    int used = 0;
    std::map<int, cudaStream_t> streams;           // device -> a stream of this library's own
    bool begun = false;
    std::atomic<int> captures{0};
    std::atomic<int> delays{0};
    pid_t process = 0;
};

Process& here()
{
    static Process* only = new Process;  // outlives all destructors
    return *only;
}

thread_local bool inside = false;

/** Calls of this library are none of the program's: they are not looked at, nor is their status left behind. */
class Inside {
public:
    Inside() : was_(inside) { inside = true; }
    ~Inside() { inside = was_; }
    Inside(const Inside&) = delete;

private:
    bool was_;
};

bool looking()
{
    return !inside && here().captures.load() == 0 && (here().process == 0 || here().process == getpid());
}

void write_down();

/** Get ready: what takes memory or loads code happens before the program has any work. False: not possible. */
bool ready(cudaStream_t* own)
{
    Process& process = here();
    int device = 0;
    if (cudaGetDevice(&device) != cudaSuccess) return false;
    {
        std::lock_guard guard(process.lock);
        const auto known = process.streams.find(device);
        if (known != process.streams.end()) {
            *own = known->second;
            return true;
        }
    }
    volatile unsigned long long* slots = process.slots;
    if (slots == nullptr) {
        void* memory = nullptr;
        if (runtime<cudaError_t(void**, size_t, unsigned)>("cudaHostAlloc")(&memory, kSlots * sizeof(*slots), cudaHostAllocPortable) != cudaSuccess) return false;
        std::memset(memory, 0, kSlots * sizeof(*slots));
        slots = static_cast<volatile unsigned long long*>(memory);
    }
    cudaStream_t stream = nullptr;
    if (RUNTIME(cudaStreamCreateWithFlags)(&stream, cudaStreamNonBlocking) != cudaSuccess) return false;
    begin_delay(0, stream);
    begin_sum(nullptr, 0, slots + kSlots - 1, stream);
    if (cudaStreamSynchronize(stream) != cudaSuccess) return false;
    std::lock_guard guard(process.lock);
    process.slots = slots;
    process.streams[device] = stream;
    process.process = getpid();
    if (!process.begun) std::atexit(write_down);
    process.begun = true;
    *own = stream;
    return true;
}

/** Fill new memory and remember it. `stream`: in whose order it exists; null: the host may use it at once. */
void made(void* address, size_t size, Kind kind, const cudaStream_t* stream)
{
    if (address == nullptr || size == 0) return;
    Inside now;
    cudaStream_t own;
    if (!ready(&own)) return;
    if (kind == Kind::PINNED || kind == Kind::MANAGED) {
        std::memset(address, kFill, size);
    } else {
        const cudaStream_t where = stream != nullptr ? *stream : own;
        RUNTIME(cudaMemsetAsync)(address, kFill, size, where);
        if (stream == nullptr) cudaStreamSynchronize(own);
    }
    int device = 0;
    cudaGetDevice(&device);
    std::lock_guard guard(here().lock);
    here().blocks[reinterpret_cast<std::uintptr_t>(address)] = {size, kind, device};
}

/** Begin to sum up a block in a stream; a block that is not known is none. */
void sum_in(void* address, const Block& block, cudaStream_t stream)
{
    Process& process = here();
    int slot = 0;
    {
        std::lock_guard guard(process.lock);
        if (process.used >= kSlots - 2) return;
        slot = process.used++;
        process.pending[slot] = std::string(kNames[static_cast<int>(block.kind)]) + " " + std::to_string(block.size);
    }
    begin_sum(address, std::min(block.size, kMostSummed), process.slots + slot, stream);
}

/** Forget a block that is given back. Returns whether it was known. */
bool taken(void* address, Block* block)
{
    std::lock_guard guard(here().lock);
    const auto found = here().blocks.find(reinterpret_cast<std::uintptr_t>(address));
    if (found == here().blocks.end()) return false;
    *block = found->second;
    here().blocks.erase(found);
    return true;
}

/** Sum up a block that the host gives back. A free of memory that was made by `cudaMalloc` waits for the device anyway. */
void given_back(void* address)
{
    Block block{};
    if (!looking()) return;
    Inside now;
    if (!taken(address, &block)) return;
    const bool waits = block.kind == Kind::PLAIN || block.kind == Kind::MANAGED;
    if (waits && cudaDeviceSynchronize() != cudaSuccess) return;
    int device = 0;
    cudaGetDevice(&device);
    if (device != block.device) cudaSetDevice(block.device);
    cudaStream_t own;
    if (ready(&own)) {
        sum_in(address, block, own);
        cudaStreamSynchronize(own);
    }
    if (device != block.device) cudaSetDevice(device);
}

/** Take the sums that there are. What has not run is said to be so: the device was reset under it. */
void collect()
{
    Process& process = here();
    std::lock_guard guard(process.lock);
    for (const auto& [slot, line] : process.pending) {
        const unsigned long long sum = process.slots[slot];
        char text[32];
        std::snprintf(text, sizeof text, " %016llx", sum);
        process.ended.push_back(line + (sum != 0 ? text : " unfinished"));
    }
    process.pending.clear();
}

/** At the end of the program: sum up what it has not given back, and write all down. */
void write_down()
{
    Process& process = here();
    const char* name = std::getenv("OBSERVED");
    if (name == nullptr || process.process != getpid()) return;
    Inside now;
    const cudaError_t status = cudaDeviceSynchronize();
    if (status == cudaSuccess && process.captures.load() == 0) {
        std::map<std::uintptr_t, Block> left;
        {
            std::lock_guard guard(process.lock);
            left.swap(process.blocks);
        }
        for (const auto& [address, block] : left) {
            cudaStream_t own;
            if (cudaSetDevice(block.device) != cudaSuccess || !ready(&own)) break;
            sum_in(reinterpret_cast<void*>(address), block, own);
        }
        cudaDeviceSynchronize();
    }
    collect();
    std::FILE* file = std::fopen(name, "w");
    if (file == nullptr) return;
    std::sort(process.ended.begin(), process.ended.end());
    for (const auto& line : process.ended) std::fprintf(file, "%s\n", line.c_str());
    std::fprintf(file, "end %s\n", cudaGetErrorName(status));
    std::fclose(file);
}

/** Put a kernel that takes time before work in a stream, or not: DELAYS and the number of the work decide. */
void delay(cudaStream_t stream)
{
    static const char* const seed = std::getenv("DELAYS");
    if (seed == nullptr || !looking()) return;
    Process& process = here();
    const int number = process.delays.fetch_add(1);
    if (number >= kMostDelays) return;
    std::uint64_t value = std::strtoull(seed, nullptr, 10) * 1000003u + static_cast<std::uint64_t>(number);
    value = (value ^ value >> 31) * 0x9e3779b97f4a7c15ull;
    const unsigned choice = static_cast<unsigned>(value >> 40) % 8;
    const unsigned microseconds[] = {0, 0, 0, 0, 200, 1000, 3000, 6000};
    if (microseconds[choice] == 0) return;
    Inside now;
    cudaStream_t own;
    if (ready(&own)) begin_delay(microseconds[choice], stream);
}

/**
 * Forget all of a device that is reset; what it holds then is summed up before. The sums wait for no other stream: work that
 * is still running when the device is reset is not waited for here either.
 */
void reset()
{
    Process& process = here();
    int device = 0;
    cudaStream_t own;
    if (process.slots != nullptr && looking() && cudaGetDevice(&device) == cudaSuccess) {
        Inside now;
        std::map<std::uintptr_t, Block> left;
        {
            std::lock_guard guard(process.lock);
            left.swap(process.blocks);
        }
        if (ready(&own)) {
            for (const auto& [address, block] : left) {
                if (block.device == device) sum_in(reinterpret_cast<void*>(address), block, own);
            }
            cudaStreamSynchronize(own);
        }
        collect();
    }
    std::lock_guard guard(process.lock);
    process.blocks.clear();
    process.streams.clear();
    process.slots = nullptr;
    process.used = 0;
}

}  // namespace

#define EXPORTED extern "C" __attribute__((visibility("default")))

EXPORTED cudaError_t cudaMalloc(void** address, size_t size)
{
    if (looking()) {
        Inside now;
        cudaStream_t own;
        ready(&own);
    }
    const cudaError_t status = runtime<cudaError_t(void**, size_t)>("cudaMalloc")(address, size);
    if (status == cudaSuccess && looking()) made(*address, size, Kind::PLAIN, nullptr);
    return status;
}

EXPORTED cudaError_t cudaMallocAsync(void** address, size_t size, cudaStream_t stream)
{
    if (looking()) {
        Inside now;
        cudaStream_t own;
        ready(&own);
    }
    const cudaError_t status = runtime<cudaError_t(void**, size_t, cudaStream_t)>("cudaMallocAsync")(address, size, stream);
    if (status == cudaSuccess && looking()) made(*address, size, Kind::ORDERED, &stream);
    return status;
}

EXPORTED cudaError_t cudaMallocFromPoolAsync(void** address, size_t size, cudaMemPool_t pool, cudaStream_t stream)
{
    const cudaError_t status = runtime<cudaError_t(void**, size_t, cudaMemPool_t, cudaStream_t)>("cudaMallocFromPoolAsync")(address, size, pool, stream);
    if (status == cudaSuccess && looking()) made(*address, size, Kind::ORDERED, &stream);
    return status;
}

EXPORTED cudaError_t cudaMallocManaged(void** address, size_t size, unsigned flags)
{
    const cudaError_t status = runtime<cudaError_t(void**, size_t, unsigned)>("cudaMallocManaged")(address, size, flags);
    if (status == cudaSuccess && looking()) made(*address, size, Kind::MANAGED, nullptr);
    return status;
}

EXPORTED cudaError_t cudaMallocHost(void** address, size_t size)
{
    const cudaError_t status = runtime<cudaError_t(void**, size_t)>("cudaMallocHost")(address, size);
    if (status == cudaSuccess && looking()) made(*address, size, Kind::PINNED, nullptr);
    return status;
}

EXPORTED cudaError_t cudaHostAlloc(void** address, size_t size, unsigned flags)
{
    const cudaError_t status = runtime<cudaError_t(void**, size_t, unsigned)>("cudaHostAlloc")(address, size, flags);
    if (status == cudaSuccess && looking()) made(*address, size, Kind::PINNED, nullptr);
    return status;
}

EXPORTED cudaError_t cudaFree(void* address)
{
    given_back(address);
    return RUNTIME(cudaFree)(address);
}

EXPORTED cudaError_t cudaFreeHost(void* address)
{
    given_back(address);
    return RUNTIME(cudaFreeHost)(address);
}

EXPORTED cudaError_t cudaFreeAsync(void* address, cudaStream_t stream)
{
    Block block{};
    if (looking()) {
        Inside now;
        cudaStream_t own;
        if (taken(address, &block) && ready(&own)) sum_in(address, block, stream);
    }
    return RUNTIME(cudaFreeAsync)(address, stream);
}

EXPORTED cudaError_t cudaDeviceReset()
{
    if (!inside) reset();
    return RUNTIME(cudaDeviceReset)();
}

EXPORTED cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode)
{
    const cudaError_t status = RUNTIME(cudaStreamBeginCapture)(stream, mode);
    if (status == cudaSuccess) here().captures.fetch_add(1);
    return status;
}

EXPORTED cudaError_t cudaStreamBeginCaptureToGraph(
    cudaStream_t stream,
    cudaGraph_t graph,
    const cudaGraphNode_t* nodes,
    const cudaGraphEdgeData* edges,
    size_t count,
    cudaStreamCaptureMode mode)
{
    const cudaError_t status = RUNTIME(cudaStreamBeginCaptureToGraph)(stream, graph, nodes, edges, count, mode);
    if (status == cudaSuccess) here().captures.fetch_add(1);
    return status;
}

EXPORTED cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph)
{
    cudaStreamCaptureStatus was = cudaStreamCaptureStatusNone;
    RUNTIME(cudaStreamIsCapturing)(stream, &was);
    const cudaError_t status = RUNTIME(cudaStreamEndCapture)(stream, graph);
    if (was != cudaStreamCaptureStatusNone) here().captures.fetch_sub(1);
    return status;
}

EXPORTED cudaError_t __cudaLaunchKernel(
    cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments, size_t shared, cudaStream_t stream)
{
    if (!inside) delay(stream);
    return RUNTIME(__cudaLaunchKernel)(kernel, grid, block, arguments, shared, stream);
}

EXPORTED cudaError_t cudaLaunchKernel(
    const void* kernel, dim3 grid, dim3 block, void** arguments, size_t shared, cudaStream_t stream)
{
    if (!inside) delay(stream);
    return runtime<cudaError_t(const void*, dim3, dim3, void**, size_t, cudaStream_t)>("cudaLaunchKernel")(
        kernel, grid, block, arguments, shared, stream);
}

EXPORTED cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t size, cudaMemcpyKind kind, cudaStream_t stream)
{
    if (!inside) delay(stream);
    return RUNTIME(cudaMemcpyAsync)(to, from, size, kind, stream);
}

EXPORTED cudaError_t cudaMemsetAsync(void* address, int value, size_t size, cudaStream_t stream)
{
    if (!inside) delay(stream);
    return RUNTIME(cudaMemsetAsync)(address, value, size, stream);
}

EXPORTED cudaError_t cudaGraphLaunch(cudaGraphExec_t graph, cudaStream_t stream)
{
    if (!inside) delay(stream);
    return RUNTIME(cudaGraphLaunch)(graph, stream);
}
