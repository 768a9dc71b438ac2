// What a call that adds a node or sets one is given.
#pragma once
#include <cstdint>

#include "recorder/cuda/abi.hpp"
#include "recorder/cuda/abi_graphs.hpp"
#include "recorder/cuda/call.hpp"
#include "recorder/cuda/graph_nodes.hpp"

namespace streamsan::recorder::cuda {

/// The parameters of a node, wherever the call has them.
struct GivenNode {
    bool known = false;  ///< false: the call has no parameters, or of a type that nobody knows
    abi::NodeType type = abi::NodeType::empty;
    const void* structure = nullptr;  ///< the type's own structure; null where the call takes plain arguments
    abi::Word child = 0;              ///< a child node's graph
    abi::Word event = 0;              ///< an event node's event
    abi::Word freed = 0;              ///< a free node's address
};

/// Looks at the arguments; no driver call.
GivenNode given_node(const Call& call);

/// What the node does. A child's and a conditional node's graphs are left out; of an allocation node's memory the
/// address is there only when the call has returned. May ask the driver for a kernel's layout: call it inside an
/// OwnCalls.
void describe(const GivenNode& given, NodeContent& content);

/// String id of the label that the site of such a node has: its kernel's name, else 0.
std::uint32_t label_of(const GivenNode& given);

/// The call's place in the program with a label. Keeps it in the call.
std::uint32_t site_with(Call& call, std::uint32_t label);

}  // namespace streamsan::recorder::cuda
