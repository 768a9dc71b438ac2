#include "recorder/cuda/node_sites.hpp"

namespace streamsan::recorder::cuda {
namespace {

/// A program that makes graphs and never destroys them must not fill the memory with places: then all are forgotten.
constexpr std::size_t most_known_nodes = 4'000'000;

}  // namespace

void NodeSites::drop(abi::Word node) {
    nodes_.erase(node);
    conditionals_.erase(node);
}

void NodeSites::made(abi::Word graph, abi::Word node, NodeOrigin origin) {
    const std::lock_guard lock(mutex_);
    if (nodes_.size() >= most_known_nodes) {
        nodes_.clear();
        by_graph_.clear();
        conditionals_.clear();
    }
    conditionals_.erase(node);
    nodes_.insert_or_assign(node, Known{graph, origin});
    std::vector<abi::Word>& list = by_graph_[graph];
    constexpr std::size_t worth_a_look = 64;
    if (list.size() == list.capacity() && list.size() >= worth_a_look) {
        // Before it grows: nodes that were destroyed one by one are still in the list.
        std::erase_if(list, [&](abi::Word each) {
            const auto known = nodes_.find(each);
            return known == nodes_.end() || known->second.graph != graph || each == node;
        });
    }
    list.push_back(node);
}

void NodeSites::copied(abi::Word graph, abi::Word node, abi::Word original) { made(graph, node, origin(original)); }

void NodeSites::described(abi::Word node, NodeOrigin origin) {
    const std::lock_guard lock(mutex_);
    if (const auto found = nodes_.find(node); found != nodes_.end()) found->second.origin = origin;
}

void NodeSites::uses(abi::Word node, std::uint32_t site, std::uint16_t api, std::vector<Reference> references) {
    const std::lock_guard lock(mutex_);
    const auto found = nodes_.find(node);
    if (found == nodes_.end()) return;
    if (site != 0) found->second.origin.site = site;
    found->second.origin.api = api;
    found->second.origin.uses = std::make_shared<const std::vector<Reference>>(std::move(references));
}

void NodeSites::destroyed(abi::Word node) {
    const std::lock_guard lock(mutex_);
    drop(node);
}

void NodeSites::graph_destroyed(abi::Word graph) {
    const std::lock_guard lock(mutex_);
    const auto found = by_graph_.find(graph);
    if (found == by_graph_.end()) return;
    for (const abi::Word node : found->second) {
        // Its handle may belong to a node of another graph by now.
        const auto known = nodes_.find(node);
        if (known != nodes_.end() && known->second.graph == graph) drop(node);
    }
    by_graph_.erase(found);
}

void NodeSites::set_conditional(abi::Word node, Conditional conditional) {
    const std::lock_guard lock(mutex_);
    conditionals_.insert_or_assign(node, std::move(conditional));
}

NodeOrigin NodeSites::origin(abi::Word node) const {
    const std::lock_guard lock(mutex_);
    const auto found = nodes_.find(node);
    return found == nodes_.end() ? NodeOrigin{} : found->second.origin;
}

Conditional NodeSites::conditional(abi::Word node) const {
    const std::lock_guard lock(mutex_);
    const auto found = conditionals_.find(node);
    return found == conditionals_.end() ? Conditional{} : found->second;
}

abi::Word NodeSites::graph_of(abi::Word node) const {
    const std::lock_guard lock(mutex_);
    const auto found = nodes_.find(node);
    return found == nodes_.end() ? 0 : found->second.graph;
}

NodeSites& node_sites() {
    static NodeSites* const sites = new NodeSites;
    return *sites;
}

}  // namespace streamsan::recorder::cuda
