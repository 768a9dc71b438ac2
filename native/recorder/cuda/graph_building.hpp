// Nodes of graphs: added, described anew, destroyed; and what the driver tells of them while it does so.
#pragma once
#include "recorder/cuda/handlers.hpp"

namespace streamsan::recorder::cuda {

void register_graph_building(HandlerTable& table);

/// For a captured call that will make a node: its place, with the label of the kernel that it launches. At its entry,
/// since the resource callback comes from within the driver, where no further call should be made.
void place_captured_launch(ThreadState& state);

}  // namespace streamsan::recorder::cuda
