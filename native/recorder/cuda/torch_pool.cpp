// Nothing of PyTorch is needed to build this: the allocator is found by the names that its library's file has, and the
// place of each thing is looked up there, so that a build which is not as expected is noticed and left alone. Versions
// 2.6, 2.11 and 2.15 were looked at.
#include "recorder/cuda/torch_pool.hpp"

#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <dlfcn.h>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>

#include "recorder/cuda/abi.hpp"
#include "recorder/cuda/captures.hpp"
#include "recorder/cuda/library_symbols.hpp"
#include "recorder/cuda/recorder.hpp"
#include "recorder/cuda/torch_blocks.hpp"
#include "recorder/cuda/torch_private_pools.hpp"
#include "recorder/cuda/torch_profiler_words.hpp"
#include "recorder/run/omissions.hpp"
#include "recorder/sites/modules.hpp"

namespace streamsan::recorder::cuda {
namespace {

constexpr std::string_view library_name = "libc10_cuda.so";
constexpr const char* allocator_name = "_ZN3c104cuda20CUDACachingAllocator9allocatorE";
constexpr std::string_view native = "_ZN3c104cuda20CUDACachingAllocator6Native22NativeCachingAllocator";
constexpr std::string_view native_table = "_ZTVN3c104cuda20CUDACachingAllocator6Native22NativeCachingAllocatorE";
constexpr std::string_view driver_table =
    "_ZTVN3c104cuda20CUDACachingAllocator15CudaMallocAsync24CudaMallocAsyncAllocatorE";
constexpr std::string_view attach_part = "27attachAllocatorTraceTracker";
constexpr std::string_view record_part = "12record_traceE";
constexpr std::string_view pool_number = "St4pairIyyE";

/// What the tracker is given: a structure of PyTorch's, of which all versions have these members in these places.
class TraceEntry {
public:
    enum Action : std::int32_t { alloc = 0, free_requested = 1, free_completed = 2 };

    [[nodiscard]] Action action() const { return read<Action>(0); }
    [[nodiscard]] std::int8_t device() const { return read<std::int8_t>(4); }
    [[nodiscard]] std::uint64_t address() const { return read<std::uint64_t>(8); }
    [[nodiscard]] std::uint64_t stream() const { return read<std::uint64_t>(32); }
    [[nodiscard]] std::uint64_t size() const { return read<std::uint64_t>(40); }  ///< as it was asked for
    [[nodiscard]] TorchPool pool() const { return read<TorchPool>(48); }          ///< where entries tell it

private:
    template <class Value>
    [[nodiscard]] Value read(std::size_t offset) const {
        Value value;
        std::memcpy(&value, reinterpret_cast<const unsigned char*>(this) + offset, sizeof value);
        return value;
    }
};

/// As PyTorch declares it; both of the standard library's interfaces lay it out alike.
using Tracker = std::function<void(const TraceEntry&)>;
using Attach = void (*)(void* allocator, Tracker tracker);

/// Where things are in the library's file; 0: it does not say.
struct Places {
    std::uint64_t table = 0;
    std::uint64_t driver_table = 0;
    std::uint64_t attach = 0;
    std::uint64_t allocator = 0;
    bool tells_pool = false;
};

Places places_in(const std::string& path) {
    Places places;
    symbols_of_library(path, [&places](std::string_view name, std::uint64_t value) {
        if (name == native_table) places.table = value;
        else if (name == driver_table) places.driver_table = value;
        else if (name == allocator_name) places.allocator = value;
        else if (name.starts_with(native) && name.find(attach_part) != name.npos) places.attach = value;
        else if (name.find(record_part) != name.npos) places.tells_pool |= name.find(pool_number) != name.npos;
    });
    return places;
}

constexpr std::size_t most_devices = 64;
/// Whose tracker tells of a device. Attached before the allocator knew its devices, one tells of none; so it is done
/// again, and perhaps once too often.
std::array<std::atomic<std::uint32_t>, most_devices> teller{};
std::atomic<bool> heard{false};
std::atomic<bool> tells_pool{false};

/// The block that this thread gave back last, until the allocator tells that it has it. It has it at once, unless it
/// was told of streams (`record_stream`): then it records an event on each of them first.
thread_local std::uint64_t kept_block = 0;

bool is_teller(std::int8_t device, std::uint32_t number) {
    if (device < 0 || static_cast<std::size_t>(device) >= most_devices) return false;
    auto& of = teller[static_cast<std::size_t>(device)];
    std::uint32_t nobody = of.load(std::memory_order_relaxed);
    if (nobody != 0) [[likely]]
        return nobody == number;
    return of.compare_exchange_strong(nobody, number, std::memory_order_relaxed) || nobody == number;
}

TorchPrivatePools& private_pools() {
    static TorchPrivatePools& all = *new TorchPrivatePools;
    return all;
}

std::uint64_t stream_of(const TraceEntry& entry) { return entry.stream() == 0 ? abi::legacy_stream : entry.stream(); }

/// Of a block in a private pool.
Telling telling_of(const TraceEntry& entry) {
    const bool captured =
        recorder()->captures.load(std::memory_order_relaxed) != 0 && stream_captures(stream_of(entry));
    TorchPrivatePools& pools = private_pools();
    return entry.action() == TraceEntry::alloc ? pools.allocated(entry.pool(), captured)
                                               : pools.freed(entry.pool(), captured);
}

/// A block was allocated, or is given back.
[[gnu::noinline]] void hear_of_block(const TraceEntry& entry, std::uint32_t number) {
    const auto action = entry.action();
    if (!torch_blocks_are_told() || !is_teller(entry.device(), number)) return;
    if (!heard.load(std::memory_order_relaxed)) heard.store(true, std::memory_order_relaxed);
    kept_block = 0;
    const bool tells = tells_pool.load(std::memory_order_relaxed);
    if (!tells && capture_ends_torch_blocks()) return;
    const bool is_general = !tells || entry.pool().is_general();
    const Telling telling = is_general ? Telling::block : telling_of(entry);
    if (telling == Telling::nobody) return;
    if (!recorder()->memory.maybe(entry.address())) {
        // A pool of the program's may have an allocator of the program's.
        if (is_general) give_up_torch_blocks(": it tells of them in a way that is not known");
        return;
    }
    if (telling == Telling::no_more) torch_block_untold(entry.address(), entry.size());
    else if (action == TraceEntry::free_requested) torch_block_freed(entry.address());
    else torch_block_allocated(entry.address(), entry.size(), stream_of(entry));
    if (telling == Telling::block && action == TraceEntry::free_requested) kept_block = entry.address();
}

/// Under the allocator's lock, perhaps without the interpreter's: it must ask neither for anything.
void hear(const TraceEntry& entry, std::uint32_t number) {
    switch (entry.action()) {
        case TraceEntry::alloc:
        case TraceEntry::free_requested: hear_of_block(entry, number); break;
        case TraceEntry::free_completed: kept_block = 0; break;
        default: break;
    }
}

template <class Value>
Value read_at(std::uint64_t address) {
    Value value;
    std::memcpy(&value, reinterpret_cast<const void*>(address), sizeof value);
    return value;
}

/// The search, done again at allocations until it has come to an end.
class Search {
public:
    /// Whether it has.
    bool go_on() {
        if (heard.load(std::memory_order_relaxed)) return true;
        if (!find_library()) return false;
        if (places_.table == 0 || places_.attach == 0) return fall_back();
        void* const known = dlsym(RTLD_DEFAULT, allocator_name);  // the program may have a copy of the variable
        const std::uint64_t variable = known != nullptr         ? reinterpret_cast<std::uint64_t>(known)
                                       : places_.allocator != 0 ? base_ + places_.allocator
                                                                : 0;
        if (variable == 0) return fall_back();
        const auto allocator = read_at<std::uint64_t>(variable);
        if (allocator == 0) return false;
        const auto table = read_at<std::uint64_t>(allocator);
        constexpr std::uint64_t before_functions = 16;
        if (table == base_ + places_.driver_table + before_functions) return true;  // its blocks are the driver's
        if (table != base_ + places_.table + before_functions) return stop(": it is one of the program's own");
        return attach(allocator, table);
    }

private:
    bool find_library() {
        if (base_ != 0) return true;
        auto& modules = call_sites::Modules::instance();
        const std::uint64_t loaded = modules.additions();
        if (loaded == looked_at_) return false;
        looked_at_ = loaded;
        modules.each([&](const call_sites::Module& module) {
            if (!module.path.ends_with(library_name)) return;
            base_ = module.base;
            library_ = &module;
        });
        if (base_ == 0) return false;
        places_ = places_in(library_->path);
        tells_pool.store(places_.tells_pool, std::memory_order_relaxed);
        return true;
    }

    /// The function is one of the table's: that the table has it says that both are what they seem.
    bool attach(std::uint64_t allocator, std::uint64_t table) {
        constexpr std::uint64_t most_functions = 128;
        for (std::uint64_t number = 0; number < most_functions; ++number) {
            const auto function = read_at<std::uint64_t>(table + number * sizeof(std::uint64_t));
            if (function != base_ + places_.attach) continue;
            const std::uint32_t own = ++attached_;
            reinterpret_cast<Attach>(function)(reinterpret_cast<void*>(allocator),
                                               [own](const TraceEntry& entry) { hear(entry, own); });
            return false;  // it is done when the first word was heard
        }
        return fall_back();
    }

    /// Nothing of the build but what it offers to others is known.
    bool fall_back() {
        if (!listen_to_profiler_words(*library_)) return stop(": it is not known in this build");
        note_omission(
            "the blocks of PyTorch's allocator are recorded without their streams: of this build is known only "
            "what it tells profilers");
        return true;
    }

    static bool stop(const char* why) {
        give_up_torch_blocks(why);
        return true;
    }

    std::uint64_t looked_at_ = 0;
    std::uint64_t base_ = 0;
    const call_sites::Module* library_ = nullptr;
    Places places_;
    std::uint32_t attached_ = 0;
};

std::atomic<bool> search_is_over{false};

}  // namespace

std::uint64_t block_kept_by_torch() { return kept_block; }

void listen_to_torch_pool() {
    if (search_is_over.load(std::memory_order_relaxed)) [[likely]]
        return;
    static std::mutex& mutex = *new std::mutex;
    static Search& search = *new Search;
    const std::unique_lock lock(mutex, std::try_to_lock);
    if (lock.owns_lock() && search.go_on()) search_is_over.store(true, std::memory_order_relaxed);
}

}  // namespace streamsan::recorder::cuda
