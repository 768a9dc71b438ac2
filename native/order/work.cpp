// Device work and host accesses: what they do to the memory they name.
#include "engine.hpp"
#include "uses.hpp"

namespace streamsan::order {
namespace {

/// What a reference's operation does there: of a kernel only machine code, or an instrumented run, tells how far it
/// reaches.
Access access_by(const Operation& operation, const Reference& reference) {
    Access access{operation, {reference.address, 0, nullptr, reference.bounds}};
    const bool told = operation.kind == OperationKind::LAUNCH && reference.size != 0;
    if (exact_extent(operation.kind) || told || reference.rows != nullptr) access.reach(reference.size, reference.rows);
    return access;
}

/// The weakest edge that a finding rests on, by the order from the end of the memory to its use.
EdgeClass resting_on(Verdict order) {
    if (order == Verdict::contract) return EdgeClass::CONTRACT;
    return order == Verdict::observed ? EdgeClass::OBSERVED : EdgeClass::RUN;
}

}  // namespace

void Engine::work(const Slot& slot, Thread& thread, Process& process, Operation& operation) {
    static constexpr Kinds never_waited_for = {OperationKind::HOST_FUNCTION, OperationKind::STREAM_MEMORY_OP};
    const auto wait = never_waited_for.has(operation.kind) ? WaitClass::NONE : static_cast<WaitClass>(slot.detail);
    Timeline& host = timeline(thread);
    if (slot.stream == 0) {
        const Epoch here = host.advance();  // done by the host itself, such as a host-to-host copy
        for (const Reference& reference : references_) {
            use(process, thread, nullptr, host, reference, {operation, here}, false);
            const std::uint32_t at = process.allocations.named_by(reference.address, reference.generation);
            if (at == none || !process.allocations[at].live()) continue;
            const Allocation& allocation = process.allocations[at];
            if (!allocation.is_not_of(reference.generation) && allocation.kind != MemoryKind::GRAPH)
                judge_host_access(process, allocation, reference, host.clock, operation);
        }
        return;
    }
    Stream* const named = place(slot, thread, process, operation);
    if (named == nullptr) return;
    Stream& stream = *named;
    if (wait == WaitClass::BEFORE) wait_for_stream(host, stream, process);
    note_unknown(process, stream, operation);
    const LastKernel before = enter(stream, thread, slot.thread);
    Timeline& own = timeline(stream);
    CopiedContexts others;
    if (wait == WaitClass::BETWEEN_CONTEXTS) others = contexts_of_copy(process, stream);
    if (!others.contexts.empty()) [[unlikely]]
        copy_behind(others, stream, thread, slot.thread, process);
    if (process.open_pollers != 0) [[unlikely]]
        end_pollers(process, thread, operation.sequence);
    const bool polls = polls_ && operation.kind == OperationKind::LAUNCH;
    if (polls) [[unlikely]]
        learn_words(process, own, references_);
    const Tick ahead = own.tick;
    // A programmatic kernel behind this one may know what is before it, and not the kernel: that is a point of its own.
    own.released |= operation.kind == OperationKind::LAUNCH;
    const bool has_body = operation.kind == OperationKind::HOST_FUNCTION && slot.object != 0;
    if (has_body) reach_function(key_name(process, slot.object), own);
    const Placed placed{operation, own.advance()};
    if (has_body) pass_function(key_name(process, slot.object), own, placed.epoch);
    if (polls) [[unlikely]]
        add_poller(process, placed);
    const bool waits_as_observed = operation.kind == OperationKind::COPY && wait == WaitClass::OBSERVED_COMPLETE;
    // Programs rely on a synchronous copy to be complete, though the transfer from a staging buffer may still run.
    const bool settled =
        wait == WaitClass::BEFORE || ((wait == WaitClass::MAYBE_COMPLETE || waits_as_observed) &&
                                      (stream.kind == StreamKind::LEGACY || stream.kind == StreamKind::PER_THREAD));
    const bool at_once =
        operation.kind == OperationKind::LAUNCH && wait == WaitClass::AT_ONCE && before != LastKernel::nothing;
    if (at_once) {
        begin_at_once(process, thread, stream, before, placed);
    } else if (operation.kind == OperationKind::LAUNCH) {
        stream.last_kernel = LastKernel::ordinary;
        stream.kernel_from = ahead;
    }
    const auto of_pageable_memory = [&](const Reference& reference) {
        const std::uint32_t at = process.allocations.named_by(reference.address, reference.generation);
        return at != none && pageable(process.allocations[at].kind);
    };
    const auto is_written_there = [&](const Reference& reference) {
        const std::uint32_t at =
            waits_as_observed ? process.allocations.named_by(reference.address, reference.generation) : none;
        if (at == none) return false;
        // Memory that is gone is judged with the rest: what the host learns by the copy's wait is behind that.
        const Allocation& target = process.allocations[at];
        return pageable(target.kind) && !target.marks.registered && target.live();
    };
    const bool used_host = uses_host_;
    for (const Reference& reference : references_) {
        if (at_once && !reference.behind) continue;
        if (is_written_there(reference)) continue;
        // A staged copy has read its pageable source when it returns.
        const bool staged = wait == WaitClass::BEFORE && of_pageable_memory(reference);
        use(process, thread, staged ? nullptr : &stream, own, reference, placed, settled);
    }
    if (!host_sides_.empty()) [[unlikely]]
        judge_host_sides(process, timeline(thread), own, placed);
    if (waits_as_observed) {
        observe_copy(thread, stream, placed);
        // Whether the copy has written is the very question of who reads pageable memory behind it (SS108): the host
        // does not know this point.
        const Placed written{operation, own.advance()};
        for (const Reference& reference : references_) {
            if (is_written_there(reference)) use(process, thread, &stream, own, reference, written, settled);
        }
    }
    // What the host waits for itself it cannot meet.
    if (wait == WaitClass::COMPLETE) uses_host_ = used_host;
    if (!others.contexts.empty()) [[unlikely]]
        copy_before(others, stream);
    stream.work = placed;
    stream.has_work = true;
    process.worker = stream.index;
    launched_ |= operation.kind == OperationKind::LAUNCH;
    // Of a recorded body it is seen whom it tells.
    const bool body_seen = recording_ && slot.object != 0;
    if (operation.kind == OperationKind::HOST_FUNCTION && !body_seen) process.host_function = operation.sequence;
    const bool unseen_value =
        operation.kind == OperationKind::STREAM_MEMORY_OP && !value_operation(slot, process, stream, placed);
    if (!has_body && recording_ && (operation.kind == OperationKind::HOST_FUNCTION || unseen_value)) {
        // A body that was not seen to begin, or a value that the host may poll, tells anybody that the stream got so
        // far.
        own.released = true;
        run_order_.tell_unseen(thread, own);
    }
    // In a recording a body's thread says what it knows by the order of its calls.
    if (has_body && !recording_) add_body(stream, slot.object);
    leave(stream);
    if (wait == WaitClass::COMPLETE) wait_for_stream(host, stream, process);
    if (wait == WaitClass::COMPLETE || wait == WaitClass::BEFORE) process.unknown_awaited = process.unknown_work;
}

void Engine::judge_host_sides(Process& process, const Timeline& host, const Timeline& own, const Placed& copy) {
    for (const Reference& side : host_sides_) {
        if (side.size == 0 || side.address > UINT64_MAX - side.size) continue;
        const std::uint64_t end = side.address + side.size;
        const Operation later = copy.operation.as_use(side.mode, bit(SlotFlag::TOUCHES));
        for (const HostSide& each : process.host_sides.list()) {
            const Operation& earlier = each.copy.operation;
            if (each.end <= side.address || end <= each.begin || (later.reads_only() && earlier.reads_only())) continue;
            if (earlier.sequence == later.sequence || verdict(own.clock, each.copy.epoch) != Verdict::unordered)
                continue;
            Fact fact(RuleCode::UNORDERED_CONFLICT,
                      later.writes() && earlier.writes() ? FactVariant::CONFLICT_WRITE_WRITE
                                                         : FactVariant::CONFLICT_READ_WRITE,
                      later);
            fact.with(RelatedRole::USE, earlier);
            fact.assumed = later.assumed() || earlier.assumed();
            report(fact);
        }
        process.host_sides.add({side.address, end, {later, copy.epoch}}, host.clock);
    }
}

void Engine::reach_function(std::uint64_t key, Timeline& stream) {
    // What is promised is that all before the function is done when its body begins. It ends after its body has, so
    // whom the body tells something is not told that: a wait for the stream still has something to wait for.
    keys_.at(key).clock.join(stream.clock, edges_.in(EdgeKind::stream_to_body, contract_edge));
    stream.released = true;
}

void Engine::pass_function(std::uint64_t key, Timeline& stream, Epoch function) {
    // Often to tell is the last that a body does, and its data are given up then: that is not promised, and no finding.
    SyncKey& found = keys_.at(key);
    found.clock.join(stream.clock, edges_.in(EdgeKind::body_to_told, run_edge));
    found.function = function;
    stream.released = true;
}

void Engine::use(Process& process, Thread& thread, const Stream* stream, const Timeline& own,
                 const Reference& reference, Placed placed, bool settled) {
    if (reference.polls()) return;
    const std::uint32_t index = process.allocations.named_by(reference.address, reference.generation);
    if (index == none) return;
    Allocation& allocation = process.allocations[index];
    note_other_use(process, index, placed.operation.kind, reference.mode);
    placed.operation = placed.operation.as_use(reference.mode, reference.flags);
    if (reference.assumed) placed.operation.flags |= bit(SlotFlag::ASSUMED);
    if (allocation.kind == MemoryKind::POOL_BLOCK && may_be_end(process, reference, allocation))
        placed.operation.flags |= bit(SlotFlag::ASSUMED);
    if (allocation.is_not_of(reference.generation)) {
        use_stale(index, placed);
        return;
    }
    if (allocation.kind == MemoryKind::GRAPH) {
        const Clock& clock = stream == nullptr ? timeline(thread).clock : own.clock;
        if (!admit_graph_memory(process, index, clock, stream, placed.operation, FactVariant::GRAPH_USE)) return;
        if (stream != nullptr && allocation.live()) graphs_.note_outside_use(process, index);
    }
    Access access = access_by(placed.operation, reference);
    if (!allocation.live()) {
        const Part part = access.part();
        use_freed(process, thread, stream, index, {access.operation, placed.epoch}, &part);
        return;
    }
    // What the host did itself is over when its call returns: its own later frees are behind it.
    if (stream == nullptr) return;
    if (!process.mapped.empty()) [[unlikely]] {
        // A map reads what it maps itself.
        const bool maps = placed.operation.kind == OperationKind::COPY && references_.size() == 1 && access.exact() &&
                          access.operation.reads_only();
        if (!maps) judge_mapped(process, allocation, reference, access);
    }
    const bool in_order = allocation.kind == MemoryKind::STREAM_ORDERED || allocation.kind == MemoryKind::CL_MAPPED;
    const bool ordered = !in_order || allocation.marks.assumed || own.clock.knows(allocation.made_at, contract) ||
                         check_after_alloc(process, allocation, *stream, own.clock, access);
    // Nearly always all that is kept is of this stream. But kernels that begin at once share a timeline, and know
    // nothing of each other.
    bool others = own.slot != stream->timeline || allocation.more_uses != none || allocation.marks.baked ||
                  allocation.has_earlier();
    for (std::uint8_t i = 0; i < allocation.inline_uses; ++i) others |= allocation.uses[i].epoch.slot != own.slot;
    if (ordered && others) judge_conflicts(process, allocation, *stream, own.clock, access);
    if (allocation.kind == MemoryKind::POOL_BLOCK) judge_reuse(process, allocation, *stream, own.clock, access);
    if (allocation.marks.baked) graphs_.note_baked_use(process, index);
    if (requirements_) {
        graphs_.each_pending(process, allocation, [&](const Placed& earlier, const Part& part) {
            const bool read = access.operation.reads_only() && earlier.operation.reads_only();
            const bool conflict = !read && !never_meet(access, {earlier.operation, part});
            if (conflict && earlier.operation.sequence != placed.operation.sequence &&
                !own.clock.knows(earlier.epoch, contract)) {
                require(Unmet::Sort::use_use, earlier.operation.sequence, placed.operation.sequence);
            }
        });
    }
    uses_host_ |=
        host_side(allocation.kind) || allocation.kind == MemoryKind::MANAGED || allocation.kind == MemoryKind::SVM;
    if (host_side(allocation.kind)) {
        if (settled) access.operation.flags = static_cast<std::uint8_t>(access.operation.flags & ~touches_bit);
        if (bounded_extent(placed.operation.kind)) access.end = end_of(reference, allocation);
    } else if (settled) {  // no later use conflicts with it for sure
        access.end = 0;
        access.rows = nullptr;
        access.operation.flags = static_cast<std::uint8_t>(access.operation.flags & ~(touches_bit | atomic_or_strided));
    }
    process.allocations.keep_use(allocation, access, placed.epoch, own.clock);
}

void Engine::use_stale(std::uint32_t index, const Placed& use) {
    Process& process = *processes_[threads_[use.operation.thread].process];
    const Previous* previous = process.allocations.previous(index);
    Allocation& allocation = process.allocations[index];
    if (previous == nullptr || allocation.marks.use_reported) return;
    allocation.marks.use_reported = !(recording_ && use.operation.assumed());
    Fact fact(RuleCode::USE_AFTER_FREE, FactVariant::AFTER_FREE, use.operation);
    fact.with(RelatedRole::ALLOC, previous->made)
        .with(RelatedRole::FREE, previous->freed)
        .with(RelatedRole::OWNER, allocation.made);
    fact.assumed = use.operation.assumed();
    fact.rests_on = previous->freed.thread == use.operation.thread ? EdgeClass::CONTRACT : EdgeClass::RUN;
    report(fact);
}

namespace {

/// Whether a use of a freed address is of what lies there now: the driver looks at a copy's addresses, and refuses
/// those of memory that was given back. Where it takes one, it is mostly the host's own: what a free gives back to the
/// system, malloc may get.
bool is_of_other_memory(const Allocation& freed, const Operation& use) {
    const bool checked =
        freed.kind == MemoryKind::PLAIN && freed.freed_by == static_cast<std::uint8_t>(FreeClass::DEVICE);
    return checked && use.kind == OperationKind::COPY && use.status == 0;
}

}  // namespace

void Engine::use_freed(Process& process, Thread& thread, const Stream* stream, std::uint32_t index, const Placed& use,
                       const Part* part) {
    Allocation& allocation = process.allocations[index];
    if (recording_ && is_of_other_memory(allocation, use.operation)) return;
    // Unregistered host memory is host memory still.
    if (allocation.marks.use_reported || allocation.kind == MemoryKind::REGISTERED) return;
    const Placed by_host = allocation.uses[0];
    // A command that was enqueued before the release holds what it uses; it may have waited for a user event since.
    const bool deferred = allocation.freed_by == static_cast<std::uint8_t>(FreeClass::CL_RELEASE);
    if (deferred && use.operation.sequence < by_host.operation.sequence) return;
    const Placed by_stream = allocation.uses[1];
    const bool asynchronous = by_stream.epoch.tick != 0;
    const bool reset = allocation.freed_by == ended_by_reset;
    Verdict order = verdict(timeline(thread).clock, by_host.epoch);
    // In the free's own stream, or behind it, but no host thread's order says that it had to be so.
    const bool behind = stream != nullptr && asynchronous && timeline(*stream).clock.knows(by_stream.epoch, credited);
    if (order == Verdict::unordered && behind) order = Verdict::run;
    const StreamName& name = names_[use.operation.stream_name];
    const bool assumed =
        use.operation.assumed() || by_host.operation.assumed() || allocation.marks.assumed || name.assumed;
    if (order == Verdict::unordered && reset) return;  // SS106 says that another thread may be using the device
    // A use that may not have happened does not speak for the next one, which has.
    allocation.marks.use_reported = !(recording_ && use.operation.assumed());
    if (order == Verdict::unordered) {
        const auto family = static_cast<FreeClass>(allocation.freed_by);
        Fact fact(free_code(family), free_variant(family), by_host.operation, allocation);
        fact.with(RelatedRole::USE, use.operation);
        if (part != nullptr) fact.touches[1] = touch_of({use.operation, *part});
        fact.assumed = assumed;
        fact.may_be_equal = equal_streams(stream, by_host.operation.stream_name);
        report(fact);
        return;
    }
    Fact fact(RuleCode::USE_AFTER_FREE, asynchronous ? FactVariant::AFTER_ASYNC_FREE : FactVariant::AFTER_FREE,
              use.operation, allocation);
    fact.with(reset ? RelatedRole::RESET : RelatedRole::FREE, by_host.operation);
    if (part != nullptr) fact.touches[0] = touch_of({use.operation, *part});
    // The host's allocator may have the pages of freed pinned memory again, for memory of its own: a recording does not
    // tell.
    const bool pageable_now = recording_ && allocation.kind == MemoryKind::PINNED;
    fact.assumed |= by_host.operation.assumed() || allocation.marks.assumed || pageable_now;
    fact.rests_on = resting_on(order);
    report(fact);
}

void Engine::judge_refused_use(Process& process, Thread& thread, const Operation& operation) {
    using enum OperationKind;
    static constexpr Kinds with_operands = {COPY, MEMSET, PREFETCH, LAUNCH, GRAPH_INSTANTIATE};
    if (operation.status != status::invalid_value || !with_operands.has(operation.kind)) return;
    const Clock& clock = timeline(thread).clock;
    for (const Reference& reference : references_) {
        const std::uint32_t index = process.allocations.named_by(reference.address, reference.generation);
        if (index == none) continue;
        Allocation& allocation = process.allocations[index];
        if (allocation.is_not_of(reference.generation) || allocation.live() || allocation.kind == MemoryKind::GRAPH ||
            pageable(allocation.kind))
            continue;
        const Verdict order = verdict(clock, allocation.uses[0].epoch);
        if (order == Verdict::unordered) continue;
        if (operation.kind == GRAPH_INSTANTIATE) {
            report_refused_graph(allocation, operation, resting_on(order));
            continue;
        }
        Operation attempt = operation.as_use(reference.mode, reference.flags);
        // The driver does not look at what a kernel is given: the launch failed for another reason.
        if (reference.assumed || operation.kind == LAUNCH) attempt.flags |= bit(SlotFlag::ASSUMED);
        use_freed(process, thread, nullptr, index, {attempt, {}});
    }
}

void Engine::report_refused_graph(Allocation& allocation, const Operation& operation, EdgeClass rests_on) {
    if (allocation.marks.use_reported) return;
    const bool reset = allocation.freed_by == ended_by_reset;
    const Operation& end = allocation.uses[0].operation;
    Fact fact(RuleCode::GRAPH_STALE_POINTER, reset ? FactVariant::STALE_RESET : FactVariant::STALE_FREED, operation,
              allocation);
    fact.with(reset ? RelatedRole::RESET : RelatedRole::FREE, end);
    // A pool may hold the memory of a free in a stream for long, and the host's allocator that of pinned memory.
    const bool kept = allocation.uses[1].epoch.tick != 0 || allocation.kind == MemoryKind::PINNED;
    fact.assumed |= kept || end.assumed() || allocation.marks.assumed;
    fact.rests_on = rests_on;
    allocation.marks.use_reported = !fact.assumed;
    report(fact);
}

void Engine::learn_by_polling(Timeline& host, const Process& process, const Allocation& allocation) {
    process.allocations.each_use(allocation, [&](const Placed& use, const Part&) {
        const bool kernel = use.operation.kind == OperationKind::LAUNCH && !use.operation.reads_only();
        if (!kernel || host.clock.knows(use.epoch, contract)) return;
        Clock told;
        told.set(use.epoch.slot, Lanes{use.epoch.tick, use.epoch.tick, use.epoch.tick, use.epoch.tick});
        host.learn(told, edges_.in(EdgeKind::unseen_teller, run_edge));
        timeline(use.epoch.slot).released = true;
    });
}

bool Engine::check_after_alloc(const Process& process, const Allocation& allocation, const Stream& stream,
                               const Clock& clock, const Access& use) {
    require(Unmet::Sort::alloc_use, allocation.made.sequence, use.operation.sequence);
    const Verdict order = verdict(clock, allocation.made_at);
    if (order == Verdict::run || (order == Verdict::unseen && allocation.marks.escaped)) return true;
    Fact fact(order == Verdict::observed ? RuleCode::RELIES_ON_IMPLICIT_SYNC : RuleCode::USE_BEFORE_ALLOC,
              FactVariant::NONE, use.operation, allocation);
    fact.touches[0] = touch_of(use);
    add_doubts(fact, process, order, &stream, allocation.made);
    if (order == Verdict::observed) fact.variant = name_wait(fact, allocation.made_at, clock);
    report(fact);
    return false;
}

void Engine::host_access(Thread& thread, Process& process, const Operation& operation) {
    Timeline& host = timeline(thread);
    const Epoch here = host.advance();
    for (const Reference& reference : references_) {
        const std::uint32_t index = process.allocations.named_by(reference.address, reference.generation);
        if (index == none) continue;
        const Allocation& allocation = process.allocations[index];
        if (allocation.kind == MemoryKind::GRAPH &&
            !admit_graph_memory(process, index, host.clock, nullptr, operation, FactVariant::GRAPH_USE)) {
            continue;
        }
        if (allocation.live()) {
            if (allocation.kind == MemoryKind::CL_MAPPED) judge_unmapped_host(allocation, host.clock, operation);
            if (reference.mode == AccessMode::READ && polls(allocation, reference, recording_))
                learn_by_polling(host, process, allocation);
            judge_host_access(process, allocation, reference, host.clock, operation);
        } else if (!pageable(allocation.kind)) {
            use_freed(process, thread, nullptr, index, {operation, here});
        }
    }
}

void Engine::host_clock(Thread& thread, Process& process, const Operation& operation) {
    if (!requirements_) return;
    // What is timed is the work itself: it is meant to be complete, though nobody reads what it wrote.
    const Clock& known = timeline(thread).clock;
    contexts_.each_of(process, [&](std::uint32_t context) {
        for (const std::uint32_t index : contexts_[context].streams) {
            const Stream& stream = *streams_[index];
            if (stream.has_work && !known.knows(stream.work.epoch, contract))
                require(Unmet::Sort::device_host, stream.work.operation.sequence, operation.sequence);
        }
    });
}

void Engine::judge_host_access(Process& process, const Allocation& allocation, const Reference& reference,
                               const Clock& clock, const Operation& operation) {
    const bool reads = reference.mode == AccessMode::READ;
    const std::uint64_t end = end_of(reference, allocation);
    Access own{operation, {reference.address}};
    own.operation.flags = reference.flags;
    own.reach(reference.size, reference.rows);
    own.operation.flags = static_cast<std::uint8_t>(
        (own.operation.flags & (exact_extent(operation.kind) ? reference_bits : touches_bit)) | touches_bit |
        static_cast<std::uint8_t>(reference.mode));
    // Nobody knows where in the memory it is: only what takes all of that surely meets it.
    const bool anywhere = operation.assumed();
    if (anywhere) own.operation.flags = static_cast<std::uint8_t>(own.operation.flags & ~touches_bit);
    Operation told = operation;
    told.flags = static_cast<std::uint8_t>(told.flags & ~bit(SlotFlag::ASSUMED));
    const Epoch body = threads_[operation.thread].body;
    const auto judge = [&](const Placed& use, const Part& part, bool bulk, const Operation* node = nullptr) {
        if (reads && use.operation.reads_only()) return;
        if (part.end != 0 && (part.end <= reference.address || end <= part.begin)) return;
        Access used{use.operation, part};
        used.node = node;
        const bool in_rows = own.exact() && used.exact() && (own.rows != nullptr || used.rows != nullptr);
        const Meeting rows_meet = in_rows ? meeting_of(own.touched(), used.touched()) : Meeting::unclear;
        if (rows_meet == Meeting::never) return;
        if (clock.knows(use.epoch, contract)) return;
        // The body of a host function: that function itself, and what waits behind it on its stream.
        if (body.tick != 0 && use.epoch.slot == body.slot && use.epoch.tick >= body.tick) return;
        // So do kernels of its stream that begin at once; those before it are known to be over.
        if (body.tick != 0 && timelines_[use.epoch.slot].beside == body.slot) return;
        require(Unmet::Sort::device_host, use.operation.sequence, operation.sequence);
        // Memory that an unknown caller passes is the host's if the host touches it; whether it is pinned nobody knows.
        const bool callers = allocation.kind == MemoryKind::UNKNOWN && use.operation.kind == OperationKind::COPY;
        const bool managed = allocation.kind == MemoryKind::MANAGED || allocation.kind == MemoryKind::SVM;
        if (!(host_side(allocation.kind) || managed || callers)) return;
        Beside beside = bulk ? Beside::meant : beside_kernel(allocation, own, used);
        // Nobody sees in a recording whether the host's access is one by which the two talk.
        if (recording_ && beside == Beside::sure && !managed) beside = Beside::likely;
        if (!bulk && beside == Beside::meant) return;
        // Pages of managed memory may move while the host uses them, and a host function says how it shares them.
        if (managed && bounded_extent(use.operation.kind)) return;
        const Verdict order = verdict(clock, use.epoch);
        if (order == Verdict::run || (order == Verdict::unseen && allocation.marks.escaped)) return;
        Fact fact(order == Verdict::observed ? RuleCode::RELIES_ON_IMPLICIT_SYNC : RuleCode::HOST_BUFFER_IN_FLIGHT,
                  reads ? FactVariant::HOST_READ : FactVariant::HOST_WRITE, told, allocation);
        fact.with(RelatedRole::USE, use.operation);
        const bool takes_all = used.plain() && allocation.size != 0 && part.begin <= reference.address &&
                               part.end >= allocation.end() && part.rows == nullptr;
        const bool unknown_mode = reads && use.operation.mode() == AccessMode::OPAQUE;
        // An access of unknown extent surely touches its first byte, and perhaps what lies behind it.
        const bool may_not_reach = reference.size == 0 && part.end != 0 && reference.address < part.begin;
        const bool gaps = used.strided() || own.strided() || in_rows || used.rows != nullptr;
        const bool known_rows = rows_meet == Meeting::meet && used.plain() && own.plain();
        const bool between_rows = gaps && !known_rows && !own.touches(part.begin) && !used.touches(own.begin);
        add_doubts(fact, process, order, nullptr, use.operation);
        if (order == Verdict::observed) name_wait(fact, use.epoch, clock);
        fact.assumed |= callers || may_not_reach || between_rows || use.operation.assumed() ||
                        allocation.marks.assumed || unknown_mode || (anywhere && !takes_all);
        if (!bulk) {
            fact.likely = beside == Beside::likely && !fact.assumed;
            fact.assumed |= beside != Beside::sure;
        }
        fact.touches = {touch_of(own), touch_of(used)};
        report(fact);
    };
    const auto judge_kept = [&](const Placed& use, Part part) {
        const bool bulk = forbids_host_access(use.operation, part.end);
        if (part.end == 0 && host_side(allocation.kind) && bulk) part.end = allocation.end();
        judge(use, part, bulk);
    };
    process.allocations.each_use(allocation, judge_kept);
    process.allocations.each_earlier(allocation, judge_kept);
    if (!allocation.marks.baked) return;
    // The body of a graph's host function runs on a thread that asks nothing of the API, and nobody sees it begin: the
    // access may be its own, behind what comes before the function in the graph.
    const bool may_be_body = recording_ && threads_[operation.thread].last_call.sequence == 0;
    graphs_.each_launch(process, allocation, [&](const GraphExec& exec, const Baked& baked) {
        for (const BakedAccess& each : baked.accesses) {
            if (each.before_host && may_be_body) continue;
            const Access use = launched(each.access, exec.last.operation);
            if (each.bulk || !each.host) judge({use.operation, exec.last.epoch}, use.part(), each.bulk, use.node);
        }
    });
}

}  // namespace streamsan::order
