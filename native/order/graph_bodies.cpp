// Bodies of executable graphs: read, and checked node against node.
#include <algorithm>

#include "graphs.hpp"

namespace streamsan::order {
namespace {

constexpr std::size_t most_nodes = 1'000'000;
constexpr std::size_t most_edges = 8'000'000;
constexpr std::size_t most_references = 4'000'000;
/// Larger bodies are not checked node against node: the table of who is after whom grows with the square.
constexpr std::size_t most_checked_nodes = 10'000;
/// Comparisons of accesses in one body.
constexpr std::size_t most_comparisons = 20'000'000;

/// For each node the nodes that are before it, itself included.
class Ancestors {
public:
    explicit Ancestors(const GraphBody& body)
        : words_((body.nodes.size() + 63) / 64), bits_(words_ * body.nodes.size()) {
        std::vector<std::pair<std::uint32_t, std::uint32_t>> edges = body.edges;
        std::sort(edges.begin(), edges.end(),
                  [](const auto& left, const auto& right) { return left.second < right.second; });
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

/// From an allocation node to its free node, if there is one. A body may allocate at one address several times: a node
/// gets what a free node before it gave back.
struct GraphLife {
    std::uint32_t alloc_node;
    std::uint32_t free_node;
};

/// The life that a node uses: the last one that began before it. Null: none did.
const GraphLife* life_of(const std::vector<GraphLife>& lives, const Ancestors& ancestors, std::uint32_t node) {
    const auto last = std::find_if(lives.rbegin(), lives.rend(),
                                   [&](const GraphLife& life) { return ancestors.before(life.alloc_node, node); });
    return last == lives.rend() ? nullptr : &*last;
}

/// Conflicts of a body that are possible: one for each pair of places, and none where another is sure.
class Doubts {
public:
    void is_sure(const Operation& one, const Operation& other) { sure_.set(key(one, other), 0); }
    void add(const Fact& fact, const Operation& one, const Operation& other) {
        if (pairs_.find(key(one, other)) != none || facts_.size() >= most || pairs_.size() >= most) return;
        pairs_.set(key(one, other), static_cast<std::uint32_t>(facts_.size()));
        facts_.push_back({fact, key(one, other)});
    }
    template <class Visit>
    void each(Visit&& visit) const {
        for (const Doubt& doubt : facts_) {
            if (sure_.find(doubt.key) == none) visit(doubt.fact);
        }
    }

private:
    struct Doubt {
        Fact fact;
        std::uint64_t key;
    };
    static constexpr std::size_t most = 4096;
    static std::uint64_t key(const Operation& one, const Operation& other) {
        return std::uint64_t{std::min(one.site, other.site)} << 32 | std::max(one.site, other.site);
    }

    FlatMap pairs_;
    FlatMap sure_;
    std::vector<Doubt> facts_;
};

/// Whether two nodes may touch the same bytes, by accesses that are known. Of two conditional ones perhaps only one
/// runs.
bool worth_a_note(const Access& one, const Access& other) {
    return one.operation.mode() != AccessMode::OPAQUE && other.operation.mode() != AccessMode::OPAQUE &&
           !(one.operation.has(SlotFlag::CONDITIONAL) && other.operation.has(SlotFlag::CONDITIONAL));
}

}  // namespace

Access access_of(const BodyNode& node, const Reference& reference) {
    Access access{node.operation.as_use(reference.mode, reference.flags), {reference.address}};
    if (reference.assumed || node.conditional()) access.operation.flags |= bit(SlotFlag::ASSUMED);
    const bool told = node.kind == NodeKind::KERNEL && reference.size != 0;
    if (bulk(node.kind) || told || reference.rows != nullptr) access.reach(reference.size, reference.rows);
    return access;
}

std::uint64_t described_at(const Slot& slot, const Operation& operation) {
    const bool said = operation.kind == OperationKind::GRAPH_NODE && slot.time != 0;
    return said ? std::min(slot.time, operation.sequence) : operation.sequence;
}

void Graphs::begin_body(std::uint32_t index, std::uint64_t parts, Thread& thread) {
    execs_[index]->body = {};
    thread.building = index;
    thread.building_left = parts;
    thread.building_references = 0;
}

bool Graphs::add_part(const Slot& slot, const Operation& operation, const std::vector<Reference>& references,
                      Thread& thread) {
    if (thread.building == none || execs_[thread.building]->handle != slot.stream || thread.building_left == 0) {
        ++problems_;
        return false;
    }
    GraphBody& body = execs_[thread.building]->body;
    if (operation.kind == OperationKind::GRAPH_EDGE) {
        const bool fits = slot.object >= 1 && slot.address <= most_nodes && slot.object < slot.address &&
                          body.edges.size() < most_edges;
        if (fits && edges_.has(EdgeKind::node_to_node))
            body.edges.emplace_back(static_cast<std::uint32_t>(slot.object - 1),
                                    static_cast<std::uint32_t>(slot.address - 1));
        else if (!fits) ++problems_;
    } else if (slot.object != body.nodes.size() + 1 || body.nodes.size() >= most_nodes ||
               thread.building_references + references.size() > most_references) {
        ++problems_;
    } else {
        thread.building_references += references.size();
        body.nodes.push_back({operation, static_cast<NodeKind>(slot.detail), slot.address, false,
                              described_at(slot, operation), references});
    }
    return --thread.building_left == 0;
}

void Graphs::finish_body(Process& process, Thread& thread) {
    const std::uint32_t index = thread.building;
    thread.building = none;
    if (!execs_[index]->alive) return;
    if (thread.building_left != 0) ++problems_;
    GraphBody& body = execs_[index]->body;
    const std::size_t before = body.edges.size();
    std::erase_if(body.edges, [&](const auto& edge) { return edge.second >= body.nodes.size(); });
    std::sort(body.edges.begin(), body.edges.end());
    body.edges.erase(std::unique(body.edges.begin(), body.edges.end()), body.edges.end());
    problems_ += before - body.edges.size();
    claim_memory(process, index);
    check_body(process, index, false);
    summarise(process, index);
}

void Graphs::check_body(Process& process, std::uint32_t index, bool changed_only) {
    GraphBody& body = execs_[index]->body;
    if (body.nodes.size() > most_checked_nodes) return;
    FlatMap touched;  // allocations that changed nodes use
    if (changed_only) {
        for (const BodyNode& node : body.nodes) {
            if (!node.changed) continue;
            for (const Reference& reference : node.references) {
                const std::uint32_t allocation = process.allocations.containing(reference.address);
                if (allocation != none) touched.set(allocation, 0);
            }
        }
        if (touched.size() == 0) return;
    }
    // What was compared before, and is as it was, is not said again.
    const auto news = [&](std::uint32_t one, std::uint32_t other) {
        return !changed_only || body.nodes[one].changed || body.nodes[other].changed;
    };
    bool needed = false;
    FlatMap seen;
    struct Kept {
        std::uint32_t node;
        Access access;
    };
    struct Uses {
        std::uint32_t allocation = none;
        std::vector<GraphLife> lives;
        bool writes = false;
        std::vector<Kept> kept;
    };
    std::vector<Uses> uses;
    for (std::uint32_t node = 0; node < body.nodes.size(); ++node) {
        for (const Reference& reference : body.nodes[node].references) {
            const std::uint32_t allocation = process.allocations.containing(reference.address);
            if (allocation == none || (changed_only && touched.find(allocation) == none)) continue;
            const std::uint32_t at = seen.number(allocation, uses.size());
            if (at == uses.size()) uses.push_back({allocation, {}, false, {}});
            Uses& here = uses[at];
            const NodeKind kind = body.nodes[node].kind;
            if (kind == NodeKind::ALLOC) {
                here.lives.push_back({node, none});
            } else if (kind == NodeKind::FREE) {
                if (!here.lives.empty()) here.lives.back().free_node = node;
            } else if (kind != NodeKind::HOST || process.allocations[allocation].kind == MemoryKind::GRAPH) {
                here.writes |= reference.mode != AccessMode::READ;
                here.kept.push_back({node, access_of(body.nodes[node], reference)});
            }
            needed |= !here.lives.empty() || (here.writes && here.kept.size() > 1);
        }
    }
    if (!needed) return;
    const Ancestors ancestors(body);
    std::size_t comparisons = 0;
    Doubts doubts;
    for (Uses& here : uses) {
        const Allocation& allocation = process.allocations[here.allocation];
        if (!here.lives.empty()) {
            for (const Kept& use : here.kept) {
                const Operation& node = use.access.operation;
                if (!news(use.node, use.node)) continue;
                const GraphLife* const life = life_of(here.lives, ancestors, use.node);
                if (life == nullptr) report_inside(allocation, node, nullptr);
                else if (life->free_node != none && !ancestors.before(use.node, life->free_node))
                    report_inside(allocation, node, &body.nodes[life->free_node].operation);
            }
            for (const GraphLife& life : here.lives) {
                if (life.free_node != none && !changed_only && !ancestors.before(life.alloc_node, life.free_node))
                    report_inside(allocation, body.nodes[life.free_node].operation, nullptr);
            }
        }
        if (!here.writes || (!allocation.live() && allocation.kind != MemoryKind::GRAPH))
            continue;  // SS303 says the latter
        // In topological order: what a later node is after, and covers, need not be compared again.
        std::vector<Kept> open;
        for (const Kept& use : here.kept) {
            if (comparisons > most_comparisons) break;
            comparisons += open.size() + 1;
            for (const Kept& earlier : open) {
                if (earlier.node == use.node || !news(earlier.node, use.node) ||
                    ancestors.before(earlier.node, use.node))
                    continue;
                if (body.nodes[use.node].kind == NodeKind::HOST || body.nodes[earlier.node].kind == NodeKind::HOST)
                    continue;
                Conflict found = conflict_on(allocation, use.access, earlier.access);
                const bool kernels =
                    body.nodes[use.node].kind == NodeKind::KERNEL && body.nodes[earlier.node].kind == NodeKind::KERNEL;
                const bool unseen = recording_ && found == Conflict::absent && kernels &&
                                    may_conflict_unseen(allocation, use.access, earlier.access);
                if (unseen) found = Conflict::possible;
                else if (found == Conflict::absent ||
                         (found == Conflict::possible && !worth_a_note(use.access, earlier.access)))
                    continue;
                const Fact fact = conflict_fact(allocation, found, use.access.operation, earlier.access.operation);
                if (found == Conflict::possible) {
                    doubts.add(fact, use.access.operation, earlier.access.operation);
                } else {
                    doubts.is_sure(use.access.operation, earlier.access.operation);
                    facts_.add(fact);
                }
            }
            std::erase_if(open, [&](const Kept& earlier) {
                return ancestors.before(earlier.node, use.node) && same_access(earlier.access, use.access);
            });
            open.push_back(use);
        }
    }
    doubts.each([&](const Fact& fact) { facts_.add(fact); });
}

}  // namespace streamsan::order
