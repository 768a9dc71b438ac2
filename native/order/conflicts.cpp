// Uses of the same memory that nothing orders (SS109).
#include "conflicts.hpp"

#include <algorithm>
#include <vector>

#include "engine.hpp"
#include "uses.hpp"

namespace streamsan::order {
namespace {

bool known(const Operation& operation) { return operation.mode() != AccessMode::OPAQUE; }
bool contains(const Access& range, std::uint64_t address) { return range.begin <= address && address < range.end; }

/// Of two of which one touches rows: whether they share a byte.
Meeting meeting(const Access& one, const Access& other) {
    if (!one.exact() || !other.exact()) return Meeting::unclear;
    const Meeting found = meeting_of(one.touched(), other.touched());
    // Of gaps that nobody knows only the bounds count.
    return found == Meeting::meet && !(one.plain() && other.plain()) ? Meeting::unclear : found;
}

/// The same of what a later access stands for, see stands_for.
bool rows_stand_for(const Access& later, const Access& earlier) {
    if (!earlier.plain()) return later.touches(earlier.begin);
    return later.plain() && holds(later.touched(), earlier.touched());
}

bool are_apart(const Access& one, const Access& other) { return one.limits().apart(other.limits()); }

/// Whether the bytes may be, or surely are, the same.
Conflict overlap(const Access& one, const Access& other) {
    if (are_apart(one, other)) return Conflict::absent;
    const bool meet = one.exact() && other.exact() ? one.begin < other.end && other.begin < one.end
                      : one.exact()                ? contains(one, other.begin)
                      : other.exact()              ? contains(other, one.begin)
                                                   : one.begin == other.begin;
    if (!meet) return Conflict::absent;
    if (one.rows != nullptr || other.rows != nullptr) [[unlikely]] {
        const Meeting found = meeting(one, other);
        if (found == Meeting::never) return Conflict::absent;
        if (found == Meeting::meet) return one.touches() && other.touches() ? Conflict::sure : Conflict::possible;
    }
    const bool sure = (other.touches() && one.touches(other.begin)) || (one.touches() && other.touches(one.begin));
    return sure ? Conflict::sure : Conflict::possible;
}

/// An array's address says nothing of its parts.
bool has_plain_bytes(MemoryKind kind) { return kind != MemoryKind::ARRAY; }

/// Whether it is a kernel's, as far as can be told: of a graph's launch only copies and fills have a known extent,
/// unless machine code tells that of its kernels.
bool is_kernels(const Access& access) {
    const OperationKind kind = access.operation.kind;
    const bool of_graph = kind == OperationKind::GRAPH_NODE || kind == OperationKind::GRAPH_LAUNCH;
    return kind == OperationKind::LAUNCH || (of_graph && !access.exact());
}

/// Whether a kernel, through a texture or a surface, meets other work in an array's first element for certain.
bool meet_in_array(const Access& one, const Access& other) {
    const bool in_first = one.begin == other.begin && one.touches() && other.touches();
    return in_first && (is_kernels(one) || is_kernels(other));
}

/// Both modes are known, and neither access is doubtful.
bool certain(const Access& one, const Access& other) {
    return known(one.operation) && known(other.operation) && !one.operation.assumed() && !other.operation.assumed();
}

/// Bytes that a use of memory of unknown size is given which takes all of it, whatever its size is.
constexpr std::uint64_t whole_of_unknown = std::uint64_t{1} << 32;

/// Whether what is less than a cache line lies in more memory: it may be what work talks by.
bool is_word(const Bounds& bounds) { return bounds.high - bounds.low < 64; }

/// Whether a copy or fill, or a kernel of which that is known, touches all that a kernel can reach: from its pointer
/// on, or in the bounds that are known of it.
bool takes_all(const Allocation& allocation, const Access& bulk, const Access& kernel) {
    if (!is_kernels(kernel) || kernel.exact()) return false;
    // A word that kernels share is a flag or a counter, which the one may never write.
    if (is_kernels(bulk) && is_flag(allocation)) return false;
    if (!bulk.plain() || !bulk.touches() || bulk.rows != nullptr || allocation.marks.assumed) return false;
    const Bounds& bounds = kernel.bounds;
    if (bounds.known() && !is_word(bounds) && bulk.limits().holds(bounds)) return true;
    const bool whole =
        allocation.size != 0 ? bulk.end >= allocation.end() : bulk.end >= allocation.base + whole_of_unknown;
    return bulk.begin <= kernel.begin && whole;
}

/// Sums may be looked at while they grow.
bool looks_at_sum(const Access& one, const Access& other) {
    return (one.atomic() && other.operation.reads_only()) || (other.atomic() && one.operation.reads_only());
}

bool one_takes_all(const Allocation& allocation, const Access& one, const Access& other) {
    return certain(one, other) && (takes_all(allocation, one, other) || takes_all(allocation, other, one));
}

bool unpinned(const Allocation& allocation) { return pageable(allocation.kind) && !allocation.marks.registered; }

/// Kernels may be meant to meet where the host can see them: they poll, and use atomics of the whole system.
bool may_meet(const Allocation& allocation, const Access& one, const Access& other) {
    const bool shared = host_side(allocation.kind) || allocation.kind == MemoryKind::MANAGED;
    return shared && is_kernels(one) && is_kernels(other);
}

/// What a host function does to a buffer, nobody sees. Stream memory operations are meant to meet. Host memory does not
/// migrate: to prefetch it says how far at most.
bool outside_conflicts(const Allocation& allocation, const Operation& operation) {
    return operation.kind == OperationKind::HOST_FUNCTION || operation.kind == OperationKind::STREAM_MEMORY_OP ||
           (operation.kind == OperationKind::PREFETCH && host_side(allocation.kind));
}

}  // namespace

bool never_meet(const Access& one, const Access& other) {
    if (are_apart(one, other)) return true;
    const bool in_rows = one.exact() && other.exact() && (one.rows != nullptr || other.rows != nullptr);
    return in_rows && meeting(one, other) == Meeting::never;
}

Conflict conflict_of(const Access& one, const Access& other) {
    if (!one.operation.writes() && !other.operation.writes()) return Conflict::absent;
    if (one.atomic() && other.atomic()) return Conflict::absent;
    const Conflict found = overlap(one, other);
    return found == Conflict::sure && !certain(one, other) ? Conflict::possible : found;
}

bool stands_for(const Access& later, const Access& earlier) {
    if (later.operation.mode() != earlier.operation.mode() || later.atomic() != earlier.atomic()) return false;
    if (later.operation.assumed() || !later.touches()) return false;
    if (later.rows != nullptr || earlier.rows != nullptr) [[unlikely]]
        return rows_stand_for(later, earlier);
    if (later.exact() && !later.strided()) return contains(later, earlier.begin) && earlier.end <= later.end;
    return later.begin == earlier.begin && (!earlier.exact() || (later.exact() && earlier.strided()));
}

Conflict conflict_on(const Allocation& allocation, const Access& one, const Access& other) {
    if (!has_plain_bytes(allocation.kind) && !meet_in_array(one, other)) return Conflict::absent;
    const Conflict found = conflict_of(one, other);
    if (found == Conflict::absent) return found;
    // Copies of pageable memory are staged, in ways that are not promised.
    if (unpinned(allocation) || may_meet(allocation, one, other)) return Conflict::possible;
    if (found != Conflict::possible) return found;
    return one_takes_all(allocation, one, other) && !looks_at_sum(one, other) ? Conflict::likely : found;
}

Conflict conflict_in_graph(const Allocation& allocation, const Access& one, const Access& other) {
    const Conflict found = conflict_on(allocation, one, other);
    if (found != Conflict::possible || unpinned(allocation) || may_meet(allocation, one, other)) return found;
    return one_takes_all(allocation, one, other) ? Conflict::likely : found;
}

bool may_conflict_unseen(const Allocation& allocation, const Access& one, const Access& other) {
    if ((known(one.operation) && known(other.operation)) || are_apart(one, other)) return false;
    // A kernel of which nothing is known, and a copy: it may well write what that reads.
    const bool beside_copy = one.exact() != other.exact();
    const bool meet = beside_copy ? overlap(one, other) != Conflict::absent : one.begin == other.begin && !one.exact();
    if (!meet) return false;
    const auto told = [](const Operation& operation) {
        return !operation.assumed() && (operation.reads_only() || !known(operation));
    };
    if (!told(one.operation) || !told(other.operation)) return false;
    if (!has_plain_bytes(allocation.kind) || host_side(allocation.kind)) return false;
    return beside_copy || allocation.kind != MemoryKind::MANAGED;
}

Beside beside_kernel(const Allocation& allocation, const Access& host, const Access& kernel) {
    const Operation& work = kernel.operation;
    const bool launched = work.kind == OperationKind::LAUNCH || work.kind == OperationKind::GRAPH_LAUNCH;
    if (!launched || !known(work) || unpinned(allocation) || are_apart(host, kernel)) return Beside::meant;
    const bool writes = host.operation.writes();
    // What lies before its pointer a kernel rarely uses.
    if (!kernel.exact() && host.exact() && host.end <= kernel.begin) return Beside::meant;
    if (kernel.atomic()) return writes ? Beside::meant : Beside::possible;  // a signal, or a counter that is shown
    const bool covers = host.touches(kernel.begin) && kernel.touches();
    const bool meet = host.plain() && kernel.plain() && meeting_of(host.touched(), kernel.touched()) == Meeting::meet;
    const bool all = host.plain() && host.rows == nullptr && host.begin <= kernel.begin && allocation.size != 0 &&
                     host.end >= allocation.end();
    // A kernel that takes more than a word takes data, however few.
    const bool takes_data = kernel.plain() && kernel.end - kernel.begin > sizeof(std::uint64_t);
    if (is_flag(allocation) && !takes_data) {
        // A word that tells something is polled, or written once. That a result is read is the more likely mistake.
        const bool result = allocation.kind == MemoryKind::MANAGED && !writes && work.writes();
        return result && (covers || meet || all) ? Beside::likely : Beside::possible;
    }
    return covers || meet ? Beside::sure : all ? Beside::likely : Beside::possible;
}

Touch touch_of(const Access& access) {
    Touch touch;
    touch.begin = access.begin;
    touch.end = access.end;
    if (!access.exact()) touch.bounds = access.bounds;
    if (access.rows != nullptr) touch.rows = *access.rows;
    touch.known = true;
    touch.surely = access.touches() && !access.strided() && !access.operation.assumed();
    touch.atomic = access.atomic();
    if (access.node != nullptr) {
        touch.has_node = true;
        touch.node = *access.node;
    }
    return touch;
}

Fact conflict_fact(const Allocation& allocation, Conflict found, const Access& later_access,
                   const Access& earlier_access) {
    Operation later = later_access.operation;
    Operation earlier = earlier_access.operation;
    // Both operations say whether the overlap is sure: whoever reads the fact need not know how that was found.
    for (Operation* each : {&later, &earlier}) {
        each->flags =
            static_cast<std::uint8_t>(found == Conflict::sure ? each->flags | touches_bit : each->flags & ~touches_bit);
    }
    Fact fact(RuleCode::UNORDERED_CONFLICT,
              later.writes() && earlier.writes() ? FactVariant::CONFLICT_WRITE_WRITE : FactVariant::CONFLICT_READ_WRITE,
              later, allocation);
    fact.with(RelatedRole::USE, earlier);
    fact.assumed = found != Conflict::sure;
    fact.likely = found == Conflict::likely;
    fact.touches = {touch_of(later_access), touch_of(earlier_access)};
    return fact;
}

void Engine::judge_conflicts(Process& process, const Allocation& allocation, const Stream& stream, const Clock& clock,
                             const Access& later) {
    const bool reads = later.operation.reads_only();
    const auto open = [&](const Placed& use) {
        const bool own =
            use.operation.sequence == later.operation.sequence;  // a kernel's other references are no other use
        return !own && !(reads && use.operation.reads_only()) && !clock.knows(use.epoch, contract);
    };
    bool any = allocation.more_uses != none || allocation.marks.baked || allocation.has_earlier();
    for (std::uint8_t i = 0; i < allocation.inline_uses; ++i) any |= open(allocation.uses[i]);
    if (!any) return;
    const bool taken = is_taken_in_parts(process, allocation, clock, later);
    const auto judge = [&](const Placed& use, const Part& part) {
        if (open(use))
            judge_conflict(process, allocation, stream, clock, later, {use.operation, part}, use.epoch, taken);
    };
    process.allocations.each_use(allocation, judge);
    process.allocations.each_earlier(allocation, judge);
    if (!allocation.marks.baked) return;
    graphs_.each_launch(process, allocation, [&](const GraphExec& exec, const Baked& baked) {
        if (clock.knows(exec.last.epoch, contract)) return;
        for (const BakedAccess& each : baked.accesses) {
            if (!each.host)
                judge_conflict(process, allocation, stream, clock, later, launched(each.access, exec.last.operation),
                               exec.last.epoch);
        }
    });
}

bool Engine::is_taken_in_parts(const Process& process, const Allocation& allocation, const Clock& clock,
                               const Access& kernel) {
    if (!is_kernels(kernel) || kernel.exact() || !known(kernel.operation) || kernel.operation.assumed()) return false;
    if (allocation.size == 0 || allocation.marks.assumed || is_flag(allocation)) return false;
    const Bounds all = kernel.bounds.known() ? kernel.bounds : Bounds{kernel.begin, owned_end(process, allocation)};
    if (all.high <= all.low || is_word(all)) return false;
    std::vector<Bounds> parts;
    const auto add = [&](const Placed& use, const Part& part) {
        const Access access{use.operation, part};
        const bool conflicts = access.operation.writes() || (kernel.operation.writes() && known(access.operation));
        if (!conflicts || access.operation.assumed() || !access.touches() || !access.plain() || access.rows != nullptr)
            return;
        if (use.operation.sequence == kernel.operation.sequence || verdict(clock, use.epoch) != Verdict::unordered)
            return;
        parts.push_back(access.limits());
    };
    process.allocations.each_use(allocation, add);
    process.allocations.each_earlier(allocation, add);
    std::sort(parts.begin(), parts.end(), [](const Bounds& one, const Bounds& other) { return one.low < other.low; });
    std::uint64_t reached = all.low;
    for (const Bounds& each : parts) {
        if (each.low > reached) return false;
        reached = std::max(reached, each.high);
    }
    return reached >= all.high;
}

void Engine::judge_conflict(const Process& process, const Allocation& allocation, const Stream& stream,
                            const Clock& clock, const Access& later, const Access& earlier, Epoch earlier_at,
                            bool taken) {
    if (process.value_ordered || allocation.marks.use_reported) return;
    if (outside_conflicts(allocation, later.operation) || outside_conflicts(allocation, earlier.operation)) return;
    const Verdict order = verdict(clock, earlier_at);
    // What the wait of a free orders is not said again at each use behind it; the wait of a copy is said nowhere else.
    const bool by_copy = order == Verdict::observed && implicit_waits_.between(earlier_at, clock) != nullptr;
    if (order != Verdict::unordered && !by_copy) return;
    Conflict found = conflict_on(allocation, later, earlier);
    // Whatever the kernel touches, one of the uses that are not ordered with it touches.
    const bool plain_bytes = !unpinned(allocation) && !may_meet(allocation, later, earlier);
    if (found == Conflict::possible && taken && plain_bytes && certain(later, earlier) && earlier.plain() &&
        !looks_at_sum(later, earlier))
        found = Conflict::likely;
    // Kernels of several streams often share a table by a pointer that nobody made const: one of the two should only
    // read.
    const bool one_reads = later.operation.reads_only() || earlier.operation.reads_only();
    if ((recording_ || later.exact() != earlier.exact()) && found == Conflict::absent && one_reads &&
        may_conflict_unseen(allocation, later, earlier))
        found = Conflict::possible;
    if (found == Conflict::absent) return;
    // Commands of OpenCL use pageable memory themselves until they are complete: nothing is staged.
    if (process.has_opencl && pageable(allocation.kind)) found = conflict_of(later, earlier);
    if (by_copy && found != Conflict::sure) return;
    Fact fact = conflict_fact(allocation, found, later, earlier);
    add_doubts(fact, process, order, &stream, earlier.operation);
    if (by_copy) {
        fact.code = RuleCode::RELIES_ON_IMPLICIT_SYNC;
        fact.variant = name_wait(fact, earlier_at, clock);
        report(fact);
        return;
    }
    // All that its stream has behind it is known, only not to what the kernel does without waiting.
    if (timeline(stream).clock.knows(earlier_at, contract)) {
        fact.variant = FactVariant::CONFLICT_OVERTAKES;
        fact.may_be_equal = false;
    }
    // A host function may have told another thread that the work before it is done.
    const bool told = process.host_function > earlier.operation.sequence;
    fact.assumed |= told;
    if (told || stream.of_anyone() || names_[earlier.operation.stream_name].of_anyone()) fact.likely = false;
    if (!process.pollers.empty()) [[unlikely]] {
        const Operation* const poller = poller_between(process, clock, later.operation, earlier.operation);
        if (poller != nullptr) {
            fact.assumed = fact.polled = true;
            fact.likely = false;
            if (poller->sequence != later.operation.sequence && poller->sequence != earlier.operation.sequence)
                fact.with(RelatedRole::SYNC, *poller);
        }
    }
    report(fact);
}

}  // namespace streamsan::order
