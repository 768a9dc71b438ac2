// Executable graphs: made, updated, ended.
#include "engine.hpp"

namespace streamsan::order {

std::uint32_t Engine::new_exec(const Slot& slot, Process& process, const Operation& operation) {
    exec_destroyed(slot, process, operation);  // the destruction of an earlier one was not seen
    return graphs_.make(process, slot.object, operation);
}

void Engine::graph_instantiate(const Slot& slot, Thread& thread, Process& process, const Operation& operation) {
    if (slot.address != 0) handles_.admit(process, HandleKind::GRAPH, slot.address, operation);
    handles_.create(process, HandleKind::GRAPH_EXEC, slot.object, none, operation);
    const std::uint32_t index = new_exec(slot, process, operation);
    GraphExec& exec = graphs_[index];
    exec.graph = slot.address;
    exec.auto_free = (slot.detail & static_cast<std::uint8_t>(GraphExecFlag::AUTO_FREE)) != 0;
    if (slot.address != 0) process.graph_execs.set(slot.address, index);
    begin_body(slot, thread, index);
}

void Engine::graph_update(const Slot& slot, Thread& thread, Process& process, const Operation& operation) {
    if (!handles_.admit(process, HandleKind::GRAPH_EXEC, slot.object, operation)) return;
    std::uint32_t index = process.execs.find(slot.object);
    if (index == none) index = new_exec(slot, process, operation);
    begin_body(slot, thread, index);
}

void Engine::graph_node_update(const Slot& slot, Process& process, const Operation& operation) {
    if (!handles_.admit(process, HandleKind::GRAPH_EXEC, slot.object, operation)) return;
    const std::uint32_t index = process.execs.find(slot.object);
    if (index == none || !graphs_.update_node(index, slot, operation, references_)) return;
    if (watch_.active()) note_watched_nodes(graphs_[index].body);
}

void Engine::begin_body(const Slot& slot, Thread& thread, std::uint32_t index) {
    graphs_.begin_body(index, slot.size, thread);
    if (slot.size == 0) finish_body(thread);
}

void Engine::finish_body(Thread& thread) {
    const std::uint32_t index = thread.building;
    graphs_.finish_body(*processes_[graphs_[index].process], thread);
    if (watch_.active()) note_watched_nodes(graphs_[index].body);
}

void Engine::exec_destroyed(const Slot& slot, Process& process, const Operation& operation) {
    const std::uint32_t index = process.execs.find(slot.object);
    if (index == none || !graphs_[index].alive) return;
    for (Thread& each : threads_) {
        if (each.building == index) each.building = none;
    }
    graphs_.end(process, index, operation);
}

}  // namespace streamsan::order
