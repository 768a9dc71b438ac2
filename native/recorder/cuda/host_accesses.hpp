// Accesses of the host to memory that work uses (`streamsan run --host-accesses`): the memory is protected when the
// call that enqueued the work has returned.
#pragma once
#include <cstddef>
#include <cstdint>

#include "recorder/cuda/call.hpp"
#include "recorder/memory/address_map.hpp"

namespace streamsan::recorder::cuda {

/// Begins, where the settings ask for it. What stands in the way is said.
void begin_host_accesses();

// All others are called only where `Recorder::host_accesses` is set.

/// Memory of the API begins and ends; before it is given back.
void host_memory_begins(const Range& range);
void host_memory_ends(const Range& range);
/// Registered memory that the program itself may only read, or that is a device's: it stays as it is.
void host_memory_stays_open(std::uint64_t address);
/// A context goes with its memory.
void open_all_host_memory();

/// What an operation under way uses, for the end of its call.
void note_host_uses(ThreadState& state, OperationKind kind, Detail detail, const Reference* references,
                    std::size_t count);
void note_graph_uses(ThreadState& state, std::uint64_t exec);
/// The call has returned.
void protect_host_uses(ThreadState& state, const Call& call);

/// Writes the accesses noted so far: before a thread's next operation, and at the end.
void write_host_accesses();

// processes.cpp
void host_accesses_before_fork();
void host_accesses_after_fork(bool in_child);
void end_host_accesses();

}  // namespace streamsan::recorder::cuda
