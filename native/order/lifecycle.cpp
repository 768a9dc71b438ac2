// Contexts, resets, leaks, exits.
#include "engine.hpp"

namespace streamsan::order {

void Engine::context_current(const Slot& slot, Thread& thread, Process& process, const Operation& operation) {
    if (slot.object == 0) {
        thread.context = none;
        return;
    }
    const std::uint32_t index = contexts_.named(process, slot.object);
    if (contexts_.admit(index, operation)) thread.context = index;
}

void Engine::context_end(const Slot& slot, Thread& thread, Process& process, const Operation& operation) {
    const std::uint32_t index = contexts_.named_or_current(process, thread, slot.object);
    Context& context = contexts_[index];
    if (!contexts_.admit(index, operation)) return;
    if (context.kind == ContextKind::CL) {
        close_context(thread, process, index, operation);
        return;
    }
    const bool said = process.broken || judge_teardown(thread, index, operation, false);
    process.broken = false;
    begin_teardown(slot, thread, index, operation, said);
    observe_context(thread, slot.thread, index);  // this driver waits; the documentation says "immediately"
    const Placed by_host{operation, timeline(thread).advance()};
    context.ended = operation;
    // Default streams come back with the context; the handles of all others are gone.
    const std::vector<std::uint32_t> streams = context.streams;
    for (const std::uint32_t each : streams) {
        Stream& stream = *streams_[each];
        stream.has_work = false;
        stream.has_free = false;
        if (stream.kind != StreamKind::LEGACY && stream.kind != StreamKind::PER_THREAD) end_stream(each, operation);
        else stream.context_epoch = context.epoch + 1;
    }
    context.leftovers.clear();
    ++context.epoch;
    context.dead = operation.kind == OperationKind::CONTEXT_DESTROY && context.kind == ContextKind::CREATED;
    end_memory(process, index, by_host);
    graphs_.report_leaks(process, handles_, operation, false);
    if (context.dead) {
        for (Thread& each : threads_) {
            if (each.context == index) each.context = none;  // destroying pops it
        }
        if (process.default_context == index) process.default_context = none;
    }
}

void Engine::close_context(const Thread& thread, const Process& process, std::uint32_t index,
                           const Operation& operation) {
    Context& context = contexts_[index];
    context.closed = true;
    context.ended = operation;
    // Whatever holds the context keeps it; else it is deleted, and commands may be ended (4.4).
    if (!context.streams.empty() || context.open_objects != 0 || process.open_objects != 0) return;
    bool held = false;
    events_.each_alive(
        [&](const Event& event) { held |= event.source != none && streams_[event.source]->context == index; });
    if (held) return;
    const Clock& known = timeline(thread).clock;
    Fact fact(RuleCode::RESET_RACES_WORK, FactVariant::PENDING_WORK, operation);
    fact.assumed = operation.assumed();
    for (const Leftover& leftover : context.leftovers) {
        if (leftover.has_work && verdict(known, leftover.work.epoch) == Verdict::unordered)
            fact.with(RelatedRole::USE, leftover.work.operation);
    }
    if (fact.related_count > 0) report(fact);
}

bool Engine::goes_with_context(const Allocation& allocation, std::uint32_t context) {
    if (!allocation.live() || allocation.context != context) return false;
    if (allocation.kind == MemoryKind::POOL_BLOCK) return true;
    // A variable dies with its module (E-01), and is there again, by its name, when the runtime loads the module anew;
    // a
    // __managed__ one lives (E-02). A use by name after a reset is no mistake.
    return dies_with_context(allocation.kind) && allocation.kind != MemoryKind::DEVICE_SYMBOL;
}

void Engine::end_memory(Process& process, std::uint32_t context, const Placed& by_host) {
    process.allocations.each([&](std::uint32_t index, Allocation& allocation) {
        if (!goes_with_context(allocation, context)) return;
        if (!process.allocations.has_blocks_in(allocation))
            report_leak(allocation, FactVariant::LEAK_AT_RESET, by_host.operation);
        if (allocation.marks.baked) graphs_.end_baked(process, index, by_host.operation, true);
        process.allocations.retire(index, ended_by_reset, by_host, {});
    });
}

void Engine::handle_use(const Slot& slot, Thread& thread, Process& process, Operation& operation) {
    switch (static_cast<HandleKind>(slot.detail)) {
        case HandleKind::STREAM:
            if (slot.object > per_thread_handle) stream_of(slot.object, thread, process, operation);
            return;
        case HandleKind::EVENT: event_of(slot.object, process, thread, operation); return;
        case HandleKind::CONTEXT:
            if (slot.object != 0) contexts_.admit(contexts_.named(process, slot.object), operation);
            return;
        default: handles_.admit(process, static_cast<HandleKind>(slot.detail), slot.object, operation); return;
    }
}

std::uint64_t& Engine::open_objects(Process& process, std::uint32_t context) {
    return context == none ? process.open_objects : contexts_[context].open_objects;
}

void Engine::handle_create(const Slot& slot, Process& process, const Operation& operation) {
    const auto kind = static_cast<HandleKind>(slot.detail);
    if (is_image_object(kind)) return;
    const bool holds = is_opencl_object(kind);
    const std::uint32_t context = holds ? process.contexts.find(slot.address) : none;
    handles_.create(process, kind, slot.object, context, operation);
    if (holds) ++open_objects(process, context);
    if (kind == HandleKind::GRAPH) process.allocations.keep_previous();
}

void Engine::handle_destroy(const Slot& slot, Process& process, const Operation& operation) {
    const auto kind = static_cast<HandleKind>(slot.detail);
    if (is_image_object(kind) || !handles_.admit(process, kind, slot.object, operation)) return;
    if (kind == HandleKind::GRAPH_EXEC) exec_destroyed(slot, process, operation);
    if (is_opencl_object(kind)) {
        std::uint64_t& open = open_objects(process, handles_.context_of(process, kind, slot.object));
        if (open > 0) --open;
    }
    handles_.destroy(process, kind, slot.object, operation);
}

void Engine::judge_stale(const Slot& slot, Thread& thread, Process& process, Operation& operation) {
    using enum OperationKind;
    switch (operation.kind) {
        case EVENT_DESTROY:
        case EVENT_RECORD:
        case EVENT_QUERY:
        case EVENT_ELAPSED:
            // That work is not done yet is an answer: the event is there.
            if (operation.status == status::not_ready || process.events.find(slot.object) != none)
                event_of(slot.object, process, thread, operation);
            break;
        case STREAM_WAIT_EVENT:
        case EVENT_SYNCHRONIZE:
            if (process.events.find(slot.object) != none &&
                event_of(slot.object, process, thread, operation) == nullptr) {
                wait_as_meant(slot, thread, process, operation);
            }
            break;
        case HANDLE_DESTROY:
            handles_.admit(process, static_cast<HandleKind>(slot.detail), slot.object, operation);
            return;
        case STREAM_DESTROY:
            if (slot.object > per_thread_handle && process.streams.find(slot.object) != none)
                stream_of(slot.object, thread, process, operation);
            return;
        case CONTEXT_CURRENT:
        case CONTEXT_DESTROY:
        case CONTEXT_SYNCHRONIZE:
            if (const std::uint32_t index = process.contexts.find(slot.object); index != none)
                contexts_.admit(index, operation);
            return;
        case HANDLE_USE: {
            const auto sort = static_cast<HandleKind>(slot.detail);
            const bool known = sort == HandleKind::STREAM    ? process.streams.find(slot.object) != none
                               : sort == HandleKind::EVENT   ? process.events.find(slot.object) != none
                               : sort == HandleKind::CONTEXT ? process.contexts.find(slot.object) != none
                                                             : true;
            if (known) handle_use(slot, thread, process, operation);
            return;
        }
        default: break;
    }
    const bool answers = operation.kind == STREAM_QUERY && operation.status == status::not_ready;
    if (slot.stream > per_thread_handle && (answers || process.streams.find(slot.stream) != none))
        stream_of(slot.stream, thread, process, operation);
}

bool Engine::judge_teardown(Thread& thread, std::uint32_t context_index, const Operation& operation, bool at_exit) {
    const Context& context = contexts_[context_index];
    const Clock& known = timeline(thread).clock;
    Fact work(RuleCode::RESET_RACES_WORK, at_exit ? FactVariant::AT_EXIT : FactVariant::PENDING_WORK, operation);
    Fact frees(RuleCode::RESET_RACES_WORK, FactVariant::PENDING_FREE, operation);
    work.assumed = frees.assumed = true;
    const auto look = [&](const Placed& pending, RelatedRole role, Fact& fact) {
        if (known.knows(pending.epoch, contract)) return;
        require(Unmet::Sort::teardown, pending.operation.sequence, operation.sequence);
        // What only an undocumented wait has finished was said at that wait (SS107); here it would be said again.
        if (known.knows(pending.epoch, all)) return;
        fact.with(role, pending.operation);
        fact.assumed = fact.assumed && (names_[pending.operation.stream_name].assumed || pending.operation.assumed() ||
                                        may_be_behind(*processes_[thread.process], nullptr, pending.operation));
    };
    for (const std::uint32_t index : context.streams) {
        const Stream& stream = *streams_[index];
        if (stream.has_work) look(stream.work, RelatedRole::USE, work);
        if (stream.has_free) look(stream.free, RelatedRole::FREE, frees);
    }
    for (const Leftover& leftover : context.leftovers) {
        if (leftover.has_work) look(leftover.work, RelatedRole::USE, work);
        if (leftover.has_free) look(leftover.free, RelatedRole::FREE, frees);
    }
    if (work.related_count == 0 && !at_exit) {
        // Its memory may be in use on streams of other contexts (W-05).
        Process& process = *processes_[thread.process];
        process.allocations.each([&](std::uint32_t, const Allocation& allocation) {
            if (!goes_with_context(allocation, context_index)) return;
            graphs_.each_pending(process, allocation,
                                 [&](const Placed& use, const Part&) { look(use, RelatedRole::USE, work); });
        });
    }
    if (work.related_count > 0) {
        report(work);
        return true;
    }
    if (at_exit) return false;
    const auto may_run = [&](Epoch call, const Operation& by) {
        if (known.knows(call, credited)) return false;
        Fact fact(RuleCode::RESET_RACES_WORK, FactVariant::OTHER_THREAD, operation);
        fact.with(RelatedRole::USE, by);
        report(fact);
        return true;
    };
    for (const Thread& other : threads_) {
        if (recording_) break;  // its times tell; see teardown.cpp
        if (&other == &thread || other.process != thread.process || other.call_tick == 0 || other.timeline == none)
            continue;
        const bool here = other.call_context == context_index ||
                          (other.call_context == none && processes_[other.process]->default_context == context_index);
        if (here && may_run({other.timeline, other.call_tick}, other.last_call)) return true;
    }
    for (const FormerUse& use : context.former_uses) {
        if (&threads_[use.thread] != &thread && may_run(use.at, use.call)) return true;
    }
    if (frees.related_count > 0) report(frees);
    return false;
}

void Engine::report_leak(Allocation& allocation, FactVariant variant, const Operation& operation) {
    switch (allocation.kind) {
        case MemoryKind::PLAIN:
        case MemoryKind::ARRAY:
        case MemoryKind::STREAM_ORDERED:
        case MemoryKind::MANAGED:
        case MemoryKind::CL_BUFFER:
        case MemoryKind::SVM:
        case MemoryKind::PINNED: break;
        default: return;
    }
    if (!allocation.live() || allocation.marks.lost || allocation.marks.escaped || allocation.marks.assumed ||
        allocation.marks.free_reported) {
        return;
    }
    allocation.marks.lost = true;
    // The main operation is the allocation: that is what has no free.
    const bool iteration = variant == FactVariant::LOST_ITERATION;
    Fact fact(iteration ? RuleCode::UNBALANCED_ALLOCATION : RuleCode::LEAK, variant, allocation.made, allocation);
    const bool lost = iteration || variant == FactVariant::LOST_SCOPE;
    fact.with(lost ? RelatedRole::OTHER : RelatedRole::RESET, operation);
    fact.assumed |= operation.assumed();
    report(fact);
}

void Engine::report_unreleased(const Process& process, const Operation& operation) {
    const auto unreleased = [&](const Operation& made) {
        if (made.kind == OperationKind{} || made.assumed() ||
            processes_[threads_[made.thread].process].get() != &process)
            return;
        Fact fact(RuleCode::LEAK, FactVariant::UNRELEASED, made);
        fact.with(RelatedRole::RESET, operation);
        report(fact);
    };
    contexts_.each_of(process, [&](std::uint32_t index) {
        const Context& context = contexts_[index];
        if (context.kind != ContextKind::CL) return;
        if (!context.closed && !context.dead) unreleased(context.made);
        for (const std::uint32_t stream : context.streams)
            if (streams_[stream]->alive) unreleased(streams_[stream]->made);
    });
    events_.each_alive([&](const Event& event) {
        const bool of_queue = event.source != none && streams_[event.source]->context != none &&
                              contexts_[streams_[event.source]->context].kind == ContextKind::CL;
        if (of_queue || event.user) unreleased(event.made);
    });
    handles_.each_alive([&](HandleKind kind, const Operation& made) {
        if (is_opencl_object(kind)) unreleased(made);
    });
}

void Engine::require_escape(Process& process, const Thread& thread, std::uint64_t sequence) {
    const Clock& known = timeline(thread).clock;
    process.allocations.each([&](std::uint32_t, const Allocation& allocation) {
        if (!allocation.live() || !(allocation.marks.assumed || allocation.marks.escaped)) return;
        graphs_.each_pending(process, allocation, [&](const Placed& use, const Part&) {
            if (!use.operation.reads_only() && !known.knows(use.epoch, contract)) {
                require(Unmet::Sort::escape, use.operation.sequence, sequence);
            }
        });
    });
}

}  // namespace streamsan::order
