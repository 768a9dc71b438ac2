// Which nodes of a graph a path of edges connects. Captures make few long chains, so that a place on a chain says most.
#pragma once
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace streamsan::order {

/// Nodes are numbered so that edges lead to higher numbers. Room and time grow with the nodes and edges, and with the
/// nodes that several edges lead to times how many chains there are.
class GraphPaths {
public:
    /// `edges`: each once.
    GraphPaths(std::size_t nodes, const std::vector<std::pair<std::uint32_t, std::uint32_t>>& edges);

    /// Whether the answers are known: there is a limit to what is kept, which graphs of many branches may reach.
    [[nodiscard]] bool known() const { return known_; }
    /// Whether a path leads from one node to another one, or they are the same.
    [[nodiscard]] bool before(std::uint32_t earlier, std::uint32_t later) const;
    /// Nodes of a chain are one before the other.
    [[nodiscard]] std::uint32_t chain_of(std::uint32_t node) const { return nodes_[node].chain; }

private:
    /// A node that one edge leads to hangs below the node which that comes from. What begins such a tree has a row:
    /// for each chain how many of its nodes are before.
    struct Node {
        std::uint32_t chain = 0;
        std::uint32_t place = 0;  ///< on the chain, from 1
        std::uint32_t root = 0;   ///< of its tree
        std::uint32_t up = 0;     ///< the nearest node above it in its tree that is of another chain; `none`
        std::uint32_t first = 0;  ///< its tree from here down is numbered from `first` ...
        std::uint32_t size = 1;   ///< ... on, so many nodes
    };
    struct Row {
        std::size_t begin = 0;  ///< in `rows_`
        std::uint32_t length = 0;
    };
    class Chains;

    void number_trees(const std::vector<std::uint32_t>& parents);
    bool add_row(std::uint32_t node, const std::uint32_t* first, const std::uint32_t* last, std::uint32_t chains);

    std::vector<Node> nodes_;
    std::vector<std::uint32_t> row_of_;  ///< by node; only a tree's root has one
    std::vector<Row> row_list_;
    std::vector<std::uint32_t> rows_;
    std::vector<std::uint32_t> seen_;  ///< by root: the node whose row has taken it up
    std::size_t work_ = 0;
    bool known_ = true;
};

}  // namespace streamsan::order
