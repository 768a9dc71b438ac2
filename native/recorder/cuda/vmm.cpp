// Virtual memory management: memory begins to exist where physical memory is mapped, and ends with the mapping.
#include "recorder/cuda/handlers.hpp"
#include "recorder/cuda/live_memory.hpp"
#include "recorder/cuda/memory_parts.hpp"
#include "recorder/cuda/recorder.hpp"
#include "recorder/cuda/torch_pool.hpp"
#include "recorder/cuda/batches.hpp"

namespace streamsan::recorder::cuda {
namespace {

constexpr std::size_t most_mappings = 1U << 16;  // of one unmap

void exit_map(ThreadState& state, Call& call) {
    listen_to_torch_pool();
    if (call.status != abi::success) return;
    const std::uint64_t address = call.value(Role::MAPPED);
    if (address != 0) write_allocation(state, call, MemoryKind::MAPPED, 0, address, call.value(Role::SIZE));
}

/// Visits the mappings of a range, one after the other. They may be of any sizes, and none is cut by its ends.
template <class Visit>
void each_mapping(std::uint64_t begin, std::uint64_t size, Visit&& visit) {
    const AddressMap& memory = recorder()->memory;
    std::uint64_t at = begin;
    for (std::size_t count = 0; count < most_mappings && at - begin < size; ++count) {
        const auto range = memory.find(at);
        if (!range || range->base != at || range->size == 0 || range->kind != MemoryKind::MAPPED) return;
        visit(*range);
        at += range->size;
    }
}

void enter_unmap(ThreadState& state, Call& call) {
    begin_batch(state, call);
    const std::uint64_t begin = call.value(Role::FREED);
    const std::uint64_t size = call.value(Role::SIZE);
    if (begin == 0) return;
    each_mapping(begin, size, [&](const Range& range) {
        const Reference freed{range.base, range.size, 0};
        write_batch_member(state, call, OperationKind::FREE, call.callback->free, 0, 0, &freed, 1);
    });
    if (call.slot != nullptr) return;
    const Reference freed{begin, size, 0};  // nothing is known to be mapped there
    write_batch_member(state, call, OperationKind::FREE, call.callback->free, 0, 0, &freed, 1);
}

void exit_unmap(ThreadState& state, Call& call) {
    complete_batch(state, call);
    if (call.status != abi::success) return;
    // What was mapped there since is another mapping, and numbered later.
    each_mapping(call.value(Role::FREED), call.value(Role::SIZE), [&](const Range& range) {
        if (range.sequence < call.sequence) memory_ends(range.base);
    });
}

}  // namespace

void register_mappings(HandlerTable& table) {
    table.on(Effect::MAP, {nullptr, exit_map});
    table.on("cuMemUnmap", {enter_unmap, exit_unmap});
}

}  // namespace streamsan::recorder::cuda
