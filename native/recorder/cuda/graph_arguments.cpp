#include "recorder/cuda/graph_arguments.hpp"

#include <array>
#include <string_view>
#include <utility>

#include "recorder/cuda/recorder.hpp"

namespace streamsan::recorder::cuda {
namespace {

constexpr std::array<std::pair<std::string_view, abi::NodeType>, 13> types_in_names{{
    {"KernelNode", abi::NodeType::kernel},
    {"MemcpyNode", abi::NodeType::memcpy},
    {"MemsetNode", abi::NodeType::memset},
    {"HostNode", abi::NodeType::host},
    {"ChildGraphNode", abi::NodeType::graph},
    {"EmptyNode", abi::NodeType::empty},
    {"EventRecordNode", abi::NodeType::event_record},
    {"EventWaitNode", abi::NodeType::wait_event},
    {"ExternalSemaphoresSignalNode", abi::NodeType::semaphores_signal},
    {"ExternalSemaphoresWaitNode", abi::NodeType::semaphores_wait},
    {"MemAllocNode", abi::NodeType::mem_alloc},
    {"MemFreeNode", abi::NodeType::mem_free},
    {"BatchMemOpNode", abi::NodeType::batch_mem_op},
}};

/// The structure that describes the node: the last one, since the generic calls have those of the edges before it.
const void* structure_of(const Call& call) {
    const CallbackParameter* found = nullptr;
    for (std::size_t nth = 0; const CallbackParameter* const next = call.find(Role::STRUCTURE, nth); ++nth)
        found = next;
    return reinterpret_cast<const void*>(call.value(found));
}

GivenNode generic_node(const void* structure) {
    GivenNode given;
    const auto* const parameters = static_cast<const abi::NodeParameters*>(structure);
    if (parameters == nullptr || parameters->type < 0 ||
        parameters->type > static_cast<std::int32_t>(abi::NodeType::conditional))
        return given;
    given.known = true;
    given.type = static_cast<abi::NodeType>(parameters->type);
    given.structure = &parameters->words;
    switch (given.type) {
        case abi::NodeType::graph: given.child = parameters->child.graph; break;
        case abi::NodeType::wait_event:
        case abi::NodeType::event_record: given.event = parameters->event.event; break;
        case abi::NodeType::mem_free: given.freed = parameters->free.address; break;
        case abi::NodeType::memcpy: given.structure = &parameters->copy.copy; break;
        default: break;
    }
    return given;
}

}  // namespace

GivenNode given_node(const Call& call) {
    const void* const structure = structure_of(call);
    for (const auto& [name, type] : types_in_names) {
        if (call.callback->name.find(name) == std::string_view::npos) continue;
        GivenNode given;
        given.known = true;
        given.type = type;
        given.structure = structure;
        // The graph that a child node is made from comes after the one that it is added to.
        const bool adds = call.callback->effect == Effect::GRAPH_ADD_NODE;
        if (type == abi::NodeType::graph) given.child = call.value(call.find_handle(Handle::GRAPH, adds ? 1 : 0));
        given.event = call.value(call.find_handle(Handle::EVENT));
        if (type == abi::NodeType::mem_free) given.freed = call.value(Role::FREED);
        return given;
    }
    return generic_node(structure);
}

void describe(const GivenNode& given, NodeContent& content) {
    content.kind = given.known ? kind_of(given.type) : NodeKind::OPAQUE;
    if (!given.known) return;
    using enum abi::NodeType;
    if (given.type == wait_event || given.type == event_record) content.object = given.event;
    if (given.structure == nullptr) return;
    switch (given.type) {
        case kernel: describe_kernel(*static_cast<const abi::KernelNode*>(given.structure), content); return;
        case memcpy: describe_copy(*static_cast<const abi::Copy3D*>(given.structure), content); return;
        case memset: describe_fill(*static_cast<const abi::MemsetNode*>(given.structure), content); return;
        case host: describe_host(*static_cast<const abi::HostNode*>(given.structure), content); return;
        case batch_mem_op:
            describe_memory_operations(*static_cast<const abi::BatchMemoryNode*>(given.structure), content);
            return;
        default: return;
    }
}

std::uint32_t label_of(const GivenNode& given) {
    if (!given.known || given.type != abi::NodeType::kernel || given.structure == nullptr) return 0;
    return label_of(*static_cast<const abi::KernelNode*>(given.structure));
}

std::uint32_t site_with(Call& call, std::uint32_t label) {
    Recorder& all = *recorder();
    if (all.settings.sites) {
        call.site = all.sites->here(label);
    } else if (label != 0) {
        SiteRecord record;
        record.label = label;
        call.site = all.writer->site(record);
    }
    return call.site;
}

}  // namespace streamsan::recorder::cuda
