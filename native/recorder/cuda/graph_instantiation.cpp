// A body is read at the entry of the call, so that it is what the driver makes the executable graph of, and written at
// its return, when there is a handle that it belongs to.
#include "recorder/cuda/graph_instantiation.hpp"

#include <memory>
#include <utility>
#include <vector>

#include "recorder/cuda/abi_graphs.hpp"
#include "recorder/cuda/captures.hpp"
#include "recorder/cuda/driver.hpp"
#include "recorder/cuda/graph_bodies.hpp"
#include "recorder/cuda/graph_execs.hpp"
#include "recorder/cuda/graph_operations.hpp"
#include "recorder/cuda/live_handles.hpp"
#include "recorder/cuda/loaded_code.hpp"
#include "recorder/cuda/not_understood.hpp"
#include "recorder/cuda/recorder.hpp"

namespace streamsan::recorder::cuda {
namespace {

struct InstantiationScratch {
    enum : std::size_t { body_read, flags };
};

Gap unreadable{"the nodes of a graph could not be read from the driver: what its launches use is not checked"};
Gap launched_by_device{"a graph was made for launches from the device: such launches are not seen"};

/// Kept from entry to exit. A call that never returned to us (an exception) leaves it to the next one of the thread.
thread_local Body* pending = nullptr;

void keep(Call& call, Body&& body) {
    delete pending;
    pending = new Body(std::move(body));
    call.scratch[InstantiationScratch::body_read] = reinterpret_cast<std::uint64_t>(pending);
}

std::unique_ptr<Body> take(Call& call) {
    if (call.scratch[InstantiationScratch::body_read] == 0 ||
        call.scratch[InstantiationScratch::body_read] != reinterpret_cast<std::uint64_t>(pending))
        return nullptr;
    call.scratch[InstantiationScratch::body_read] = 0;
    return std::unique_ptr<Body>(std::exchange(pending, nullptr));
}

void read(ThreadState& state, Call& call) {
    call.scratch[InstantiationScratch::body_read] = 0;
    const Driver* const driver = recorder()->driver;
    const abi::Word graph = call.value(Handle::GRAPH);
    if (driver == nullptr || graph == 0) return;
    const OwnCalls own(state);
    const RelaxedCaptures relaxed;
    keep(call, read_body(*driver, graph));
}

/// The body at the return of the call. Code that it has loaded is known by now.
std::unique_ptr<Body> take_loaded(ThreadState& state, Call& call) {
    std::unique_ptr<Body> body = take(call);
    if (body != nullptr && has_loaded_code(state)) {
        const OwnCalls own(state);
        const RelaxedCaptures relaxed;
        renew_shapes(*recorder()->driver, *body);
    }
    return body;
}

std::uint64_t instantiate_flags(const Call& call) {
    if (const CallbackParameter* const given = call.find(Role::FLAGS); given != nullptr) return call.value(given);
    const auto* const parameters = reinterpret_cast<const abi::InstantiateParameters*>(call.value(Role::STRUCTURE));
    return parameters == nullptr ? 0 : parameters->flags;
}

/// The slot that a body follows. `made` is called before it is committed: what a new file restates must have it by
/// then.
template <class Made>
void write_with_body(ThreadState& state, Call& call, OperationKind kind, Detail detail, abi::Word exec, abi::Word graph,
                     const Body& body, Made&& made) {
    const Reference fields{graph, body.size_in_trace(), 0};
    const Slot* const slot = prepare_returned(state, call, kind, detail, 0, exec, &fields, 1);
    if (slot == nullptr) return;
    const Slot header = *slot;
    made(header);
    commit_prepared(state);
    if (Lane* const lane = recorder()->writer->lane()) append_body(*lane, header, body);
}

/// A graph of which nothing is known may allocate, use and free what it likes, whenever it is launched.
void say_unknown(ThreadState& state, Call& call, const Body& body) {
    if (body.known) return;
    say_not_understood(state, call, unreadable);
    write_unseen(state, call);
}

void enter_instantiate(ThreadState& state, Call& call) {
    call.scratch[InstantiationScratch::flags] = instantiate_flags(call);
    read(state, call);
}

/// What copies and fills of a graph name that was memory and is none any more. The driver looks at these when it makes
/// an executable graph, not at what kernels are given.
std::vector<Reference> gone_memory(const Body& body) {
    const AddressMap& memory = recorder()->memory;
    std::vector<Reference> gone;
    for (const BodyNode& node : body.nodes) {
        if (!node.enabled || node.conditional || (node.kind != NodeKind::COPY && node.kind != NodeKind::MEMSET))
            continue;
        for (const Reference* each = body.references_of(node); each != body.references_of(node) + node.references;
             ++each) {
            if (gone.size() == most_further_references) return gone;
            if (memory.maybe(each->address) && !memory.find(each->address)) gone.push_back(*each);
        }
    }
    return gone;
}

void write_refused(ThreadState& state, Call& call, Detail detail, abi::Word graph, const Body* body) {
    std::vector<Reference> fields{{graph, 0, 0}};
    if (call.status == abi::invalid_value && body != nullptr) {
        const std::vector<Reference> gone = gone_memory(*body);
        fields.insert(fields.end(), gone.begin(), gone.end());
    }
    write_returned(state, call, OperationKind::GRAPH_INSTANTIATE, detail, 0, 0, fields.data(), fields.size());
}

void exit_instantiate(ThreadState& state, Call& call) {
    const std::unique_ptr<Body> read = take_loaded(state, call);
    const abi::Word graph = call.value(Handle::GRAPH);
    const auto detail =
        static_cast<std::uint8_t>(call.scratch[InstantiationScratch::flags] & abi::known_instantiate_flags);
    const abi::Word exec = call.status == abi::success ? call.output(Role::OUT_HANDLE) : 0;
    ended_graph_execs().begin(exec);
    // Where nothing is written here, dispatch writes a call with its status.
    if (exec == 0 && refused_otherwise(state, call, graph)) return;
    if (exec == 0) {
        write_refused(state, call, detail, graph, read.get());
        return;
    }
    if (read == nullptr) {
        write_addressed(state, call, OperationKind::GRAPH_INSTANTIATE, detail, 0, exec, graph, 0);
        return;
    }
    const std::shared_ptr<const Body> body = std::make_shared<const Body>(std::move(*read));
    write_with_body(state, call, OperationKind::GRAPH_INSTANTIATE, detail, exec, graph, *body,
                    [&](const Slot& header) { graph_execs().made(exec, header, body); });
    say_unknown(state, call, *body);
    if ((call.scratch[InstantiationScratch::flags] & abi::instantiate_for_device) != 0) {
        say_not_understood(state, call, launched_by_device);
    }
}

void enter_exec_destroy(ThreadState& state, Call& call) {
    const abi::Word exec = call.value(Handle::GRAPH_EXEC);
    constexpr auto detail = static_cast<std::uint8_t>(HandleKind::GRAPH_EXEC);
    const Slot* const slot = prepare_entered(state, call, OperationKind::HANDLE_DESTROY, detail, 0, exec);
    graph_execs().destroyed(exec);
    ended_graph_execs().end(exec);
    if (slot != nullptr) commit_prepared(state);
}

void exit_update(ThreadState& state, Call& call) {
    std::unique_ptr<Body> read = take_loaded(state, call);
    const abi::Word exec = call.value(Handle::GRAPH_EXEC);
    const abi::Word graph = call.value(Handle::GRAPH);
    if (call.status != abi::success || read == nullptr) {
        write_addressed(state, call, OperationKind::GRAPH_UPDATE, 0, 0, exec, graph, 0);
        return;
    }
    const std::shared_ptr<const Body> body = graph_execs().updated(exec, std::move(*read));
    write_with_body(state, call, OperationKind::GRAPH_UPDATE, 0, exec, graph, *body, [](const Slot&) {});
    say_unknown(state, call, *body);
}

}  // namespace

void write_refused_exec(ThreadState& state, Call& call, abi::Word exec) {
    write_returned(state, call, OperationKind::HANDLE_USE, HandleKind::GRAPH_EXEC, 0, exec, nullptr, 0);
}

void restate_graphs(Lane& lane) {
    // A checker of the new file needs the bodies of what is launched from now on. Those of programs with very many
    // nodes would fill it.
    constexpr std::size_t most_slots = 200'000;
    std::size_t slots = 0;
    for (const auto& [header, body] : graph_execs().all()) {
        slots += 1 + body.size_in_trace();
        if (slots > most_slots) return;
        Slot* const slot = lane.reserve(0);
        if (slot == nullptr) return;
        *slot = header;
        slot->more = 0;
        lane.commit();
        restate_body(lane, header, body);
    }
}

void graphs_after_fork() {
    // Nothing of CUDA works in the child; a new file of its must not tell of the parent's graphs.
    forget_graph_execs();
    if (recorder() != nullptr) recorder()->captures.store(0, std::memory_order_relaxed);
}

void register_graph_instantiation(HandlerTable& table) {
    table.on(Effect::GRAPH_INSTANTIATE, {enter_instantiate, exit_instantiate});
    table.on(Effect::GRAPH_EXEC_DESTROY, {enter_exec_destroy, exit_plain});
    table.on(Effect::GRAPH_EXEC_UPDATE, {read, exit_update});
}

}  // namespace streamsan::recorder::cuda
