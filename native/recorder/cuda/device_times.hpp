// When the device did the work (`--times`): CUPTI's records of it go into the trace as DEVICE_TIMEs, which name the
// operations. CUPTI hands records over when it likes, on a thread of its own, long after the calls: a record has the
// number that CUPTI gave its call, and that is noted for each call which writes work. A DEVICE_TIME is nobody's
// operation: all have a thread of their own in the trace.
#pragma once
#include <string>

#include "recorder/cuda/call.hpp"
#include "recorder/cuda/cupti.hpp"

namespace streamsan::recorder::cuda {

/// Has CUPTI tell when work runs, before the first call. Returns "", or why it does not; then nothing has changed.
std::string begin_device_times(const Cupti& cupti);

// From calls, where `Recorder::times`.
/// What the call does is written, at its entry.
void work_entered(ThreadState& state, const Call& call);
/// The call has waited, and its operation has another number now.
void work_renumbered(const ThreadState& state, const Call& call);

/// In a forked child, where nothing of CUDA works.
void device_times_after_fork();
/// At the end of the process: what CUPTI has not handed over yet.
void finish_device_times();

}  // namespace streamsan::recorder::cuda
