// Executable graphs: made, updated as a whole, node by node.
#pragma once
#include "recorder/cuda/handlers.hpp"

namespace streamsan::recorder::cuda {

void register_graph_instantiation(HandlerTable& table);  // graph_instantiation.cpp
void register_graph_updates(HandlerTable& table);        // graph_updates.cpp

/// A call on an executable graph that failed: its handle's life is looked at (SS205).
void write_refused_exec(ThreadState& state, Call& call, abi::Word exec);

}  // namespace streamsan::recorder::cuda
