// Launches of executable graphs: one step each, that looks at what changed since the last one.
#include <algorithm>

#include "engine.hpp"

namespace streamsan::order {

void Engine::graph_launch(const Slot& slot, Thread& thread, Process& process, Operation& operation) {
    const bool failed = operation.failed();
    const std::uint32_t index = process.execs.find(slot.object);
    GraphExec* const exec = index == none || !graphs_[index].alive ? nullptr : &graphs_[index];
    if (exec == nullptr && !handles_.admit(process, HandleKind::GRAPH_EXEC, slot.object, operation)) return;
    if (exec != nullptr) graphs_.take_foretold(process, index);
    if (exec != nullptr && exec->changed) graphs_.apply_changes(process, index);
    if (exec != nullptr) graphs_.judge_relaunch(process, *exec, operation, failed);
    if (failed) {
        judge_stale(slot, thread, process, operation);
        return;
    }
    if (exec != nullptr && !exec->stale.empty()) graphs_.report_stale(process, *exec, operation);
    Stream* const named = place(slot, thread, process, operation);
    if (named == nullptr) return;
    Stream& stream = *named;
    note_unknown(process, stream, operation);
    enter(stream, thread, slot.thread);
    Timeline& own = timeline(stream);
    if (process.open_pollers != 0) [[unlikely]]
        end_pollers(process, thread, operation.sequence);
    if (exec != nullptr && !exec->polled.empty()) learn_words(process, own, exec->polled);
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
    if (exec != nullptr && !exec->polled.empty()) add_poller(process, placed);
    stream.work = placed;
    stream.has_work = true;
    process.worker = stream.index;
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
        Event* const event = events_.live(process, handle_of_event);
        if (event == nullptr) continue;
        event->clock.join(own.clock, edges_.in(EdgeKind::launch_to_event, last ? contract_edge : run_edge));
        event->note_record(placed.epoch, !last, stream.index, process.opaque_version, operation);
    }
    if (exec->has_values) unknown_value(process, stream, {process.number, stream.index, 0, 0, 0});
    if (recording_ && exec->tells_unseen) {
        run_order_.tell_unseen(thread, own);
        process.host_function = operation.sequence;
    }
    for (const std::uint64_t name : exec->keys) {
        const std::uint64_t key = key_name(process, name);
        pass_function(key, own, placed.epoch);
        add_body(stream, key);
    }
}

void Engine::reach_tellers(Process& process, const GraphExec& exec, Timeline& own) {
    // What a record node or a host node is after is a part of the launch. What was before the launch is promised; that
    // the whole of it is done is believed: no order that is there is missed then, and no later wait seems to bring
    // nothing.
    for (const std::uint64_t name : exec.keys) reach_function(key_name(process, name), own);
    for (const auto& [handle, last] : exec.records) {
        Event* const event = events_.live(process, handle);
        if (event == nullptr) continue;
        event->clock.assign(own.clock);
        own.released = true;
    }
}

void Engine::join_event(Process& process, Timeline& own, std::uint64_t handle) {
    const std::uint32_t at = process.events.find(handle);
    if (at == none) learn_anything(own);  // unknown code made it
    else if (events_[at].alive) learn_event(events_[at], own, EdgeKind::event_to_launch);
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
                      check_after_alloc(process, allocation, stream, timeline(stream).clock, use);
            baked.ordered = true;  // later launches are after this one
        }
        if (!ordered) continue;
        for (const BakedAccess& each : baked.accesses) {
            if (each.host) continue;
            const Access use = launched(each.access, operation);
            const auto judge = [&](const Placed& earlier, const Part& part) {
                judge_conflict(process, allocation, stream, timeline(stream).clock, use, {earlier.operation, part},
                               earlier.epoch);
            };
            process.allocations.each_use(allocation, judge);
            process.allocations.each_earlier(allocation, judge);
            if (allocation.kind == MemoryKind::POOL_BLOCK)
                judge_reuse(process, allocation, stream, timeline(stream).clock, use);
        }
    }
    dirty.clear();
    if (exec.dirty.empty()) exec.dirty.swap(dirty);
}

void Engine::look_at_neighbours(Process& process, GraphExec& exec, Stream& stream, const Operation& operation) {
    const Clock& clock = timeline(stream).clock;
    for (const Neighbour& each : exec.neighbours) {
        const GraphExec& other = graphs_[each.exec];
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
        graphs_.each_pending(process, allocation, [&](const Placed& earlier, const Part&) {
            if (!(baked.reads_only() && earlier.operation.reads_only()) && !clock.knows(earlier.epoch, contract)) {
                require(Unmet::Sort::use_use, earlier.operation.sequence, operation.sequence);
            }
        });
    }
}

bool Engine::admit_graph_memory(Process& process, std::uint32_t index, const Clock& clock, const Stream* stream,
                                const Operation& operation, FactVariant variant) {
    const std::uint32_t at = graphs_.memory_of(process, index);
    if (at == none) return true;
    GraphMemory& memory = graphs_.memory(at);
    Allocation& allocation = process.allocations[index];
    const bool unseen = allocation.marks.escaped || process.opaque_version != 0;
    const GraphExec* const exec = memory.exec == none ? nullptr : &graphs_[memory.exec];
    if (exec == nullptr || exec->launches == 0 || memory.freed_inside) {
        // Code that nobody can see may have launched it: then nothing is known of the memory's life.
        const bool launched_unseen =
            (exec == nullptr || exec->launches == 0) && process.opaque_version != memory.opaque_version;
        if (memory.not_alive_said || launched_unseen) return false;
        memory.not_alive_said = !(recording_ && operation.assumed());
        Fact fact(RuleCode::GRAPH_MEMORY_UNORDERED, FactVariant::GRAPH_NOT_ALIVE, operation, allocation);
        if (exec != nullptr && exec->launches != 0) fact.with(RelatedRole::FREE, memory.free_node);
        fact.assumed |= unseen;
        report(fact);
        return false;
    }
    if (operation.failed()) return true;
    if (!graphs_.revive(process, index, memory)) return true;  // freed outside since: judged as a use after that free
    const Epoch launch = exec->last.epoch;
    const Verdict order = verdict(clock, launch);
    if (order == Verdict::contract) return true;
    require(Unmet::Sort::alloc_use, exec->last.operation.sequence, operation.sequence);
    if (order == Verdict::run || order == Verdict::observed || (order == Verdict::unseen && allocation.marks.escaped))
        return true;
    if (allocation.marks.use_reported) return true;
    allocation.marks.use_reported = !(recording_ && operation.assumed());
    Fact fact(RuleCode::GRAPH_MEMORY_UNORDERED, variant, operation, allocation);
    fact.with(RelatedRole::USE, exec->last.operation);
    add_doubts(fact, process, order, stream, exec->last.operation);
    report(fact);
    return true;
}

void Engine::take_back_memory(Process& process, GraphExec& exec, const Stream& stream, const Operation& operation) {
    const Clock& clock = timeline(stream).clock;
    for (const std::uint32_t at : exec.outside_used) {
        GraphMemory& memory = graphs_.memory(at);
        memory.listed = false;
        if (memory.made != process.allocations[memory.allocation].made.sequence) continue;
        Allocation& allocation = process.allocations[memory.allocation];
        if (!allocation.live() || allocation.marks.use_reported || memory.seen != exec.launches) continue;
        process.allocations.each_use(allocation, [&](const Placed& use, const Part&) {
            const Verdict order = verdict(clock, use.epoch);
            if (order == Verdict::contract) return;
            require(Unmet::Sort::use_free, use.operation.sequence, operation.sequence);
            if (order != Verdict::unordered || allocation.marks.use_reported) return;
            allocation.marks.use_reported = true;
            Fact fact(RuleCode::GRAPH_MEMORY_UNORDERED, FactVariant::GRAPH_FREE, operation, allocation);
            fact.with(RelatedRole::USE, use.operation);
            add_doubts(fact, process, order, &stream, use.operation);
            fact.assumed |= use.operation.assumed();
            report(fact);
        });
    }
    exec.outside_used.clear();
}

void Engine::use_foreign_memory(Process& process, Thread& thread, GraphExec& exec, Stream& stream,
                                const Operation& operation) {
    for (const auto& [at, made, number] : exec.foreign) {
        const GraphMemory& memory = graphs_.memory(at);
        const BodyNode& node = exec.body.nodes[number];
        if (memory.made != made || process.allocations[memory.allocation].made.sequence != made)
            continue;  // nobody knows of it any more
        const bool frees = node.kind == NodeKind::FREE;
        const Clock& clock = timeline(stream).clock;
        Operation part = operation;
        if (node.conditional()) part.flags |= bit(SlotFlag::ASSUMED);
        if (!admit_graph_memory(process, memory.allocation, clock, &stream, part,
                                frees ? FactVariant::GRAPH_FREE : FactVariant::GRAPH_USE))
            continue;
        if (frees) continue;
        const Operation use = part.as_use(node.used().empty() ? AccessMode::OPAQUE : node.used().front().mode);
        const std::uint32_t index = memory.allocation;
        Allocation& allocation = process.allocations[index];
        const Placed placed{use, timeline(stream).advance()};
        if (!allocation.live()) {
            use_freed(process, thread, &stream, index, placed);
            continue;
        }
        process.allocations.keep_use(allocation, {use, {allocation.base}}, placed.epoch, clock);
        graphs_.note_outside_use(process, index);
    }
}

void Engine::free_foreign_memory(Process& process, GraphExec& exec, const Stream& stream, const Placed& placed) {
    for (const auto& [at, made, number] : exec.foreign) {
        const GraphMemory& memory = graphs_.memory(at);
        if (memory.made != made || exec.body.nodes[number].kind != NodeKind::FREE ||
            exec.body.nodes[number].conditional())
            continue;
        const std::uint32_t index = memory.allocation;
        Allocation& allocation = process.allocations[index];
        if (allocation.made.sequence != memory.made || !allocation.live() || memory.exec == none || memory.freed_inside)
            continue;
        judge_order(process, allocation, FreeClass::ASYNC, timeline(stream).clock, &stream, placed.operation);
        graphs_.note_outside_free(process, index);
        process.allocations.retire(index, static_cast<std::uint8_t>(FreeClass::ASYNC), placed, placed);
    }
}

}  // namespace streamsan::order
