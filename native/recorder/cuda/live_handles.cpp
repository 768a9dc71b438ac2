#include "recorder/cuda/live_handles.hpp"

#include <map>

#include "recorder/cuda/handlers.hpp"

namespace streamsan::recorder::cuda {
namespace {

EndedHandles* graphs_ended = new EndedHandles;
EndedHandles* graph_execs_ended = new EndedHandles;
EndedHandles* pools_ended = new EndedHandles;

void write_again(Lane& lane, const Slot& slot) {
    Slot* const again = lane.reserve(0);
    if (again == nullptr) return;
    *again = slot;
    again->api = 0;  // a state that was told again, and no call: nothing is asked of its order or place
    lane.commit();
}

}  // namespace

LiveHandles& live_contexts() {
    static LiveHandles& contexts = *new LiveHandles;
    return contexts;
}

LiveHandles& live_streams() {
    static LiveHandles& streams = *new LiveHandles;
    return streams;
}

LiveHandles& live_events() {
    static LiveHandles& events = *new LiveHandles;
    return events;
}

LiveHandles& event_records() {
    static LiveHandles& records = *new LiveHandles;
    return records;
}

EndedHandles& ended_graphs() { return *graphs_ended; }
EndedHandles& ended_graph_execs() { return *graph_execs_ended; }
EndedHandles& ended_pools() { return *pools_ended; }

LiveHandles& current_contexts() {
    static LiveHandles& current = *new LiveHandles;
    return current;
}

void restate_handles(Lane& lane) {
    // A stream belongs to the context that was current when it was made, so that is said again too, once.
    std::map<std::uint64_t, Slot> slots;
    const LiveHandles* const sorts[] = {&live_contexts(), &live_streams(), &live_events(), &event_records(),
                                        &current_contexts()};
    for (const LiveHandles* const sort : sorts) {
        sort->each([&](std::uint64_t, const LiveHandle& live) {
            slots.insert_or_assign(live.slot.sequence, live.slot);
            if (live.current.sequence != 0) slots.insert_or_assign(live.current.sequence, live.current);
        });
    }
    for (const auto& [sequence, slot] : slots) write_again(lane, slot);
}

void handles_after_fork() {
    live_contexts().forget_after_fork();
    live_streams().forget_after_fork();
    live_events().forget_after_fork();
    event_records().forget_after_fork();
    current_contexts().forget_after_fork();
    graphs_ended = new EndedHandles;
    graph_execs_ended = new EndedHandles;
    pools_ended = new EndedHandles;
}

}  // namespace streamsan::recorder::cuda
