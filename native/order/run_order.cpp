// The order that a recording adds: one host thread's calls come after what others had done before. And what only a
// recording has: calls that never returned, and the driver's own words on calls that failed.
#include <algorithm>
#include <cstring>

#include "engine.hpp"

namespace streamsan::order {
namespace {

/// Errors after which no call of the process succeeds any more (until a reset).
bool stays(std::int16_t status) {
    // Uncorrectable ECC and NVLink errors, contained faults and launches that timed out are not in the platform's
    // table.
    return status::sticky(status) || status == 214 || status == 220 || status == 226 || status == 702;
}

}  // namespace

// Numbers are given when a call is entered, or when it returns where others can only then know of it. So the order of
// the numbers between threads holds wherever two calls do not overlap, and joins, mutexes and flags need not be
// recorded. All threads share one clock for it. What a thread has learned is put there when another one goes on, not
// before: a thread that goes on alone costs nothing.
void Engine::switch_thread(std::uint16_t index) {
    if (running_ != none) publish(threads_[running_]);
    running_ = index;
    Thread& thread = threads_[index];
    if (thread.run_version == run_version_) return;
    Timeline& own = timeline(thread);
    own.learn(run_, edges_.in(EdgeKind::run_order, run_edge));
    thread.run_version = run_version_;
    thread.published_version = own.version;  // what it has from there is there
}

void Engine::publish(Thread& thread) {
    Timeline& own = timeline(thread);
    if (own.version != thread.published_version) {
        run_.join(own.clock, run_edge);
    } else if (own.tick != thread.published_tick) {
        run_.set(own.slot, Lanes{own.tick, own.tick, own.tick, own.tick} & run_edge);
    } else {
        return;
    }
    own.released = true;
    thread.published_version = own.version;
    thread.published_tick = own.tick;
    thread.run_version = ++run_version_;
}

void Engine::tell_unseen(Thread& thread, const Timeline& teller) {
    run_.join(teller.clock, edges_.in(EdgeKind::unseen_teller, opaque_edge));
    ++run_version_;
    timeline(thread).learn(teller.clock, edges_.in(EdgeKind::unseen_teller, opaque_edge));
}

bool Engine::arrive(const Slot& slot, Thread& thread) {
    if (slot.thread != running_) switch_thread(slot.thread);
    if (thread.inside.sequence != 0) thread.inside = {};
    if ((slot.flags & bit(SlotFlag::ENTER)) == 0) return true;
    enter_only(slot, thread);
    return false;
}

void Engine::enter_only(const Slot& slot, Thread& thread) {
    using enum OperationKind;
    Slot entered = slot;
    entered.flags = static_cast<std::uint8_t>(entered.flags & ~bit(SlotFlag::ENTER));
    entered.status = status_unknown;
    entered.duration = 0;
    Process& process = *processes_[thread.process];
    Operation operation{
        slot.sequence, slot.site, 0, slot.api, slot.thread, status_unknown, static_cast<OperationKind>(slot.kind),
        entered.flags};
    // What it would have made has no name yet.
    static constexpr Kinds makes = {ALLOC,         STREAM_CREATE, EVENT_CREATE,      HANDLE_CREATE, CONTEXT_CREATE,
                                    CAPTURE_BEGIN, CAPTURE_END,   GRAPH_INSTANTIATE, GRAPH_UPDATE,  GRAPH_CLONE};
    if (waits_of_host.has(operation.kind)) {
        // What did not return has ordered nothing.
        if (admit_call(entered, thread, process, operation)) judge_stale(entered, thread, process, operation);
    } else if (makes.has(operation.kind)) {
        admit_call(entered, thread, process, operation);
    } else {
        const bool transfers = operation.kind == COPY || operation.kind == MEMSET || operation.kind == PREFETCH;
        if (transfers) entered.detail = static_cast<std::uint8_t>(WaitClass::NONE);
        perform(entered, thread);
    }
    thread.inside = operation;
}

std::vector<Operation> Engine::inside() const {
    std::vector<Operation> found;
    for (const Thread& thread : threads_) {
        if (thread.inside.sequence != 0 && !processes_[thread.process]->exited) found.push_back(thread.inside);
    }
    return found;
}

void Engine::note_status(Process& process, const Operation& operation) {
    if (stays(operation.status)) process.broken = true;
}

}  // namespace streamsan::order
