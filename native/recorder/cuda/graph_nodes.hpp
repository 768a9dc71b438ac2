// What one node of a graph does: its kind and the memory that it uses, from the driver or from what a call is given.
#pragma once
#include <cstdint>
#include <vector>

#include "generated/vocabulary.hpp"
#include "recorder/cuda/abi.hpp"
#include "recorder/cuda/call.hpp"
#include "recorder/cuda/driver.hpp"
#include "recorder/cuda/launch_dimensions.hpp"

namespace streamsan::recorder::cuda {

struct Kernel;

/// `references` are those that the node has when it is launched, in the order of the vocabulary.
struct NodeContent {
    NodeKind kind = NodeKind::OPAQUE;
    std::uint64_t object = 0;        ///< the event of an event node
    std::uint32_t shape = 0;         ///< id of a kernel node's launch shape, 0 when not known
    const Kernel* kernel = nullptr;  ///< of a kernel node; null: not known
    LaunchDimensions dimensions;     ///< of a kernel node
    std::vector<Reference> references;

    void clear() {
        kind = NodeKind::OPAQUE;
        object = 0;
        shape = 0;
        kernel = nullptr;
        dimensions = {};
        references.clear();
    }
};

/// The kind of a node of this type. Child graphs and conditional nodes order only; what they hold are nodes of their
/// own.
NodeKind kind_of(abi::NodeType type);

void describe_kernel(const abi::KernelNode& node, NodeContent& content);
void describe_copy(const abi::Copy3D& copy, NodeContent& content);
/// `node` may be of the first version, which has no context.
void describe_fill(const abi::MemsetNode& node, NodeContent& content);
void describe_host(const abi::HostNode& node, NodeContent& content);
void describe_memory_operations(const abi::BatchMemoryNode& node, NodeContent& content);

/// Asks the driver what a node of a graph does; call it inside an OwnCalls. Where the driver does not say, the content
/// is OPAQUE and the answer false.
bool read_node(const Driver& driver, abi::Word node, abi::NodeType type, NodeContent& content);

/// The function that a kernel node runs, as a label: string id of its demangled name, 0 when not known.
std::uint32_t label_of(const abi::KernelNode& node);

}  // namespace streamsan::recorder::cuda
