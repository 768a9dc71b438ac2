// Calls that are several operations: batches of copies, an unmap of several mappings, a launch on several devices. All
// are written when the call is entered, and completed when it returns.
#pragma once
#include <cstddef>
#include <cstdint>

#include "recorder/cuda/call.hpp"

namespace streamsan::recorder::cuda {

/// As write_entered, for each operation of the call. The first of them begins anew: `begin_batch` before it.
void begin_batch(ThreadState& state, Call& call);
Slot* write_batch_member(ThreadState& state, Call& call, OperationKind kind, Detail detail, std::uint64_t stream,
                         std::uint64_t object, const Reference* references, std::size_t count);
/// Status and duration of the call, for all of them.
void complete_batch(ThreadState& state, Call& call);

}  // namespace streamsan::recorder::cuda
