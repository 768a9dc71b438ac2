// Bodies are read from the driver when a graph is instantiated, so what is recorded here is what the driver will not
// tell then: the place of each node, the bodies of conditional nodes, and memory that a node allocates, which has its
// address from now on.
#include "recorder/cuda/graph_building.hpp"

#include <optional>

#include "recorder/cuda/api_names.hpp"
#include "recorder/cuda/captures.hpp"
#include "recorder/cuda/device_variables.hpp"
#include "recorder/cuda/graph_arguments.hpp"
#include "recorder/cuda/graph_conditions.hpp"
#include "recorder/cuda/graph_operations.hpp"
#include "recorder/cuda/kernels.hpp"
#include "recorder/cuda/live_handles.hpp"
#include "recorder/cuda/node_sites.hpp"
#include "recorder/cuda/recorder.hpp"

namespace streamsan::recorder::cuda {
namespace {

/// A body of a switch for each case; the driver takes fewer.
constexpr std::uint32_t most_bodies = 1024;

/// A call on a graph that failed, so that the graph's own life is looked at (SS205), and restrictions of graphs with
/// memory nodes (SS306).
void write_refused(ThreadState& state, Call& call, abi::Word graph) {
    if (graph == 0 || refused_otherwise(state, call, graph)) return;
    write_returned(state, call, OperationKind::HANDLE_USE, HandleKind::GRAPH, 0, graph, nullptr, 0);
}

void enter_node(ThreadState& state, Call& call) {
    const OwnCalls own(state);
    const RelaxedCaptures relaxed;
    site_with(call, label_of(given_node(call)));
}

void remember_conditional(const Call& call, const abi::ConditionalNode& node) {
    const abi::Word made = call.output(Role::OUT_HANDLE);
    if (made == 0 || node.bodies == nullptr || node.size == 0 || node.size > most_bodies) return;
    node_sites().set_conditional(made, {node.condition, node.type, {node.bodies, node.bodies + node.size}});
    for (std::uint32_t body = 0; body < node.size; ++body) ended_graphs().begin(node.bodies[body]);
}

/// The child graph of a node is a graph of the driver's: its handle may be that of one that was destroyed.
void child_began(ThreadState& state, abi::Word node) {
    const Driver* const driver = recorder()->driver;
    if (driver == nullptr || driver->cuGraphChildGraphNodeGetGraph == nullptr) return;
    const OwnCalls own(state);
    const RelaxedCaptures relaxed;
    abi::Word child = 0;
    if (driver->cuGraphChildGraphNodeGetGraph(node, &child) == abi::success && child != 0) ended_graphs().begin(child);
}

void exit_add(ThreadState& state, Call& call) {
    const GivenNode given = given_node(call);
    if (given.type == abi::NodeType::mem_free && given.known) {
        // Judged whether it succeeds or not: memory from outside is refused (SS306).
        write_graph_free(state, call, given.freed);
        return;
    }
    if (call.status != abi::success) {
        const bool restricts = call.status == abi::not_supported && given.child != 0;
        write_refused(state, call, restricts ? given.child : call.value(Handle::GRAPH));
        return;
    }
    if (given.type == abi::NodeType::mem_alloc && given.structure != nullptr) {
        const auto& node = *static_cast<const abi::MemoryAllocNode*>(given.structure);
        write_graph_memory(state, call, node.address, node.bytes);
    }
    if (given.type == abi::NodeType::conditional && given.structure != nullptr) {
        remember_conditional(call, *static_cast<const abi::ConditionalNode*>(given.structure));
    }
}

void exit_node_set(ThreadState& state, Call& call) {
    const abi::Word node = call.value(Handle::NODE);
    if (call.status == abi::success)
        node_sites().described(node, {call.site, api_of(state, call), recorder()->writer->latest_sequence()});
    else write_refused(state, call, node_sites().graph_of(node));
}

void enter_node_destroy(ThreadState&, Call& call) { call.scratch[0] = node_sites().graph_of(call.value(Handle::NODE)); }

void exit_node_destroy(ThreadState& state, Call& call) {
    if (call.status == abi::success) node_sites().destroyed(call.value(Handle::NODE));
    else write_refused(state, call, call.scratch[0]);
}

void exit_condition(ThreadState& state, Call& call) {
    if (call.status != abi::success) {
        write_refused(state, call, call.value(Handle::GRAPH));
        return;
    }
    constexpr std::uint64_t assigns_default = 1;  // CU_GRAPH_COND_ASSIGN_DEFAULT
    std::optional<std::uint32_t> initial;
    if ((call.value(Role::FLAGS) & assigns_default) != 0) initial = static_cast<std::uint32_t>(call.value(Role::VALUE));
    if (const abi::Word made = call.output(Role::OUT_HANDLE); made != 0) graph_conditions().made(made, initial);
}

void exit_use(ThreadState& state, Call& call) {
    if (call.status != abi::success) write_refused(state, call, call.value(Handle::GRAPH));
}

/// The driver makes graphs and nodes of its own while it instantiates or updates.
bool is_internal(const ThreadState& state) {
    if (state.call.callback == nullptr) return false;
    switch (state.call.callback->effect) {
        case Effect::GRAPH_INSTANTIATE:
        case Effect::GRAPH_EXEC_UPDATE:
        case Effect::GRAPH_EXEC_DESTROY:
        case Effect::GRAPH_EXEC_NODE_SET:
        case Effect::GRAPH_EXEC_NODE_ENABLE:
        case Effect::GRAPH_LAUNCH:
        case Effect::GRAPH_UPLOAD: return true;
        default: return false;
    }
}

/// The place of the call under way: looked up once for each call.
NodeOrigin origin_here(ThreadState& state) {
    const Recorder& all = *recorder();
    const std::uint64_t now = all.writer->latest_sequence();
    if (state.call.callback == nullptr) return {all.settings.sites ? all.sites->here(0) : 0, 0, now};
    if (state.call.site == 0) site_with(state.call, 0);
    return {state.call.site, api_of(state, state.call), now};
}

/// Clones have the nodes of their originals, in the same order.
void nodes_of_clone(ThreadState& state, abi::Word original, abi::Word clone) {
    const Driver* const driver = recorder()->driver;
    if (driver == nullptr || driver->cuGraphGetNodes == nullptr) return;
    const OwnCalls own(state);
    const RelaxedCaptures relaxed;
    std::vector<abi::Word> nodes[2];
    for (const bool is_clone : {false, true}) {
        std::vector<abi::Word>& found = nodes[is_clone ? 1 : 0];
        std::size_t count = 0;
        const abi::Word graph = is_clone ? clone : original;
        if (driver->cuGraphGetNodes(graph, nullptr, &count) != abi::success) return;
        found.resize(count);
        if (count != 0 && driver->cuGraphGetNodes(graph, found.data(), &count) != abi::success) return;
    }
    if (nodes[0].size() != nodes[1].size()) return;
    for (std::size_t index = 0; index < nodes[0].size(); ++index) {
        node_sites().made(clone, nodes[1][index], origin_here(state));
        node_sites().copied(clone, nodes[1][index], nodes[0][index]);
    }
}

}  // namespace

void place_captured_launch(ThreadState& state) {
    Call& call = state.call;
    const abi::Word function = call.value(Role::FUNCTION);
    state.launches_collective = false;
    if (function == 0) return;
    const OwnCalls own(state);
    const RelaxedCaptures relaxed;
    const Kernel& kernel = kernel_of(function, call.symbol);
    state.launches_collective = kernel.collective;
    tell_variables_of(state, call, kernel);
    site_with(call, label_id(kernel, *recorder()->writer));
}

void graph_resource(ThreadState& state, abi::Resource resource, const abi::GraphData& data) {
    if (state.inside || recorder() == nullptr) return;
    switch (resource) {
        case abi::Resource::graph_node_created:
            if (!is_internal(state)) node_sites().made(data.graph, data.node, origin_here(state));
            return;
        case abi::Resource::graph_node_cloned:
            // After its own creation: a copy keeps the place of the original.
            if (!is_internal(state)) node_sites().copied(data.graph, data.node, data.original_node);
            return;
        case abi::Resource::graph_created:
        case abi::Resource::graph_cloned:
            ended_graphs().begin(data.graph);  // also where the driver makes one for itself: a handle may come back
            return;
        case abi::Resource::graph_destroy_starting: node_sites().graph_destroyed(data.graph); return;
        default: return;
    }
}

void graph_call_ended(ThreadState& state, Call& call) {
    if (call.captured) {
        const CapturedNode made = captured_node(state, call);
        // The program may ask for the graph while it is captured into.
        if (made.graph != 0) ended_graphs().begin(made.graph);
        // A call that makes no node leaves the stream behind an earlier one.
        if (made.node != 0 && node_sites().graph_of(made.node) != made.graph)
            node_sites().made(made.graph, made.node, origin_here(state));
        return;
    }
    switch (call.callback->effect) {
        case Effect::CAPTURE_END:
        case Effect::GRAPH_CLONE: {
            const abi::Word graph = call.output(Role::OUT_HANDLE);
            if (graph == 0) return;
            ended_graphs().begin(graph);
            if (call.callback->effect == Effect::GRAPH_CLONE) nodes_of_clone(state, call.value(Handle::GRAPH), graph);
            return;
        }
        case Effect::GRAPH_ADD_NODE: {
            const abi::Word node = call.output(Role::OUT_HANDLE);
            if (node == 0) return;
            node_sites().made(call.value(Handle::GRAPH), node, origin_here(state));
            if (given_node(call).child != 0) child_began(state, node);
            return;
        }
        case Effect::GRAPH_DESTROY: node_sites().graph_destroyed(call.value(Handle::GRAPH)); return;
        default: return;
    }
}

void register_graph_building(HandlerTable& table) {
    table.on(Effect::GRAPH_ADD_NODE, {enter_node, exit_add});
    table.on(Effect::GRAPH_NODE_SET, {enter_node, exit_node_set});
    table.on(Effect::GRAPH_NODE_DESTROY, {enter_node_destroy, exit_node_destroy});
    table.on(Effect::GRAPH_EDGES, {nullptr, exit_use});
    table.on(Effect::GRAPH_USE, {nullptr, exit_use});
    table.on(Effect::GRAPH_CONDITION, {nullptr, exit_condition});
}

}  // namespace streamsan::recorder::cuda
