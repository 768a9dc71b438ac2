#include "recorder/cuda/graph_notes.hpp"

#include <algorithm>
#include <thread>
#include <utility>

#include "recorder/cuda/access_operations.hpp"
#include "recorder/run/omissions.hpp"
#include "recorder/cuda/recorder.hpp"

namespace streamsan::recorder::cuda {
namespace {

void write_told(std::uint64_t launch, const LearnedGraphs::Telling& telling, SeenAccesses same) {
    if (telling.like != 0) write_same_accesses(launch, telling.like, same);
    for (const NodeAccesses& each : telling.nodes) {
        const SeenAccesses seen = same == SeenAccesses::LEARNED ? same
                                  : each.accesses.whole         ? SeenAccesses::ALL
                                                                : SeenAccesses::SOME;
        write_node_accesses(launch, each.node, each.accesses.rows, seen);
    }
}

}  // namespace

GraphNotes::UnderWay& GraphNotes::under_way(const Call& call) {
    const auto [place, fresh] = under_way_.try_emplace(call.sequence);
    UnderWay& graph = place->second;
    if (!fresh) return graph;
    graph.exec = call.value(Handle::GRAPH_EXEC);
    graph.state = graph_execs().state_of(graph.exec);
    graph.grids = grids_.of(graph.exec, graph.state);
    // What a kernel launches later is given what was given here.
    graph.left =
        graph.state.made == 0 || graph.state.for_device || (graph.grids != nullptr && graph.grids->nodes.empty());
    if (graph.left) return graph;
    graph.answer = learned_.ask(graph.exec, graph.state, call.sequence, recorder()->memory);
    graph.left = graph.answer == LearnedGraphs::Answer::TRUST || graph.answer == LearnedGraphs::Answer::WAIT;
    return graph;
}

/// The same to all kernels of a launch that run in one context; null where one of them may not be looked at.
const void* GraphNotes::given_in(const std::shared_ptr<AccessContext>& context, UnderWay& graph, const Call& call,
                                 std::uint64_t grid) {
    auto place = std::ranges::find(graph.places, context, &GraphPlace::context);
    if (place == graph.places.end()) {
        // Where the grids are not known yet, there is room for some before and behind.
        const std::uint64_t around = 2 * graph.state.nodes + 16;
        const bool known = graph.grids != nullptr;
        const std::uint64_t low = known ? graph.grids->low : grid - std::min(grid, around);
        const std::uint64_t span = known ? graph.grids->nodes.size() : grid - low + around;
        std::uint32_t& number = context->numbers[context->part];
        if (number + span > most_launches) return nullptr;
        auto noted = std::make_shared<NotedGraph>(
            NotedGraph{graph.exec, graph.state, low, graph.grids, graph.answer == LearnedGraphs::Answer::LOOK});
        std::vector<Noted>& launches = context->launches[context->part];
        graph.places.push_back({context, context->part, launches.size()});
        place = graph.places.end() - 1;
        launches.push_back({call.sequence, call.slot->stream, std::this_thread::get_id(), number, false, {}, noted});
        launches.back().numbers = static_cast<std::uint32_t>(span);
        number += static_cast<std::uint32_t>(span);
    }
    const Noted& noted = context->launches[place->part][place->launch];
    if (grid - noted.graph->low >= noted.numbers) return nullptr;
    const auto first = static_cast<std::uint32_t>(noted.number - noted.graph->low);
    return context->memory.given_to_graph(place->part, first);
}

bool GraphNotes::is_launched(const Call& call, abi::Word exec) {
    return call.callback != nullptr && call.callback->effect == Effect::GRAPH_LAUNCH && call.slot != nullptr &&
           call.sequence != 0 && call.value(Handle::GRAPH_EXEC) == exec;
}

const void* GraphNotes::given(const Call& call, const abi::SanitizerNodeLaunchData& data,
                              const std::shared_ptr<AccessContext>& context, bool wanted, bool copies_tensors) {
    const abi::SanitizerLaunchData& kernel = data.kernel;
    UnderWay& graph = under_way(call);
    if (graph.grids != nullptr) {
        wanted = graph.grids->wants(kernel.grid_id);
        graph.left = graph.left || !graph.grids->has(kernel.grid_id);
    } else if (graph.state.made != 0) {
        graph.shown.push_back({kernel.grid_id,
                               data.node,
                               kernel.function_name != nullptr ? kernel.function_name : "",
                               {kernel.grid, kernel.block, 0},
                               wanted,
                               copies_tensors});
    }
    if (graph.left || context == nullptr || !context->usable || (!wanted && graph.places.empty())) return nullptr;
    const void* const given = given_in(context, graph, call, kernel.grid_id);
    // What is given next is given to those before it as well: so nothing is, from here on.
    graph.left = given == nullptr;
    return given;
}

std::optional<GraphNotes::Issued> GraphNotes::issued(std::uint64_t sequence, bool succeeded) {
    const auto found = under_way_.extract(sequence);
    if (found.empty()) return std::nullopt;
    UnderWay graph = std::move(found.mapped());
    if (succeeded && graph.grids == nullptr && !graph.shown.empty())
        graph.grids = grids_.learn(graph.exec, graph.state, graph.shown);
    for (const GraphPlace& place : graph.places) {
        Noted& noted = place.context->launches[place.part][place.launch];
        noted.issued_at = std::max<std::uint64_t>(recorder()->writer->now(), 1);
        noted.ended = !succeeded;
        noted.graph->grids = succeeded ? graph.grids : nullptr;
    }
    if (graph.answer == LearnedGraphs::Answer::LOOK && (!succeeded || graph.places.empty()))
        learned_.forget(graph.exec, graph.state);
    return Issued{sequence,
                  graph.exec,
                  graph.state,
                  succeeded,
                  graph.answer == LearnedGraphs::Answer::TRUST,
                  graph.grids != nullptr && (graph.grids->nodes.empty() || graph.grids->some_unknown)};
}

void GraphNotes::tell(const Issued& launch) {
    if (!launch.succeeded) return;
    const Lane* const lane = recorder()->writer->lane();
    if (launch.trusted && lane != nullptr)
        write_told(launch.sequence, learned_.trusted(launch.exec, launch.state, launch.sequence, lane->file()),
                   SeenAccesses::LEARNED);
    if (launch.unknown)
        note_omission(
            "the accesses of some kernels of a graph are not seen: nothing tells which of its nodes they are");
    if (launch.state.for_device)
        note_omission("the accesses of kernels of a graph are not seen: it was made for launches from the device");
}

void GraphNotes::write(const Noted& launch, std::map<std::uint32_t, TouchedRanges>& touched,
                       const std::vector<std::uint64_t>& bases, bool whole) {
    const NotedGraph& graph = *launch.graph;
    std::vector<NodeAccesses> nodes;
    const std::size_t count = graph.grids != nullptr ? graph.grids->nodes.size() : 0;
    for (std::size_t at = 0; at < count; ++at) {
        const GraphGrids::Node& node = graph.grids->nodes[at];
        const auto number = static_cast<std::uint32_t>(launch.number + graph.grids->low + at - graph.low);
        const auto place = touched.find(number);
        // One that did not run, or was not patched, is not told of.
        if (!node.wanted || place == touched.end() || !place->second.noted) continue;
        keep_known_memory(place->second);
        LaunchAccesses accesses = accesses_of(place->second, bases, most_of_allocation, most_accesses);
        accesses.whole = accesses.whole && whole && !node.copies_tensors;
        nodes.push_back({node.number, std::move(accesses)});
    }
    const Lane* const lane = recorder()->writer->lane();
    if (nodes.empty() || lane == nullptr) {
        if (graph.teaches) learned_.forget(graph.exec, graph.state);
        return;
    }
    std::ranges::sort(nodes, {}, &NodeAccesses::node);
    const bool is_led = graph.teaches && arguments_lead_to(graph.exec, nodes, recorder()->memory);
    const LearnedGraphs::Telling telling =
        learned_.learn(graph.exec, graph.state, launch.sequence, std::move(nodes), graph.teaches, is_led, lane->file());
    write_told(launch.sequence, telling, SeenAccesses::ALL);
    const std::uint64_t like = telling.like != 0 ? telling.like : launch.sequence;
    for (const std::uint64_t waiting : telling.waiting) write_same_accesses(waiting, like, SeenAccesses::LEARNED);
}

}  // namespace streamsan::recorder::cuda
