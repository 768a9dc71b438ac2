// Resets and destructions of contexts against other threads' calls (SS106): a recording tells by times, a source by its
// order.
#include <algorithm>

#include "engine.hpp"

namespace streamsan::order {
namespace {

constexpr std::uint64_t never = UINT64_MAX;

/// Whether a call needs the device, so that it should not run while the device is reset.
bool uses_device(OperationKind kind) {
    using enum OperationKind;
    return kind != CALL && kind != ALLOC_ATTRIBUTE && kind != CONTEXT_CURRENT && kind != HOST_ACQUIRE &&
           kind != HOST_RELEASE;
}

/// What a call gets whose context was taken away: deinitialized, invalid context, context is destroyed.
bool context_is_gone(std::int16_t status) {
    return status == status::deinitialized || status == status::invalid_context ||
           status == status::context_is_destroyed;
}

/// The moment at which a call had surely not returned yet; 0 when that is not known.
std::uint64_t surely_runs_until(const Slot& slot) {
    if (slot.time == 0) return 0;
    if (slot.status == status_unknown) return never;
    const std::uint64_t least = least_nanoseconds(slot.duration);
    return slot.duration == 0 || slot.time > never - least ? 0 : slot.time + least;
}

}  // namespace

void Engine::note_times(const Slot& slot, Thread& thread) const {
    thread.call_ends = uses_device(static_cast<OperationKind>(slot.kind)) ? surely_runs_until(slot) : 0;
}

void Engine::leave_context(const Thread& thread, const Process& process, std::uint16_t index) {
    const std::uint32_t left = thread.call_context == none ? process.default_context : thread.call_context;
    if (left == none) return;
    std::vector<FormerUse>& uses = contexts_[left].former_uses;
    const auto mine =
        std::find_if(uses.begin(), uses.end(), [&](const FormerUse& each) { return each.thread == index; });
    const FormerUse use{index, {thread.timeline, thread.call_tick}, thread.last_call};
    if (mine == uses.end()) uses.push_back(use);
    else *mine = use;
}

bool Engine::in_context(const Thread& thread, std::uint32_t context) const {
    const std::uint32_t current = thread.call_tick == 0 ? thread.context : thread.call_context;
    return current == context || (current == none && processes_[thread.process]->default_context == context);
}

void Engine::begin_teardown(const Slot& slot, Thread& thread, std::uint32_t context, const Operation& operation,
                            bool said) {
    constexpr std::size_t most_teardowns = 16;
    Process& process = *processes_[thread.process];
    if (process.teardowns.size() >= most_teardowns) process.teardowns.erase(process.teardowns.begin());
    const std::uint64_t ends = surely_runs_until(slot);
    process.teardowns.push_back({operation, timeline(thread).advance(), context, slot.time, ends, said});
    if (!recording_) return;
    for (Thread& other : threads_) {
        if (&other == &thread || other.process != thread.process || other.call_tick == 0 || !in_context(other, context))
            continue;
        // Its latest call had not returned when this one began.
        if (slot.time != 0 && other.call_ends > slot.time)
            witness_teardown(process.teardowns.back(), other, other.last_call);
    }
}

void Engine::witness_teardown(Teardown& teardown, Thread& other, const Operation& call) {
    other.orphaned = true;
    if (teardown.said) return;
    teardown.said = true;
    Fact fact(RuleCode::RESET_RACES_WORK, FactVariant::OTHER_THREAD, teardown.operation);
    fact.with(RelatedRole::USE, call);
    report(fact);
}

void Engine::judge_late_call(const Thread& thread, Process& process, const Operation& operation) {
    if (!uses_device(operation.kind)) return;
    const std::uint32_t current = thread.context == none ? process.default_context : thread.context;
    for (Teardown& each : process.teardowns) {
        if (each.said || each.operation.thread == operation.thread || each.context != current) continue;
        if (timeline(thread).clock.knows(each.at, credited)) continue;
        each.said = true;
        Fact fact(RuleCode::RESET_RACES_WORK, FactVariant::OTHER_THREAD, each.operation);
        fact.with(RelatedRole::USE, operation);
        fact.assumed = operation.assumed();
        report(fact);
    }
}

bool Engine::follows_from_teardown(const Slot& slot, Thread& thread, Process& process, const Operation& operation) {
    if (!recording_) {
        judge_late_call(thread, process, operation);
        return false;
    }
    const bool failed = operation.failed();
    for (Teardown& each : process.teardowns) {
        if (each.operation.thread == slot.thread || !in_context(thread, each.context)) continue;
        const bool overlaps = uses_device(operation.kind) && slot.time != 0 && each.begins != 0 &&
                              slot.time < each.ends && surely_runs_until(slot) > each.begins;
        const bool finds_it_gone = failed && thread.call_tick != 0 && !thread.orphaned && context_is_gone(slot.status);
        if (overlaps || finds_it_gone) witness_teardown(each, thread, operation);
    }
    const bool begins_anew = operation.kind == OperationKind::STREAM_CREATE || operation.kind == OperationKind::ALLOC;
    if (!failed && begins_anew) thread.orphaned = false;
    return failed && thread.orphaned;
}

}  // namespace streamsan::order
