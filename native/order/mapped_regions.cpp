// Maps and unmaps, and commands that use a region meanwhile.
#include "mapped_regions.hpp"

#include "engine.hpp"
#include "uses.hpp"

namespace streamsan::order {

void Engine::map_region(const Slot& slot, Thread& thread, Process& process, Operation& operation) {
    Stream* const stream = place(slot, thread, process, operation);
    if (stream == nullptr) return;
    Timeline& own = timeline(*stream);
    own.released = true;  // a later command is a point of its own
    if (references_.size() > 1 && references_[1].size != 0) {
        const Reference& region = references_[1];
        const bool wraps = region.address > UINT64_MAX - region.size;
        const std::uint64_t end = wraps ? UINT64_MAX : region.address + region.size;
        process.mapped.add({slot.address, region.address, end, region.mode, operation});
    }
    Allocations& allocations = process.allocations;
    // A pointer into memory that has addresses itself, or that an earlier map gave, names that.
    if (const std::uint32_t known = allocations.containing(slot.address); known != none && allocations[known].live())
        return;
    Allocation& allocation = allocations[allocations.make(slot.address, slot.size, 0)];
    allocation.kind = MemoryKind::CL_MAPPED;
    allocation.made = operation;
    allocation.made_at = {own.slot, own.tick};
    allocation.marks.assumed = operation.assumed();
}

void Engine::unmap_region(const Slot& slot, Thread& thread, Process& process, Operation& operation) {
    Stream* const stream = place(slot, thread, process, operation);
    if (stream == nullptr) return;
    if (requirements_) {
        // A command that nothing later depends on; but whoever waits for it before the queue goes waits for a reason.
        stream->work = {operation, timeline(*stream).advance()};
        stream->has_work = true;
    }
    process.mapped.end(slot.address);
    const std::uint32_t index = process.allocations.containing(slot.address);
    if (index == none || process.mapped.has(slot.address)) return;
    Allocation& allocation = process.allocations[index];
    if (!allocation.live() || allocation.kind != MemoryKind::CL_MAPPED || allocation.base != slot.address) return;
    enter(*stream, thread, slot.thread);
    judge_order(process, allocation, FreeClass::CL_UNMAP, timeline(*stream).clock, stream, operation);
    leave(*stream);
    process.allocations.retire(index, slot.detail, {operation, timeline(thread).advance()}, {});
}

void Engine::judge_mapped(Process& process, const Allocation& allocation, const Reference& reference,
                          const Access& access) {
    const std::uint64_t end = end_of(reference, allocation);
    for (MappedRegion& region : process.mapped.list()) {
        if (region.reported || region.end <= reference.address || end <= region.begin) continue;
        if (region.made.sequence >= access.operation.sequence) continue;  // it was enqueued before
        const bool host_writes = region.mode != AccessMode::READ;
        if (!host_writes && access.operation.reads_only()) continue;
        region.reported = true;
        Fact fact(RuleCode::HOST_BUFFER_IN_FLIGHT, FactVariant::MAPPED_USE, access.operation, allocation);
        fact.with(RelatedRole::OTHER, region.made);
        // How far a kernel reaches is not known, nor what one does whose source was not read; and memory that is shared
        // at a fine grain needs no map.
        const bool whole = region.begin <= allocation.base && allocation.end() <= region.end;
        const bool known = access.operation.mode() != AccessMode::OPAQUE || region.mode == AccessMode::WRITE ||
                           region.mode == AccessMode::READ_WRITE;
        const bool under_buffer = pageable(allocation.kind) && allocation.marks.registered;
        const bool of_buffer = allocation.kind == MemoryKind::CL_BUFFER || under_buffer;
        fact.assumed =
            !(whole || access.exact()) || !known || !of_buffer || access.operation.assumed() || region.made.assumed();
        if (region.made.thread != access.operation.thread) fact.rests_on = EdgeClass::RUN;
        fact.touches[0] = touch_of(access);
        report(fact);
        return;
    }
}

void Engine::judge_unmapped_host(const Allocation& allocation, const Clock& clock, const Operation& operation) {
    if (clock.knows(allocation.made_at, contract)) return;
    require(Unmet::Sort::alloc_use, allocation.made.sequence, operation.sequence);
    const Verdict order = verdict(clock, allocation.made_at);
    if (order == Verdict::run || order == Verdict::unseen) return;
    Fact fact(order == Verdict::observed ? RuleCode::RELIES_ON_IMPLICIT_SYNC : RuleCode::USE_BEFORE_ALLOC,
              FactVariant::NONE, operation, allocation);
    fact.assumed |= allocation.marks.assumed || operation.assumed();
    if (order == Verdict::observed) {
        fact.rests_on = EdgeClass::OBSERVED;
        if (const FactVariant wait = name_wait(fact, allocation.made_at, clock); wait != FactVariant::NONE)
            fact.variant = wait;
    }
    report(fact);
}

void Engine::finish_uses(Timeline& host, const Process& process, const Allocation& allocation) {
    graphs_.each_pending(process, allocation, [&](const Placed& use, const Part&) {
        host.learn(use.epoch, edges_.in(EdgeKind::use_to_blocking_free, contract_edge));
        timeline(use.epoch.slot).released = true;
    });
}

void Engine::tell_of_end(std::uint64_t key, const Timeline& host, const Process& process,
                         const Allocation& allocation) {
    SyncKey& told = keys_.at(key);
    told.of_callback = true;
    Clock& clock = told.clock;
    clock.join(host.clock, contract_edge);
    graphs_.each_pending(process, allocation, [&](const Placed& use, const Part&) {
        clock.learn(use.epoch, edges_.in(EdgeKind::use_to_callback, contract_edge));
        timeline(use.epoch.slot).released = true;
    });
}

}  // namespace streamsan::order
