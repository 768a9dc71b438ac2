// Exact mode: what each launch touched, as its kernel noted it on the device, goes into the trace as a LAUNCH_ACCESSES
// that names the launch. Notes are read when a call of the program has waited anyway, and only those of launches that
// have ended: nothing waits for this.
#pragma once
#include "recorder/cuda/call.hpp"
#include "recorder/cuda/sanitizer_abi.hpp"

namespace streamsan::recorder::cuda {

// From the Sanitizer API's callbacks.
void patch_module(const abi::SanitizerModuleData& data);
void launch_begins(const abi::SanitizerLaunchData& data);
void node_launch_begins(const abi::SanitizerNodeLaunchData& data);
void device_accesses_lose_module(abi::Word module);
void device_accesses_lose_context(abi::Word context);

/// Whether there is anything to do around calls. Set before the first one.
inline bool sees_accesses = false;

// From dispatch, around each call of the driver that is not captured.
void before_call(ThreadState& state, Call& call);
void after_call(ThreadState& state, Call& call);

/// In a forked child, where nothing of CUDA works.
void device_accesses_after_fork();
/// At the end of the process: what is still to be read.
void finish_device_accesses();

}  // namespace streamsan::recorder::cuda
