#include "allocations.hpp"

namespace streamsan::order {

std::uint32_t Allocations::containing(std::uint64_t address) const {
    if (has_blocks_) {
        const std::uint32_t block = block_containing(address);
        if (block != none) return block;
    }
    return segment_containing(address);
}

std::uint32_t Allocations::segment_containing(std::uint64_t address) const {
    const std::uint32_t exact = by_base_.find(address);
    if (exact != none) return exact;
    const std::uint32_t below = bases_.last_not_above(address);
    return below != none && address < records_[below].end() ? below : none;
}

std::uint32_t Allocations::named_by(std::uint64_t address, std::uint32_t generation) const {
    const std::uint32_t found = containing(address);
    if (found != none || generation == 0) return found;
    const std::uint32_t below = bases_.last_not_above(address);
    if (below == none) return none;
    const Allocation& unknown = records_[below];
    return unknown.size == 0 && unknown.generation == generation ? below : none;
}

std::uint32_t Allocations::block_containing(std::uint64_t address) const {
    const std::uint32_t exact = block_by_base_.find(address);
    if (exact != none) return exact;
    const std::uint32_t below = block_bases_.last_not_above(address);
    return below != none && address < records_[below].end() ? below : none;
}

std::uint32_t Allocations::last_block_in(std::uint64_t begin, std::uint64_t end) const {
    if (!has_blocks_ || begin >= end) return none;
    const std::uint32_t last = block_bases_.last_not_above(end - 1);
    return last != none && records_[last].end() > begin ? last : none;
}

std::uint32_t Allocations::make_block(std::uint64_t base, std::uint64_t size) {
    const std::uint32_t index = fresh();
    records_[index] = {};
    records_[index].base = base;
    records_[index].size = size;
    records_[index].kind = MemoryKind::POOL_BLOCK;
    if (index < previous_.size()) previous_[index] = {};
    has_blocks_ = true;
    block_by_base_.set(base, index);
    block_bases_.insert(base, index);
    return index;
}

void Allocations::renew_block(std::uint32_t index) {
    Allocation& block = records_[index];
    drop_uses(block);
    Allocation next;
    next.base = block.base;
    next.size = block.size;
    next.kind = MemoryKind::POOL_BLOCK;
    next.context = block.context;
    block = next;
    if (index < previous_.size()) previous_[index] = {};
}

void Allocations::forget_block(std::uint32_t index) {
    const std::uint64_t base = records_[index].base;
    block_by_base_.erase(base);
    block_bases_.erase(base);
    give_back(index);
}

std::uint32_t Allocations::fresh() {
    if (!spare_.empty()) {
        const std::uint32_t index = spare_.back();
        spare_.pop_back();
        used_[index] = true;
        return index;
    }
    records_.emplace_back();
    used_.push_back(true);
    return static_cast<std::uint32_t>(records_.size() - 1);
}

std::uint32_t Allocations::make(std::uint64_t base, std::uint64_t size, std::uint32_t generation) {
    Allocation next;
    next.base = base;
    next.size = size;
    next.generation = generation;
    for (std::uint32_t block = last_block_in(base, next.end()); block != none; block = last_block_in(base, next.end()))
        forget_block(block);
    std::uint32_t index = by_base_.find(base);
    Previous previous;
    if (index != none && (generation != 0 || keeps_previous_) && !records_[index].live())
        previous = {records_[index].generation, records_[index].made, records_[index].uses[0].operation};
    // The usual recycling: the same base, and nothing else can overlap. The index of bases stays as it is.
    const bool recycled = index != none && next.end() <= records_[index].end();
    if (recycled) {
        drop_uses(records_[index]);
    } else {
        // Known ranges do not overlap: those in the way lie side by side, up to the last that begins before the new
        // end.
        const auto last_in_the_way = [&] {
            const std::uint32_t last = bases_.last_not_above(next.end() - 1);
            return last != none && records_[last].end() > base ? last : none;
        };
        while ((index = last_in_the_way()) != none) forget(index);
        index = fresh();
    }
    records_[index] = next;
    if (previous.made.sequence != 0 && previous_.size() <= index) previous_.resize(records_.size());
    if (index < previous_.size()) previous_[index] = previous;
    if (recycled) return index;
    by_base_.set(base, index);
    bases_.insert(base, index);
    return index;
}

void Allocations::forget(std::uint32_t index) {
    const std::uint64_t base = records_[index].base;
    by_base_.erase(base);
    bases_.erase(base);
    give_back(index);
}

void Allocations::give_back(std::uint32_t index) {
    drop_uses(records_[index]);
    used_[index] = false;
    spare_.push_back(index);
}

void Allocations::retire(std::uint32_t index, std::uint8_t freed_by, const Placed& by_host, const Placed& by_stream) {
    Allocation& allocation = records_[index];
    drop_uses(allocation);
    allocation.freed_by = freed_by;
    allocation.marks.baked = false;
    allocation.uses = {by_host, by_stream};
}

const Previous* Allocations::previous(std::uint32_t index) const {
    return index < previous_.size() && previous_[index].made.sequence != 0 ? &previous_[index] : nullptr;
}

std::vector<RangedUse>& Allocations::more_uses(Allocation& allocation) {
    if (allocation.more_uses == none) {
        if (spare_lists_.empty()) {
            lists_.emplace_back();
            allocation.more_uses = static_cast<std::uint32_t>(lists_.size() - 1);
        } else {
            allocation.more_uses = spare_lists_.back();
            spare_lists_.pop_back();
        }
    }
    return lists_[allocation.more_uses];
}

void Allocations::set_part(Allocation& allocation, std::uint8_t i, const Part& part) {
    const std::uint32_t index = index_of(allocation);
    if (parts_.size() <= index) parts_.resize(records_.size());
    parts_[index].of[i] = part;
    allocation.parts = static_cast<std::uint8_t>(allocation.parts | 1U << i) & 0xFU;
}

void Allocations::drop_uses(Allocation& allocation) {
    if (allocation.has_earlier()) parts_[index_of(allocation)].earlier.clear();
    allocation.inline_uses = 0;
    allocation.parts = 0;
    drop_more(allocation);
}

void Allocations::drop_more(Allocation& allocation) {
    if (allocation.more_uses == none) return;
    lists_[allocation.more_uses].clear();
    spare_lists_.push_back(allocation.more_uses);
    allocation.more_uses = none;
}

}  // namespace streamsan::order
