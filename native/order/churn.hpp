// Memory that is allocated and freed again and again at the same places (SS502).
#pragma once
#include <cstdint>
#include <vector>

#include "allocations.hpp"
#include "facts.hpp"
#include "flat_map.hpp"

namespace streamsan::order {

/// Counts rounds of allocation, device work and free, by the sites of allocation and free.
class Churn {
public:
    struct Pair {
        Operation made;
        Operation freed;
        Operation work;
        AllocationFact allocation;
        std::uint64_t rounds;
        std::uint64_t cost;
    };

    /// A free of memory that was used: `work` is the latest device work, and after the allocation. `cost` in ns.
    void add(const Operation& made, const Operation& freed, const Operation& work, const AllocationFact& allocation, std::uint64_t cost);

    [[nodiscard]] const std::vector<Pair>& pairs() const { return pairs_; }

private:
    std::vector<Pair> pairs_;
    FlatMap by_sites_;
};

}  // namespace streamsan::order
