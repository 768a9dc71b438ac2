// Blocks of pools that had an owner before, and which of them may be overwritten before the next owner's first use
// (`streamsan run --poison`).
//
// A pool's free and its next hand-out are words on the host: nothing may be done then. A block may be given back before
// others have waited for its uses, and be handed out before its next owner waits: both are right, as long as all
// earlier uses come before the new owner's first one. That first use is the moment. What a new owner finds in a block
// is not defined, so whatever lies there may be overwritten just before, if nobody has written there for the new owner
// yet. Of that nobody can be sure who does not see all uses: kernels find pointers in memory. So it is done for the
// first work that anybody issues after the hand-out, and for no other.
#pragma once
#include <cstddef>
#include <cstdint>

#include "recorder/cuda/announced_blocks.hpp"
#include "recorder/cuda/call.hpp"
#include "recorder/memory/address_map.hpp"

namespace streamsan::recorder::cuda {

/// A pool has handed out `size` bytes at `address`, of which `asked` are the owner's. Takes a lock of its own only.
void reused_block_begins(const PoolWord& word, std::uint64_t address, std::uint64_t size, std::uint64_t asked);
/// The pool has it back.
void reused_block_ends(std::uint64_t address);
/// Nothing is known any more of blocks in these bytes.
void reused_blocks_forgotten(std::uint64_t address, std::uint64_t size);

/// Before an operation is written at the entry of its call: overwrites the blocks of which it is the first use.
void poison_before(ThreadState& state, const Call& call, OperationKind kind, std::uint64_t stream,
                   const Reference* references, std::size_t count);

/// Whether the function lets others than this process' work write to memory: other processes, network cards.
bool shares_memory(const Callback& callback);
/// At the entry of such a call.
void memory_is_shared(const Call& call);

}  // namespace streamsan::recorder::cuda
