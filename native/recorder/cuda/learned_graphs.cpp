#include "recorder/cuda/learned_graphs.hpp"

#include <algorithm>
#include <optional>
#include <utility>

namespace streamsan::recorder::cuda {
namespace {

/// Launches that wait for what the first ones show: a program that never waits for its device must not fill the memory.
constexpr std::size_t most_waiting_launches = 1U << 16;
/// Executable graphs of which something is kept.
constexpr std::size_t most_graphs = 1U << 14;

bool is_in(const std::optional<Range>& range, const AccessRows& rows) {
    return range && rows.end() <= range->base + range->size;
}

bool is_there(const std::vector<NodeAccesses>& nodes, const AddressMap& memory) {
    return std::ranges::all_of(nodes, [&](const NodeAccesses& node) {
        return std::ranges::all_of(node.accesses.rows,
                                   [&](const AccessRows& rows) { return is_in(memory.find(rows.begin), rows); });
    });
}

bool is_whole(const std::vector<NodeAccesses>& nodes) {
    return std::ranges::all_of(nodes, [](const NodeAccesses& node) { return node.accesses.whole; });
}

}  // namespace

bool arguments_lead_to(abi::Word exec, const std::vector<NodeAccesses>& nodes, const AddressMap& memory) {
    return std::ranges::all_of(nodes, [&](const NodeAccesses& node) {
        std::vector<Range> led;
        for (const Reference& reference : graph_execs().references_of(exec, node.node)) {
            if (const std::optional<Range> range = memory.find(reference.address)) led.push_back(*range);
        }
        return std::ranges::all_of(node.accesses.rows, [&](const AccessRows& rows) {
            const std::optional<Range> range = memory.find(rows.begin);
            if (!is_in(range, rows)) return false;
            return range->kind == MemoryKind::DEVICE_SYMBOL ||
                   std::ranges::any_of(led, [&](const Range& each) { return each.base == range->base; });
        });
    });
}

LearnedGraphs::Graph& LearnedGraphs::graph_of(abi::Word exec, const GraphState& state) {
    if (graphs_.size() >= most_graphs && !graphs_.contains(exec)) graphs_.clear();
    Graph& graph = graphs_[exec];
    if (graph.version != state.version) {
        graph = {};
        graph.version = state.version;
    }
    return graph;
}

LearnedGraphs::Answer LearnedGraphs::ask(abi::Word exec, const GraphState& state, std::uint64_t sequence,
                                         const AddressMap& memory) {
    if (most_ == 0) return Answer::WATCH;
    const std::lock_guard lock(mutex_);
    Graph& graph = graph_of(exec, state);
    if (graph.differs) return Answer::WATCH;
    if (graph.asked < most_) {
        ++graph.asked;
        return Answer::LOOK;
    }
    if (graph.learned < most_) {
        if (graph.waiting.size() >= most_waiting_launches) return Answer::WATCH;
        graph.waiting.push_back(sequence);
        return Answer::WAIT;
    }
    return is_there(graph.nodes, memory) ? Answer::TRUST : Answer::WATCH;
}

LearnedGraphs::Telling LearnedGraphs::trusted(abi::Word exec, const GraphState& state, std::uint64_t sequence,
                                              std::uint64_t file) {
    const std::lock_guard lock(mutex_);
    Graph& graph = graph_of(exec, state);
    if (graph.told != 0 && graph.file == file) return {graph.told, {}, {}};
    graph.told = sequence;
    graph.file = file;
    return {0, graph.nodes, {}};
}

LearnedGraphs::Telling LearnedGraphs::learn(abi::Word exec, const GraphState& state, std::uint64_t sequence,
                                            std::vector<NodeAccesses> nodes, bool teaches, bool is_led,
                                            std::uint64_t file) {
    const std::lock_guard lock(mutex_);
    Telling telling;
    // Launches of an earlier version may end when a later one is known.
    const auto known = graphs_.find(exec);
    if (known != graphs_.end() && known->second.version > state.version) {
        telling.nodes = std::move(nodes);
        return telling;
    }
    Graph& graph = graph_of(exec, state);
    const bool same = graph.told != 0 && graph.nodes == nodes;
    if (teaches && !graph.differs) {
        graph.differs = !is_led || !is_whole(nodes) || (graph.learned != 0 && !same);
        ++graph.learned;
    }
    if (same && graph.file == file) {
        telling.like = graph.told;
    } else {
        telling.nodes = nodes;
        graph.nodes = std::move(nodes);
        graph.told = sequence;
        graph.file = file;
    }
    if (graph.differs || graph.learned >= most_) telling.waiting = std::exchange(graph.waiting, {});
    // Of what waited in vain nothing is said.
    if (graph.differs) telling.waiting.clear();
    return telling;
}

void LearnedGraphs::forget(abi::Word exec, const GraphState& state) {
    const std::lock_guard lock(mutex_);
    Graph& graph = graph_of(exec, state);
    if (graph.asked > graph.learned) --graph.asked;
}

}  // namespace streamsan::recorder::cuda
