#include "recorder/cuda/graph_nodes.hpp"

#include <algorithm>
#include <memory>

#include "recorder/cuda/extents.hpp"
#include "recorder/cuda/kernels.hpp"
#include "recorder/cuda/launch_arguments.hpp"
#include "recorder/cuda/launch_shapes.hpp"
#include "recorder/cuda/recorder.hpp"
#include "recorder/cuda/transfers.hpp"

namespace streamsan::recorder::cuda {
namespace {

constexpr auto read_only = static_cast<std::uint8_t>(AccessMode::READ);
constexpr auto write_only = static_cast<std::uint8_t>(AccessMode::WRITE);

bool is_memory(abi::Word address) { return recorder()->memory.maybe(address); }

/// CUfunction, or CUkernel where there is none: only the second version has that member, and the first is never without
/// a function.
abi::Word function_of(const abi::KernelNode& node) { return node.function != 0 ? node.function : node.kernel; }

template <class Parameters, class Ask>
bool ask(Ask function, abi::Word node, Parameters& parameters) {
    return function != nullptr && function(node, &parameters) == abi::success;
}

void describe_alloc(const abi::MemoryAllocNode& node, NodeContent& content) {
    content.kind = NodeKind::ALLOC;
    content.references.push_back({node.address, node.bytes, write_only});
}

void describe_free(const abi::Word& address, NodeContent& content) {
    content.kind = NodeKind::FREE;
    content.references.push_back({address, 0, write_only});
}

}  // namespace

NodeKind kind_of(abi::NodeType type) {
    using enum abi::NodeType;
    switch (type) {
        case kernel: return NodeKind::KERNEL;
        case memcpy: return NodeKind::COPY;
        case memset: return NodeKind::MEMSET;
        case host: return NodeKind::HOST;
        case graph:
        case empty:
        case conditional: return NodeKind::EMPTY;
        case wait_event: return NodeKind::EVENT_WAIT;
        case event_record: return NodeKind::EVENT_RECORD;
        case mem_alloc: return NodeKind::ALLOC;
        case mem_free: return NodeKind::FREE;
        case batch_mem_op: return NodeKind::STREAM_MEMORY_OP;
        case semaphores_signal:
        case semaphores_wait: break;
    }
    return NodeKind::OPAQUE;
}

void describe_kernel(const abi::KernelNode& node, NodeContent& content) {
    content.kind = NodeKind::KERNEL;
    const abi::Word function = function_of(node);
    if (function == 0) return;
    const auto found = std::make_unique<LaunchArguments>();
    const Kernel& kernel = kernel_of(function, nullptr);
    found->collect(kernel, node.arguments, node.extra);
    content.references.assign(found->references(), found->references() + found->count());
    content.kernel = &kernel;
    content.dimensions = {node.grid, node.block, node.shared_bytes};
    content.shape = launch_shape(kernel, content.dimensions, *found);
    // What may be a leftover of the stack is no use for sure, however often the graph is launched.
    constexpr auto conditional = static_cast<std::uint8_t>(SlotFlag::CONDITIONAL);
    for (Reference& each : content.references) {
        if ((each.mode_flags & conditional) != 0) each.mode_flags |= static_cast<std::uint8_t>(SlotFlag::ASSUMED);
    }
}

void describe_copy(const abi::Copy3D& copy, NodeContent& content) {
    content.kind = NodeKind::COPY;
    Reference sides[2];
    const std::size_t count = copy_references(transfer_of(copy), sides);
    content.references.insert(content.references.end(), sides, sides + count);
}

void describe_fill(const abi::MemsetNode& node, NodeContent& content) {
    content.kind = NodeKind::MEMSET;
    TransferSide side;
    side.address = node.destination;
    side.pitch = node.pitch;  // not used where there is one row
    const Reference filled =
        reference_to(side, {product(node.width, node.element_size), node.height}, AccessMode::WRITE);
    if (filled.address != 0) content.references.push_back(filled);
}

void describe_host(const abi::HostNode& node, NodeContent& content) {
    content.kind = NodeKind::HOST;
    const auto data = reinterpret_cast<abi::Word>(node.user_data);
    if (is_memory(data)) content.references.push_back({data, 0, static_cast<std::uint8_t>(AccessMode::OPAQUE)});
}

void describe_memory_operations(const abi::BatchMemoryNode& node, NodeContent& content) {
    content.kind = NodeKind::STREAM_MEMORY_OP;
    constexpr std::uint32_t most = 256;  // the driver's own limit for a batch
    if (node.operations == nullptr) return;
    for (std::uint32_t index = 0; index < std::min(node.count, most); ++index) {
        const abi::BatchMemoryOperation& each = node.operations[index];
        using enum abi::MemoryOperation;
        const bool waits = each.operation == wait_value_32 || each.operation == wait_value_64;
        const bool sets = each.operation == write_value_32 || each.operation == write_value_64;
        // Barriers and flushes touch no memory.
        if ((waits || sets) && each.address != 0)
            content.references.push_back({each.address, 0, waits ? read_only : write_only});
    }
}

bool read_node(const Driver& driver, abi::Word node, abi::NodeType type, NodeContent& content) {
    /// The driver's answer in the given structure, described.
    const auto read = [&]<class Parameters>(auto function, void (*described)(const Parameters&, NodeContent&)) {
        Parameters found{};
        if (!ask(function, node, found)) return false;
        described(found, content);
        return true;
    };
    const auto read_event = [&](auto function, NodeKind kind) {
        const bool found = ask(function, node, content.object);
        content.kind = found ? kind : NodeKind::OPAQUE;
        return found;
    };
    using enum abi::NodeType;
    switch (type) {
        case kernel:
            // The first version knows nothing of kernels that have no function in the current context.
            return read(driver.cuGraphKernelNodeGetParams_v2, describe_kernel) ||
                   read(driver.cuGraphKernelNodeGetParams, describe_kernel);
        case memcpy: return read(driver.cuGraphMemcpyNodeGetParams, describe_copy);
        case memset: return read(driver.cuGraphMemsetNodeGetParams, describe_fill);
        case host: return read(driver.cuGraphHostNodeGetParams, describe_host);
        case wait_event: return read_event(driver.cuGraphEventWaitNodeGetEvent, NodeKind::EVENT_WAIT);
        case event_record: return read_event(driver.cuGraphEventRecordNodeGetEvent, NodeKind::EVENT_RECORD);
        case mem_alloc: return read(driver.cuGraphMemAllocNodeGetParams, describe_alloc);
        case mem_free: return read(driver.cuGraphMemFreeNodeGetParams, describe_free);
        case batch_mem_op: return read(driver.cuGraphBatchMemOpNodeGetParams, describe_memory_operations);
        case graph:
        case empty:
        case conditional: content.kind = NodeKind::EMPTY; return true;
        case semaphores_signal:
        case semaphores_wait: break;
    }
    return type == semaphores_signal || type == semaphores_wait;
}

std::uint32_t label_of(const abi::KernelNode& node) {
    const abi::Word function = function_of(node);
    return function == 0 ? 0 : label_id(kernel_of(function, nullptr), *recorder()->writer);
}

}  // namespace streamsan::recorder::cuda
