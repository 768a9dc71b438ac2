// Memory that graphs allocate themselves.
#include <algorithm>
#include <limits>

#include "graphs.hpp"

namespace streamsan::order {

std::uint32_t Graphs::memory_of(const Process& process, std::uint32_t allocation) const {
    const std::uint32_t at = memory_.find(process.number, allocation);
    if (at == none || memory_[at].made != process.allocations[allocation].made.sequence) return none;
    return at;
}

void Graphs::announce(const Process& process, std::uint32_t allocation) {
    std::uint32_t at = memory_.find(process.number, allocation);
    if (at == none) {
        at = memory_.make(process.number, allocation);
    } else if (memory_[at].exec != none) {
        GraphExec& exec = *execs_[memory_[at].exec];  // the address came back for another node
        std::erase(exec.own, at);
        std::erase(exec.outside_used, at);
    }
    memory_[at] = {};
    memory_[at].allocation = allocation;
    memory_[at].made = process.allocations[allocation].made.sequence;
    memory_[at].opaque_version = process.opaque_version;
    if (recording_ && memory_[at].made < begins_at_) {
        // Launches and frees before the recording's present beginning are not known.
        memory_[at].opaque_version = std::numeric_limits<std::uint32_t>::max();
        memory_[at].said = true;
    }
}

void Graphs::forget(const Process& process, std::uint32_t memory) {
    const std::uint32_t allocation = memory_[memory].allocation;
    if (memory_.find(process.number, allocation) == memory) memory_.drop(process.number, allocation);
}

bool Graphs::alive(const Process& process, const GraphMemory& memory) const {
    if (memory.exec == none || memory.freed_inside || execs_[memory.exec]->launches == 0) return false;
    const Allocation& allocation = process.allocations[memory.allocation];
    if (allocation.made.sequence != memory.made || allocation.kind != MemoryKind::GRAPH) return false;
    return memory.seen != execs_[memory.exec]->launches || allocation.live();
}

void Graphs::claim_memory(Process& process, std::uint32_t index) {
    GraphExec& exec = *execs_[index];
    for (const std::uint32_t memory : exec.own) memory_[memory].exec = none;
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
        const std::uint32_t at = memory_of(process, allocation);
        if (at == none || memory_[at].exec == index) continue;
        GraphMemory& memory = memory_[at];
        if (memory.exec != none)
            std::erase(execs_[memory.exec]->own, at);  // its executable graph is gone, and this is the next one
        memory.exec = index;
        memory.freed_inside = memory.may_be_freed_inside = memory.listed = false;
        memory.seen = exec.launches;
        exec.own.push_back(at);
    }
    for (const BodyNode& node : exec.body.nodes) {
        if ((node.kind != NodeKind::FREE && node.kind != NodeKind::ALLOC) || node.references.empty()) continue;
        const std::uint32_t allocation = process.allocations.at_base(node.references.front().address);
        const std::uint32_t at = allocation == none ? none : memory_of(process, allocation);
        if (at == none) continue;
        GraphMemory& memory = memory_[at];
        if (node.kind == NodeKind::ALLOC) {
            // A body may allocate at one address several times: what counts is the last life.
            if (memory.exec == index) memory.freed_inside = memory.may_be_freed_inside = false;
            continue;
        }
        memory.freed_ever = true;
        if (memory.exec != index) continue;
        memory.free_node = node.operation;
        (node.conditional() ? memory.may_be_freed_inside : memory.freed_inside) = true;
    }
    exec.kept_by_launch =
        static_cast<std::size_t>(std::count_if(exec.own.begin(), exec.own.end(), [&](std::uint32_t memory) {
            return !memory_[memory].freed_inside && !memory_[memory].may_be_freed_inside;
        }));
}

void Graphs::report_inside(const Allocation& allocation, const Operation& node, const Operation* free) {
    Fact fact(RuleCode::GRAPH_MEMORY_UNORDERED, FactVariant::GRAPH_INSIDE, node, allocation);
    if (free != nullptr) fact.with(RelatedRole::FREE, *free);
    fact.assumed |= node.has(SlotFlag::CONDITIONAL) || allocation.marks.assumed;
    facts_.add(fact);
}

void Graphs::judge_relaunch(Process& process, GraphExec& exec, const Operation& operation, bool failed) {
    if (exec.launches == 0 || exec.auto_free || exec.kept_by_launch <= exec.freed_since || exec.relaunch_said) return;
    if (failed && operation.status != status::invalid_value) return;
    if (recording_ && operation.status == 0) return;  // the driver had the memory back (G-01)
    for (const std::uint32_t at : exec.own) {
        GraphMemory& memory = memory_[at];
        if (memory.may_be_freed_inside || !alive(process, memory)) continue;
        const Allocation& allocation = process.allocations[memory.allocation];
        Fact fact(RuleCode::GRAPH_RELAUNCH_UNFREED, FactVariant::NONE, operation, allocation);
        fact.with(RelatedRole::USE, exec.last.operation).with(RelatedRole::CREATE, exec.made);
        // Code that was given the memory may have freed it.
        fact.assumed |= allocation.marks.escaped || (!failed && process.opaque_version != 0);
        exec.relaunch_said = true;
        for (const std::uint32_t each : exec.own) memory_[each].said = true;
        facts_.add(fact);
        return;
    }
}

bool Graphs::revive(Process& process, std::uint32_t index, GraphMemory& memory) {
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

void Graphs::note_outside_use(const Process& process, std::uint32_t index) {
    const std::uint32_t at = memory_of(process, index);
    if (at == none || memory_[at].exec == none || memory_[at].listed) return;
    memory_[at].listed = true;
    execs_[memory_[at].exec]->outside_used.push_back(at);
}

void Graphs::note_outside_free(const Process& process, std::uint32_t index) {
    const std::uint32_t at = memory_of(process, index);
    if (at == none) return;
    memory_[at].freed_ever = true;
    if (memory_[at].exec == none) return;
    GraphExec& exec = *execs_[memory_[at].exec];
    memory_[at].seen = exec.launches;
    if (!memory_[at].freed_inside && !memory_[at].may_be_freed_inside) ++exec.freed_since;
}

void Graphs::report_leaks(const Process& process, const Handles& handles, const Operation& operation, bool at_exit) {
    for (GraphMemory& memory : memory_.all()) {
        if (memory.exec == none || memory.said || execs_[memory.exec]->process != process.number) continue;
        if (!alive(process, memory)) continue;
        const GraphExec& exec = *execs_[memory.exec];
        const Allocation& allocation = process.allocations[memory.allocation];
        if (allocation.marks.escaped || allocation.marks.assumed || memory.may_be_freed_inside) continue;
        const bool graph_lives = exec.graph != 0 && handles.lives(process, HandleKind::GRAPH, exec.graph);
        const bool survives = !exec.alive && !graph_lives;
        // With automatic frees each launch frees what the last one left: that a program relies on it is no mistake.
        const bool unfreed = at_exit && !memory.freed_ever && !exec.auto_free;
        if (!survives && !unfreed) continue;
        memory.said = true;
        Fact fact(survives ? RuleCode::GRAPH_MEMORY_LEAK : RuleCode::UNBALANCED_ALLOCATION,
                  survives ? FactVariant::SURVIVES_GRAPH : FactVariant::NO_FREE, allocation.made, allocation);
        fact.with(RelatedRole::USE, survives ? exec.last.operation : exec.first_launch);
        if (survives) {
            fact.with(RelatedRole::DESTROY, exec.destroyed);
            if (process.trim.sequence > exec.destroyed.sequence) fact.with(RelatedRole::SYNC, process.trim);
            fact.with(RelatedRole::RESET, operation);
        } else {
            fact.with(RelatedRole::CREATE, exec.made);
        }
        fact.assumed |= operation.assumed() || (process.blind && process.opaque_version != 0);
        facts_.add(fact);
    }
}

void Graphs::report_restriction(const Process& process, FactVariant variant, std::uint64_t graph,
                                const Operation& operation) {
    Fact fact(RuleCode::GRAPH_MEMORY_RESTRICTION, variant, operation);
    const std::uint32_t index = process.graph_execs.find(graph);
    if (index != none && graph != 0) {
        const GraphExec& exec = *execs_[index];
        fact.with(RelatedRole::CREATE, exec.made);
        if (!exec.own.empty()) {
            const GraphMemory& memory = memory_[exec.own.front()];
            const Allocation& allocation = process.allocations[memory.allocation];
            if (allocation.made.sequence == memory.made) {
                fact.with(RelatedRole::ALLOC, allocation.made);
                fact.allocation = described(allocation);
            }
        }
    }
    fact.assumed = operation.assumed();
    facts_.add(fact);
}

void Graphs::announce_free(Process& process, const Operation& operation, std::uint32_t index, bool failed) {
    if (index == none) return;
    Allocation& allocation = process.allocations[index];
    const std::uint32_t at = allocation.kind == MemoryKind::GRAPH ? memory_of(process, index) : none;
    if (!failed) {
        if (at == none) return;
        memory_[at].freed_ever = true;
        if (!memory_[at].free_announced) memory_[at].announced_free = operation;
        memory_[at].free_announced = true;
        return;
    }
    if (allocation.kind == MemoryKind::GRAPH && (at == none || !memory_[at].free_announced))
        return;  // why is not known
    if (allocation.marks.free_reported) return;
    allocation.marks.free_reported = true;
    Fact fact(RuleCode::GRAPH_MEMORY_RESTRICTION, at == none ? FactVariant::OUTSIDE_FREE : FactVariant::AS_CHILD,
              operation, allocation);
    if (at != none) fact.with(RelatedRole::FREE, memory_[at].announced_free);
    fact.assumed |= allocation.marks.assumed;
    facts_.add(fact);
}

}  // namespace streamsan::order
