// What only a recording has: calls that never returned.
#include "engine.hpp"

namespace streamsan::order {

bool Engine::arrive(const Slot& slot, Thread& thread) {
    run_order_.go_on(slot.thread);
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
        if (thread.callback.sequence != 0) judge_callback(entered, thread, operation);
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

}  // namespace streamsan::order
