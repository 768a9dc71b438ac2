// Calls of the runtime that name a handle which is no more. The driver may crash on it before its own callback comes (a
// stream that is destroyed twice), so the operation is written as soon as the runtime is entered: the crash leaves its
// trace.
#pragma once
#include "recorder/cuda/call.hpp"
#include "recorder/cuda/handlers.hpp"

namespace streamsan::recorder::cuda {

/// Takes from the table what the driver's calls of the same effects do. Once.
void prepare_ended_handles(const HandlerTable& table);

/// At the entry of a runtime call: writes the operation where a handle is known to have ended, into `call.slot`. Sets
/// `state.covers_driver_calls` where this stands for the driver calls inside, too: then their callbacks pass.
void tell_use_of_ended(ThreadState& state, Call& call);

/// At the exit of that call.
void complete_use_of_ended(ThreadState& state, Call& call);

}  // namespace streamsan::recorder::cuda
