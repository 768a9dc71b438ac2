// `streamsan run --poison`: memory that was given back is overwritten, so that a use which comes too late computes
// something else. Only where no right program can notice: what is not sure is left as it is, and counted.
#pragma once
#include <cstdint>
#include <span>

#include "recorder/cuda/abi.hpp"
#include "recorder/cuda/call.hpp"
#include "recorder/memory/address_map.hpp"

namespace streamsan::recorder::cuda {

/// What came of memory that was given back, or of a block that a pool gave to its next owner.
enum class Poisoned : std::uint8_t {
    FREED,         ///< overwritten at its free
    BLOCK,         ///< a pool's block: overwritten before its next owner's first use
    CAPTURE,       ///< left: something captured, where every call may be a node, or forbidden
    ELSEWHERE,     ///< left: of another device or context, or of the host
    BUSY,          ///< left: the stream of the first use had not come to it
    OTHER_WORK,    ///< left: other work came before the first use that was seen, and may have been one that was not
    READ_FIRST,    ///< left: the first use reads, so somebody nobody saw has written
    NEIGHBOUR,     ///< left: the pointer may be the end of the block before
    SHARED,        ///< left: others than this process' work may write there
    HELD_BY_POOL,  ///< left: the pool itself used it while nobody had it
    REFUSED,       ///< left: the driver refused
};
constexpr std::size_t poisoned_count = 11;

/// Bytes of a value that is not a number in every floating-point format, and as an index far outside or negative.
constexpr unsigned char poison_byte = 0xff;

void count_poisoned(Poisoned outcome);
/// The counts, into the metadata of the file: when the process ends.
void write_poisoned_counts();

/// At the entry of a free that was written, of memory that was known to be alive: what is freed in the order of a
/// stream is overwritten there just before, what `cudaFree` takes of a pool of the driver at once.
void poison_freed(ThreadState& state, const Call& call, const Range& range);

struct Bytes {
    std::uint64_t address;
    std::uint64_t size;
};

/// Overwrites these before the call goes on, if all that its work on `stream` will wait for is over.
void poison_before_use(ThreadState& state, const Call& call, abi::Word stream, std::span<const Bytes> blocks);

/// Before work on `stream`: it waits for what is still being overwritten, which is hardly ever anything.
void wait_for_poison(ThreadState& state, abi::Word stream);

}  // namespace streamsan::recorder::cuda
