// Bodies of executable graphs, part by part.
#include <algorithm>

#include "graphs.hpp"

namespace streamsan::order {
namespace {

constexpr std::size_t most_nodes = 1'000'000;
constexpr std::size_t most_edges = 8'000'000;
constexpr std::size_t most_references = 4'000'000;

}  // namespace

Access access_of(const BodyNode& node, const Reference& reference) {
    Access access{node.operation.as_use(reference.mode, reference.flags),
                  {reference.address, 0, nullptr, reference.bounds}};
    if (reference.assumed || node.conditional()) access.operation.flags |= bit(SlotFlag::ASSUMED);
    const bool told = node.kind == NodeKind::KERNEL && reference.size != 0;
    if (bulk(node.kind) || told || reference.rows != nullptr) access.reach(reference.size, reference.rows);
    return access;
}

std::uint64_t described_at(const Slot& slot, const Operation& operation) {
    const std::uint64_t since = operation.kind == OperationKind::GRAPH_NODE ? slot.time : slot.stream;
    return since != 0 ? std::min(since, operation.sequence) : operation.sequence;
}

void Graphs::begin_body(std::uint32_t index, std::uint64_t parts, Thread& thread) {
    execs_[index]->body = {};
    thread.building = index;
    thread.building_left = parts;
    thread.building_references = 0;
}

bool Graphs::add_part(const Slot& slot, const Operation& operation, const std::vector<Reference>& references,
                      Thread& thread) {
    if (thread.building == none || execs_[thread.building]->handle != slot.stream || thread.building_left == 0) {
        ++problems_;
        return false;
    }
    GraphBody& body = execs_[thread.building]->body;
    if (operation.kind == OperationKind::GRAPH_EDGE) {
        const bool fits = slot.object >= 1 && slot.address <= most_nodes && slot.object < slot.address &&
                          body.edges.size() < most_edges;
        if (fits && edges_.has(EdgeKind::node_to_node))
            body.edges.emplace_back(static_cast<std::uint32_t>(slot.object - 1),
                                    static_cast<std::uint32_t>(slot.address - 1));
        else if (!fits) ++problems_;
    } else if (slot.object != body.nodes.size() + 1 || body.nodes.size() >= most_nodes ||
               thread.building_references + references.size() > most_references) {
        ++problems_;
    } else {
        thread.building_references += references.size();
        body.nodes.push_back({operation,
                              static_cast<NodeKind>(slot.detail),
                              slot.address,
                              false,
                              described_at(slot, operation),
                              references,
                              false,
                              {}});
    }
    return --thread.building_left == 0;
}

void Graphs::finish_body(Process& process, Thread& thread) {
    const std::uint32_t index = thread.building;
    thread.building = none;
    if (!execs_[index]->alive) return;
    if (thread.building_left != 0) ++problems_;
    GraphBody& body = execs_[index]->body;
    const std::size_t before = body.edges.size();
    std::erase_if(body.edges, [&](const auto& edge) { return edge.second >= body.nodes.size(); });
    std::sort(body.edges.begin(), body.edges.end());
    body.edges.erase(std::unique(body.edges.begin(), body.edges.end()), body.edges.end());
    problems_ += before - body.edges.size();
    claim_memory(process, index);
    take_foretold(process, index);
    for (BodyNode& node : body.nodes) node.changed = false;
    check_body(process, index, false);
    summarise(process, index);
    // What a node finds by pointers in memory may be made between now and the launch.
    for (BodyNode& node : body.nodes) {
        node.changed = node.is_seen && std::any_of(node.seen.begin(), node.seen.end(), [&](const Reference& each) {
                           const std::uint32_t at = process.allocations.containing(each.address);
                           return at == none || !process.allocations[at].live();
                       });
    }
}

}  // namespace streamsan::order
