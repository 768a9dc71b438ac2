// What the driver says about a call that fails: its log, where it has one (cuLogsRegisterCallback, since CUDA 12.9).
#pragma once
#include "recorder/cuda/call.hpp"

namespace streamsan::recorder::cuda {

/// Begins to listen. Once, when the driver is ready.
void listen_to_the_driver();

/// Whether a status other than success is an answer, not a failure: "not ready", "already enabled", of questions.
bool is_answer(const Call& call);

/// After a failed driver call: a CALL if nothing else was written for it, and the driver's own words on it.
void explain_driver_failure(ThreadState& state, Call& call);

/// Writes what the driver has said during this call, if anything, and forgets it.
void write_explanation(ThreadState& state, Call& call);

}  // namespace streamsan::recorder::cuda
