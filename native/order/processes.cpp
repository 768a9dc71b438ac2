// Processes: main, fork, exit, calls outside main, code nobody can see.
#include "engine.hpp"

namespace streamsan::order {
bool Engine::admit_call(const Slot& slot, Thread& thread, Process& process, const Operation& operation) {
    if (process.forked && !process.fork_reported && shows_fork(slot, process)) {
        process.fork_reported = true;
        process.silenced = process.forked_from_initialised;
        Fact fact(RuleCode::USE_AFTER_FORK,
                  process.silenced ? FactVariant::CHILD_OF_INITIALISED : FactVariant::CHILD_OF_FRESH, operation);
        fact.with(RelatedRole::FORK, process.fork);
        fact.assumed = operation.assumed();
        report(fact);
    }
    if (process.silenced) {
        thread.last_call = operation;
        return false;
    }
    if (!process.main_begun || process.main_ended || operation.has(SlotFlag::OUTSIDE)) note_main(process, operation);
    if (slot.status == 0 || slot.status == status_unknown) process.initialised = true;
    // The thread's own clock is not advanced for every call: only what hands the thread's history on needs to see it.
    const Timeline& own = timeline(thread);
    if (thread.call_context != thread.context && thread.call_tick != 0 && !recording_)
        leave_context(thread, process, operation.thread);
    thread.call_tick = own.released ? own.tick + (own.tick < last_tick ? 1 : 0) : own.tick;
    thread.call_context = thread.context;
    thread.last_call = operation;
    const bool of_event =
        operation.kind == OperationKind::EVENT_CREATE || operation.kind == OperationKind::EVENT_RECORD;
    if (!of_event) thread.released.sequence = 0;
    if (recording_) note_times(slot, thread);
    return true;
}

bool Engine::shows_fork(const Slot& slot, const Process& process) const {
    // A child that runs another program (exec) initialises CUDA anew, and its calls succeed. One that goes on with its
    // parent's fails with 3 (W-07), or does not come back.
    if (!recording_ || !process.forked_from_initialised) return true;
    return slot.status == status::initialization_error || (slot.status == status_unknown && !process.initialised);
}

void Engine::note_main(Process& process, const Operation& operation) {
    if (operation.has(SlotFlag::OUTSIDE) || process.main_ended) {
        const bool after = process.main_ended || process.main_begun;
        report(
            Fact(RuleCode::CALL_OUTSIDE_MAIN, after ? FactVariant::AFTER_MAIN : FactVariant::BEFORE_MAIN, operation));
        return;
    }
    // Whether this is before main is known only when main begins, if it ever does.
    constexpr std::size_t most_sites = 4096;
    const std::uint64_t key = std::uint64_t{operation.site} << 16 | operation.api;
    if (process.before_main.size() < most_sites && process.before_main_sites.find(key) == none) {
        process.before_main_sites.set(key, 0);
        process.before_main.push_back(operation);
    }
}

void Engine::fork(const Slot& slot, Thread& thread, const Operation& operation) {
    Process& parent = *processes_[thread.process];
    for (const auto& candidate : processes_) {
        Process& child = *candidate;
        if (static_cast<std::uint64_t>(child.index) != slot.object || &child == &parent) continue;
        if (child.forked) {
            ++problems_;
            return;
        }
        child.forked = true;
        child.fork = operation;
        child.forked_from_initialised = parent.initialised || parent.forked_from_initialised;
        child.main_begun = parent.main_begun;
        child.whole = parent.whole;
        child.blind = parent.blind;
        child.inherited.assign(timeline(thread).clock);
        timeline(thread).released = true;
        return;
    }
    // A child that never does anything has no thread and needs no state.
}

void Engine::exit(const Slot& slot, Thread& thread, Process& process, const Operation& operation) {
    if (process.exited || slot.detail != static_cast<std::uint8_t>(ExitKind::NORMAL) || process.silenced) return;
    process.exited = true;
    if (recording_) {
        // Static destructors may run after this, and free what is alive here.
        process.ending = operation;
        process.ending_thread = operation.thread;
        return;
    }
    judge_exit(thread, process, operation);
}

void Engine::judge_exit(Thread& thread, Process& process, const Operation& operation) {
    if (process.broken) return;
    contexts_.each_of(process, [&](std::uint32_t index) { judge_teardown(thread, index, operation, true); });
    process.allocations.each([&](std::uint32_t, Allocation& allocation) {
        if (allocation.kind == MemoryKind::POOL_BLOCK) report_kept_block(process, allocation, operation);
        else if (!process.allocations.has_blocks_in(allocation))
            report_leak(allocation, FactVariant::LEAK_AT_EXIT, operation);
    });
    graphs_.report_leaks(process, handles_, operation, true);
    if (recording_) report_unreleased(process, operation);
    if (requirements_) require_escape(process, thread, operation.sequence);
}

Clock Engine::everything() {
    Clock clock;
    for (std::uint32_t slot = 0; slot < timelines_.size(); ++slot) {
        Timeline& each = timeline(slot);
        each.released = true;
        clock.set(slot, Lanes{0, each.tick, each.tick, each.tick});
    }
    return clock;
}

void Engine::opaque_call(Thread& thread, Process& process, const Operation& operation) {
    process.blind = true;
    ++process.opaque_version;
    process.opaque = everything();
    catch_up(thread, process);
    for (const Reference& reference : references_) {
        const std::uint32_t index = process.allocations.named_by(reference.address, reference.generation);
        if (index != none) process.allocations[index].marks.escaped = true;
    }
    if (requirements_) require_escape(process, thread, operation.sequence);
}

}  // namespace streamsan::order
