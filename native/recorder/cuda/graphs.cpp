// Graphs as such, and launches.
#include "recorder/cuda/captures.hpp"
#include "recorder/cuda/graph_building.hpp"
#include "recorder/cuda/graph_instantiation.hpp"
#include "recorder/cuda/graph_operations.hpp"
#include "recorder/cuda/handlers.hpp"
#include "recorder/cuda/host_accesses.hpp"
#include "recorder/cuda/host_functions.hpp"
#include "recorder/cuda/live_handles.hpp"
#include "recorder/cuda/recorder.hpp"

namespace streamsan::recorder::cuda {
namespace {

constexpr auto graph_detail = static_cast<std::uint8_t>(HandleKind::GRAPH);

void exit_graph_create(ThreadState& state, Call& call) {
    const abi::Word graph = call.status == abi::success ? call.output(Role::OUT_HANDLE) : 0;
    if (graph != 0) ended_graphs().begin(graph);
    write_returned(state, call, OperationKind::HANDLE_CREATE, graph_detail, 0, graph);
}

void enter_graph_destroy(ThreadState& state, Call& call) {
    const abi::Word graph = call.value(Handle::GRAPH);
    write_entered(state, call, OperationKind::HANDLE_DESTROY, graph_detail, 0, graph);
    ended_graphs().end(graph);
}

void exit_clone(ThreadState& state, Call& call) {
    const abi::Word made = call.status == abi::success ? call.output(Role::OUT_HANDLE) : 0;
    const abi::Word original = call.value(Handle::GRAPH);
    if (refused_otherwise(state, call, original)) return;
    write_addressed(state, call, OperationKind::GRAPH_CLONE, 0, 0, made, original, 0);
    // Handles come back: the clone is not a graph of that handle that was destroyed.
    if (made != 0) write_returned(state, call, OperationKind::HANDLE_CREATE, graph_detail, 0, made);
}

/// The hot path of programs that replay: one slot, and nothing is looked up but the place.
[[gnu::hot]] void enter_graph_launch(ThreadState& state, Call& call) {
    write_entered(state, call, OperationKind::GRAPH_LAUNCH, 0, call.stream(), call.value(Handle::GRAPH_EXEC));
    if (recorder()->host_accesses) [[unlikely]]
        note_graph_uses(state, call.value(Handle::GRAPH_EXEC));
}

void exit_upload(ThreadState& state, Call& call) {
    if (call.status != abi::success) write_refused_exec(state, call, call.value(Handle::GRAPH_EXEC));
}

void exit_trim(ThreadState& state, Call& call) {
    write_addressed(state, call, OperationKind::GRAPH_TRIM, 0, 0, 0, call.value(Role::DEVICE), 0);
}

}  // namespace

void register_graphs(HandlerTable& table) {
    register_captures(table);
    register_graph_building(table);
    register_graph_instantiation(table);
    register_graph_updates(table);
    register_host_functions(table);
    table.on(Effect::GRAPH_CREATE, {nullptr, exit_graph_create});
    table.on(Effect::GRAPH_DESTROY, {enter_graph_destroy, exit_plain});
    table.on(Effect::GRAPH_CLONE, {nullptr, exit_clone});
    table.on(Effect::GRAPH_LAUNCH, {enter_graph_launch, exit_plain});
    table.on(Effect::GRAPH_UPLOAD, {nullptr, exit_upload});
    table.on(Effect::GRAPH_TRIM, {nullptr, exit_trim});
}

}  // namespace streamsan::recorder::cuda
