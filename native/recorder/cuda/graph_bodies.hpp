// The body of a graph as it is when it is instantiated: children and conditional bodies flattened.
#pragma once
#include <cstdint>
#include <utility>
#include <vector>

#include "generated/vocabulary.hpp"
#include "recorder/cuda/abi.hpp"
#include "recorder/cuda/call.hpp"
#include "recorder/cuda/driver.hpp"
#include "recorder/cuda/graph_nodes.hpp"
#include "recorder/cuda/node_sites.hpp"

namespace streamsan::recorder::cuda {

/// One node; its number is its index + 1.
struct BodyNode {
    abi::Word handle = 0;               ///< in the graph; 0: it stands for the end of the node that holds it
    std::uint64_t object = 0;           ///< the event of an event node
    std::uint32_t first_reference = 0;  ///< in `Body::references`
    std::uint32_t references = 0;
    std::uint32_t shape = 0;         ///< id of a kernel's launch shape
    const Kernel* kernel = nullptr;  ///< null: it is none, or not known
    LaunchDimensions dimensions;     ///< of a kernel
    std::uint32_t inner = 0;         ///< nodes right after it that are its child's or its bodies'
    NodeOrigin origin;
    NodeKind kind = NodeKind::OPAQUE;
    bool conditional = false;
    bool enabled = true;
};

/// Nodes are numbered so that every edge leads to a higher number.
struct Body {
    std::vector<BodyNode> nodes;
    std::vector<Reference> references;
    std::vector<std::pair<std::uint32_t, std::uint32_t>> edges;  ///< numbers, from 1
    bool known = true;  ///< false: it could not be read, and is one node of which nothing is known

    [[nodiscard]] const Reference* references_of(const BodyNode& node) const {
        return references.data() + node.first_reference;
    }
    [[nodiscard]] std::size_t size_in_trace() const { return nodes.size() + edges.size(); }
};

/// Reads the body from the driver; call it inside an OwnCalls. Never fails: what cannot be read gives a body that is
/// not `known`.
Body read_body(const Driver& driver, abi::Word graph);

/// The launch shapes of its kernels once more: the driver has loaded machine code since they were read. Inside an
/// OwnCalls, too.
void renew_shapes(const Driver& driver, Body& body);

/// Whether a graph, or one inside it, allocates or frees memory itself; call it inside an OwnCalls. False where the
/// driver does not say.
bool has_memory_nodes(const Driver& driver, abi::Word graph);

/// What a node does in the trace: one that is disabled orders only.
inline NodeKind kind_in_trace(const BodyNode& node) { return node.enabled ? node.kind : NodeKind::EMPTY; }

}  // namespace streamsan::recorder::cuda
