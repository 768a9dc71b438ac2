// What a block of a pool has beside what all memory has: who used the bytes before it was handed out.
#pragma once
#include <cstdint>
#include <vector>

#include "conflicts.hpp"
#include "facts.hpp"
#include "operation.hpp"

namespace streamsan::order {

/// A use of an earlier block of the same bytes. It may still be pending.
struct PriorUse {
    Placed use;
    Part part;
    AllocationFact block;  ///< the block that it used ...
    Operation made;        ///< ... where the pool handed that out ...
    Operation released;    ///< ... and took it back; sequence 0: only that it was handed out again shows that
    Operation told = {};   ///< the pool was told that the stream of `use` uses the block; sequence 0: it was seen
};

/// A stream of which a pool was told that it uses a block, no use on it having been seen.
struct ToldStream {
    Placed work;  ///< the last that was issued there
    Operation told;
};

struct PoolBlock {
    Operation released;         ///< sequence 0: its owner has it
    std::uint32_t unasked = 0;  ///< bytes at its end that its owner did not ask for
    std::vector<ToldStream> told;
    std::vector<PriorUse> prior;
};

}  // namespace streamsan::order
