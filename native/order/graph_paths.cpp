#include "graph_paths.hpp"

#include <algorithm>

#include "flat_map.hpp"

namespace streamsan::order {
namespace {

constexpr std::size_t most_row_entries = 32'000'000;
constexpr std::size_t most_row_work = 1'000'000'000;

}  // namespace

/// Puts the nodes on chains, each on one that ends in a node before it, where there is one.
class GraphPaths::Chains {
public:
    explicit Chains(std::size_t nodes) : lists_(nodes, none) {}

    [[nodiscard]] std::uint32_t count() const { return static_cast<std::uint32_t>(ends_.size()); }

    /// `before`: the nodes that edges lead from to this one.
    void put(std::vector<Node>& nodes, std::uint32_t node, const std::uint32_t* first, const std::uint32_t* last) {
        const auto ends_its_chain = [&](std::uint32_t each) { return ends_[nodes[each].chain] == each; };
        const std::uint32_t* const extended = std::find_if(first, last, ends_its_chain);
        std::uint32_t list = none;
        if (last - first == 1) {
            list = lists_[*first];  // the chains that the one before it may go on with, it may too
        } else if (first != last) {
            list = static_cast<std::uint32_t>(heads_.size());
            heads_.push_back({none, none});
            for (const std::uint32_t* each = first; each != last; ++each) {
                if (lists_[*each] != none) move_all(lists_[*each], list);
                if (each != extended && ends_its_chain(*each)) add(list, nodes[*each].chain);
            }
        }
        std::uint32_t chain = extended != last ? nodes[*extended].chain : list != none ? take(list) : none;
        if (chain == none) {
            chain = count();
            ends_.push_back(node);
            nodes[node].place = 1;
        } else {
            nodes[node].place = nodes[ends_[chain]].place + 1;
            ends_[chain] = node;
        }
        nodes[node].chain = chain;
        lists_[node] = list;
    }

private:
    /// A chain that ended in a node which is before all that have the list.
    struct Free {
        std::uint32_t chain;
        std::uint32_t end;
        std::uint32_t next;
    };
    struct Head {
        std::uint32_t first;
        std::uint32_t last;
    };

    void add(std::uint32_t list, std::uint32_t chain) {
        const auto made = static_cast<std::uint32_t>(free_.size());
        free_.push_back({chain, ends_[chain], heads_[list].first});
        if (heads_[list].first == none) heads_[list].last = made;
        heads_[list].first = made;
    }

    /// The chains of a list go to a later one. Whoever has the first list only opens new chains from then on.
    void move_all(std::uint32_t from, std::uint32_t to) {
        if (heads_[from].first == none) return;
        free_[heads_[from].last].next = heads_[to].first;
        if (heads_[to].first == none) heads_[to].last = heads_[from].last;
        heads_[to].first = heads_[from].first;
        heads_[from] = {none, none};
    }

    std::uint32_t take(std::uint32_t list) {
        while (heads_[list].first != none) {
            const Free& each = free_[heads_[list].first];
            heads_[list].first = each.next;
            if (ends_[each.chain] == each.end) return each.chain;  // else another node has it by now
        }
        return none;
    }

    std::vector<std::uint32_t> ends_;   ///< by chain: its last node
    std::vector<std::uint32_t> lists_;  ///< by node
    std::vector<Head> heads_;
    std::vector<Free> free_;
};

GraphPaths::GraphPaths(std::size_t nodes, const std::vector<std::pair<std::uint32_t, std::uint32_t>>& edges)
    : nodes_(nodes), row_of_(nodes, none), seen_(nodes, none) {
    std::vector<std::size_t> starts(nodes + 1);
    for (const auto& edge : edges) ++starts[edge.second + std::size_t{1}];
    for (std::size_t node = 0; node < nodes; ++node) starts[node + 1] += starts[node];
    std::vector<std::uint32_t> sources(edges.size());
    std::vector<std::size_t> next(starts.begin(), starts.end() - 1);
    for (const auto& [before, after] : edges) sources[next[after]++] = before;
    std::vector<std::uint32_t> parents(nodes, none);
    Chains chains(nodes);
    for (std::uint32_t node = 0; node < nodes; ++node) {
        const std::uint32_t* const first = sources.data() + starts[node];
        const std::uint32_t* const last = sources.data() + starts[node + std::size_t{1}];
        chains.put(nodes_, node, first, last);
        Node& here = nodes_[node];
        here.root = node;
        here.up = none;
        if (last - first == 1) {
            const Node& above = nodes_[*first];
            parents[node] = *first;
            here.root = above.root;
            here.up = above.chain != here.chain ? *first : above.up;
        } else if (first != last && !add_row(node, first, last, chains.count())) {
            known_ = false;
            return;
        }
    }
    number_trees(parents);
}

void GraphPaths::number_trees(const std::vector<std::uint32_t>& parents) {
    const auto count = static_cast<std::uint32_t>(nodes_.size());
    for (std::uint32_t node = count; node-- > 0;) {
        if (parents[node] != none) nodes_[parents[node]].size += nodes_[node].size;
    }
    std::vector<std::uint32_t> next(count, 1);
    for (std::uint32_t node = 0; node < count; ++node) {
        if (parents[node] == none) continue;
        nodes_[node].first = next[parents[node]];
        next[parents[node]] += nodes_[node].size;
        next[node] = nodes_[node].first + 1;
    }
}

bool GraphPaths::add_row(std::uint32_t node, const std::uint32_t* first, const std::uint32_t* last,
                         std::uint32_t chains) {
    if (rows_.size() + chains > most_row_entries) return false;
    const std::size_t begin = rows_.size();
    rows_.resize(begin + chains);
    for (const std::uint32_t* before = first; before != last; ++before) {
        const std::uint32_t root = nodes_[*before].root;
        if (seen_[root] != node) {
            seen_[root] = node;
            if (row_of_[root] != none) {
                const Row from = row_list_[row_of_[root]];
                for (std::uint32_t chain = 0; chain < from.length; ++chain)
                    rows_[begin + chain] = std::max(rows_[begin + chain], rows_[from.begin + chain]);
                work_ += from.length;
            }
        }
        for (std::uint32_t at = *before; at != none; at = nodes_[at].up, ++work_) {
            std::uint32_t& place = rows_[begin + nodes_[at].chain];
            place = std::max(place, nodes_[at].place);
        }
        if (work_ > most_row_work) return false;
    }
    row_of_[node] = static_cast<std::uint32_t>(row_list_.size());
    row_list_.push_back({begin, chains});
    return true;
}

bool GraphPaths::before(std::uint32_t earlier, std::uint32_t later) const {
    if (earlier >= later) return earlier == later;
    const Node& from = nodes_[earlier];
    const Node& to = nodes_[later];
    if (from.root == to.root) return from.first <= to.first && to.first < from.first + from.size;
    if (row_of_[to.root] == none) return false;
    const Row row = row_list_[row_of_[to.root]];
    return from.chain < row.length && rows_[row.begin + from.chain] >= from.place;
}

}  // namespace streamsan::order
