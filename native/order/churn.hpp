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
/// The first round in each context counts once for all contexts: a loop over devices that makes each ready is not hot.
class Churn {
public:
    /// A free that the host waited in, `cost` ns; `work`: the latest device work.
    void note_free(const Allocation& allocation, const Operation& freed, const Operation& work, std::uint64_t cost);
    void note_ordered_free(std::uint32_t process, const Allocation& allocation, const Placed& freed,
                           const Operation& work);
    /// A stream-ordered allocation by a host that waited last at `latest_wait` and knows `known`. `unseen`: code that
    /// nobody can see may have set a threshold.
    void note_next(std::uint32_t process, std::uint32_t site, const Operation& latest_wait, const Clock& known,
                   bool unseen);
    void report(Facts& facts) const;

private:
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
        std::vector<std::uint32_t> contexts;  ///< those that had a round
    };
    /// A stream-ordered free; `open`: its site of allocation has not been reached again.
    struct Freed {
        Operation made;
        Operation work;
        Placed freed;
        AllocationFact allocation;
        std::uint32_t context = 0;
        bool open = false;
    };

    void add(const Operation& made, const Operation& freed, const Operation& work, const AllocationFact& allocation,
             std::uint32_t context, std::uint64_t cost);

    std::vector<Pair> pairs_;
    FlatMap by_sites_;
    std::vector<Freed> freed_;
    FlatMap freed_by_site_;
};

}  // namespace streamsan::order
