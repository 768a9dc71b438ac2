// Allocations and frees.
#include "engine.hpp"

namespace streamsan::order {
namespace {

constexpr std::uint8_t last_memory_kind = static_cast<std::uint8_t>(MemoryKind::CL_MAPPED);
constexpr std::uint8_t last_free_class = static_cast<std::uint8_t>(FreeClass::CL_UNMAP);

/// Whether such a release ends what may lie over host memory: a registration, a buffer.
bool lies_over_host(FreeClass family) { return family == FreeClass::UNREGISTER || family == FreeClass::CL_RELEASE; }

/// What is wrong with freeing such memory with such a function; NONE where nothing is.
FactVariant family_fault(FreeClass family, MemoryKind kind) {
    if (accepts(family, kind)) return FactVariant::NONE;
    if (family != FreeClass::DEVICE && family != FreeClass::ASYNC && family != FreeClass::ARRAY)
        return FactVariant::WRONG_FAMILY;
    if (pageable(kind) || kind == MemoryKind::REGISTERED) return FactVariant::HOST_POINTER;
    return kind == MemoryKind::IPC ? FactVariant::IMPORTED : FactVariant::WRONG_FAMILY;
}

}  // namespace

void Engine::allocate(const Slot& slot, Thread& thread, Process& process, Operation& operation) {
    auto kind = static_cast<MemoryKind>(slot.detail);
    if (slot.detail > last_memory_kind) {
        ++problems_;
        kind = MemoryKind::UNKNOWN;
    }
    if (slot.address == 0) return;
    if (kind == MemoryKind::POOL_BLOCK) {
        hand_out(slot, process, operation);
        return;
    }
    if (kind == MemoryKind::CL_MAPPED) {
        map_region(slot, thread, process, operation);
        return;
    }
    const bool assumed = operation.assumed();
    if (assumed) process.blind = true;
    Allocations& allocations = process.allocations;
    // A registration, and a buffer that is made of host memory, lie over it.
    if (kind == MemoryKind::REGISTERED || kind == MemoryKind::CL_BUFFER) {
        const std::uint32_t host = allocations.containing(slot.address);
        if (host != none && allocations[host].live() &&
            (pageable(allocations[host].kind) || allocations[host].kind == MemoryKind::UNKNOWN)) {
            allocations[host].marks.registered = true;
            allocations[host].marks.unregistered = false;
            process.open_objects += kind == MemoryKind::CL_BUFFER ? 1 : 0;
            return;
        }
    }
    const bool restated = is_restated(slot);
    if (const std::uint32_t old = restated ? allocations.at_base(slot.address) : none; old != none) {
        if (allocations[old].live() && allocations[old].size == slot.size && allocations[old].kind == kind) return;
    }
    Epoch made_at;
    const bool of_opencl = kind == MemoryKind::CL_BUFFER || kind == MemoryKind::SVM;
    std::uint32_t context = pageable(kind) || of_opencl || assumed ? none : contexts_.current(thread, process);
    if (kind == MemoryKind::CL_BUFFER && !assumed) {
        if (references_.size() > 1) context = process.contexts.find(references_[1].address);
        ++open_objects(process, context);
    }
    if (kind == MemoryKind::STREAM_ORDERED && !assumed && !restated) {
        Stream* const named = place(slot, thread, process, operation);
        if (named == nullptr) return;
        Stream& stream = *named;
        note_unknown(process, stream, operation);
        enter(stream, thread, slot.thread);
        made_at = timeline(stream).advance();
        leave(stream);
        churn_.note_next(process.number, operation.site, process.wait, timeline(thread).clock,
                         process.opaque_version != 0);
        context = stream.context;
    }
    Allocation& allocation =
        allocations[allocations.make(slot.address, slot.size, static_cast<std::uint32_t>(slot.object))];
    allocation.kind = kind;
    allocation.context = context;
    allocation.made = operation;
    allocation.made_at = made_at;
    allocation.marks.assumed = assumed;
    if (kind == MemoryKind::GRAPH) graphs_.announce(process, allocations.index_of(allocation));
    // Of a graph's memory only its node is announced: nothing has happened that anybody could be after.
    if (operation.stream_name == 0 && !pageable(kind) && kind != MemoryKind::GRAPH) timeline(thread).advance();
}

void Engine::release(const Slot& slot, Thread& thread, Process& process, Operation& operation) {
    if (slot.detail == 0 || slot.detail > last_free_class) {
        ++problems_;
        return;
    }
    const auto family = static_cast<FreeClass>(slot.detail);
    const bool failed = operation.failed();
    if (family == FreeClass::POOL_BLOCK) {
        if (!failed) take_back(slot, process, operation);
        return;
    }
    if (slot.address == 0) {
        if (failed) judge_stale(slot, thread, process, operation);
        return;  // a free of NULL does nothing and waits for nothing (F-02)
    }
    if (family == FreeClass::CL_UNMAP) {
        if (!failed) unmap_region(slot, thread, process, operation);
        return;
    }
    const std::uint32_t index = process.allocations.segment_containing(slot.address);
    if (family == FreeClass::GRAPH_NODE) {
        graphs_.announce_free(process, operation, index, failed);
        return;
    }
    if (index != none && process.allocations[index].kind == MemoryKind::GRAPH &&
        !admit_graph_free(slot, thread, process, operation, index))
        return;
    if (failed && index != none) process.allocations[index].marks.lost = true;  // it is not forgotten
    if (!judge_pointer(slot, thread, process, operation, index)) return;
    if (failed) {
        judge_stale(slot, thread, process, operation);  // the pointer is good: it may be the stream that is not
        return;
    }
    judge_owner(thread, process, process.allocations[index], family, operation);
    if (family == FreeClass::CL_RELEASE) {
        const Allocation& released = process.allocations[index];
        const bool of_context = released.kind == MemoryKind::CL_BUFFER;  // others lie over the host's
        std::uint64_t& open = open_objects(process, of_context ? released.context : none);
        if (open > 0) --open;
        if (slot.size != 0)
            tell_of_end(key_name(process, slot.size), timeline(thread), process, process.allocations[index]);
    }
    if (lies_over_host(family) && process.allocations[index].marks.registered) {
        Allocation& host = process.allocations[index];
        if (family == FreeClass::CL_RELEASE) {  // what uses it goes on
            host.marks.registered = false;
            host.marks.unregistered = true;
            timeline(thread).advance();
            return;
        }
        const std::uint32_t context = contexts_.current(thread, process);
        judge_blocking(slot, thread, host, context, operation);
        observe_context(thread, slot.thread, context);
        judge_order(process, host, family, timeline(thread).clock, nullptr, operation);
        if (host.marks.baked) graphs_.end_baked(process, index, operation, false);
        host.marks.registered = false;
        host.marks.unregistered = true;
        host.marks.use_reported = false;
        return;
    }
    release_ordered(slot, thread, process, operation, index);
}

void Engine::release_ordered(const Slot& slot, Thread& thread, Process& process, Operation& operation,
                             std::uint32_t index) {
    const auto family = static_cast<FreeClass>(slot.detail);
    absorb_blocks(process, index, operation);
    Allocation& allocation = process.allocations[index];
    Timeline& host = timeline(thread);
    if (family == FreeClass::ASYNC) {
        Stream* const named = place(slot, thread, process, operation);
        if (named == nullptr) return;
        Stream& stream = *named;
        note_unknown(process, stream, operation);
        const Placed by_host{operation, host.advance()};
        enter(stream, thread, slot.thread);
        judge_order(process, allocation, family, timeline(stream).clock, &stream, operation);
        const Placed by_stream{operation, timeline(stream).advance()};
        stream.free = by_stream;
        stream.has_free = true;
        leave(stream);
        churn_.note_ordered_free(process.number, allocation, by_stream, latest_work(process));
        end_use(process, index, operation);
        process.allocations.retire(index, slot.detail, by_host, by_stream);
        return;
    }
    if (family == FreeClass::CL_RELEASE) {  // it goes when the commands that were enqueued before are complete
        end_use(process, index, operation);
        process.allocations.retire(index, slot.detail, {operation, host.advance()}, {});
        return;
    }
    if (family == FreeClass::CL_SVM_BLOCKING) finish_uses(host, process, allocation);
    const bool stream_ordered = allocation.kind == MemoryKind::STREAM_ORDERED;
    const bool waits = relied_on(family) && streamsan::waits(family, allocation.kind);
    if (waits) {
        // The wait covers the memory's own context, whichever is current (F-01, F-10, F-11, F-12, F-15). That of memory
        // from an unknown caller may be any.
        const std::uint32_t own = allocation.context;
        judge_blocking(slot, thread, allocation, own == none ? contexts_.current(thread, process) : own, operation);
        const auto observe = [&](std::uint32_t context) { observe_context(thread, slot.thread, context); };
        if (own != none) observe(own);
        else contexts_.each_of(process, observe);
        churn_.note_free(allocation, operation, latest_work(process), nanoseconds(slot.duration));
    }
    const bool ordered = judge_order(process, allocation, family, host.clock, nullptr, operation);
    if (ordered && stream_ordered && family == FreeClass::DEVICE && !allocation.marks.assumed) {
        report(Fact(RuleCode::ORDER_DROPPING_FREE, FactVariant::NONE, operation, allocation));
    }
    end_use(process, index, operation);
    process.allocations.retire(index, slot.detail, {operation, host.advance()}, {});
}

void Engine::end_use(Process& process, std::uint32_t index, const Operation& operation) {
    const Allocation& allocation = process.allocations[index];
    if (allocation.marks.baked) graphs_.end_baked(process, index, operation, false);
    if (allocation.kind == MemoryKind::GRAPH) graphs_.note_outside_free(process, index);
}

bool Engine::judge_pointer(const Slot& slot, Thread& thread, Process& process, const Operation& operation,
                           std::uint32_t index) {
    const auto family = static_cast<FreeClass>(slot.detail);
    const bool host_memory_only = family == FreeClass::HOST_HEAP || family == FreeClass::HOST_SCOPE;
    // What the driver took is memory, and may be freed so: it came from a call that was not recorded.
    const bool taken = recording_ && slot.status == 0;
    if (recording_ && operation.failed() && (process.broken || !status::of_pointers(slot.status))) return false;
    if (index == none) {
        const bool known_families =
            family == FreeClass::DEVICE || family == FreeClass::ASYNC || family == FreeClass::PINNED;
        const bool sure = recording_ ? operation.failed() : process.whole && !process.blind;
        if (known_families && sure && !operation.assumed()) {
            report(Fact(RuleCode::INVALID_FREE, FactVariant::UNKNOWN_ADDRESS, operation));
        }
        return false;
    }
    Allocation& allocation = process.allocations[index];
    // A registration lies over host memory and has a generation of its own.
    const bool overlaid = family == FreeClass::UNREGISTER && allocation.kind != MemoryKind::REGISTERED;
    const bool lies_over = lies_over_host(family) && allocation.marks.registered;
    const auto generation = overlaid ? 0U : static_cast<std::uint32_t>(slot.object);
    if (allocation.is_not_of(generation) && slot.address == allocation.base) {
        // The pointer was made for an earlier owner of the address: the call frees the memory of the present one
        // (W-03).
        if (!allocation.marks.free_reported) {
            Fact fact(RuleCode::DOUBLE_FREE, FactVariant::RECYCLED, operation);
            if (const Previous* previous = process.allocations.previous(index); previous != nullptr) {
                fact.with(RelatedRole::ALLOC, previous->made).with(RelatedRole::FREE, previous->freed);
            }
            fact.with(RelatedRole::OWNER, allocation.made);
            fact.allocation = described(allocation);
            fact.assumed = operation.assumed();
            report(fact);
        }
        if (allocation.live() && slot.status == 0) {
            end_use(process, index, operation);
            process.allocations.retire(index, slot.detail, {operation, timeline(thread).advance()}, {});
        }
        allocation.marks.free_reported = true;
        allocation.marks.use_reported = true;
        return false;
    }
    if (!allocation.live()) {
        if (family != FreeClass::HOST_SCOPE && !taken) judge_second_free(thread, allocation, operation);
        return false;
    }
    if (slot.address != allocation.base && family != FreeClass::UNMAP && !host_memory_only && !lies_over) {
        if (!allocation.marks.free_reported && !taken) {
            Fact fact(RuleCode::INVALID_FREE, FactVariant::INTERIOR, operation, allocation);
            fact.assumed |= allocation.marks.assumed;
            allocation.marks.free_reported = true;
            report(fact);
        }
        return false;
    }
    if (host_memory_only && slot.address != allocation.base) return false;
    return taken || judge_family(allocation, family, operation);
}

void Engine::judge_second_free(Thread& thread, Allocation& allocation, const Operation& operation) {
    if (allocation.marks.free_reported || pageable(allocation.kind)) return;
    const bool reset = allocation.freed_by == ended_by_reset;
    // Of a pointer whose context is gone: it is the pointer that is stale, nobody freed it before.
    Fact fact(reset ? RuleCode::USE_AFTER_FREE : RuleCode::DOUBLE_FREE,
              reset ? FactVariant::AFTER_FREE : FactVariant::SAME_POINTER, operation, allocation);
    fact.with(reset ? RelatedRole::RESET : RelatedRole::FREE, allocation.uses[0].operation);
    fact.assumed |= allocation.marks.assumed || allocation.uses[0].operation.assumed();
    if (verdict(timeline(thread).clock, allocation.uses[0].epoch) != Verdict::contract) fact.rests_on = EdgeClass::RUN;
    allocation.marks.free_reported = true;
    allocation.marks.use_reported = true;
    report(fact);
}

bool Engine::judge_family(Allocation& allocation, FreeClass family, const Operation& operation) {
    FactVariant fault = family_fault(family, allocation.kind);
    if (lies_over_host(family) && (allocation.marks.registered || pageable(allocation.kind))) {
        if (allocation.marks.registered) return true;
        fault = allocation.marks.unregistered ? FactVariant::SAME_POINTER : FactVariant::WRONG_FAMILY;
    }
    if (fault == FactVariant::NONE) return true;
    if (!allocation.marks.free_reported) {
        Fact fact(fault == FactVariant::SAME_POINTER ? RuleCode::DOUBLE_FREE : RuleCode::INVALID_FREE, fault, operation,
                  allocation);
        fact.assumed |= allocation.marks.assumed;
        allocation.marks.free_reported = true;
        report(fact);
    }
    return false;
}

void Engine::judge_owner(Thread& thread, Process& process, const Allocation& allocation, FreeClass family,
                         const Operation& operation) {
    const bool device_family = family == FreeClass::DEVICE || family == FreeClass::ASYNC || family == FreeClass::ARRAY;
    const bool owned = allocation.kind == MemoryKind::PLAIN || allocation.kind == MemoryKind::ARRAY ||
                       allocation.kind == MemoryKind::MANAGED;
    if (!device_family || !owned || allocation.context == none) return;
    const std::uint32_t current = contexts_.current(thread, process);
    if (current == allocation.context) return;
    const Context& owner = contexts_[allocation.context];
    const Context& here = contexts_[current];
    const bool created = owner.kind == ContextKind::CREATED || here.kind == ContextKind::CREATED;
    Fact fact(RuleCode::FOREIGN_CONTEXT_FREE, created ? FactVariant::FOREIGN_CREATED : FactVariant::FOREIGN_PRIMARY,
              operation, allocation);
    fact.assumed |= owner.assumed || here.assumed || allocation.marks.assumed;
    report(fact);
}

void Engine::judge_blocking(const Slot& slot, Thread& thread, const Allocation& allocation, std::uint32_t context_index,
                            const Operation& operation) {
    // What an earlier free has already waited for costs nothing more, promised or not.
    const Clock& known = timeline(thread).clock;
    const Placed* pending = nullptr;
    const Context& context = contexts_[context_index];
    for (const std::uint32_t index : context.streams) {
        const Stream& stream = *streams_[index];
        if (stream.has_work && !known.knows(stream.work.epoch, all)) {
            pending = &stream.work;
            break;
        }
    }
    for (const Leftover& leftover : context.leftovers) {
        if (pending == nullptr && leftover.has_work && !known.knows(leftover.work.epoch, all)) pending = &leftover.work;
    }
    if (pending == nullptr) return;
    const auto family = static_cast<FreeClass>(slot.detail);
    Fact fact(RuleCode::BLOCKING_FREE, free_variant(family), operation, allocation);
    fact.with(RelatedRole::USE, pending->operation);
    fact.assumed |= allocation.marks.assumed || pending->operation.assumed();
    fact.cost = nanoseconds(slot.duration);
    report(fact);
}

void Engine::pointer_lost(const Slot& slot, Process& process, const Operation& operation) {
    if (slot.address == 0) return;
    const std::uint32_t index = process.allocations.containing(slot.address);
    if (index == none) return;
    Allocation& allocation = process.allocations[index];
    report_leak(allocation,
                slot.detail == static_cast<std::uint8_t>(LostKind::ITERATION) ? FactVariant::LOST_ITERATION
                                                                              : FactVariant::LOST_SCOPE,
                operation);
}

}  // namespace streamsan::order
