// Blocks of pools: handed out and taken back by the host, while work on streams may still use them (SS105).
#include <algorithm>
#include <utility>

#include "engine.hpp"

namespace streamsan::order {
namespace {

/// Of more uses of earlier blocks the oldest are forgotten.
constexpr std::size_t most_prior = 64;

void add(std::vector<PriorUse>& list, const PriorUse& use) {
    if (list.size() >= most_prior) list.erase(list.begin());
    list.push_back(use);
}

/// Whether they surely touch no byte in common. A kernel reaches any byte behind its pointer, but none before it.
bool miss(const Access& later, const Access& earlier) {
    if (later.limits().apart(earlier.limits())) return true;
    if (later.exact() && earlier.exact()) return conflict_of(later, earlier) == Conflict::absent;
    if (later.exact()) return later.end <= earlier.begin;
    return earlier.exact() && earlier.end <= later.begin;
}

/// Whether who is ordered after the later one need not be compared with the earlier one any more.
bool stands_before(const Access& later, const Access& earlier) {
    if (later.operation.reads_only() || later.operation.assumed()) return false;
    return !later.exact() ||
           (earlier.exact() && later.rows == nullptr && later.begin <= earlier.begin && earlier.end <= later.end);
}

/// Bytes at the end of a block that its owner did not ask for.
std::uint32_t unasked_of(const Slot& slot) {
    return static_cast<std::uint32_t>(std::min(slot.object >> 32, slot.size));
}

}  // namespace

std::uint64_t Engine::owned_end(const Process& process, const Allocation& allocation) const {
    if (allocation.kind != MemoryKind::POOL_BLOCK) return allocation.end();
    const std::uint32_t at = pool_blocks_.find(process.number, process.allocations.index_of(allocation));
    return at == none ? allocation.end() : allocation.end() - pool_blocks_[at].unasked;
}

void Engine::hand_out(const Slot& slot, Process& process, Operation& operation) {
    Allocations& allocations = process.allocations;
    const std::uint64_t size = std::max<std::uint64_t>(slot.size, 1);
    const std::uint64_t end = slot.address > UINT64_MAX - size ? UINT64_MAX : slot.address + size;
    if (is_restated(slot)) {
        const std::uint32_t known = allocations.block_containing(slot.address);
        if (known != none && allocations[known].base == slot.address && allocations[known].size == slot.size) return;
    }
    const std::uint32_t segment = allocations.segment_containing(slot.address);
    const std::uint32_t context = segment == none ? none : allocations[segment].context;
    name_stream(slot, process, context, operation);
    const std::uint32_t same = allocations.block_at(slot.address);
    if (same != none && allocations[same].size == slot.size) {
        hand_out_again(process, same, operation);
        pool_blocks_[pool_blocks_.find(process.number, same)].unasked = unasked_of(slot);
        return;
    }
    std::vector<PriorUse> prior;
    std::uint32_t old;
    while ((old = allocations.last_block_in(slot.address, end)) != none)
        clear_block(process, old, slot.address, end, operation, prior);
    const std::uint32_t index = allocations.make_block(slot.address, slot.size);
    pool_blocks_.drop(process.number, index);  // of a block whose segment was forgotten
    Allocation& block = allocations[index];
    block.made = operation;
    block.marks.assumed = operation.assumed();
    block.context = context;
    if (prior.empty() && unasked_of(slot) == 0) return;
    PoolBlock& record = pool_blocks_[pool_blocks_.make(process.number, index)];
    record.prior = std::move(prior);
    record.unasked = unasked_of(slot);
}

void Engine::name_stream(const Slot& slot, Process& process, std::uint32_t context, Operation& operation) {
    if (slot.stream > per_thread_handle) {
        const std::uint32_t known = process.streams.find(slot.stream);
        if (known != none) operation.stream_name = streams_[known]->name;
    } else if (slot.stream == legacy_handle && context != none) {
        // A pool hands out a block before the first work of its stream.
        operation.stream_name = legacy_stream(process, context, threads_[operation.thread]).name;
    }
}

bool Engine::is_used_on(const Process& process, const Allocation& block, const Epoch& last) {
    bool found = false;
    graphs_.each_pending(process, block, [&](const Placed& use, const Part&) { found |= use.epoch.slot == last.slot; });
    return found;
}

void Engine::add_uses(Process& process, const Allocation& allocation, PoolBlock& block, std::vector<PriorUse>& prior) {
    graphs_.each_pending(process, allocation, [&](const Placed& use, const Part& part) {
        add(prior, {use, part, described(allocation), allocation.made, block.released});
    });
    // What was seen says better which of a stream's work uses the block.
    for (const ToldStream& each : block.told) {
        if (is_used_on(process, allocation, each.work.epoch)) continue;
        const Part whole{allocation.base, 0, nullptr, {allocation.base, allocation.end()}};
        add(prior, {each.work, whole, described(allocation), allocation.made, block.released, each.told});
    }
    block.told.clear();
}

void Engine::block_stream(const Slot& slot, Thread& thread, Process& process, Operation& operation) {
    // It is no call of CUDA: one that names a stream which is not there says nothing.
    if (slot.stream > per_thread_handle) {
        const std::uint32_t known = process.streams.find(slot.stream);
        if (known == none || stale(*streams_[known])) return;
    }
    const Stream* const stream = stream_of(slot.stream, thread, process, operation);
    if (stream == nullptr || !stream->has_work) return;
    const std::uint32_t index = process.allocations.block_containing(slot.address);
    if (index == none || process.allocations[index].base != slot.address) return;
    Placed work = stream->work;
    if (is_used_on(process, process.allocations[index], work.epoch)) return;
    work.operation = work.operation.as_use(AccessMode::OPAQUE);
    operation.stream_name = stream->name;
    std::uint32_t at = pool_blocks_.find(process.number, index);
    if (at == none) at = pool_blocks_.make(process.number, index);
    std::vector<ToldStream>& told = pool_blocks_[at].told;
    std::erase_if(told, [&](const ToldStream& each) { return each.work.epoch.slot == work.epoch.slot; });
    if (told.size() < most_prior) told.push_back({work, operation});
}

void Engine::hand_out_again(Process& process, std::uint32_t index, const Operation& operation) {
    Allocation& allocation = process.allocations[index];
    std::uint32_t at = pool_blocks_.find(process.number, index);
    if (at == none) at = pool_blocks_.make(process.number, index);
    PoolBlock& block = pool_blocks_[at];
    add_uses(process, allocation, block, block.prior);
    if (allocation.marks.baked)
        graphs_.end_baked(process, index, block.released.sequence == 0 ? operation : block.released, false);
    block.released = {};
    process.allocations.renew_block(index);
    allocation.made = operation;
    allocation.marks.assumed = operation.assumed();
}

void Engine::clear_block(Process& process, std::uint32_t index, std::uint64_t begin, std::uint64_t end,
                         const Operation& operation, std::vector<PriorUse>& prior) {
    Allocations& allocations = process.allocations;
    const Allocation old = allocations[index];
    const std::uint32_t at = pool_blocks_.find(process.number, index);
    PoolBlock block = at == none ? PoolBlock{} : std::move(pool_blocks_[at]);
    add_uses(process, allocations[index], block, block.prior);
    for (const PriorUse& each : block.prior) add(prior, each);
    // A pool that does not say that it takes a block back has it when it hands out the same bytes again.
    if (block.released.sequence == 0) block.released = operation;
    if (allocations[index].marks.baked) graphs_.end_baked(process, index, block.released, false);
    if (at != none) pool_blocks_.drop(process.number, index);
    allocations.forget_block(index);
    // What is left of it on either side is free, and its uses may still be pending.
    const auto keep = [&](std::uint64_t from, std::uint64_t to) {
        if (from >= to) return;
        const std::uint32_t rest = allocations.make_block(from, to - from);
        pool_blocks_.drop(process.number, rest);
        allocations[rest].made = old.made;
        allocations[rest].context = old.context;
        allocations[rest].marks.assumed = old.marks.assumed;
        pool_blocks_[pool_blocks_.make(process.number, rest)] = block;
    };
    keep(old.base, begin);
    keep(end, old.end());
}

void Engine::take_back(const Slot& slot, Process& process, Operation& operation) {
    if (slot.size != 0) {
        forget_blocks(process, slot.address,
                      slot.address > UINT64_MAX - slot.size ? UINT64_MAX : slot.address + slot.size);
        return;
    }
    process.takes_back = true;
    const std::uint32_t index = process.allocations.block_containing(slot.address);
    if (index == none || process.allocations[index].base != slot.address) return;
    std::uint32_t at = pool_blocks_.find(process.number, index);
    if (at == none) at = pool_blocks_.make(process.number, index);
    if (pool_blocks_[at].released.sequence != 0) return;
    name_stream(slot, process, process.allocations[index].context, operation);
    pool_blocks_[at].released = operation;
    threads_[operation.thread].released = operation;
}

void Engine::forget_blocks(Process& process, std::uint64_t begin, std::uint64_t end) {
    Allocations& allocations = process.allocations;
    std::uint32_t index;
    while ((index = allocations.last_block_in(begin, end)) != none) {
        pool_blocks_.drop(process.number, index);
        allocations.forget_block(index);
    }
}

void Engine::absorb_blocks(Process& process, std::uint32_t segment, const Operation& operation) {
    Allocations& allocations = process.allocations;
    const std::uint64_t begin = allocations[segment].base;
    const std::uint64_t end = allocations[segment].end();
    const Clock nothing;
    std::uint32_t index;
    while ((index = allocations.last_block_in(begin, end)) != none) {
        std::vector<PriorUse> pending;
        clear_block(process, index, begin, end, operation, pending);
        for (const PriorUse& each : pending)
            allocations.keep_use(allocations[segment], {each.use.operation, each.part}, each.use.epoch, nothing);
    }
}

void Engine::report_kept_block(const Process& process, Allocation& block, const Operation& operation) {
    if (!process.takes_back || !block.live() || block.marks.lost || block.marks.assumed) return;
    const std::uint32_t at = pool_blocks_.find(process.number, process.allocations.index_of(block));
    if (at != none && pool_blocks_[at].released.sequence != 0) return;
    block.marks.lost = true;
    Fact fact(RuleCode::LEAK, FactVariant::LEAK_AT_EXIT, block.made, block);
    fact.with(RelatedRole::RESET, operation);
    fact.assumed |= operation.assumed();
    report(fact);
}

bool Engine::may_be_end(const Process& process, const Reference& reference, const Allocation& block) const {
    constexpr std::size_t most = 32;  // of kernels that take lists of tensors none is an end
    const bool touches = (reference.flags & touches_bit) != 0 || reference.size != 0;
    if (touches || reference.address != block.base || references_.size() > most) return false;
    // Where machine code says what a kernel does, a pointer that it only compares is none of its references. Of a
    // kernel that is understood in part, what is known of this one counts.
    if (reference.followed && (!reference.bounds.known() || reference.bounds.high > block.base)) return false;
    bool opaque = false;
    for (const Reference& each : references_) opaque |= each.mode == AccessMode::OPAQUE;
    if (!opaque) return false;
    const std::uint32_t before = process.allocations.block_containing(block.base - 1);
    if (before == none) return false;
    const Allocation& left = process.allocations[before];
    return std::ranges::any_of(
        references_, [&](const Reference& each) { return left.base <= each.address && each.address < block.base; });
}

void Engine::judge_reuse(Process& process, const Allocation& block, const Stream& stream, const Clock& clock,
                         const Access& later) {
    const std::uint32_t at = pool_blocks_.find(process.number, process.allocations.index_of(block));
    if (at == none || pool_blocks_[at].prior.empty()) return;
    std::erase_if(pool_blocks_[at].prior, [&](const PriorUse& prior) {
        const Operation& earlier = prior.use.operation;
        const Access before(earlier, prior.part);
        const bool both_read = later.operation.reads_only() && earlier.reads_only();
        // What comes behind this use is behind the earlier one; what does not meets this one (SS109).
        if (clock.knows(prior.use.epoch, contract)) return stands_before(later, before);
        if (both_read || later.operation.sequence == earlier.sequence || miss(later, before)) return false;
        require(Unmet::Sort::use_use, earlier.sequence, later.operation.sequence);
        const Verdict order = verdict(clock, prior.use.epoch);
        // A pool that gives memory back to the driver to get it for another stream relies on the wait of that free.
        if (order != Verdict::unordered && order != Verdict::unseen) return false;
        const bool told = prior.released.sequence != 0;
        Fact fact(RuleCode::REUSE_RACES_USE, FactVariant::NONE, told ? prior.released : block.made);
        fact.allocation = prior.block;
        fact.with(RelatedRole::ALLOC, prior.made).with(RelatedRole::USE, earlier).with(RelatedRole::OWNER, block.made);
        fact.with(RelatedRole::OTHER, later.operation);
        if (prior.told.sequence != 0) fact.with(RelatedRole::RECORD, prior.told);
        add_doubts(fact, process, order, &stream, earlier);
        // What the new owner reads before it has written anything there, it does not care for.
        fact.assumed |= later.operation.reads_only();
        fact.assumed |= earlier.assumed() || later.operation.assumed() || block.marks.assumed;
        report(fact);
        return !fact.assumed;
    });
}

}  // namespace streamsan::order
