// Memory that is alive: its kind, for what copies wait for, and the operation that made it, for a new file.
#pragma once
#include <cstdint>
#include <optional>

#include "recorder/cuda/call.hpp"
#include "recorder/memory/address_map.hpp"

namespace streamsan::recorder::cuda {

/// Of the ALLOC `slot`, between prepare_returned and commit_prepared.
void memory_begins(const ThreadState& state, const Slot& slot);

/// The memory that begins at `address` is given back, before the driver does so: afterwards the address may be another
/// thread's at any moment. Between prepare_entered and commit_prepared of the FREE. Returns what it was, if it was
/// known.
std::optional<Range> memory_ends(std::uint64_t address);
/// The free failed, and nobody else got the address.
void memory_goes_on(const Range& range);
/// A context is reset or destroyed: what dies with it is not restated any more.
void memory_loses_context(std::uint64_t context);

/// Sizes that the call does not say are asked from the driver; 0 where it does not know either.
std::uint64_t size_by_driver(std::uint64_t address);

/// An ALLOC at the return of a call that succeeded: written, and known from then on.
void write_allocation(ThreadState& state, Call& call, MemoryKind kind, std::uint64_t stream, std::uint64_t address,
                      std::uint64_t size);

}  // namespace streamsan::recorder::cuda
