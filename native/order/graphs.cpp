// Executable graphs, and the memory that they use.
#include "graphs.hpp"

#include <algorithm>
#include <utility>

namespace streamsan::order {

Access launched(const Access& access, const Operation& launch) {
    Access result = access;
    result.operation = launch.as_use(access.operation.mode(), access.operation.flags);
    if (access.operation.assumed()) result.operation.flags |= bit(SlotFlag::ASSUMED);
    result.node = &access.operation;
    return result;
}

std::uint32_t Graphs::make(Process& process, std::uint64_t handle, const Operation& made) {
    std::uint32_t index;
    if (spare_.empty()) {
        index = static_cast<std::uint32_t>(execs_.size());
        execs_.push_back(std::make_unique<GraphExec>());
    } else {
        index = spare_.back();
        spare_.pop_back();
        *execs_[index] = GraphExec{};
    }
    GraphExec& exec = *execs_[index];
    exec.incarnation = ++incarnations_;
    exec.handle = handle;
    exec.process = process.number;
    exec.made = made;
    process.execs.set(handle, index);
    process.allocations.keep_previous();
    return index;
}

namespace {

bool same_reference(const Reference& one, const Reference& other) {
    return one.address == other.address && one.size == other.size && one.generation == other.generation &&
           one.mode == other.mode && one.assumed == other.assumed && one.flags == other.flags &&
           one.rows == other.rows && one.bounds == other.bounds;
}

/// Whether a node of the graph was given this memory. A node that has kept the address then names the same memory: the
/// program may well have compared addresses.
bool is_given(const GraphExec& exec, std::uint32_t index, const Allocation& allocation) {
    return std::any_of(exec.baked.begin(), exec.baked.end(), [&](const Baked& each) {
        return each.allocation == index && each.made == allocation.made.sequence &&
               std::any_of(each.accesses.begin(), each.accesses.end(),
                           [](const BakedAccess& access) { return !access.found && !access.doubtful; });
    });
}

bool same_references(const std::vector<Reference>& ones, const std::vector<Reference>& others) {
    return std::equal(ones.begin(), ones.end(), others.begin(), others.end(), same_reference);
}

}  // namespace

void Graphs::foretell(const Process& process, const Slot& slot, const std::vector<Reference>& references) {
    constexpr std::size_t most = 4'000'000;
    if (slot.address == 0 || slot.address > UINT32_MAX || foretold_references_ + references.size() + 1 > most) {
        ++problems_;
        return;
    }
    foretold_references_ += references.size() + 1;
    foretold_[{process.number, slot.stream}].push_back(
        {static_cast<std::uint32_t>(slot.address), static_cast<SeenAccesses>(slot.detail), references});
}

void Graphs::take_foretold(const Process& process, std::uint32_t index) {
    if (foretold_.empty()) return;
    GraphExec& exec = *execs_[index];
    const auto place = foretold_.find({process.number, exec.handle});
    if (place == foretold_.end()) return;
    for (Foretold& each : place->second) {
        foretold_references_ -= each.references.size() + 1;
        if (each.node > exec.body.nodes.size() || exec.body.nodes[each.node - 1].kind != NodeKind::KERNEL) {
            ++problems_;
            continue;
        }
        BodyNode& node = exec.body.nodes[each.node - 1];
        std::vector<Reference> before = std::move(node.seen);
        const bool was_seen = std::exchange(node.is_seen, each.detail != SeenAccesses{});
        node.seen.clear();
        // Where not all was seen, it may touch what its own references name as well.
        if (each.detail == SeenAccesses::SOME) node.seen = node.references;
        if (node.is_seen) node.seen.insert(node.seen.end(), each.references.begin(), each.references.end());
        node.changed |= !same_references(was_seen ? before : node.references, node.used());
    }
    // Also where nothing is new: memory that the nodes found by pointers in memory may be.
    exec.changed = true;
    foretold_.erase(place);
}

bool Graphs::update_node(std::uint32_t index, const Slot& slot, const Operation& operation,
                         const std::vector<Reference>& references) {
    GraphExec& exec = *execs_[index];
    const std::uint64_t number = slot.address;
    if (number == 0 || number > exec.body.nodes.size()) {
        ++problems_;
        return false;
    }
    BodyNode& node = exec.body.nodes[number - 1];
    // Often it is only the value of a parameter that changes. But the same address may be that of other memory now.
    node.changed |= !same_references(node.references, references);
    node.references = references;
    node.is_seen = false;
    node.seen.clear();
    node.operation = operation;
    node.described = described_at(slot, operation);
    exec.changed = true;  // many nodes are often updated at once: they are looked at when the graph is launched
    return true;
}

void Graphs::apply_changes(Process& process, std::uint32_t index) {
    check_body(process, index, true);
    for (BodyNode& node : execs_[index]->body.nodes) node.changed = false;
    summarise(process, index);
}

void Graphs::end(Process& process, std::uint32_t index, const Operation& operation) {
    GraphExec& exec = *execs_[index];
    if (exec.changed) summarise(process, index);
    exec.alive = false;
    exec.destroyed = operation;
    for (const Baked& each : exec.baked) {
        if (each.made == 0) continue;
        keep_launch(process, exec, each);
        unlink(process, index, each.allocation);
    }
    exec.body = {};
    exec.baked = {};
    exec.dirty = {};
    exec.stale = {};
    exec.neighbours = {};
    exec.foreign = {};
    bool needed = false;
    for (const std::uint32_t memory : exec.own) needed |= alive(process, memory_[memory]);
    if (needed) return;  // its memory outlives it, and its last launch with it
    for (const std::uint32_t memory : exec.own) forget(process, memory);
    process.execs.erase(exec.handle);
    if (process.graph_execs.find(exec.graph) == index) process.graph_execs.erase(exec.graph);
    spare_.push_back(index);
}

void Graphs::keep_launch(Process& process, const GraphExec& exec, const Baked& baked) {
    if (exec.launches <= baked.since || baked.made == 0) return;
    Allocation& allocation = process.allocations[baked.allocation];
    if (allocation.made.sequence != baked.made || !allocation.live()) return;
    for (const BakedAccess& each : baked.accesses) {
        const Access use = launched(each.access, exec.last.operation);
        process.allocations.keep_use(allocation, use, exec.last.epoch, exec.history);
    }
    note_baked_use(process, baked.allocation);
}

void Graphs::note_baked_use(Process& process, std::uint32_t allocation) {
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

void Graphs::end_baked(Process& process, std::uint32_t index, const Operation& freed, bool reset) {
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
        // A pointer that a node found in memory is not the graph's: the program may have written another one there.
        std::erase_if(baked.accesses, [](const BakedAccess& use) { return use.found; });
        exec.changed |= baked.accesses.empty();
        if (exec.stale.size() >= most_stale || baked.accesses.empty()) continue;
        const BakedAccess& use = baked.surest();
        exec.stale.push_back({described(allocation), allocation.made, freed, use.access.operation, reset,
                              allocation.marks.assumed || allocation.marks.escaped, use.doubtful});
    }
    bakers_.drop(process.number, index);
}

void Graphs::report_stale(Process& process, GraphExec& exec, const Operation& operation) {
    std::vector<Stale> stale = std::move(exec.stale);
    exec.stale.clear();
    for (const Stale& each : stale) {
        Fact fact(RuleCode::GRAPH_STALE_POINTER, each.reset ? FactVariant::STALE_RESET : FactVariant::STALE_FREED,
                  operation);
        fact.with(RelatedRole::ALLOC, each.made).with(each.reset ? RelatedRole::RESET : RelatedRole::FREE, each.freed);
        fact.with(RelatedRole::USE, each.node).with(RelatedRole::CREATE, exec.made);
        fact.allocation = each.allocation;
        // That a node may not run, its own operation says.
        fact.assumed = each.assumed || operation.assumed() || each.doubtful || each.freed.assumed();
        const std::uint32_t at = process.allocations.containing(each.allocation.address);
        if (at != none && !each.reset) {
            const Allocation& now = process.allocations[at];
            if (now.live() && now.made.sequence > each.freed.sequence) {
                const bool given = is_given(exec, at, now);
                fact.variant = given ? FactVariant::STALE_GIVEN_AGAIN : FactVariant::STALE_RECYCLED;
                fact.with(RelatedRole::OWNER, now.made);
                fact.assumed |= given || now.marks.assumed;
            }
        }
        facts_.add(fact);
    }
}

}  // namespace streamsan::order
