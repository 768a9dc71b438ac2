// Stands for PyTorch's libc10_cuda.so: an allocator with the names, tables and entries that the real one has, which
// keeps blocks by stream as that does. Nothing else of it is real.
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "runtime.hpp"
#include "torch_allocator.hpp"

#pragma GCC visibility push(default)
#include "torch_profiler.hpp"
#pragma GCC visibility pop

#define EXPORTED __attribute__((visibility("default")))

namespace c10::cuda::CUDACachingAllocator {

using Pool = std::pair<unsigned long long, unsigned long long>;

/// As in 2.11.
struct TraceEntry {
    enum Action : std::int32_t { ALLOC, FREE_REQUESTED, FREE_COMPLETED, SEGMENT_ALLOC, SEGMENT_FREE };
    Action action;
    std::int8_t device = 0;
    std::uint64_t address;
    std::shared_ptr<int> context;
    std::uint64_t stream;
    std::uint64_t size;
    Pool pool;
};

class CUDAAllocator {
public:
    virtual void init(int devices) = 0;
    virtual void* allocate(std::size_t size, std::uint64_t stream, Pool pool) = 0;
    virtual void free(void* address) = 0;
    virtual void recordStream(void* address, std::uint64_t stream) = 0;
    virtual void attachAllocatorTraceTracker(std::function<void(const TraceEntry&)> tracker) = 0;

protected:
    ~CUDAAllocator() = default;
};

EXPORTED std::atomic<CUDAAllocator*> allocator{nullptr};

namespace Native {

struct Block {
    std::size_t size = 0;
    std::uint64_t stream = 0;
    Pool pool;
    std::vector<std::uint64_t> used_by;
    std::vector<std::pair<cudaEvent_t, std::uint64_t>> events;
};

class DeviceCachingAllocator {
public:
    std::vector<std::function<void(const TraceEntry&)>> trackers;
    std::map<std::uint64_t, Block> blocks;
    std::map<std::pair<std::uint64_t, Pool>, std::vector<std::uint64_t>> unused;
    std::vector<std::uint64_t> waiting;
    std::map<std::pair<std::uint64_t, Pool>, std::pair<std::uint64_t, std::uint64_t>> segments;

#ifdef TELLS_NO_POOL
    void record_trace(TraceEntry::Action action, std::uint64_t address, std::uint64_t size, std::uint64_t stream,
                      void*);
#else
    void record_trace(TraceEntry::Action action, std::uint64_t address, std::uint64_t size, std::uint64_t stream, Pool);
#endif
};

#ifdef TELLS_NO_POOL
[[gnu::noinline]] void DeviceCachingAllocator::record_trace(TraceEntry::Action action, std::uint64_t address,
                                                            std::uint64_t size, std::uint64_t stream, void*) {
    const Pool pool{~0ULL, ~0ULL};  // what lies there is something else
#else
[[gnu::noinline]] void DeviceCachingAllocator::record_trace(TraceEntry::Action action, std::uint64_t address,
                                                            std::uint64_t size, std::uint64_t stream, Pool pool) {
#endif
    static const bool otherwise = std::getenv("TORCH_TELLS_OTHERWISE") != nullptr;
    const TraceEntry entry{action, 0, otherwise ? size : address, nullptr, stream, otherwise ? address : size, pool};
    for (const auto& tracker : trackers) tracker(entry);
}

class NativeCachingAllocator final : public CUDAAllocator {
public:
    void init(int devices) override { devices_.resize(static_cast<std::size_t>(devices)); }
    void* allocate(std::size_t size, std::uint64_t stream, Pool pool) override;
    void free(void* address) override;
    void recordStream(void* address, std::uint64_t stream) override {
        if (devices_[0].blocks.at(number(address)).stream != stream)
            devices_[0].blocks.at(number(address)).used_by.push_back(stream);
    }
    void attachAllocatorTraceTracker(std::function<void(const TraceEntry&)> tracker) override;

private:
    static std::uint64_t number(const void* address) { return reinterpret_cast<std::uint64_t>(address); }
    static cudaStream_t handle(std::uint64_t stream) { return reinterpret_cast<cudaStream_t>(stream); }
    void tell(DeviceCachingAllocator& device, TraceEntry::Action action, std::uint64_t address, const Block& block) {
#ifdef TELLS_NO_POOL
        device.record_trace(action, address, block.size, block.stream, nullptr);
#else
        device.record_trace(action, address, block.size, block.stream, block.pool);
#endif
    }
    static void tell_profiler([[maybe_unused]] std::uint64_t address, [[maybe_unused]] std::int64_t size) {
#ifndef TELLS_NO_PROFILER
        c10::reportMemoryUsageToProfiler(reinterpret_cast<void*>(address), size, 0, 0, {c10::DeviceType::CUDA, 0});
#endif
    }
    void complete(DeviceCachingAllocator& device, std::uint64_t address) {
        Block& block = device.blocks.at(address);
        tell(device, TraceEntry::FREE_COMPLETED, address, block);
        device.unused[{block.stream, block.pool}].push_back(address);
    }
    /// As the real one: blocks that other streams used come back when the events behind these uses have happened.
    void process_events(DeviceCachingAllocator& device) {
        std::erase_if(device.waiting, [&](std::uint64_t address) {
            auto& events = device.blocks.at(address).events;
            std::erase_if(events, [](const auto& event) {
                if (cudaEventQuery(event.first) != cudaSuccess) return false;
                cudaEventDestroy(event.first);
                return true;
            });
            if (!events.empty()) return false;
            complete(device, address);
            return true;
        });
    }

    std::vector<DeviceCachingAllocator> devices_;
};

void* NativeCachingAllocator::allocate(std::size_t size, std::uint64_t stream, Pool pool) {
    constexpr std::size_t granule = 512, segment_size = 2 << 20;
    DeviceCachingAllocator& device = devices_[0];
    process_events(device);
    const std::size_t rounded = (size + granule - 1) / granule * granule;
    auto& unused = device.unused[{stream, pool}];
    std::uint64_t address = 0;
    for (std::size_t at = unused.size(); at-- > 0 && address == 0;) {
        if ((device.blocks.at(unused[at]).size + granule - 1) / granule * granule != rounded) continue;
        address = unused[at];
        unused.erase(unused.begin() + static_cast<std::ptrdiff_t>(at));
    }
    if (address == 0) {
        auto& [next, end] = device.segments[{stream, pool}];
        if (end - next < rounded) {
            void* segment = nullptr;
            if (cudaMalloc(&segment, segment_size) != cudaSuccess) return nullptr;
            next = number(segment);
            end = next + segment_size;
            tell(device, TraceEntry::SEGMENT_ALLOC, next, {segment_size, stream, pool, {}, {}});
        }
        address = next;
        next += rounded;
    }
    Block& block = device.blocks[address] = {size, stream, pool, {}, {}};
    tell(device, TraceEntry::ALLOC, address, block);
    tell_profiler(address, static_cast<std::int64_t>(rounded));
    return reinterpret_cast<void*>(address);
}

void NativeCachingAllocator::free(void* address) {
    DeviceCachingAllocator& device = devices_[0];
    Block& block = device.blocks.at(number(address));
    tell(device, TraceEntry::FREE_REQUESTED, number(address), block);
    for (const std::uint64_t stream : block.used_by) {
        cudaEvent_t event = nullptr;
        cudaEventCreate(&event);
        cudaEventRecord(event, handle(stream));
        block.events.emplace_back(event, stream);
    }
    if (block.events.empty()) complete(device, number(address));
    else device.waiting.push_back(number(address));
    tell_profiler(number(address), -static_cast<std::int64_t>(block.size));
}

void NativeCachingAllocator::attachAllocatorTraceTracker(std::function<void(const TraceEntry&)> tracker) {
    for (auto& device : devices_) device.trackers.push_back(tracker);
}

}  // namespace Native

namespace {

/// One that a program brings.
class Pluggable final : public CUDAAllocator {
public:
    void init(int) override {}
    void* allocate(std::size_t size, std::uint64_t, Pool) override {
        void* address = nullptr;
        cudaMalloc(&address, size);
        return address;
    }
    void free(void* address) override { cudaFree(address); }
    void recordStream(void*, std::uint64_t) override {}
    void attachAllocatorTraceTracker(std::function<void(const TraceEntry&)>) override { __builtin_trap(); }
};

CUDAAllocator* current() {
    static Native::NativeCachingAllocator native;
    static Pluggable pluggable;
    static CUDAAllocator* const chosen =
        std::getenv("TORCH_IS_PLUGGABLE") != nullptr ? static_cast<CUDAAllocator*>(&pluggable) : &native;
    if (allocator.load() == nullptr) {
        allocator = chosen;
        chosen->init(1);
    }
    return chosen;
}

std::uint64_t number(cudaStream_t stream) { return reinterpret_cast<std::uint64_t>(stream); }

}  // namespace

}  // namespace c10::cuda::CUDACachingAllocator

using namespace c10::cuda::CUDACachingAllocator;

EXPORTED void* torch_alloc(std::size_t size, cudaStream_t stream, unsigned pool) {
    return current()->allocate(size, number(stream), pool < own_pools ? Pool{0, pool} : Pool{pool, 0});
}
EXPORTED void torch_free(void* address) { current()->free(address); }
EXPORTED void torch_record_stream(void* address, cudaStream_t stream) {
    current()->recordStream(address, number(stream));
}
