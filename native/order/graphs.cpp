// Bodies of executable graphs: read, checked once, and reduced to the memory that they use.
#include "graphs.hpp"

#include <algorithm>

#include "engine.hpp"

namespace streamsan::order {
namespace {

constexpr std::size_t most_nodes = 1'000'000;
constexpr std::size_t most_edges = 8'000'000;
constexpr std::size_t most_references = 4'000'000;
/// Larger bodies are not checked node against node: the table of who is after whom grows with the square.
constexpr std::size_t most_checked_nodes = 10'000;
/// Comparisons of accesses in one body.
constexpr std::size_t most_comparisons = 20'000'000;
/// Distinct accesses that a graph keeps for one allocation.
constexpr std::size_t most_accesses = 8;
constexpr std::size_t most_neighbours = 64;

/// For each node the nodes that are before it, itself included.
class Ancestors {
public:
    explicit Ancestors(const GraphBody& body) : words_((body.nodes.size() + 63) / 64), bits_(words_ * body.nodes.size()) {
        std::vector<std::pair<std::uint32_t, std::uint32_t>> edges = body.edges;
        std::sort(edges.begin(), edges.end(), [](const auto& left, const auto& right) { return left.second < right.second; });
        std::size_t next = 0;
        for (std::size_t node = 0; node < body.nodes.size(); ++node) {
            std::uint64_t* row = &bits_[node * words_];
            row[node / 64] |= std::uint64_t{1} << (node % 64);
            for (; next < edges.size() && edges[next].second == node; ++next) {
                const std::uint64_t* before = &bits_[edges[next].first * words_];
                for (std::size_t word = 0; word < words_; ++word) row[word] |= before[word];
            }
        }
    }

    [[nodiscard]] bool before(std::size_t earlier, std::size_t later) const {
        return (bits_[later * words_ + earlier / 64] >> (earlier % 64) & 1) != 0;
    }

private:
    std::size_t words_;
    std::vector<std::uint64_t> bits_;
};

bool bulk(NodeKind kind) { return kind == NodeKind::COPY || kind == NodeKind::MEMSET; }

Access access_of(const BodyNode& node, const Reference& reference) {
    Access access{node.operation, reference.address, 0};
    constexpr auto own = static_cast<std::uint8_t>(mode_bits | reference_bits);
    access.operation.flags = static_cast<std::uint8_t>((access.operation.flags & ~own) | static_cast<std::uint8_t>(reference.mode) | reference.flags);
    if (reference.assumed || node.conditional()) access.operation.flags |= static_cast<std::uint8_t>(SlotFlag::ASSUMED);
    if (bulk(node.kind) && reference.size != 0 && reference.address <= UINT64_MAX - reference.size) access.end = reference.address + reference.size;
    return access;
}

bool same_access(const Access& one, const Access& other) {
    return one.begin == other.begin && one.end == other.end && one.operation.flags == other.operation.flags;
}

std::uint64_t allocation_key(std::uint32_t process, std::uint32_t allocation) { return std::uint64_t{process} << 32 | allocation; }

}  // namespace

std::uint32_t Engine::new_exec(const Slot& slot, Thread& thread, Process& process, const Operation& operation) {
    const std::uint32_t old = process.execs.find(slot.object);
    if (old != none && execs_[old]->alive) end_exec(process, old, operation);  // its destruction was not seen
    std::uint32_t index;
    if (spare_execs_.empty()) {
        index = static_cast<std::uint32_t>(execs_.size());
        execs_.push_back(std::make_unique<GraphExec>());
    } else {
        index = spare_execs_.back();
        spare_execs_.pop_back();
        *execs_[index] = GraphExec{};
    }
    GraphExec& exec = *execs_[index];
    exec.incarnation = ++exec_incarnations_;
    exec.handle = slot.object;
    exec.process = thread.process;
    exec.context = context_of(thread, process);
    exec.made = operation;
    process.execs.set(slot.object, index);
    return index;
}

void Engine::graph_instantiate(const Slot& slot, Thread& thread, Process& process, const Operation& operation) {
    Slot graph = slot;
    graph.object = slot.address;
    graph.detail = static_cast<std::uint8_t>(HandleKind::GRAPH);
    if (slot.address != 0) live_handle(graph, process, operation);
    Slot handle = slot;
    handle.detail = static_cast<std::uint8_t>(HandleKind::GRAPH_EXEC);
    handle_create(handle, process, operation);
    const std::uint32_t index = new_exec(slot, thread, process, operation);
    GraphExec& exec = *execs_[index];
    exec.graph = slot.address;
    exec.auto_free = (slot.detail & static_cast<std::uint8_t>(GraphExecFlag::AUTO_FREE)) != 0;
    if (slot.address != 0) process.graph_execs.set(slot.address, index);
    begin_body(slot, thread, index);
}

void Engine::graph_update(const Slot& slot, Thread& thread, Process& process, const Operation& operation) {
    Slot handle = slot;
    handle.detail = static_cast<std::uint8_t>(HandleKind::GRAPH_EXEC);
    if (!live_handle(handle, process, operation)) return;
    std::uint32_t index = exec_by_handle(process, slot.object);
    if (index == none) index = new_exec(slot, thread, process, operation);
    begin_body(slot, thread, index);
}

void Engine::begin_body(const Slot& slot, Thread& thread, std::uint32_t index) {
    execs_[index]->body = {};
    thread.building = index;
    thread.building_left = slot.size;
    thread.building_references = 0;
    if (slot.size == 0) finish_body(thread);
}

void Engine::body_part(const Slot& slot, Thread& thread, const Operation& operation) {
    if (thread.building == none || execs_[thread.building]->handle != slot.stream || thread.building_left == 0) {
        ++problems_;
        return;
    }
    GraphBody& body = execs_[thread.building]->body;
    if (operation.kind == OperationKind::GRAPH_EDGE) {
        const bool fits = slot.object >= 1 && slot.address <= most_nodes && slot.object < slot.address && body.edges.size() < most_edges;
        if (fits) body.edges.emplace_back(static_cast<std::uint32_t>(slot.object - 1), static_cast<std::uint32_t>(slot.address - 1));
        else ++problems_;
    } else if (slot.object != body.nodes.size() + 1 || body.nodes.size() >= most_nodes ||
               thread.building_references + references_.size() > most_references) {
        ++problems_;
    } else {
        thread.building_references += references_.size();
        body.nodes.push_back({operation, static_cast<NodeKind>(slot.detail), slot.address, references_});
    }
    if (--thread.building_left == 0) finish_body(thread);
}

void Engine::finish_body(Thread& thread) {
    const std::uint32_t index = thread.building;
    thread.building = none;
    GraphExec& exec = *execs_[index];
    if (!exec.alive) return;
    if (thread.building_left != 0) ++problems_;
    GraphBody& body = exec.body;
    const std::size_t before = body.edges.size();
    std::erase_if(body.edges, [&](const auto& edge) { return edge.second >= body.nodes.size(); });
    std::sort(body.edges.begin(), body.edges.end());
    body.edges.erase(std::unique(body.edges.begin(), body.edges.end()), body.edges.end());
    problems_ += before - body.edges.size();
    Process& process = *processes_[exec.process];
    claim_memory(process, index);
    if (body.nodes.size() <= most_checked_nodes) check_body(process, index);
    body.edges = {};  // nothing asks for them again
    summarise(process, index);
}

void Engine::check_body(Process& process, std::uint32_t index) {
    const GraphBody& body = execs_[index]->body;
    bool needed = false;
    FlatMap seen;
    struct Kept {
        std::uint32_t node;
        Access access;
    };
    struct Uses {
        std::uint32_t allocation = none;
        std::uint32_t alloc_node = none;
        std::uint32_t free_node = none;
        bool writes = false;
        std::vector<Kept> kept;
    };
    std::vector<Uses> uses;
    for (std::uint32_t node = 0; node < body.nodes.size(); ++node) {
        for (const Reference& reference : body.nodes[node].references) {
            const std::uint32_t allocation = process.allocations.containing(reference.address);
            if (allocation == none) continue;
            std::uint32_t at = seen.find(allocation);
            if (at == none) {
                at = static_cast<std::uint32_t>(uses.size());
                seen.set(allocation, at);
                uses.push_back({allocation, none, none, false, {}});
            }
            Uses& here = uses[at];
            const NodeKind kind = body.nodes[node].kind;
            if (kind == NodeKind::ALLOC) {
                here.alloc_node = node;
            } else if (kind == NodeKind::FREE) {
                here.free_node = node;
            } else {
                here.writes |= reference.mode != AccessMode::READ;
                here.kept.push_back({node, access_of(body.nodes[node], reference)});
            }
            needed |= here.alloc_node != none || (here.writes && here.kept.size() > 1);
        }
    }
    if (!needed) return;
    const Ancestors ancestors(body);
    std::size_t comparisons = 0;
    for (Uses& here : uses) {
        const Allocation& allocation = process.allocations[here.allocation];
        if (here.alloc_node != none) {
            const BodyNode* const free = here.free_node == none ? nullptr : &body.nodes[here.free_node];
            for (const Kept& use : here.kept) {
                const Operation& node = use.access.operation;
                if (!ancestors.before(here.alloc_node, use.node)) report_inside(allocation, node, nullptr);
                else if (free != nullptr && !ancestors.before(use.node, here.free_node)) report_inside(allocation, node, &free->operation);
            }
            if (free != nullptr && !ancestors.before(here.alloc_node, here.free_node)) report_inside(allocation, free->operation, nullptr);
        }
        if (!here.writes) continue;
        // In topological order: what a later node is after, and covers, need not be compared again.
        std::vector<Kept> open;
        for (const Kept& use : here.kept) {
            if (comparisons > most_comparisons) return;
            comparisons += open.size() + 1;
            for (const Kept& earlier : open) {
                if (earlier.node == use.node || ancestors.before(earlier.node, use.node)) continue;
                if (conflict_of(use.access, earlier.access) != Conflict::sure) continue;
                report(conflict_fact(allocation, Conflict::sure, use.access.operation, earlier.access.operation));
            }
            std::erase_if(open, [&](const Kept& earlier) {
                return ancestors.before(earlier.node, use.node) && same_access(earlier.access, use.access);
            });
            open.push_back(use);
        }
    }
}

void Engine::summarise(Process& process, std::uint32_t index) {
    GraphExec& exec = *execs_[index];
    exec.changed = false;
    std::vector<Baked> old = std::move(exec.baked);
    exec.baked.clear();
    exec.dirty.clear();
    exec.stale.clear();
    exec.neighbours.clear();
    exec.foreign.clear();
    exec.waits.clear();
    exec.records.clear();
    exec.keys.clear();
    FlatMap seen;
    FlatMap seen_stale;
    const auto note = [](std::vector<std::uint64_t>& list, std::uint64_t value) {
        constexpr std::size_t most = 256;
        if (value != 0 && list.size() < most && std::find(list.begin(), list.end(), value) == list.end()) list.push_back(value);
    };
    for (std::uint32_t number = 0; number < exec.body.nodes.size(); ++number) {
        const BodyNode& node = exec.body.nodes[number];
        if (node.kind == NodeKind::EVENT_WAIT && !node.conditional()) note(exec.waits, node.object);
        if (node.kind == NodeKind::EVENT_RECORD && !node.conditional()) note(exec.records, node.object);
        if (node.kind == NodeKind::HOST) note(exec.keys, node.object);
        for (const Reference& reference : node.references) bake(process, exec, number, reference, seen, seen_stale);
    }
    // What the launches so far used is pending still, though later ones do not use it.
    for (const Baked& gone : old) {
        const std::uint32_t at = gone.made == 0 ? none : seen.find(gone.allocation);
        if (gone.made == 0) continue;
        if (at != none && exec.baked[at].made == gone.made) {
            exec.baked[at].ordered = gone.ordered;
            const std::vector<BakedAccess>& now = exec.baked[at].accesses;
            const bool same = std::equal(now.begin(), now.end(), gone.accesses.begin(), gone.accesses.end(), [](const auto& one, const auto& other) {
                return same_access(one.access, other.access);
            });
            if (same) exec.baked[at].since = gone.since;
            else keep_launch(process, exec, gone);
            continue;
        }
        keep_launch(process, exec, gone);
        unlink(exec, index, gone.allocation);
    }
    for (std::uint32_t i = 0; i < exec.baked.size(); ++i) {
        if (exec.baked[i].dirty) continue;
        exec.baked[i].dirty = true;
        exec.dirty.push_back(i);
    }
    link(process, index);
}

void Engine::bake(Process& process, GraphExec& exec, std::uint32_t number, const Reference& reference, FlatMap& seen, FlatMap& seen_stale) {
    const BodyNode& node = exec.body.nodes[number];
    const std::uint32_t at = process.allocations.containing(reference.address);
    if (at == none) return;
    Allocation& allocation = process.allocations[at];
    if (allocation.kind == MemoryKind::GRAPH) {
        const std::uint32_t memory = graph_memory_of(process, at);
        if (memory == none || (graph_memory_[memory].exec != none && execs_[graph_memory_[memory].exec].get() == &exec)) return;
        if (node.kind == NodeKind::ALLOC) return;
        constexpr std::size_t most_foreign = 4096;
        const bool listed = std::any_of(exec.foreign.begin(), exec.foreign.end(), [&](const auto& each) {
            return each.first == memory && (exec.body.nodes[each.second].kind == NodeKind::FREE) == (node.kind == NodeKind::FREE);
        });
        if (!listed && exec.foreign.size() < most_foreign) exec.foreign.emplace_back(memory, number);
        return;
    }
    if (node.kind == NodeKind::ALLOC || node.kind == NodeKind::FREE) return;
    const Access access = access_of(node, reference);
    const bool older = reference.generation != 0 && allocation.generation != 0 && reference.generation != allocation.generation;
    if (older || !allocation.live()) {
        if (allocation.kind == MemoryKind::REGISTERED || seen_stale.find(at) != none) return;
        const Previous* previous = process.allocations.previous(at);
        if (older && (previous == nullptr || previous->generation != reference.generation)) return;
        seen_stale.set(at, 0);
        Stale stale;
        stale.allocation = describe(allocation);
        stale.made = older ? previous->made : allocation.made;
        stale.freed = older ? previous->freed : allocation.uses[0].operation;
        stale.node = access.operation;
        stale.recycled = older;
        stale.reset = !older && allocation.freed_by == ended_by_reset;
        stale.assumed = allocation.marks.assumed || allocation.marks.escaped;
        if (older) {
            stale.allocation.generation = reference.generation;
            stale.allocation.site = previous->made.site;
        }
        exec.stale.push_back(stale);
        return;
    }
    std::uint32_t known = seen.find(at);
    if (known == none) {
        known = static_cast<std::uint32_t>(exec.baked.size());
        seen.set(at, known);
        exec.baked.push_back({at, allocation.made.sequence, false, false, exec.launches, {}});
    }
    std::vector<BakedAccess>& accesses = exec.baked[known].accesses;
    for (const BakedAccess& each : accesses) {
        if (same_access(each.access, access)) return;
    }
    if (accesses.size() < most_accesses) {
        accesses.push_back({access, bulk(node.kind)});
    } else if (!access.operation.reads_only() && exec.baked[known].reads_only()) {
        accesses.back() = {access, bulk(node.kind)};  // that it writes at all matters most
    }
}

std::vector<Engine::Baker>* Engine::bakers_of(const Process& process, std::uint32_t allocation) {
    const std::uint32_t at = baker_index_.find(allocation_key(process.number, allocation));
    return at == none ? nullptr : &bakers_[at];
}

void Engine::unlink(const GraphExec& exec, std::uint32_t index, std::uint32_t allocation) {
    const Process& process = *processes_[exec.process];
    std::vector<Baker>* list = bakers_of(process, allocation);
    if (list == nullptr) return;
    std::erase_if(*list, [&](const Baker& each) { return each.exec == index; });
    if (list->empty()) drop_bakers(process, allocation);
}

void Engine::drop_bakers(const Process& process, std::uint32_t allocation) {
    const std::uint64_t key = allocation_key(process.number, allocation);
    const std::uint32_t at = baker_index_.find(key);
    if (at == none) return;
    bakers_[at].clear();
    baker_index_.erase(key);
    spare_bakers_.push_back(at);
}

void Engine::link(Process& process, std::uint32_t index) {
    GraphExec& exec = *execs_[index];
    for (std::uint32_t i = 0; i < exec.baked.size(); ++i) {
        const Baked& mine = exec.baked[i];
        const std::uint64_t key = allocation_key(process.number, mine.allocation);
        std::uint32_t at = baker_index_.find(key);
        if (at == none) {
            if (spare_bakers_.empty()) {
                at = static_cast<std::uint32_t>(bakers_.size());
                bakers_.emplace_back();
            } else {
                at = spare_bakers_.back();
                spare_bakers_.pop_back();
            }
            baker_index_.set(key, at);
        }
        std::vector<Baker>& list = bakers_[at];
        // Of an earlier generation of the record, whose end nobody saw, or of this graph before its update.
        std::erase_if(list, [&](const Baker& each) {
            const GraphExec& other = *execs_[each.exec];
            return each.exec == index || each.baked >= other.baked.size() || other.baked[each.baked].made != mine.made;
        });
        for (const Baker& other : list) add_neighbours(index, i, other);
        list.push_back({index, i});
        process.allocations[mine.allocation].marks.baked = true;
    }
}

void Engine::add_neighbours(std::uint32_t index, std::uint32_t baked, const Baker& other) {
    GraphExec& exec = *execs_[index];
    GraphExec& neighbour = *execs_[other.exec];
    if (exec.neighbours.size() >= most_neighbours || neighbour.neighbours.size() >= most_neighbours) return;
    Conflict worst = Conflict::absent;
    const Access* mine = nullptr;
    const Access* theirs = nullptr;
    for (const BakedAccess& one : exec.baked[baked].accesses) {
        for (const BakedAccess& two : neighbour.baked[other.baked].accesses) {
            const Conflict found = conflict_of(one.access, two.access);
            if (found <= worst) continue;
            worst = found;
            mine = &one.access;
            theirs = &two.access;
        }
    }
    if (worst == Conflict::absent) return;
    exec.neighbours.push_back({other.exec, neighbour.incarnation, baked, other.baked, *mine, *theirs});
    // An update of the other makes its list anew; a neighbour that is gone by then is passed over.
    std::erase_if(neighbour.neighbours, [&](const Neighbour& each) { return each.exec == index && each.mine == other.baked; });
    neighbour.neighbours.push_back({index, exec.incarnation, other.baked, baked, *theirs, *mine});
}

void Engine::graph_node_update(const Slot& slot, Process& process, const Operation& operation) {
    Slot handle = slot;
    handle.detail = static_cast<std::uint8_t>(HandleKind::GRAPH_EXEC);
    if (!live_handle(handle, process, operation)) return;
    const std::uint32_t index = exec_by_handle(process, slot.object);
    if (index == none) return;
    GraphExec& exec = *execs_[index];
    if (slot.address == 0 || slot.address > exec.body.nodes.size()) {
        ++problems_;
        return;
    }
    BodyNode& node = exec.body.nodes[slot.address - 1];
    node.references = references_;
    node.operation = operation;
    exec.changed = true;  // many nodes are often updated at once: the summary is made at the next launch
}

void Engine::exec_destroyed(const Slot& slot, Process& process, const Operation& operation) {
    const std::uint32_t index = exec_by_handle(process, slot.object);
    if (index != none && execs_[index]->alive) end_exec(process, index, operation);
}

void Engine::end_exec(Process& process, std::uint32_t index, const Operation& operation) {
    GraphExec& exec = *execs_[index];
    if (exec.changed) summarise(process, index);
    exec.alive = false;
    exec.destroyed = operation;
    for (Thread& each : threads_) {
        if (each.building == index) each.building = none;
    }
    for (const Baked& each : exec.baked) {
        if (each.made == 0) continue;
        keep_launch(process, exec, each);
        unlink(exec, index, each.allocation);
    }
    exec.body = {};
    exec.baked = {};
    exec.dirty = {};
    exec.stale = {};
    exec.neighbours = {};
    exec.foreign = {};
    bool needed = false;
    for (const std::uint32_t memory : exec.own) needed |= graph_memory_alive(process, graph_memory_[memory]);
    if (needed) return;  // its memory outlives it, and its last launch with it
    for (const std::uint32_t memory : exec.own) forget_graph_memory(process, memory);
    process.execs.erase(exec.handle);
    if (process.graph_execs.find(exec.graph) == index) process.graph_execs.erase(exec.graph);
    spare_execs_.push_back(index);
}

}  // namespace streamsan::order
