// Contexts: which one is current, how they begin and end.
#pragma once
#include <cstdint>

#include "recorder/cuda/abi.hpp"
#include "recorder/cuda/call.hpp"

namespace streamsan::recorder::cuda {

/// Another context is current to the thread than at its last call.
void context_changed(ThreadState& state, abi::Word context);
/// Resource callbacks, inside the call that creates or destroys.
void context_created(ThreadState& state, abi::Word context);
void context_destroyed(ThreadState& state, abi::Word context);

/// cudaDeviceReset begins: what it resets, as DEVICE_RESET. `current` is the thread's context, 0 for none.
void device_reset_begins(ThreadState& state, Call& call, abi::Word current);

/// The device of a context; 0 where it is not known.
std::uint32_t device_of_context(abi::Word context);

}  // namespace streamsan::recorder::cuda
