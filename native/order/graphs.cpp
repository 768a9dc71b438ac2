// Executable graphs: made, updated, ended.
#include "graphs.hpp"

#include <algorithm>

#include "engine.hpp"

namespace streamsan::order {
std::uint32_t Engine::new_exec(const Slot& slot, Thread& thread, Process& process, const Operation& operation) {
    const std::uint32_t old = process.execs.find(slot.object);
    if (old != none && execs_[old]->alive) end_exec(process, old, operation);  // its destruction was not seen
    std::uint32_t index;
    if (spare_execs_.empty()) {
        index = static_cast<std::uint32_t>(execs_.size());
        execs_.push_back(std::make_unique<GraphExec>());
    } else {
        index = spare_execs_.back();
        spare_execs_.pop_back();
        *execs_[index] = GraphExec{};
    }
    GraphExec& exec = *execs_[index];
    exec.incarnation = ++exec_incarnations_;
    exec.handle = slot.object;
    exec.process = thread.process;
    exec.context = context_of(thread, process);
    exec.made = operation;
    process.execs.set(slot.object, index);
    return index;
}

void Engine::graph_instantiate(const Slot& slot, Thread& thread, Process& process, const Operation& operation) {
    Slot graph = slot;
    graph.object = slot.address;
    graph.detail = static_cast<std::uint8_t>(HandleKind::GRAPH);
    if (slot.address != 0) live_handle(graph, process, operation);
    Slot handle = slot;
    handle.detail = static_cast<std::uint8_t>(HandleKind::GRAPH_EXEC);
    handle_create(handle, process, operation);
    const std::uint32_t index = new_exec(slot, thread, process, operation);
    GraphExec& exec = *execs_[index];
    exec.graph = slot.address;
    exec.auto_free = (slot.detail & static_cast<std::uint8_t>(GraphExecFlag::AUTO_FREE)) != 0;
    if (slot.address != 0) process.graph_execs.set(slot.address, index);
    begin_body(slot, thread, index);
}

void Engine::graph_update(const Slot& slot, Thread& thread, Process& process, const Operation& operation) {
    Slot handle = slot;
    handle.detail = static_cast<std::uint8_t>(HandleKind::GRAPH_EXEC);
    if (!live_handle(handle, process, operation)) return;
    std::uint32_t index = exec_by_handle(process, slot.object);
    if (index == none) index = new_exec(slot, thread, process, operation);
    begin_body(slot, thread, index);
}

void Engine::graph_node_update(const Slot& slot, Process& process, const Operation& operation) {
    Slot handle = slot;
    handle.detail = static_cast<std::uint8_t>(HandleKind::GRAPH_EXEC);
    if (!live_handle(handle, process, operation)) return;
    const std::uint32_t index = exec_by_handle(process, slot.object);
    if (index == none) return;
    GraphExec& exec = *execs_[index];
    if (slot.address == 0 || slot.address > exec.body.nodes.size()) {
        ++problems_;
        return;
    }
    BodyNode& node = exec.body.nodes[slot.address - 1];
    const auto same = [](const Reference& one, const Reference& other) {
        return one.address == other.address && one.size == other.size && one.generation == other.generation &&
               one.mode == other.mode && one.assumed == other.assumed && one.flags == other.flags;
    };
    // Often it is only the value of a parameter that changes. But the same address may be that of other memory now.
    node.changed |=
        !std::equal(node.references.begin(), node.references.end(), references_.begin(), references_.end(), same);
    node.references = references_;
    node.operation = operation;
    if (watch_.active()) note_watched_nodes(exec.body);
    exec.changed = true;  // many nodes are often updated at once: they are looked at when the graph is launched
}

void Engine::apply_changes(Process& process, std::uint32_t index) {
    check_body(process, index, true);
    for (BodyNode& node : execs_[index]->body.nodes) node.changed = false;
    summarise(process, index);
}

void Engine::exec_destroyed(const Slot& slot, Process& process, const Operation& operation) {
    const std::uint32_t index = exec_by_handle(process, slot.object);
    if (index != none && execs_[index]->alive) end_exec(process, index, operation);
}

void Engine::end_exec(Process& process, std::uint32_t index, const Operation& operation) {
    GraphExec& exec = *execs_[index];
    if (exec.changed) summarise(process, index);
    exec.alive = false;
    exec.destroyed = operation;
    for (Thread& each : threads_) {
        if (each.building == index) each.building = none;
    }
    for (const Baked& each : exec.baked) {
        if (each.made == 0) continue;
        keep_launch(process, exec, each);
        unlink(exec, index, each.allocation);
    }
    exec.body = {};
    exec.baked = {};
    exec.dirty = {};
    exec.stale = {};
    exec.neighbours = {};
    exec.foreign = {};
    bool needed = false;
    for (const std::uint32_t memory : exec.own) needed |= graph_memory_alive(process, graph_memory_[memory]);
    if (needed) return;  // its memory outlives it, and its last launch with it
    for (const std::uint32_t memory : exec.own) forget_graph_memory(process, memory);
    process.execs.erase(exec.handle);
    if (process.graph_execs.find(exec.graph) == index) process.graph_execs.erase(exec.graph);
    spare_execs_.push_back(index);
}

}  // namespace streamsan::order
