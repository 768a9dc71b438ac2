#include "recorder/cuda/announced_blocks.hpp"

#include <algorithm>
#include <cerrno>
#include <vector>

#include "recorder/cuda/call.hpp"
#include "recorder/cuda/live_handles.hpp"
#include "recorder/cuda/processes.hpp"
#include "recorder/cuda/recorder.hpp"
#include "recorder/cuda/reused_blocks.hpp"

namespace streamsan::recorder::cuda {
namespace {

/// By address. Kept only where files have a limit, else there is never a new one to begin.
LiveHandles& handed_out() {
    static LiveHandles& blocks = *new LiveHandles;
    return blocks;
}

/// In a forked child, which cannot use the memory of its parent: what is dropped there is only the child's copy of its
/// owner.
std::atomic<bool> forked{false};

[[gnu::always_inline]] inline std::uint16_t number_of(PoolWord& word) {
    const std::uint32_t known = word.known.load(std::memory_order_relaxed);
    if (known != 0) [[likely]]
        return static_cast<std::uint16_t>(known);
    const std::uint16_t number = recorder()->writer->api(word.name);
    word.known.store(number, std::memory_order_relaxed);
    return number;
}

/// An operation of a pool's own: it is no call of the API, though it may be made inside of one. A program makes as many
/// of them as it makes tensors, so nothing is done here but what such an operation needs.
template <class Then>
[[gnu::always_inline]] inline void write(PoolWord& word, OperationKind kind, Detail detail, std::uint64_t stream,
                                         std::uint64_t address, std::uint64_t size, const Then& then) {
    Recorder* const all = recorder();
    if (all == nullptr || address == 0 || forked.load(std::memory_order_relaxed)) return;
    const int error = errno;
    ThreadState& state = this_thread();
    if (state.inside) return;
    const OwnCalls own(state);  // a signal's handler that allocates finds the lane in use
    if (Lane* const lane = all->writer->lane(); lane != nullptr) [[likely]] {
        const std::uint64_t time = all->writer->now();
        // Sites and names lie in the file before what refers to them.
        const std::uint32_t site = all->settings.sites ? all->sites->here(0) : 0;
        const std::uint16_t name = number_of(word);
        if (Slot* const slot = lane->reserve(0); slot != nullptr) [[likely]] {
            slot->time = time;
            slot->stream = stream;
            slot->address = address;
            slot->size = size;
            slot->site = site;
            slot->api = name;
            slot->kind = static_cast<std::uint8_t>(kind);
            slot->detail = detail.value;
            slot->flags = outside_main(site);
            ++state.written;
            then(state, *slot);
            lane->commit();
        }
    }
    errno = error;
}

}  // namespace

void block_handed_out(PoolWord& word, std::uint64_t address, std::uint64_t size, std::uint64_t stream,
                      std::uint64_t asked) {
    write(word, OperationKind::ALLOC, MemoryKind::POOL_BLOCK, stream, address, size,
          [&](const ThreadState& state, Slot& slot) {
              if (asked != 0 && asked < size) slot.object = std::min<std::uint64_t>(size - asked, UINT32_MAX) << 32;
              if (rotates()) handed_out().add(slot.address, {slot, state.context_slot});
              if (recorder()->poisons) reused_block_begins(word, address, size, asked == 0 ? size : asked);
          });
}

void block_taken_back(PoolWord& word, std::uint64_t address, std::uint64_t stream) {
    write(word, OperationKind::FREE, FreeClass::POOL_BLOCK, stream, address, 0,
          [](const ThreadState&, const Slot& slot) {
              if (rotates()) handed_out().remove(slot.address);
              if (recorder()->poisons) reused_block_ends(slot.address);
          });
}

void block_used_on(PoolWord& word, std::uint64_t address, std::uint64_t stream) {
    write(word, OperationKind::BLOCK_STREAM, 0, stream, address, 0, [](const ThreadState&, const Slot&) {});
}

void block_no_longer_told(PoolWord& word, std::uint64_t address, std::uint64_t size) {
    write(word, OperationKind::FREE, FreeClass::POOL_BLOCK, 0, address, size,
          [size](const ThreadState&, const Slot& slot) {
              if (rotates()) handed_out().remove(slot.address);
              if (recorder()->poisons) reused_blocks_forgotten(slot.address, size);
          });
}

void blocks_no_longer_told(PoolWord& word) {
    write(word, OperationKind::FREE, FreeClass::POOL_BLOCK, 0, 1, UINT64_MAX - 1, [](const ThreadState&, const Slot&) {
        handed_out().forget();
        if (recorder()->poisons) reused_blocks_forgotten(0, UINT64_MAX);
    });
}

void restate_blocks(Lane& lane) {
    handed_out().each([&](std::uint64_t, const LiveHandle& live) {
        Slot* const slot = lane.reserve(0);
        if (slot == nullptr) return;
        *slot = live.slot;
        slot->api = 0;
        lane.commit();
    });
}

bool blocks_are_heard() { return recorder() != nullptr && !forked.load(std::memory_order_relaxed); }

void blocks_after_fork() { forked.store(true, std::memory_order_relaxed); }

}  // namespace streamsan::recorder::cuda
