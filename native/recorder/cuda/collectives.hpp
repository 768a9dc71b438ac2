// Collectives and transfers between devices: which memory of the caller each reads and writes, and on which launch it
// is.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "recorder/cuda/call.hpp"

namespace streamsan::recorder::cuda {

/// Whether a kernel, by its demangled or mangled name, is one by which NCCL moves data.
bool is_collective_kernel(std::string_view symbol);

/// What a library is asked for. Broadcasts and all-gathers may be told in bytes.
enum class CollectiveKind : std::uint8_t { ALL_GATHER, ALL_REDUCE, BROADCAST, RECV, REDUCE, REDUCE_SCATTER, SEND };
constexpr std::size_t collective_kinds = 7;

/// One request, as its rank made it.
struct Collective {
    CollectiveKind kind{};
    std::uint64_t send = 0;     ///< what is sent; of a receive nothing
    std::uint64_t receive = 0;  ///< where it is received; of a send nothing
    std::uint64_t bytes = 0;    ///< count times size of the type; 0: not known
    std::uint64_t ranks = 0;    ///< of the communicator, 0: not known
    std::uint64_t rank = 0;     ///< the caller's
    bool is_root = false;       ///< of a broadcast or a reduction
};

/// What the caller's memory is used for. Of an all-gather in place the caller's own part is read, the rest written.
struct CollectiveUses {
    std::array<Reference, 3> references{};
    std::size_t count = 0;
};
CollectiveUses uses_of(const Collective& collective);

/// A launch of such a kernel has returned, or was captured: what is told next on this thread is of it.
void collective_launched(ThreadState& state, const Call& call);
void collective_captured(ThreadState& state, const Call& call);

/// What a kernel does is about to be told.
void begin_collectives();
/// An operation of its own behind the launch, or uses of the node that was captured. Nothing for none: what is told was
/// not understood.
void tell_collective(const std::optional<Collective>& collective);
/// All of it was told. Where all was understood, the addresses in the kernel's arguments say nothing any more.
void end_collectives();

}  // namespace streamsan::recorder::cuda
