// Memory that is allocated and freed again and again at the same places (SS502).
#pragma once
#include <cstdint>
#include <vector>

#include "allocations.hpp"
#include "facts.hpp"
#include "flat_map.hpp"

namespace streamsan::order {

/// Counts rounds of allocation, device work and free, by the sites of allocation and free. Those of stream-ordered
/// memory count where the host waited before the next one: with no release threshold such a wait gives the memory back.
class Churn {
public:
    struct Pair {
        Operation made;
        Operation freed;
        Operation work;
        AllocationFact allocation;
        std::uint64_t rounds = 0;
        std::uint64_t cost = 0;
        Operation wait;              ///< stream-ordered memory: the latest wait between a free and the next allocation
        std::uint64_t unwaited = 0;  ///< ... and how often there was none
        bool assumed = false;

        [[nodiscard]] bool each_turn_waits() const { return unwaited <= rounds / 2; }
    };
    /// A stream-ordered free whose site of allocation has not been reached again.
    struct Freed {
        Operation made;
        Operation work;
        Placed freed;
        AllocationFact allocation;
        bool open = false;
    };

    /// A free of memory that was used: `work` is the latest device work, and after the allocation. `cost` in ns.
    void add(const Operation& made, const Operation& freed, const Operation& work, const AllocationFact& allocation,
             std::uint64_t cost);

    void free_ordered(std::uint32_t process, const Freed& freed);
    /// The free that the next allocation at a site follows, null if there is none.
    const Freed* next_turn(std::uint32_t process, std::uint32_t site);
    /// The turn that ended with the free; `wait` has no sequence where the host did not wait for it.
    void add_turn(const Freed& turn, const Operation& wait, bool assumed);

    [[nodiscard]] const std::vector<Pair>& pairs() const { return pairs_; }

private:
    std::vector<Pair> pairs_;
    FlatMap by_sites_;
    std::vector<Freed> freed_;
    FlatMap freed_by_site_;
};

}  // namespace streamsan::order
