// Calls of the runtime: they lend their names to the driver calls inside them, and tell what never reaches the driver.
#pragma once
#include "recorder/cuda/call.hpp"

namespace streamsan::recorder::cuda {

void runtime_call_enter(ThreadState& state, Call& call);
/// `call.status` is set.
void runtime_call_exit(ThreadState& state, Call& call);

}  // namespace streamsan::recorder::cuda
