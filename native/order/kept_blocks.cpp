#include "kept_blocks.hpp"

#include "engine.hpp"

namespace streamsan::order {

Stream* Engine::stream_of_block(const Process& process, const Allocation& block) {
    if (block.made.stream_name == 0) return nullptr;
    const std::uint64_t handle = names_[block.made.stream_name].handle;
    std::uint32_t index = none;
    if (handle > per_thread_handle) index = process.streams.find(handle);
    else if (handle == legacy_handle && block.context != none) index = contexts_[block.context].legacy;
    return index == none || stale(*streams_[index]) ? nullptr : streams_[index].get();
}

void Engine::note_kept_block(const Slot& slot, Thread& thread, Process& process, const Stream& stream,
                             const Operation& record) {
    // The pool records its events within the release: the thread has called nothing else since.
    if (thread.released.sequence == 0 || is_restated(slot)) return;
    const std::uint32_t index = process.allocations.block_containing(slot.address);
    if (index == none || process.allocations[index].base != slot.address) return;
    const Allocation& block = process.allocations[index];
    const std::uint32_t at = pool_blocks_.find(process.number, index);
    if (at == none || pool_blocks_[at].released.sequence != thread.released.sequence) return;
    const Stream* const own = stream_of_block(process, block);
    if (own == nullptr || own == &stream || !stream.has_work) return;
    const Epoch work = stream.work.epoch;
    const bool awaited = timeline(*own).clock.knows(work, contract) || timeline(thread).clock.knows(work, contract);
    const bool doubtful = crowded_ || stream.assumed || own->assumed || block.marks.assumed || stream.early != none ||
                          stream.work.operation.assumed() || process.unknown_work != 0;
    kept_blocks_.add(block, thread.released, record, stream.work.operation, !awaited || doubtful);
}

}  // namespace streamsan::order
