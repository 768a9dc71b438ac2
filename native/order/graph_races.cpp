// Bodies of executable graphs, checked node against node: what no path of edges orders.
#include <algorithm>
#include <tuple>

#include "graph_paths.hpp"
#include "graphs.hpp"

namespace streamsan::order {
namespace {

/// Pairs of accesses that are looked at in one body.
constexpr std::size_t most_comparisons = 20'000'000;
/// Pairs of places of one body that are reported: whoever has more knows what to do.
constexpr std::size_t most_said = 10'000;

/// From an allocation node to its free node, if there is one. A body may allocate at one address several times: a node
/// gets what a free node before it gave back.
struct GraphLife {
    std::uint32_t alloc_node;
    std::uint32_t free_node;
};

/// The life that a node uses: the last one that began before it. Null: none did.
const GraphLife* life_of(const std::vector<GraphLife>& lives, const GraphPaths& paths, std::uint32_t node) {
    auto life = std::upper_bound(lives.begin(), lives.end(), node,
                                 [](std::uint32_t at, const GraphLife& each) { return at < each.alloc_node; });
    while (life != lives.begin()) {
        --life;
        if (paths.before(life->alloc_node, node)) return &*life;
    }
    return nullptr;
}

/// Two places, whichever comes first.
std::uint64_t places(const Operation& one, const Operation& other) {
    return std::uint64_t{std::min(one.site, other.site)} << 32 | std::max(one.site, other.site);
}

/// Conflicts of a body that are possible: one for each pair of places, and none where another is sure.
class Doubts {
public:
    void is_sure(const Operation& one, const Operation& other) { sure_.set(places(one, other), 0); }
    void add(const Fact& fact, const Operation& one, const Operation& other) {
        if (pairs_.find(places(one, other)) != none || facts_.size() >= most || pairs_.size() >= most) return;
        pairs_.set(places(one, other), static_cast<std::uint32_t>(facts_.size()));
        facts_.push_back({fact, places(one, other)});
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

/// An access of a node; of one node there may be several.
struct NodeAccess {
    std::uint32_t node;
    NodeKind kind;
    Access access;
    bool may_not_run;  ///< that is all that is not known for sure
    bool polls;        ///< its node, or one before that, polls a word which others may write

    /// The access of a launch that runs the node.
    [[nodiscard]] Access when_it_runs() const {
        Access result = access;
        if (may_not_run)
            result.operation.flags = static_cast<std::uint8_t>(result.operation.flags & ~bit(SlotFlag::ASSUMED));
        return result;
    }
};

/// Of each node whether it, or one that it is behind, polls a word.
std::vector<bool> behind_polls(const GraphBody& body) {
    std::vector<bool> found(body.nodes.size());
    bool any = false;
    for (std::size_t node = 0; node < body.nodes.size(); ++node) {
        for (const Reference& reference : body.nodes[node].references) {
            if (reference.polls()) any = found[node] = true;
        }
    }
    if (!any) return found;
    for (const auto& [from, to] : body.edges) {  // sorted: those into a node come before those out of it
        if (found[from] && to < found.size()) found[to] = true;
    }
    return found;
}

/// Nodes that do the same to the same bytes, by chain.
struct Group {
    const NodeAccess* like;
    std::uint64_t end;  ///< no access that begins here or behind meets it
    std::vector<const NodeAccess*> nodes;
    std::vector<std::vector<const NodeAccess*>> chains;
};

/// All that the nodes of a body do to one allocation.
struct Uses {
    std::uint32_t allocation = none;
    std::vector<GraphLife> lives;
    bool writes = false;
    std::vector<NodeAccess> kept;
};

bool is_like(const NodeAccess& one, const NodeAccess& other) {
    return one.kind == other.kind && one.may_not_run == other.may_not_run && one.polls == other.polls &&
           same_access(one.access, other.access);
}

/// Groups, those that begin at lower addresses first.
std::vector<Group> grouped(std::vector<NodeAccess>& kept, const GraphPaths& paths) {
    std::stable_sort(kept.begin(), kept.end(), [](const NodeAccess& one, const NodeAccess& other) {
        const auto order = [](const NodeAccess& each) {
            return std::tuple(each.access.begin, each.access.end, each.access.rows, each.access.operation.flags,
                              each.access.bounds.low, each.access.bounds.high, each.kind, each.may_not_run, each.polls,
                              each.node);
        };
        return order(one) < order(other);
    });
    std::vector<Group> groups;
    FlatMap numbers;  // of the chains in the group at hand
    for (const NodeAccess& each : kept) {
        if (groups.empty() || !is_like(*groups.back().like, each)) {
            numbers.clear();
            groups.push_back({&each, std::max(each.access.end, each.access.begin + 1), {}, {}});
        }
        Group& group = groups.back();
        if (!group.nodes.empty() && group.nodes.back()->node == each.node) continue;
        group.nodes.push_back(&each);
        const std::uint32_t place = numbers.number(paths.chain_of(each.node), group.chains.size());
        if (place == group.chains.size()) group.chains.emplace_back();
        group.chains[place].push_back(&each);
    }
    return groups;
}

/// Calls visit(earlier) for each node of a group that is numbered before `node`, and that no path leads from to it; of
/// several, one after the other, for the last.
template <class Visit>
void each_unordered_before(const Group& group, std::uint32_t node, const GraphPaths& paths, Visit&& visit) {
    for (const std::vector<const NodeAccess*>& chain : group.chains) {
        const auto last = std::lower_bound(chain.begin(), chain.end(), node,
                                           [](const NodeAccess* each, std::uint32_t at) { return each->node < at; });
        if (last != chain.begin() && !paths.before((*(last - 1))->node, node)) visit(**(last - 1));
    }
}

/// What the accesses of a body's nodes to one memory are to each other.
class Races {
public:
    Races(const GraphPaths& paths, bool recording, Facts& facts)
        : paths_(paths), recording_(recording), facts_(facts) {}

    /// `news(one, other)`: whether these two nodes are to be compared.
    template <class News>
    void look_at(const Allocation& allocation, std::vector<NodeAccess>& kept, News&& news) {
        const std::vector<Group> groups = grouped(kept, paths_);
        std::vector<std::size_t> open;  // groups that reach behind where the one at hand begins
        for (std::size_t at = 0; at < groups.size(); ++at) {
            const Group& group = groups[at];
            std::erase_if(open, [&](std::size_t each) { return groups[each].end <= group.like->access.begin; });
            open.push_back(at);
            for (const std::size_t each : open) {
                const Group& other = groups[each];
                const Conflict found = conflict_of_nodes(allocation, *group.like, *other.like);
                ++compared_;
                if (left_out()) return;
                if (found == Conflict::absent) continue;
                compare(allocation, group, other, found, news);
                if (each != at) compare(allocation, other, group, found, news);
            }
        }
    }
    [[nodiscard]] bool left_out() const { return compared_ > most_comparisons || said_.size() > most_said; }
    /// Says what is no more than possible; the rest is said already.
    void say_doubts() {
        doubts_.each([&](const Fact& fact) { facts_.add(fact); });
    }

private:
    [[nodiscard]] Conflict conflict_of_nodes(const Allocation& allocation, const NodeAccess& one,
                                             const NodeAccess& other) const {
        if (one.kind == NodeKind::HOST || other.kind == NodeKind::HOST) return Conflict::absent;
        const bool polled = one.polls || other.polls;
        const Conflict met = conflict_in_graph(allocation, one.access, other.access);
        const Conflict found = polled && met != Conflict::absent ? Conflict::possible : met;
        if (found == Conflict::possible && !worth_a_note(one.access, other.access)) return Conflict::absent;
        if (found == Conflict::possible && !polled && (one.may_not_run || other.may_not_run)) {
            const Conflict then = conflict_in_graph(allocation, one.when_it_runs(), other.when_it_runs());
            return then == Conflict::sure ? Conflict::likely : then;
        }
        if (found != Conflict::absent) return found;
        const bool kernels = one.kind == NodeKind::KERNEL && other.kind == NodeKind::KERNEL;
        const bool one_reads = one.access.operation.reads_only() || other.access.operation.reads_only();
        const bool beside_copy = one.access.exact() != other.access.exact() && one_reads;
        const bool unseen =
            ((recording_ && kernels) || beside_copy) && may_conflict_unseen(allocation, one.access, other.access);
        return unseen ? Conflict::possible : Conflict::absent;
    }

    /// Those of `group` with those of `other` that are numbered before.
    template <class News>
    void compare(const Allocation& allocation, const Group& group, const Group& other, Conflict found, News&& news) {
        for (const NodeAccess* later : group.nodes) {
            compared_ += other.chains.size();
            if (left_out()) return;
            candidates_.clear();
            each_unordered_before(other, later->node, paths_, [&](const NodeAccess& earlier) {
                if (news(earlier.node, later->node)) candidates_.push_back(&earlier);
            });
            for (const NodeAccess* earlier : candidates_) {
                if (!followed(*earlier)) add(allocation, found, *later, *earlier);
            }
        }
    }

    /// Whether another candidate, that does the same, is behind it: then that stands for it.
    [[nodiscard]] bool followed(const NodeAccess& earlier) const {
        constexpr std::size_t few = 64;
        if (candidates_.size() > few) return false;
        return std::any_of(candidates_.begin(), candidates_.end(), [&](const NodeAccess* each) {
            return each->node != earlier.node && paths_.before(earlier.node, each->node);
        });
    }

    void add(const Allocation& allocation, Conflict found, const NodeAccess& later_use, const NodeAccess& earlier_use) {
        const Operation& later = later_use.access.operation;
        const Operation& earlier = earlier_use.access.operation;
        said_.set(places(later, earlier), 0);
        if (said_.size() > most_said) return;
        Fact fact = conflict_fact(allocation, found, later_use.access, earlier_use.access);
        fact.polled = later_use.polls || earlier_use.polls;
        if (found == Conflict::possible) {
            doubts_.add(fact, later, earlier);
            return;
        }
        doubts_.is_sure(later, earlier);
        facts_.add(fact);
    }

    const GraphPaths& paths_;
    bool recording_;
    std::size_t compared_ = 0;
    FlatMap said_;
    std::vector<const NodeAccess*> candidates_;
    Doubts doubts_;
    Facts& facts_;
};

}  // namespace

void Graphs::check_body(Process& process, std::uint32_t index, bool changed_only) {
    GraphBody& body = execs_[index]->body;
    FlatMap touched;  // allocations that changed nodes use
    if (changed_only) {
        for (const BodyNode& node : body.nodes) {
            if (!node.changed) continue;
            for (const Reference& reference : node.used()) {
                const std::uint32_t allocation =
                    reference.polls() ? none : process.allocations.named_by(reference.address, reference.generation);
                if (allocation != none) touched.set(allocation, 0);
            }
        }
        if (touched.size() == 0) return;
    }
    const std::vector<bool> polls = behind_polls(body);
    bool needed = false;
    FlatMap seen;
    std::vector<Uses> uses;
    for (std::uint32_t node = 0; node < body.nodes.size(); ++node) {
        for (const Reference& reference : body.nodes[node].used()) {
            const std::uint32_t allocation =
                reference.polls() ? none : process.allocations.named_by(reference.address, reference.generation);
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
                const bool may_not_run = body.nodes[node].conditional() && !reference.assumed;
                here.kept.push_back({node, kind, access_of(body.nodes[node], reference), may_not_run, polls[node]});
            }
            needed |= !here.lives.empty() || (here.writes && here.kept.size() > 1);
        }
    }
    if (!needed) return;
    const GraphPaths paths(body.nodes.size(), body.edges);
    if (!paths.known()) {
        say_not_compared(index);
        return;
    }
    // What was compared before, and is as it was, is not said again.
    const auto news = [&](std::uint32_t one, std::uint32_t other) {
        return !changed_only || body.nodes[one].changed || body.nodes[other].changed;
    };
    Races races(paths, recording_, facts_);
    for (Uses& here : uses) {
        const Allocation& allocation = process.allocations[here.allocation];
        if (!here.lives.empty()) {
            for (const NodeAccess& use : here.kept) {
                const Operation& node = use.access.operation;
                if (!news(use.node, use.node)) continue;
                const GraphLife* const life = life_of(here.lives, paths, use.node);
                if (life == nullptr) report_inside(allocation, node, nullptr);
                else if (life->free_node != none && !paths.before(use.node, life->free_node))
                    report_inside(allocation, node, &body.nodes[life->free_node].operation);
            }
            for (const GraphLife& life : here.lives) {
                if (life.free_node != none && !changed_only && !paths.before(life.alloc_node, life.free_node))
                    report_inside(allocation, body.nodes[life.free_node].operation, nullptr);
            }
        }
        if (!here.writes || (!allocation.live() && allocation.kind != MemoryKind::GRAPH))
            continue;  // SS303 says the latter
        races.look_at(allocation, here.kept, news);
    }
    races.say_doubts();
    if (races.left_out()) say_not_compared(index);
}

void Graphs::say_not_compared(std::uint32_t index) {
    facts_.add(Fact(RuleCode::NOT_UNDERSTOOD, FactVariant::NOT_COMPARED, execs_[index]->made));
}

}  // namespace streamsan::order
