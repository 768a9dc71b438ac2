// Where in the program each node of a graph was made.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "recorder/cuda/abi.hpp"
#include "recorder/cuda/graph_conditions.hpp"
#include "recorder/trace_writer/references.hpp"

namespace streamsan::recorder::cuda {

/// The place of a node: its call site, and index of the API that made it; 0: not known.
struct NodeOrigin {
    std::uint32_t site = 0;
    std::uint16_t api = 0;
    std::uint64_t since = 0;  ///< the latest operation's number when it got its parameters; 0: not known
    /// What it uses, where its library told it; null: what its parameters say.
    std::shared_ptr<const std::vector<Reference>> uses{};
};

/// Nodes of the program's own graphs, by handle. Handles come back for other nodes: the latest creation counts. Any
/// thread may use it; nothing here calls the driver.
class NodeSites {
public:
    void made(abi::Word graph, abi::Word node, NodeOrigin origin);
    /// A node was copied into another graph: it keeps the place of the one that it is a copy of.
    void copied(abi::Word graph, abi::Word node, abi::Word original);
    /// Parameters of a node were set anew at this place.
    void described(abi::Word node, NodeOrigin origin);
    /// The library of a captured kernel told which of its functions it stands for, in `site` and `api`, and what it
    /// uses.
    void uses(abi::Word node, std::uint32_t site, std::uint16_t api, std::vector<Reference> references);
    void destroyed(abi::Word node);
    void graph_destroyed(abi::Word graph);
    void set_conditional(abi::Word node, Conditional conditional);

    [[nodiscard]] NodeOrigin origin(abi::Word node) const;
    /// Without bodies where the node is not known.
    [[nodiscard]] Conditional conditional(abi::Word node) const;
    /// The graph that a node was made in, 0 when not known.
    [[nodiscard]] abi::Word graph_of(abi::Word node) const;

private:
    struct Known {
        abi::Word graph;
        NodeOrigin origin;
    };
    void drop(abi::Word node);

    mutable std::mutex mutex_;
    std::unordered_map<abi::Word, Known> nodes_;
    std::unordered_map<abi::Word, std::vector<abi::Word>> by_graph_;
    std::unordered_map<abi::Word, Conditional> conditionals_;
};

/// Of this process. Never destroyed: threads may outlive static objects.
NodeSites& node_sites();

}  // namespace streamsan::recorder::cuda
