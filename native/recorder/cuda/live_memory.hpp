// Memory that is alive: its kind, for what copies wait for, and the operation that made it, for a new file.
#pragma once
#include <cstdint>
#include <optional>

#include "recorder/cuda/call.hpp"
#include "recorder/cuda/poison.hpp"
#include "recorder/cuda/recorder.hpp"
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

/// What a free keeps of its memory from entry to exit.
struct FreeScratch {
    enum : std::size_t { base, size, kind, sequence };
};

/// The entry of a free: written, and its memory is nobody's from here on, unless the free fails. 0 is no memory.
inline void begin_free(ThreadState& state, Call& call, std::uint64_t address) {
    call.scratch[FreeScratch::base] = 0;
    if (address == 0) return;
    const Reference freed{address, 0, 0};
    const std::uint64_t stream = static_cast<FreeClass>(call.callback->free) == FreeClass::ASYNC ? call.stream() : 0;
    if (prepare_entered(state, call, OperationKind::FREE, call.callback->free, stream, 0, &freed, 1) == nullptr) return;
    const auto range = memory_ends(address);
    if (range) call.scratch = {range->base, range->size, static_cast<std::uint64_t>(range->kind), range->sequence};
    commit_prepared(state);
    if (range && recorder()->poisons) [[unlikely]]
        poison_freed(state, call, *range);
}

/// Its exit. Returns where the memory begins that goes on, 0 if none does.
inline std::uint64_t end_free(ThreadState& state, Call& call) {
    complete(state, call, false);
    if (call.status == abi::success || call.scratch[FreeScratch::base] == 0) return 0;
    memory_goes_on({call.scratch[FreeScratch::base], call.scratch[FreeScratch::size],
                    static_cast<MemoryKind>(call.scratch[FreeScratch::kind]), call.scratch[FreeScratch::sequence]});
    return call.scratch[FreeScratch::base];
}

/// A context is reset or destroyed: what dies with it is not restated any more.
void memory_loses_context(std::uint64_t context);

/// Sizes that the call does not say are asked from the driver; 0 where it does not know either.
std::uint64_t size_by_driver(std::uint64_t address);

/// An ALLOC at the return of a call that succeeded: written, and known from then on.
void write_allocation(ThreadState& state, Call& call, MemoryKind kind, std::uint64_t stream, std::uint64_t address,
                      std::uint64_t size);

}  // namespace streamsan::recorder::cuda
