// Single nodes of an executable graph: given other parameters, enabled and disabled.
#include <optional>
#include <vector>

#include "recorder/cuda/api_names.hpp"
#include "recorder/cuda/captures.hpp"
#include "recorder/cuda/driver.hpp"
#include "recorder/cuda/graph_arguments.hpp"
#include "recorder/cuda/graph_execs.hpp"
#include "recorder/cuda/graph_instantiation.hpp"
#include "recorder/cuda/graph_operations.hpp"
#include "recorder/cuda/not_understood.hpp"
#include "recorder/cuda/recorder.hpp"

namespace streamsan::recorder::cuda {
namespace {

Gap unknown_node{"a node of an executable graph was changed that is not known: what it does since is not checked"};

struct Place {
    abi::Word exec = 0;
    std::uint32_t number = 0;  ///< 0: not known
};

Place place_of(const Call& call) {
    const abi::Word exec = call.value(Handle::GRAPH_EXEC);
    return {exec, graph_execs().number_of(exec, call.value(Handle::NODE))};
}

/// Any node may do anything from now on.
void say_unknown(ThreadState& state, Call& call) {
    say_not_understood(state, call, unknown_node);
    write_unseen(state, call);
}

/// The node of a call that changed it. What was refused, and of nodes that nobody knows that they changed, is written.
std::optional<BodyNode> changed_node(ThreadState& state, Call& call, const Place& place) {
    if (call.status != abi::success) {
        write_refused_exec(state, call, place.exec);
        return std::nullopt;
    }
    std::optional<BodyNode> node = graph_execs().node(place.exec, place.number);
    if (!node) say_unknown(state, call);
    return node;
}

/// Kept before it is written: a new file that is begun in between then has it, and the operation says it once more.
void write_node(ThreadState& state, Call& call, const Place& place, const BodyNode& before, const NodeContent& content,
                std::uint64_t since) {
    graph_execs().set_node(place.exec, place.number, content, {call.site, api_of(state, call), since});
    const NodeKind shown = before.enabled ? content.kind : NodeKind::EMPTY;
    write_node_update(state, call, place.exec, place.number, shown, before.enabled ? content.shape : 0,
                      before.conditional, content.references.data(), before.enabled ? content.references.size() : 0,
                      since);
}

/// A child's nodes are those right after it, in the same order, as the driver demands.
void set_child(ThreadState& state, Call& call, const Place& place, const BodyNode& before, abi::Word child) {
    Body body;
    {
        const OwnCalls own(state);
        const RelaxedCaptures relaxed;
        body = read_body(*recorder()->driver, child);
    }
    // One that only orders may stand at the end.
    if (!body.known || body.nodes.size() > before.inner || body.nodes.size() + 1 < before.inner) {
        say_unknown(state, call);
        return;
    }
    const std::uint32_t site = call.site;
    for (std::uint32_t index = 0; index < body.nodes.size(); ++index) {
        const Place inner{place.exec, place.number + 1 + index};
        const std::optional<BodyNode> known = graph_execs().node(inner.exec, inner.number);
        if (!known) return;
        const BodyNode& node = body.nodes[index];
        NodeContent content;
        content.kind = node.kind;
        content.object = node.object;
        content.shape = node.shape;
        content.kernel = node.kernel;
        content.dimensions = node.dimensions;
        content.references.assign(body.references_of(node), body.references_of(node) + node.references);
        call.site = node.origin.site != 0 ? node.origin.site : site;
        write_node(state, call, inner, *known, content, node.origin.since);
    }
    call.site = site;
}

void enter_set(ThreadState& state, Call& call) {
    const OwnCalls own(state);
    const RelaxedCaptures relaxed;
    site_with(call, label_of(given_node(call)));
}

void exit_update_set(ThreadState& state, Call& call) {
    const Place place = place_of(call);
    const std::optional<BodyNode> before = changed_node(state, call, place);
    if (!before) return;
    const GivenNode given = given_node(call);
    if (given.known && given.type == abi::NodeType::graph) {
        set_child(state, call, place, *before, given.child);
        return;
    }
    NodeContent content;
    {
        const OwnCalls own(state);
        const RelaxedCaptures relaxed;
        describe(given, content);
    }
    write_node(state, call, place, *before, content, recorder()->writer->latest_sequence());
}

void exit_enable(ThreadState& state, Call& call) {
    const Place place = place_of(call);
    const std::optional<BodyNode> node = changed_node(state, call, place);
    if (!node) return;
    const bool enabled = call.value(Role::VALUE) != 0;
    const std::vector<Reference> references =
        enabled ? graph_execs().references_of(place.exec, place.number) : std::vector<Reference>{};
    // The place stays that of the node: its kernel's name is part of it.
    if (enabled && node->origin.site != 0) call.site = node->origin.site;
    graph_execs().set_enabled(place.exec, place.number, enabled);
    write_node_update(state, call, place.exec, place.number, enabled ? node->kind : NodeKind::EMPTY,
                      enabled ? node->shape : 0, node->conditional, references.data(), references.size(),
                      node->origin.since);
}

}  // namespace

void register_graph_updates(HandlerTable& table) {
    table.on(Effect::GRAPH_EXEC_NODE_SET, {enter_set, exit_update_set});
    table.on(Effect::GRAPH_EXEC_NODE_ENABLE, {nullptr, exit_enable});
}

}  // namespace streamsan::recorder::cuda
