#include "recorder/cuda/graph_operations.hpp"

#include <algorithm>
#include <vector>

#include "recorder/cuda/abi_graphs.hpp"
#include "recorder/cuda/captures.hpp"
#include "recorder/cuda/live_memory.hpp"
#include "recorder/cuda/recorder.hpp"
#include "recorder/trace_writer/row_table.hpp"

namespace streamsan::recorder::cuda {
namespace {

std::uint8_t flags_of(bool conditional) { return conditional ? conditional_flag : std::uint8_t{0}; }

/// Appends the slots of a body; `prepare` is given each one before it is committed and says whether to go on.
template <class Prepare>
void append(Lane& lane, const Slot& header, const Body& body, Prepare&& prepare) {
    const std::uint64_t exec = header.object;
    for (std::size_t index = 0; index < body.nodes.size(); ++index) {
        const BodyNode& node = body.nodes[index];
        const std::size_t count = node.enabled ? std::min<std::size_t>(node.references, most_further_references) : 0;
        const auto further = static_cast<unsigned>((count + 1) / 2);
        const unsigned rows = node.kind == NodeKind::KERNEL ? 0 : count_rows(body.references_of(node), count);
        Slot* const slot = lane.reserve(further + rows);
        if (slot == nullptr) return;
        slot->time = node.origin.since;
        slot->stream = exec;
        slot->object = index + 1;
        slot->address = node.object;
        slot->size = node.enabled ? node.shape : 0;
        slot->site = node.origin.site != 0 ? node.origin.site : header.site;
        slot->api = node.origin.api != 0 ? node.origin.api : header.api;
        slot->kind = static_cast<std::uint8_t>(OperationKind::GRAPH_NODE);
        slot->detail = static_cast<std::uint8_t>(kind_in_trace(node));
        slot->flags = flags_of(node.conditional);
        put_further_references(slot, body.references_of(node), count);
        if (rows != 0) put_rows(slot + further, body.references_of(node), count);
        if (!prepare(*slot)) return;
        lane.commit();
    }
    for (const auto& [before, after] : body.edges) {
        Slot* const slot = lane.reserve(0);
        if (slot == nullptr) return;
        slot->time = header.time;
        slot->stream = exec;
        slot->object = before;
        slot->address = after;
        slot->site = header.site;
        slot->kind = static_cast<std::uint8_t>(OperationKind::GRAPH_EDGE);
        if (!prepare(*slot)) return;
        lane.commit();
    }
}

}  // namespace

Slot* write_addressed(ThreadState& state, Call& call, OperationKind kind, Detail detail, std::uint64_t stream,
                      std::uint64_t object, std::uint64_t address, std::uint64_t size) {
    const Reference fields{address, size, 0};
    return write_returned(state, call, kind, detail, stream, object, &fields, 1);
}

void write_graph_memory(ThreadState& state, Call& call, std::uint64_t address, std::uint64_t size) {
    if (address != 0) write_allocation(state, call, MemoryKind::GRAPH, 0, address, size);
}

void write_graph_free(ThreadState& state, Call& call, std::uint64_t address) {
    if (address == 0) return;
    const Reference freed{address, 0, 0};
    write_returned(state, call, OperationKind::FREE, FreeClass::GRAPH_NODE, 0, 0, &freed, 1);
}

void write_node_update(ThreadState& state, Call& call, abi::Word exec, std::uint32_t number, NodeKind kind,
                       std::uint32_t shape, bool conditional, const Reference* references, std::size_t count,
                       std::uint64_t since) {
    count = std::min(count, most_further_references);
    std::vector<Reference> fields{{number, shape, flags_of(conditional)}};
    fields.insert(fields.end(), references, references + count);
    write_returned(state, call, OperationKind::GRAPH_NODE_UPDATE, kind, since, exec, fields.data(), fields.size());
}

void append_body(Lane& lane, const Slot& header, const Body& body) {
    const std::uint64_t file = lane.file();
    append(lane, header, body, [&lane, file](Slot&) {
        if (lane.file() == file) return true;
        lane.drop();
        return false;
    });
}

void restate_body(Lane& lane, const Slot& header, const Body& body) {
    append(lane, header, body, [&header](Slot& slot) {
        slot.sequence = header.sequence;
        slot.thread = header.thread;
        return true;
    });
}

bool refused_otherwise(ThreadState& state, const Call& call, abi::Word graph) {
    const Driver* const driver = recorder()->driver;
    if (call.status != abi::not_supported || graph == 0 || driver == nullptr) return false;
    // Conditional nodes, devices without a feature, launches from the device that a node does not allow, ...
    const OwnCalls own(state);
    const RelaxedCaptures relaxed;
    return !has_memory_nodes(*driver, graph);
}

void write_unseen(ThreadState& state, Call& call) { write_returned(state, call, OperationKind::OPAQUE_CALL, 0, 0, 0); }

}  // namespace streamsan::recorder::cuda
