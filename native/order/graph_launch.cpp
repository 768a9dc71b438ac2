// Launches of executable graphs: one step each, that looks at what changed since the last one.
#include <algorithm>

#include "engine.hpp"

namespace streamsan::order {

void Engine::graph_launch(const Slot& slot, Thread& thread, Process& process, Operation& operation) {
    const bool failed = slot.status != 0 && slot.status != status_unknown;
    Slot handle = slot;
    handle.detail = static_cast<std::uint8_t>(HandleKind::GRAPH_EXEC);
    const std::uint32_t index = exec_by_handle(process, slot.object);
    if (index == none || !execs_[index]->alive) {
        if (!live_handle(handle, process, operation)) return;
    }
    GraphExec* const exec = index == none || !execs_[index]->alive ? nullptr : execs_[index].get();
    if (exec != nullptr && exec->changed) apply_changes(process, index);
    if (exec != nullptr) judge_relaunch(process, *exec, operation, failed);
    if (failed) {
        judge_stale(slot, thread, process, operation);
        return;
    }
    if (exec != nullptr && !exec->stale.empty()) report_stale(process, *exec, operation);
    const std::uint32_t stream_index = stream_of(slot.stream, thread, process, operation);
    if (stream_index == none) return;
    Stream& stream = *streams_[stream_index];
    operation.stream_name = stream.name;
    note_unknown(process, stream, operation);
    enter(stream, thread, slot.thread);
    Timeline& own = timeline(stream);
    if (exec != nullptr) {
        // Launches of one executable graph are ordered among themselves.
        if (exec->launches != 0) {
            if (exec->last.epoch.slot != own.slot)
                own.learn(exec->history, edges_.in(EdgeKind::launch_to_launch, contract_edge));
            own.learn(exec->last.epoch, edges_.in(EdgeKind::launch_to_launch, contract_edge));
        }
        for (const std::uint64_t event : exec->waits) join_event(process, own, event);
        if (!exec->dirty.empty()) look_at_changed(process, *exec, stream, operation);
        if (!exec->neighbours.empty()) look_at_neighbours(process, *exec, stream, operation);
        if (!exec->foreign.empty()) use_foreign_memory(process, thread, *exec, stream, operation);
        if (!exec->outside_used.empty()) take_back_memory(process, *exec, stream, operation);
        if (requirements_) require_launch(process, *exec, stream, operation);
    }
    if (exec != nullptr) reach_tellers(process, *exec, own);
    const Placed placed{operation, own.advance()};
    stream.work = placed;
    stream.has_work = true;
    process.worker = stream_index;
    launched_ = true;
    leave(stream);
    if (exec == nullptr) return;
    free_foreign_memory(process, *exec, stream, placed);
    if (exec->launches++ == 0) exec->first_launch = operation;
    exec->last = placed;
    exec->freed_since = 0;
    own.released = true;
    if (exec->history_slot != own.slot || exec->history_version != own.version) {
        exec->history.assign(own.clock);
        exec->history_slot = own.slot;
        exec->history_version = own.version;
    }
    for (const auto& [handle_of_event, last] : exec->records) {
        const std::uint32_t at = process.events.find(handle_of_event);
        if (at == none || !events_[at]->alive) continue;
        Event& event = *events_[at];
        event.clock.join(own.clock, edges_.in(EdgeKind::launch_to_event, last ? contract_edge : run_edge));
        event.inside_launch = !last;
        event.at = placed.epoch;
        event.recorded = true;
        event.source = stream_index;
        event.opaque_version = process.opaque_version;
        event.record = operation;
    }
    if (recording_ && exec->tells_unseen) {
        tell_unseen(thread, own);
        process.host_function = operation.sequence;
    }
    constexpr std::size_t most_bodies = 16;
    for (const std::uint64_t name : exec->keys) {
        const std::uint64_t key = key_name(process, name);
        pass_function(key, own, placed.epoch);
        if (std::any_of(stream.bodies.begin(), stream.bodies.end(),
                        [key](const Body& body) { return body.key == key; }))
            continue;
        if (stream.bodies.size() >= most_bodies) {
            learn_bodies(stream, own);
            stream.bodies.clear();
        }
        stream.bodies.push_back({key});
    }
}

void Engine::reach_tellers(Process& process, const GraphExec& exec, Timeline& own) {
    // What a record node or a host node is after is a part of the launch. What was before the launch is promised; that
    // the whole of it is done is believed: no order that is there is missed then, and no later wait seems to bring
    // nothing.
    for (const std::uint64_t name : exec.keys) reach_function(key_name(process, name), own);
    for (const auto& [handle, last] : exec.records) {
        const std::uint32_t at = process.events.find(handle);
        if (at == none || !events_[at]->alive) continue;
        events_[at]->clock.assign(own.clock);
        own.released = true;
    }
}

void Engine::join_event(Process& process, Timeline& own, std::uint64_t handle) {
    const std::uint32_t at = process.events.find(handle);
    if (at == none) own.learn(everything(), edges_.in(EdgeKind::unknown_event, run_edge));  // unknown code made it
    if (at == none || !events_[at]->alive) return;
    const Event& event = *events_[at];
    if (event.recorded) {
        own.learn(event.clock, edges_.in(EdgeKind::event_to_launch, contract_edge));
        own.learn(event.at, edges_.in(EdgeKind::event_to_launch, event.inside_launch ? run_edge : contract_edge));
    } else if (!event.created) {
        own.learn(everything(), edges_.in(EdgeKind::unknown_event, run_edge));
    }
}

void Engine::report_stale(Process& process, GraphExec& exec, const Operation& operation) {
    std::vector<Stale> stale = std::move(exec.stale);
    exec.stale.clear();
    for (const Stale& each : stale) {
        Fact fact(RuleCode::GRAPH_STALE_POINTER, each.reset ? FactVariant::STALE_RESET : FactVariant::STALE_FREED,
                  operation);
        fact.with(RelatedRole::ALLOC, each.made).with(each.reset ? RelatedRole::RESET : RelatedRole::FREE, each.freed);
        fact.with(RelatedRole::USE, each.node).with(RelatedRole::CREATE, exec.made);
        fact.allocation = each.allocation;
        fact.assumed = each.assumed || operation.assumed() || each.node.assumed() || each.freed.assumed();
        const std::uint32_t at = process.allocations.containing(each.allocation.address);
        if (at != none && !each.reset) {
            const Allocation& now = process.allocations[at];
            if (now.live() && now.made.sequence > each.freed.sequence) {
                fact.variant = FactVariant::STALE_RECYCLED;
                fact.with(RelatedRole::OWNER, now.made);
                fact.assumed |= now.marks.assumed;
            }
        }
        report(fact);
    }
}

Access Engine::launched(const Access& access, const Operation& launch) {
    Access result = access;
    constexpr auto own = static_cast<std::uint8_t>(mode_bits | reference_bits);
    const auto assumed =
        static_cast<std::uint8_t>(access.operation.flags & static_cast<std::uint8_t>(SlotFlag::ASSUMED));
    result.operation = launch;
    result.operation.flags =
        static_cast<std::uint8_t>((launch.flags & ~own) | (access.operation.flags & own) | assumed);
    return result;
}

void Engine::look_at_changed(Process& process, GraphExec& exec, Stream& stream, const Operation& operation) {
    std::vector<std::uint32_t> dirty;
    dirty.swap(exec.dirty);
    for (const std::uint32_t i : dirty) {
        Baked& baked = exec.baked[i];
        baked.dirty = false;
        if (baked.made == 0 || baked.accesses.empty()) continue;
        Allocation& allocation = process.allocations[baked.allocation];
        if (allocation.made.sequence != baked.made || !allocation.live()) {
            baked.made = 0;  // its end was not seen
            continue;
        }
        bool ordered = true;
        if (allocation.kind == MemoryKind::STREAM_ORDERED && !allocation.marks.assumed && !baked.ordered) {
            const Access use = launched(baked.surest().access, operation);
            ordered = timeline(stream).clock.knows(allocation.made_at, contract) ||
                      check_after_alloc(process, allocation, stream, timeline(stream).clock, {use.operation, {}});
            baked.ordered = true;  // later launches are after this one
        }
        if (!ordered) continue;
        for (const BakedAccess& each : baked.accesses) {
            if (each.host) continue;
            const Access use = launched(each.access, operation);
            const auto judge = [&](const Placed& earlier, std::uint64_t begin, std::uint64_t end) {
                judge_conflict(process, allocation, stream, timeline(stream).clock, use,
                               {earlier.operation, begin, end}, earlier.epoch);
            };
            process.allocations.each_use(allocation, judge);
            process.allocations.each_earlier(allocation, judge);
        }
    }
    dirty.clear();
    if (exec.dirty.empty()) exec.dirty.swap(dirty);
}

void Engine::look_at_neighbours(Process& process, GraphExec& exec, Stream& stream, const Operation& operation) {
    const Clock& clock = timeline(stream).clock;
    for (const Neighbour& each : exec.neighbours) {
        const GraphExec& other = *execs_[each.exec];
        if (other.incarnation != each.incarnation || !other.alive || other.launches == 0 ||
            clock.knows(other.last.epoch, contract))
            continue;
        if (each.mine >= exec.baked.size() || each.theirs >= other.baked.size()) continue;
        const Baked& mine = exec.baked[each.mine];
        if (mine.made == 0 || mine.made != other.baked[each.theirs].made ||
            other.launches <= other.baked[each.theirs].since)
            continue;
        const Allocation& allocation = process.allocations[mine.allocation];
        if (allocation.made.sequence != mine.made || !allocation.live()) continue;
        judge_conflict(process, allocation, stream, timeline(stream).clock, launched(each.my_access, operation),
                       launched(each.their_access, other.last.operation), other.last.epoch);
    }
}

void Engine::require_launch(Process& process, GraphExec& exec, const Stream& stream, const Operation& operation) {
    const Clock& clock = timeline(stream).clock;
    for (const Baked& baked : exec.baked) {
        if (baked.made == 0) continue;
        const Allocation& allocation = process.allocations[baked.allocation];
        if (allocation.made.sequence != baked.made || !allocation.live()) continue;
        if (allocation.kind == MemoryKind::STREAM_ORDERED && !allocation.marks.assumed &&
            !clock.knows(allocation.made_at, contract)) {
            require(Unmet::Sort::alloc_use, allocation.made.sequence, operation.sequence);
        }
        each_pending(process, allocation, [&](const Placed& earlier, std::uint64_t, std::uint64_t) {
            if (!(baked.reads_only() && earlier.operation.reads_only()) && !clock.knows(earlier.epoch, contract)) {
                require(Unmet::Sort::use_use, earlier.operation.sequence, operation.sequence);
            }
        });
    }
}

void Engine::keep_launch(Process& process, const GraphExec& exec, const Baked& baked) {
    if (exec.launches <= baked.since || baked.made == 0) return;
    Allocation& allocation = process.allocations[baked.allocation];
    if (allocation.made.sequence != baked.made || !allocation.live()) return;
    for (const BakedAccess& each : baked.accesses) {
        const Access use = launched(each.access, exec.last.operation);
        keep_any_use(process, allocation, use, exec.last.epoch, exec.history);
    }
    note_baked_use(process, baked.allocation);
}

void Engine::note_baked_use(Process& process, std::uint32_t allocation) {
    std::vector<Baker>* list = bakers_of(process, allocation);
    if (list == nullptr) return;
    const std::uint64_t made = process.allocations[allocation].made.sequence;
    for (const Baker& each : *list) {
        GraphExec& exec = *execs_[each.exec];
        if (!exec.alive || each.baked >= exec.baked.size()) continue;
        Baked& baked = exec.baked[each.baked];
        if (baked.dirty || baked.made != made) continue;
        baked.dirty = true;
        exec.dirty.push_back(each.baked);
    }
}

void Engine::end_baked(Process& process, std::uint32_t index, const Operation& freed, bool reset) {
    Allocation& allocation = process.allocations[index];
    allocation.marks.baked = false;
    std::vector<Baker>* list = bakers_of(process, index);
    if (list == nullptr) return;
    constexpr std::size_t most_stale = 256;
    for (const Baker& each : *list) {
        GraphExec& exec = *execs_[each.exec];
        if (!exec.alive || each.baked >= exec.baked.size() || exec.baked[each.baked].made != allocation.made.sequence)
            continue;
        Baked& baked = exec.baked[each.baked];
        baked.made = 0;
        if (exec.stale.size() >= most_stale || baked.accesses.empty()) continue;
        Stale stale;
        stale.allocation = describe(allocation);
        stale.made = allocation.made;
        stale.freed = freed;
        stale.node = baked.surest().access.operation;
        stale.reset = reset;
        stale.assumed = allocation.marks.assumed || allocation.marks.escaped;
        exec.stale.push_back(stale);
    }
    bakers_.drop(process.number, index);
}

}  // namespace streamsan::order
