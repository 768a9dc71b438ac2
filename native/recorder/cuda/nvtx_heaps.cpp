// Pools of the program that tell NVTX of their memory: a heap that is a sub-allocator hands its regions out. NVTX gives
// such words to the library that NVTX_INJECTION64_PATH names. Heaps that only have a layout hand nothing out, nor does
// the whole of the address space.
#include <cstring>
#include <map>
#include <mutex>

#include "recorder/cuda/announced_blocks.hpp"
#include "recorder/cuda/nvtx_abi.hpp"
#include "recorder/run/omissions.hpp"

namespace {

using namespace streamsan::recorder;
using namespace streamsan::recorder::cuda;

PoolWord registers{"nvtxMemRegionsRegister", true};
PoolWord resizes{"nvtxMemRegionsResize", true};
PoolWord unregisters{"nvtxMemRegionsUnregister"};
PoolWord resets{"nvtxMemHeapReset"};
PoolWord heap_unregisters{"nvtxMemHeapUnregister"};

/// The regions of the heaps that hand them out.
class Heaps {
public:
    static Heaps& instance() {
        static Heaps& only = *new Heaps;
        return only;
    }

    void add(nvtx::Handle heap) {
        const std::lock_guard lock(mutex_);
        heaps_.try_emplace(heap);
    }

    /// Forgets the regions of a heap; of all heaps, where it is the whole process.
    void end_regions(nvtx::Handle heap, PoolWord& word, bool and_heap) {
        const std::lock_guard lock(mutex_);
        if (heap == nvtx::process_wide) {
            for (auto& [_, regions] : heaps_) take_back(regions, word);
        } else if (const auto found = heaps_.find(heap); found != heaps_.end()) {
            take_back(found->second, word);
            if (and_heap) heaps_.erase(found);
        }
    }

    void begin_region(nvtx::Handle heap, const nvtx::Range& range) {
        const std::lock_guard lock(mutex_);
        const auto found = heaps_.find(heap);
        if (found == heaps_.end() || range.address == 0 || range.size == 0) return;
        found->second[range.address] = range.size;
        block_handed_out(registers, range.address, range.size, 0);
    }

    /// It is its owner's still, and so is what the owner has done there.
    void resize_region(const nvtx::Range& range) {
        const std::lock_guard lock(mutex_);
        for (auto& [_, regions] : heaps_) {
            const auto found = regions.find(range.address);
            if (found == regions.end() || range.size == 0) continue;
            block_no_longer_told(resizes, range.address, found->second);
            found->second = range.size;
            block_handed_out(resizes, range.address, range.size, 0);
            return;
        }
    }

    void end_region(std::uintptr_t address) {
        const std::lock_guard lock(mutex_);
        for (auto& [_, regions] : heaps_) {
            if (regions.erase(address) == 0) continue;
            block_taken_back(unregisters, address, 0);
            return;
        }
    }

private:
    using Regions = std::map<std::uintptr_t, std::size_t>;

    static void take_back(Regions& regions, PoolWord& word) {
        for (const auto& [address, size] : regions) block_taken_back(word, address, 0);
        regions.clear();
    }

    std::mutex mutex_;
    std::map<nvtx::Handle, Regions> heaps_;
};

template <class Value>
Value element(const void* elements, std::size_t number, std::size_t stride) {
    Value value;
    std::memcpy(&value, static_cast<const unsigned char*>(elements) + number * stride, sizeof value);
    return value;
}

/// Whether a structure of the program is one that is understood.
template <class Batch>
bool is_known(const Batch* batch) {
    return batch != nullptr && batch->version == nvtx::memory_version && batch->size >= sizeof(Batch);
}

/// Calls `visit` with each element of a batch.
template <class Value, class Batch, class Visit>
void each_of(const Batch& batch, const Visit& visit) {
    if (batch.elements == nullptr || batch.element_size < sizeof(Value)) return;
    for (std::size_t i = 0; i < batch.count; ++i) visit(i, element<Value>(batch.elements, i, batch.element_size));
}

/// What goes wrong here does not reach the program. A forked child has no pools, and perhaps a lock that is held.
template <class Work>
void quietly(const Work& work) noexcept {
    if (!blocks_are_heard()) return;
    try {
        work();
    } catch (...) {
    }
}

nvtx::Handle heap_register(nvtx::Domain, const nvtx::Heap* heap) {
    const bool ranges = is_known(heap) && heap->type == nvtx::virtual_addresses && heap->description != nullptr &&
                        heap->description_size >= sizeof(nvtx::Range);
    if (!ranges) return nvtx::no_tool;
    const auto range = element<nvtx::Range>(heap->description, 0, 0);
    if (range.address == 0) return nvtx::no_tool;
    if (heap->usage == nvtx::sub_allocator) quietly([&] { Heaps::instance().add(range.address); });
    return range.address;
}

void heap_unregister(nvtx::Domain, nvtx::Handle heap) {
    if (heap == nvtx::process_wide) return;
    quietly([&] { Heaps::instance().end_regions(heap, heap_unregisters, true); });
}

void heap_reset(nvtx::Domain, nvtx::Handle heap) {
    quietly([&] { Heaps::instance().end_regions(heap, resets, false); });
}

void regions_register(nvtx::Domain, const nvtx::NewRegions* batch) {
    if (!is_known(batch) || batch->type != nvtx::virtual_addresses) return;
    quietly([&] {
        each_of<nvtx::Range>(*batch, [&](std::size_t number, const nvtx::Range& range) {
            if (batch->handles != nullptr) batch->handles[number] = range.address;
            Heaps::instance().begin_region(batch->heap, range);
        });
    });
}

void regions_resize(nvtx::Domain, const nvtx::ResizedRegions* batch) {
    if (!is_known(batch) || batch->type != nvtx::virtual_addresses) return;
    quietly([&] {
        each_of<nvtx::Range>(*batch,
                             [](std::size_t, const nvtx::Range& range) { Heaps::instance().resize_region(range); });
    });
}

void regions_unregister(nvtx::Domain, const nvtx::OldRegions* batch) {
    if (!is_known(batch)) return;
    quietly([&] {
        each_of<nvtx::Handle>(*batch, [](std::size_t, nvtx::Handle region) { Heaps::instance().end_region(region); });
    });
}

template <class Function>
void put(const nvtx::Segment& segment, nvtx::Slot slot, Function* function) {
    const auto number = static_cast<std::size_t>(slot);
    if (number < segment.count) segment.slots[number] = reinterpret_cast<std::intptr_t>(function);
}

}  // namespace

/// Called by each copy of NVTX in the program when it meets one of its functions for memory first. 0: not for us.
extern "C" __attribute__((visibility("default"))) int InitializeInjectionNvtxExtension(nvtx::Module* module) {
    if (module == nullptr || module->size < sizeof(nvtx::Module) || module->module != nvtx::memory_module) return 0;
    if (module->version != nvtx::memory_version || module->segment_count == 0 || module->segments == nullptr ||
        module->segments->slots == nullptr) {
        note_omission("heaps that the program tells NVTX of are not recorded: their version is not known");
        return 0;
    }
    const nvtx::Segment& segment = module->segments[0];
    put(segment, nvtx::Slot::heap_register, heap_register);
    put(segment, nvtx::Slot::heap_unregister, heap_unregister);
    put(segment, nvtx::Slot::heap_reset, heap_reset);
    put(segment, nvtx::Slot::regions_register, regions_register);
    put(segment, nvtx::Slot::regions_resize, regions_resize);
    put(segment, nvtx::Slot::regions_unregister, regions_unregister);
    return 1;
}
