// What a graph's launches need to know of its body: the memory that it uses, and the other graphs that use it too.
#include <algorithm>

#include "graphs.hpp"
#include "uses.hpp"

namespace streamsan::order {
namespace {

/// Distinct accesses that a graph keeps for one allocation.
constexpr std::size_t most_accesses = 64;
constexpr std::size_t most_neighbours = 256;
/// Of these, conflicts that are no more than possible: they must not crowd out the others.
constexpr std::size_t most_doubtful_neighbours = 128;

/// Whether a node comes after all others. Edges are sorted by the earlier node.
bool comes_last(const GraphBody& body, std::uint32_t number) {
    std::vector<bool> before(body.nodes.size());
    before[number] = true;
    for (auto edge = body.edges.rbegin(); edge != body.edges.rend(); ++edge) {
        if (before[edge->second]) before[edge->first] = true;
    }
    return std::find(before.begin(), before.end(), false) == before.end();
}

/// Whether an address stands for the memory that was there when a node got it: it has no generation in a recording.
bool is_kept_by_address(MemoryKind kind) {
    return kind == MemoryKind::PLAIN || kind == MemoryKind::STREAM_ORDERED || kind == MemoryKind::MANAGED ||
           kind == MemoryKind::PINNED;
}

/// Whether the node was given an address in this memory.
bool leads_to(const BodyNode& node, const Allocation& allocation) {
    return std::any_of(node.references.begin(), node.references.end(), [&](const Reference& given) {
        return given.address - allocation.base < std::max<std::uint64_t>(allocation.size, 1);
    });
}

/// Marks what comes before a host function that nobody sees begin, and those functions.
void mark_before_host(GraphBody& body) {
    bool any = false;
    for (BodyNode& node : body.nodes) {
        node.before_host = node.kind == NodeKind::HOST && node.object == 0;
        any |= node.before_host;
    }
    if (!any) return;
    // Edges are sorted and lead to higher numbers; of a body that ends before it is whole some may lead to no node.
    for (auto edge = body.edges.rbegin(); edge != body.edges.rend(); ++edge) {
        if (edge->second < body.nodes.size())
            body.nodes[edge->first].before_host |= body.nodes[edge->second].before_host;
    }
}

}  // namespace

void Graphs::summarise(Process& process, std::uint32_t index) {
    GraphExec& exec = *execs_[index];
    mark_before_host(exec.body);
    exec.changed = false;
    std::vector<Baked> old = std::move(exec.baked);
    exec.baked.clear();
    exec.dirty.clear();
    exec.stale.clear();
    for (const Neighbour& each : exec.neighbours) {
        // What the others know of this graph's accesses is of its body before.
        if (execs_[each.exec]->incarnation != each.incarnation) continue;
        std::erase_if(execs_[each.exec]->neighbours, [index](const Neighbour& back) { return back.exec == index; });
    }
    exec.neighbours.clear();
    exec.foreign.clear();
    exec.waits.clear();
    exec.records.clear();
    exec.keys.clear();
    exec.polled.clear();
    exec.tells_unseen = false;
    constexpr std::size_t most_polled = 64;
    FlatMap seen;
    FlatMap seen_stale;
    const auto note = [](std::vector<std::uint64_t>& list, std::uint64_t value) {
        constexpr std::size_t most = 256;
        if (value != 0 && list.size() < most && std::find(list.begin(), list.end(), value) == list.end())
            list.push_back(value);
    };
    for (std::uint32_t number = 0; number < exec.body.nodes.size(); ++number) {
        const BodyNode& node = exec.body.nodes[number];
        if (node.kind == NodeKind::EVENT_WAIT && !node.conditional()) note(exec.waits, node.object);
        if (node.kind == NodeKind::EVENT_RECORD && !node.conditional()) note_record(exec, number);
        if (node.kind == NodeKind::HOST) note(exec.keys, node.object);
        exec.has_values |= node.kind == NodeKind::STREAM_MEMORY_OP;
        exec.tells_unseen |= (node.kind == NodeKind::HOST && node.object == 0) ||
                             node.kind == NodeKind::STREAM_MEMORY_OP || node.kind == NodeKind::OPAQUE;
        for (const Reference& reference : node.used()) {
            if (!reference.polls()) bake(process, exec, number, reference, seen, seen_stale);
        }
        for (const Reference& reference : node.references) {
            if (reference.polls() && exec.polled.size() < most_polled) exec.polled.push_back(reference);
        }
    }
    // What the launches so far used is pending still, though later ones do not use it.
    for (const Baked& gone : old) {
        const std::uint32_t at = gone.made == 0 ? none : seen.find(gone.allocation);
        if (gone.made == 0) continue;
        if (at != none && exec.baked[at].made == gone.made) {
            exec.baked[at].ordered = gone.ordered;
            const std::vector<BakedAccess>& now = exec.baked[at].accesses;
            const bool same =
                std::equal(now.begin(), now.end(), gone.accesses.begin(), gone.accesses.end(),
                           [](const auto& one, const auto& other) { return same_access(one.access, other.access); });
            if (same) exec.baked[at].since = gone.since;
            else keep_launch(process, exec, gone);
            continue;
        }
        keep_launch(process, exec, gone);
        unlink(process, index, gone.allocation);
    }
    for (std::uint32_t i = 0; i < exec.baked.size(); ++i) {
        if (exec.baked[i].dirty) continue;
        exec.baked[i].dirty = true;
        exec.dirty.push_back(i);
    }
    link(process, index);
}

void Graphs::note_record(GraphExec& exec, std::uint32_t number) {
    constexpr std::size_t most = 256;
    constexpr std::size_t most_looked_at = 8;  // each looks at the whole body
    const std::uint64_t event = exec.body.nodes[number].object;
    const auto known = std::find_if(exec.records.begin(), exec.records.end(),
                                    [event](const auto& each) { return each.first == event; });
    const bool last =
        known == exec.records.end() && exec.records.size() < most_looked_at && comes_last(exec.body, number);
    if (known != exec.records.end()) known->second = false;  // which of them is the latest, nobody knows
    else if (event != 0 && exec.records.size() < most) exec.records.emplace_back(event, last);
}

void Graphs::bake(Process& process, GraphExec& exec, std::uint32_t number, const Reference& reference, FlatMap& seen,
                  FlatMap& seen_stale) {
    const BodyNode& node = exec.body.nodes[number];
    const std::uint32_t at = process.allocations.named_by(reference.address, reference.generation);
    if (at == none) return;
    Allocation& allocation = process.allocations[at];
    if (allocation.kind == MemoryKind::GRAPH) {
        const std::uint32_t memory = memory_of(process, at);
        if (memory == none || (memory_[memory].exec != none && execs_[memory_[memory].exec].get() == &exec)) return;
        if (node.kind == NodeKind::ALLOC) return;
        constexpr std::size_t most_foreign = 4096;
        const auto listed = std::find_if(exec.foreign.begin(), exec.foreign.end(), [&](const auto& each) {
            return each.memory == memory &&
                   (exec.body.nodes[each.node].kind == NodeKind::FREE) == (node.kind == NodeKind::FREE);
        });
        if (recording_ && reference.assumed) return;  // perhaps no use at all, and nothing else speaks for it
        if (listed == exec.foreign.end()) {
            if (exec.foreign.size() < most_foreign) exec.foreign.push_back({memory, memory_[memory].made, number});
        } else if (exec.body.nodes[listed->node].conditional()) {
            listed->node = number;  // that one may not run
        }
        return;
    }
    if (node.kind == NodeKind::ALLOC || node.kind == NodeKind::FREE) return;
    Access access = access_of(node, reference);
    if (node.kind == NodeKind::HOST) access.end = end_of(reference, allocation);
    // A pointer that the node found in memory may lead to memory that is not made yet.
    const bool found = node.is_seen && !leads_to(node, allocation);
    if (found && !allocation.live()) return;
    // The address came back after the node had got it, for memory that it was not given.
    const bool recycled = reference.generation == 0 && allocation.made.sequence > node.described &&
                          is_kept_by_address(allocation.kind) && !found;
    const bool older = recycled || allocation.is_not_of(reference.generation);
    if (older || !allocation.live()) {
        if (allocation.kind == MemoryKind::REGISTERED) return;
        const std::uint32_t said = seen_stale.find(at);
        if (said != none && (access.operation.assumed() || !exec.stale[said].node.assumed())) return;
        const Previous* previous = process.allocations.previous(at);
        if (older && previous == nullptr) return;
        if (recycled && (previous->made.sequence > node.described || previous->freed.sequence < node.described)) return;
        if (older && !recycled && previous->generation != reference.generation) return;
        if (said == none) seen_stale.set(at, static_cast<std::uint32_t>(exec.stale.size()));
        Stale stale{described(allocation),
                    older ? previous->made : allocation.made,
                    older ? previous->freed : allocation.uses[0].operation,
                    access.operation,
                    !older && allocation.freed_by == ended_by_reset,
                    allocation.marks.assumed || allocation.marks.escaped,
                    reference.assumed};
        if (older) {
            stale.allocation.generation = previous->generation;
            stale.allocation.site = previous->made.site;
        }
        if (said == none) exec.stale.push_back(stale);
        else exec.stale[said] = stale;  // that one was a use perhaps only
        return;
    }
    const std::uint32_t known = seen.number(at, exec.baked.size());
    if (known == exec.baked.size())
        exec.baked.push_back({at, allocation.made.sequence, false, false, exec.launches, {}});
    std::vector<BakedAccess>& accesses = exec.baked[known].accesses;
    for (BakedAccess& each : accesses) {
        if (!same_access(each.access, access)) continue;
        each.before_host &= node.before_host;
        return;
    }
    const bool host = node.kind == NodeKind::HOST;
    const BakedAccess baked{access, host || bulk(node.kind), host, reference.assumed, found, node.before_host};
    if (accesses.size() < most_accesses) accesses.push_back(baked);
    else if (!access.operation.reads_only() && exec.baked[known].reads_only())
        accesses.back() = baked;  // that it writes at all matters most
}

void Graphs::unlink(const Process& process, std::uint32_t index, std::uint32_t allocation) {
    std::vector<Baker>* list = bakers_of(process, allocation);
    if (list == nullptr) return;
    std::erase_if(*list, [&](const Baker& each) { return each.exec == index; });
    if (list->empty()) bakers_.drop(process.number, allocation);
}

void Graphs::link(Process& process, std::uint32_t index) {
    GraphExec& exec = *execs_[index];
    for (std::uint32_t i = 0; i < exec.baked.size(); ++i) {
        const Baked& mine = exec.baked[i];
        std::uint32_t at = bakers_.find(process.number, mine.allocation);
        if (at == none) at = bakers_.make(process.number, mine.allocation);
        std::vector<Baker>& list = bakers_[at];
        // Of an earlier generation of the record, whose end nobody saw, or of this graph before its update.
        std::erase_if(list, [&](const Baker& each) {
            const GraphExec& other = *execs_[each.exec];
            return each.exec == index || each.baked >= other.baked.size() || other.baked[each.baked].made != mine.made;
        });
        for (const Baker& other : list) add_neighbours(process.allocations[mine.allocation], index, i, other);
        list.push_back({index, i});
        process.allocations[mine.allocation].marks.baked = true;
    }
}

void Graphs::add_neighbours(const Allocation& allocation, std::uint32_t index, std::uint32_t baked,
                            const Baker& other) {
    GraphExec& exec = *execs_[index];
    GraphExec& neighbour = *execs_[other.exec];
    if (exec.neighbours.size() >= most_neighbours || neighbour.neighbours.size() >= most_neighbours) return;
    Conflict worst = Conflict::absent;
    const Access* mine = nullptr;
    const Access* theirs = nullptr;
    for (const BakedAccess& one : exec.baked[baked].accesses) {
        for (const BakedAccess& two : neighbour.baked[other.baked].accesses) {
            if (one.host || two.host) continue;
            Conflict found = conflict_on(allocation, one.access, two.access);
            if (recording_ && found == Conflict::absent && may_conflict_unseen(allocation, one.access, two.access))
                found = Conflict::possible;
            if (found <= worst) continue;
            worst = found;
            mine = &one.access;
            theirs = &two.access;
        }
    }
    if (worst == Conflict::absent) return;
    const std::size_t most = worst == Conflict::possible ? most_doubtful_neighbours : most_neighbours;
    if (exec.neighbours.size() >= most || neighbour.neighbours.size() >= most) return;
    exec.neighbours.push_back({other.exec, neighbour.incarnation, baked, other.baked, *mine, *theirs});
    // A neighbour that is gone by then is passed over.
    std::erase_if(neighbour.neighbours,
                  [&](const Neighbour& each) { return each.exec == index && each.mine == other.baked; });
    neighbour.neighbours.push_back({index, exec.incarnation, other.baked, baked, *theirs, *mine});
}

}  // namespace streamsan::order
