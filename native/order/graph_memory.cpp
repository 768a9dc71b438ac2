// Memory that graphs allocate themselves.
#include <algorithm>
#include <limits>

#include "engine.hpp"

namespace streamsan::order {

std::uint32_t Engine::graph_memory_of(const Process& process, std::uint32_t allocation) {
    const std::uint32_t at = graph_memory_.find(process.number, allocation);
    if (at == none || graph_memory_[at].made != process.allocations[allocation].made.sequence) return none;
    return at;
}

void Engine::announce_graph_memory(Process& process, std::uint32_t allocation) {
    std::uint32_t at = graph_memory_.find(process.number, allocation);
    if (at == none) {
        at = graph_memory_.make(process.number, allocation);
    } else if (graph_memory_[at].exec != none) {
        GraphExec& exec = *execs_[graph_memory_[at].exec];  // the address came back for another node
        std::erase(exec.own, at);
        std::erase(exec.outside_used, at);
    }
    graph_memory_[at] = {};
    graph_memory_[at].allocation = allocation;
    graph_memory_[at].made = process.allocations[allocation].made.sequence;
    graph_memory_[at].opaque_version = process.opaque_version;
    if (recording_ && graph_memory_[at].made < begins_at_) {
        // Launches and frees before the recording's present beginning are not known.
        graph_memory_[at].opaque_version = std::numeric_limits<std::uint32_t>::max();
        graph_memory_[at].said = true;
    }
}

void Engine::forget_graph_memory(const Process& process, std::uint32_t memory) {
    const std::uint32_t allocation = graph_memory_[memory].allocation;
    if (graph_memory_.find(process.number, allocation) == memory) graph_memory_.drop(process.number, allocation);
}

bool Engine::graph_memory_alive(const Process& process, const GraphMemory& memory) const {
    if (memory.exec == none || memory.freed_inside || execs_[memory.exec]->launches == 0) return false;
    const Allocation& allocation = process.allocations[memory.allocation];
    if (allocation.made.sequence != memory.made || allocation.kind != MemoryKind::GRAPH) return false;
    return memory.seen != execs_[memory.exec]->launches || allocation.live();
}

void Engine::claim_memory(Process& process, std::uint32_t index) {
    GraphExec& exec = *execs_[index];
    for (const std::uint32_t memory : exec.own) graph_memory_[memory].exec = none;
    exec.own.clear();
    exec.outside_used.clear();
    for (const BodyNode& node : exec.body.nodes) {
        if (node.kind != NodeKind::ALLOC || node.references.empty()) continue;
        const std::uint32_t allocation = process.allocations.at_base(node.references.front().address);
        if (allocation == none || process.allocations[allocation].kind != MemoryKind::GRAPH) continue;
        const std::uint32_t generation = node.references.front().generation;
        if (generation != 0 && process.allocations[allocation].generation != 0 &&
            generation != process.allocations[allocation].generation)
            continue;
        const std::uint32_t at = graph_memory_of(process, allocation);
        if (at == none || graph_memory_[at].exec == index) continue;
        GraphMemory& memory = graph_memory_[at];
        if (memory.exec != none)
            std::erase(execs_[memory.exec]->own, at);  // its executable graph is gone, and this is the next one
        memory.exec = index;
        memory.freed_inside = memory.may_be_freed_inside = memory.listed = false;
        memory.seen = exec.launches;
        exec.own.push_back(at);
    }
    for (const BodyNode& node : exec.body.nodes) {
        if (node.kind != NodeKind::FREE || node.references.empty()) continue;
        const std::uint32_t allocation = process.allocations.at_base(node.references.front().address);
        const std::uint32_t at = allocation == none ? none : graph_memory_of(process, allocation);
        if (at == none) continue;
        GraphMemory& memory = graph_memory_[at];
        memory.freed_ever = true;
        if (memory.exec != index) continue;
        memory.free_node = node.operation;
        (node.conditional() ? memory.may_be_freed_inside : memory.freed_inside) = true;
    }
    exec.kept_by_launch =
        static_cast<std::size_t>(std::count_if(exec.own.begin(), exec.own.end(), [&](std::uint32_t memory) {
            return !graph_memory_[memory].freed_inside && !graph_memory_[memory].may_be_freed_inside;
        }));
}

void Engine::report_inside(const Allocation& allocation, const Operation& node, const Operation* free) {
    Fact fact(RuleCode::GRAPH_MEMORY_UNORDERED, FactVariant::GRAPH_INSIDE, node);
    fact.with(RelatedRole::ALLOC, allocation.made);
    if (free != nullptr) fact.with(RelatedRole::FREE, *free);
    fact.allocation = describe(allocation);
    fact.assumed = node.assumed() || (node.flags & static_cast<std::uint8_t>(SlotFlag::CONDITIONAL)) != 0 ||
                   allocation.marks.assumed;
    report(fact);
}

void Engine::judge_relaunch(Process& process, GraphExec& exec, const Operation& operation, bool failed) {
    if (exec.launches == 0 || exec.auto_free || exec.kept_by_launch <= exec.freed_since || exec.relaunch_said) return;
    if (failed && operation.status != status::invalid_value) return;
    if (recording_ && operation.status == 0) return;  // the driver had the memory back (G-01)
    for (const std::uint32_t at : exec.own) {
        GraphMemory& memory = graph_memory_[at];
        if (memory.may_be_freed_inside || !graph_memory_alive(process, memory)) continue;
        const Allocation& allocation = process.allocations[memory.allocation];
        Fact fact(RuleCode::GRAPH_RELAUNCH_UNFREED, FactVariant::NONE, operation);
        fact.with(RelatedRole::ALLOC, allocation.made)
            .with(RelatedRole::USE, exec.last.operation)
            .with(RelatedRole::CREATE, exec.made);
        fact.allocation = describe(allocation);
        // Code that was given the memory may have freed it.
        fact.assumed = operation.assumed() || allocation.marks.escaped || (!failed && process.opaque_version != 0);
        exec.relaunch_said = true;
        for (const std::uint32_t each : exec.own) graph_memory_[each].said = true;
        report(fact);
        return;
    }
}

bool Engine::revive(Process& process, std::uint32_t index, GraphMemory& memory) {
    const GraphExec& exec = *execs_[memory.exec];
    if (memory.seen == exec.launches) return process.allocations[index].live();
    memory.seen = exec.launches;
    Allocation& allocation = process.allocations[index];
    if (allocation.live()) process.allocations.drop_uses(allocation);
    allocation.freed_by = 0;
    allocation.inline_uses = 0;
    allocation.marks.use_reported = allocation.marks.free_reported = false;
    return true;
}

bool Engine::admit_graph_memory(Process& process, std::uint32_t index, const Clock& clock, const Stream* stream,
                                const Operation& operation, FactVariant variant) {
    const std::uint32_t at = graph_memory_of(process, index);
    if (at == none) return true;
    GraphMemory& memory = graph_memory_[at];
    Allocation& allocation = process.allocations[index];
    const bool unseen = allocation.marks.escaped || process.opaque_version != 0;
    const GraphExec* const exec = memory.exec == none ? nullptr : execs_[memory.exec].get();
    if (exec == nullptr || exec->launches == 0 || memory.freed_inside) {
        // Code that nobody can see may have launched it: then nothing is known of the memory's life.
        const bool launched_unseen =
            (exec == nullptr || exec->launches == 0) && process.opaque_version != memory.opaque_version;
        if (memory.not_alive_said || launched_unseen) return false;
        memory.not_alive_said = !(recording_ && operation.assumed());
        Fact fact(RuleCode::GRAPH_MEMORY_UNORDERED, FactVariant::GRAPH_NOT_ALIVE, operation);
        fact.with(RelatedRole::ALLOC, allocation.made);
        if (exec != nullptr && exec->launches != 0) fact.with(RelatedRole::FREE, memory.free_node);
        fact.allocation = describe(allocation);
        fact.assumed = operation.assumed() || unseen;
        report(fact);
        return false;
    }
    if (operation.status != 0 && operation.status != status_unknown) return true;
    if (!revive(process, index, memory)) return true;  // freed outside since: judged as a use after that free
    const Epoch launch = exec->last.epoch;
    const Verdict order = verdict(clock, launch);
    if (order == Verdict::contract) return true;
    require(Unmet::Sort::alloc_use, exec->last.operation.sequence, operation.sequence);
    if (order == Verdict::run || order == Verdict::observed || (order == Verdict::unseen && allocation.marks.escaped))
        return true;
    if (allocation.marks.use_reported) return true;
    allocation.marks.use_reported = !(recording_ && operation.assumed());
    Fact fact(RuleCode::GRAPH_MEMORY_UNORDERED, variant, operation);
    fact.with(RelatedRole::ALLOC, allocation.made).with(RelatedRole::USE, exec->last.operation);
    fact.allocation = describe(allocation);
    fact.unseen = order == Verdict::unseen;
    fact.assumed = fact.unseen || operation.assumed() || (stream != nullptr && stream->assumed) ||
                   names_[exec->last.operation.stream_name].assumed;
    fact.may_be_equal =
        equal_streams(stream, exec->last.operation.stream_name) || maybe_awaited(process, exec->last.operation, stream);
    report(fact);
    return true;
}

void Engine::note_outside_use(Process& process, std::uint32_t index) {
    const std::uint32_t at = graph_memory_of(process, index);
    if (at == none || graph_memory_[at].exec == none || graph_memory_[at].listed) return;
    graph_memory_[at].listed = true;
    execs_[graph_memory_[at].exec]->outside_used.push_back(at);
}

void Engine::note_outside_free(Process& process, std::uint32_t index) {
    const std::uint32_t at = graph_memory_of(process, index);
    if (at == none) return;
    graph_memory_[at].freed_ever = true;
    if (graph_memory_[at].exec == none) return;
    GraphExec& exec = *execs_[graph_memory_[at].exec];
    graph_memory_[at].seen = exec.launches;
    if (!graph_memory_[at].freed_inside && !graph_memory_[at].may_be_freed_inside) ++exec.freed_since;
}

void Engine::take_back_memory(Process& process, GraphExec& exec, const Stream& stream, const Operation& operation) {
    const Clock& clock = timeline(stream).clock;
    for (const std::uint32_t at : exec.outside_used) {
        GraphMemory& memory = graph_memory_[at];
        memory.listed = false;
        if (memory.made != process.allocations[memory.allocation].made.sequence) continue;
        Allocation& allocation = process.allocations[memory.allocation];
        if (!allocation.live() || allocation.marks.use_reported || memory.seen != exec.launches) continue;
        process.allocations.each_use(allocation, [&](const Placed& use, std::uint64_t, std::uint64_t) {
            const Verdict order = verdict(clock, use.epoch);
            if (order == Verdict::contract) return;
            require(Unmet::Sort::use_free, use.operation.sequence, operation.sequence);
            if (order != Verdict::unordered || allocation.marks.use_reported) return;
            allocation.marks.use_reported = true;
            Fact fact(RuleCode::GRAPH_MEMORY_UNORDERED, FactVariant::GRAPH_FREE, operation);
            fact.with(RelatedRole::ALLOC, allocation.made).with(RelatedRole::USE, use.operation);
            fact.allocation = describe(allocation);
            fact.assumed = operation.assumed() || use.operation.assumed() || stream.assumed ||
                           names_[use.operation.stream_name].assumed;
            fact.may_be_equal =
                equal_streams(&stream, use.operation.stream_name) || maybe_awaited(process, use.operation, &stream);
            report(fact);
        });
    }
    exec.outside_used.clear();
}

void Engine::use_foreign_memory(Process& process, Thread& thread, GraphExec& exec, Stream& stream,
                                const Operation& operation) {
    for (const auto& [at, made, number] : exec.foreign) {
        const GraphMemory& memory = graph_memory_[at];
        const BodyNode& node = exec.body.nodes[number];
        if (memory.made != made || process.allocations[memory.allocation].made.sequence != made)
            continue;  // nobody knows of it any more
        const bool frees = node.kind == NodeKind::FREE;
        const Clock& clock = timeline(stream).clock;
        if (!admit_graph_memory(process, memory.allocation, clock, &stream, operation,
                                frees ? FactVariant::GRAPH_FREE : FactVariant::GRAPH_USE))
            continue;
        if (frees) continue;
        Operation use = operation;
        use.flags = static_cast<std::uint8_t>((use.flags & ~(mode_bits | reference_bits)) |
                                              static_cast<std::uint8_t>(node.references.front().mode));
        const std::uint32_t index = memory.allocation;
        Allocation& allocation = process.allocations[index];
        const Placed placed{use, timeline(stream).advance()};
        if (!allocation.live()) {
            use_freed(process, thread, &stream, index, placed);
            continue;
        }
        keep_use(process, allocation, {use, allocation.base, 0}, placed.epoch, clock);
        note_outside_use(process, index);
    }
}

void Engine::free_foreign_memory(Process& process, GraphExec& exec, const Stream& stream, const Placed& placed) {
    for (const auto& [at, made, number] : exec.foreign) {
        const GraphMemory& memory = graph_memory_[at];
        if (memory.made != made || exec.body.nodes[number].kind != NodeKind::FREE ||
            exec.body.nodes[number].conditional())
            continue;
        const std::uint32_t index = memory.allocation;
        Allocation& allocation = process.allocations[index];
        if (allocation.made.sequence != memory.made || !allocation.live() || memory.exec == none || memory.freed_inside)
            continue;
        judge_order(process, allocation, FreeClass::ASYNC, timeline(stream).clock, &stream, placed.operation);
        note_outside_free(process, index);
        process.allocations.retire(index, static_cast<std::uint8_t>(FreeClass::ASYNC), placed, placed);
    }
}

void Engine::report_graph_leaks(Process& process, const Operation& operation, bool at_exit) {
    for (GraphMemory& memory : graph_memory_.all()) {
        if (memory.exec == none || memory.said || processes_[execs_[memory.exec]->process].get() != &process) continue;
        if (!graph_memory_alive(process, memory)) continue;
        const GraphExec& exec = *execs_[memory.exec];
        const Allocation& allocation = process.allocations[memory.allocation];
        if (allocation.marks.escaped || allocation.marks.assumed || memory.may_be_freed_inside) continue;
        const std::uint32_t graph =
            process.handles.find(exec.graph ^ std::uint64_t{static_cast<std::uint8_t>(HandleKind::GRAPH)} << 56);
        const bool graph_lives = exec.graph != 0 && graph != none && handles_[graph].alive;
        const bool survives = !exec.alive && !graph_lives;
        // With automatic frees each launch frees what the last one left: that a program relies on it is no mistake.
        const bool unfreed = at_exit && !memory.freed_ever && !exec.auto_free;
        if (!survives && !unfreed) continue;
        memory.said = true;
        Fact fact(survives ? RuleCode::GRAPH_MEMORY_LEAK : RuleCode::UNBALANCED_ALLOCATION,
                  survives ? FactVariant::SURVIVES_GRAPH : FactVariant::NO_FREE, allocation.made);
        fact.with(RelatedRole::ALLOC, allocation.made)
            .with(RelatedRole::USE, survives ? exec.last.operation : exec.first_launch);
        if (survives) {
            fact.with(RelatedRole::DESTROY, exec.destroyed);
            if (process.trim.sequence > exec.destroyed.sequence) fact.with(RelatedRole::SYNC, process.trim);
            fact.with(RelatedRole::RESET, operation);
        } else {
            fact.with(RelatedRole::CREATE, exec.made);
        }
        fact.allocation = describe(allocation);
        fact.assumed =
            operation.assumed() || allocation.made.assumed() || (process.blind && process.opaque_version != 0);
        report(fact);
    }
}

}  // namespace streamsan::order
