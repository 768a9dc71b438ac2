// A library must offer, or ask for, what others have of it or it of them by name, stripped or not: the native allocator
// calls a function of libc10.so when it has found a block (with its size) and when it has been asked to free one (with
// its size, negative), under its lock, profiler or none. In 2.6, 2.11 and 2.15 nothing else in the library calls it.
#include "recorder/cuda/torch_profiler_words.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "recorder/cuda/library_imports.hpp"
#include "recorder/cuda/recorder.hpp"
#include "recorder/cuda/torch_blocks.hpp"

namespace streamsan::recorder::cuda {
namespace {

constexpr const char* tell_profiler = "_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE";

/// c10::Device
struct TorchDevice {
    std::int8_t type;
    std::int8_t number;
};
constexpr std::int8_t cuda_device = 1;

using Tell = void (*)(void* block, std::int64_t size, std::size_t allocated, std::size_t reserved, TorchDevice device);
std::atomic<void*> profiler_function{nullptr};

/// Under the allocator's lock, as a tracker is called.
void hear_word(const void* block, std::int64_t size, TorchDevice device) {
    if (device.type != cuda_device || size == 0 || !torch_blocks_are_told() || capture_ends_torch_blocks()) return;
    const auto address = reinterpret_cast<std::uint64_t>(block);
    if (!recorder()->memory.maybe(address)) return;
    if (size < 0) torch_block_freed(address);
    else torch_block_allocated(address, static_cast<std::uint64_t>(size), 0);
}

void torch_tells_profiler(void* block, std::int64_t size, std::size_t allocated, std::size_t reserved,
                          TorchDevice device) {
    reinterpret_cast<Tell>(profiler_function.load(std::memory_order_acquire))(block, size, allocated, reserved, device);
    hear_word(block, size, device);
}

}  // namespace

bool listen_to_profiler_words(const call_sites::Module& library) {
    return replace_import(library, tell_profiler, reinterpret_cast<void*>(&torch_tells_profiler), profiler_function);
}

}  // namespace streamsan::recorder::cuda
