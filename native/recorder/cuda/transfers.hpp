// Copies and fills of every shape, brought to one form: the memory that is written and read, and what the host waits
// for.
#pragma once
#include <cstddef>
#include <cstdint>

#include "generated/copy_waits.hpp"
#include "recorder/cuda/abi.hpp"
#include "recorder/cuda/abi_memory.hpp"
#include "recorder/cuda/call.hpp"

namespace streamsan::recorder::cuda {

using effects::Endpoint;

/// Bytes of a row, rows, slices.
struct TransferShape {
    std::uint64_t width;
    std::uint64_t height = 1;
    std::uint64_t depth = 1;

    [[nodiscard]] bool empty() const { return width == 0 || height == 0 || depth == 0; }
};

/// One side of a copy, or the target of a fill. `address` is that of its first byte; 0: not known.
struct TransferSide {
    std::uint64_t address = 0;
    std::uint64_t pitch = 0;   ///< bytes from row to row
    std::uint64_t slice = 0;   ///< bytes from slice to slice
    bool extent_known = true;  ///< false: how much of it is touched nobody can say
    Endpoint end = Endpoint::UNKNOWN;
};

struct Transfer {
    TransferSide destination;
    TransferSide source;
    TransferShape shape;
};

/// What a side touches, from its first to its last byte. STRIDED where rows leave gaps. Address 0 where there is
/// nothing.
Reference reference_to(const TransferSide& side, const TransferShape& shape, AccessMode mode);

/// Which side of a copy the memory at an address is; memory that CUDA does not know is pageable.
Endpoint endpoint_at(std::uint64_t address);
/// The same for a side that the API says is the host's.
Endpoint host_endpoint_at(std::uint64_t address);

Transfer transfer_of(const abi::Copy2D& copy);
Transfer transfer_of(const abi::Copy3D& copy);
Transfer transfer_of(const abi::BatchCopy3D& copy);

/// The side that a CUarray is, `offset` bytes in, of a copy that goes on from row to row.
TransferSide array_side(abi::Word array, std::uint64_t offset);

/// What the host waits for in a copy. `column` is that of the API.
WaitClass copy_wait(effects::Wait column, Endpoint source, Endpoint destination);
WaitClass fill_wait(effects::Wait column, Endpoint target);

/// Writes `{destination, source}` to `into` as a COPY has them; returns how many there are.
std::size_t copy_references(const Transfer& transfer, Reference* into);

}  // namespace streamsan::recorder::cuda
