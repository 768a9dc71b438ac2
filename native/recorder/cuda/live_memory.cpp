#include "recorder/cuda/live_memory.hpp"

#include <mutex>
#include <vector>

#include "recorder/cuda/announced_blocks.hpp"
#include "recorder/cuda/arrays.hpp"
#include "recorder/cuda/driver.hpp"
#include "recorder/cuda/handlers.hpp"
#include "recorder/cuda/host_accesses.hpp"
#include "recorder/cuda/image_objects.hpp"
#include "recorder/cuda/live_handles.hpp"
#include "recorder/cuda/recorder.hpp"
#include "recorder/cuda/reused_blocks.hpp"
#include "recorder/trace_writer/row_table.hpp"

namespace streamsan::recorder::cuda {
namespace {

/// By address. Kept only where files have a limit, else there is never a new one to begin.
LiveHandles& made() {
    static LiveHandles& memory = *new LiveHandles;
    return memory;
}

void restate(Lane& lane, const Slot& known) {
    Slot* const slot = lane.reserve(0);
    if (slot == nullptr) return;
    *slot = known;
    lane.commit();
}

}  // namespace

[[gnu::hot]] void memory_begins(const ThreadState& state, const Slot& slot) {
    Recorder& all = *recorder();
    const Range range{slot.address, slot.size, static_cast<MemoryKind>(slot.detail), slot.sequence};
    all.memory.add(range);
    if (all.host_accesses) [[unlikely]]
        host_memory_begins(range);
    if (rotates()) made().add(slot.address, {slot, state.context_slot});
}

[[gnu::hot]] std::optional<Range> memory_ends(std::uint64_t address) {
    Recorder& all = *recorder();
    if (!all.memory.maybe(address)) return std::nullopt;
    const std::optional<Range> range = all.memory.take(address);
    if (!range) return std::nullopt;
    if (all.host_accesses) [[unlikely]]
        host_memory_ends(*range);
    if (all.poisons) [[unlikely]]
        reused_blocks_forgotten(range->base, range->size);
    if (rotates()) made().remove(address);
    return range;
}

void memory_goes_on(const Range& range) {
    Recorder& all = *recorder();
    if (all.memory.find(range.base)) return;
    all.memory.add(range);
    if (all.host_accesses) host_memory_begins(range);
    if (!rotates()) return;
    Slot slot{};
    slot.kind = static_cast<std::uint8_t>(OperationKind::ALLOC);
    slot.detail = static_cast<std::uint8_t>(range.kind);
    slot.address = range.base;
    slot.size = range.size;
    slot.sequence = range.sequence;
    made().add(range.base, {slot, {}});
}

void memory_loses_context(std::uint64_t context) {
    arrays().lose_context(context);
    image_objects().lose_context(context);
    if (recorder()->host_accesses) open_all_host_memory();
    if (recorder()->poisons) reused_blocks_forgotten(0, UINT64_MAX);
    std::vector<std::uint64_t> lost;
    made().each([&](std::uint64_t address, const LiveHandle& live) {
        if (live.current.object == context && dies_with_context(static_cast<MemoryKind>(live.slot.detail)))
            lost.push_back(address);
    });
    for (const std::uint64_t address : lost) made().remove(address);
}

std::uint64_t size_by_driver(std::uint64_t address) {
    const Recorder& all = *recorder();
    if (all.driver == nullptr || all.driver->cuMemGetAddressRange_v2 == nullptr ||
        !all.ready.load(std::memory_order_relaxed))
        return 0;
    const OwnCalls own;
    abi::Word base = 0;
    std::size_t size = 0;
    if (all.driver->cuMemGetAddressRange_v2(&base, &size, address) != abi::success || address - base >= size) return 0;
    return size - (address - base);
}

[[gnu::hot]] void write_allocation(ThreadState& state, Call& call, MemoryKind kind, std::uint64_t stream,
                                   std::uint64_t address, std::uint64_t size) {
    const Reference memory{address, size, 0};
    Slot* const slot = prepare_returned(state, call, OperationKind::ALLOC, kind, stream, 0, &memory, 1);
    if (slot == nullptr) return;
    memory_begins(state, *slot);
    commit_prepared(state);
}

void restate_memory(Lane& lane) {
    made().each([&](std::uint64_t, const LiveHandle& live) {
        // What is alive was made long ago: no order of streams is told again, so none is asked for (api 0).
        Slot slot = live.slot;
        slot.api = 0;
        // Which context was current then says whose memory it is.
        if (live.current.sequence != 0) {
            Slot current = live.current;
            current.thread = slot.thread;
            current.sequence = slot.sequence;
            restate(lane, current);
        }
        restate(lane, slot);
    });
    arrays().restate(lane);
    image_objects().restate(lane);
    restate_blocks(lane);
}

void memory_after_fork() {
    made().forget_after_fork();
    recorder()->memory.forget_after_fork();
    arrays().after_fork();
    image_objects().after_fork();
    blocks_after_fork();
    recorder()->poisons = false;  // a child cannot use its parent's memory, and another thread may have had a lock
    row_table().after_fork();
}

}  // namespace streamsan::recorder::cuda
