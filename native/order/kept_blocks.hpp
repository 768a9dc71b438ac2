// Streams of which a pool was told that they use a block (`record_stream`), and whether it had to be.
#pragma once
#include <cstdint>
#include <vector>

#include "facts.hpp"
#include "flat_map.hpp"
#include "operation.hpp"

namespace streamsan::order {

/// By the places where blocks are handed out. Such a place needs no telling only if no block of it did: nobody sees at
/// which line the pool was told.
class KeptBlocks {
public:
    /// A pool keeps a block that it has back until `record`, an event behind `work`, has happened.
    void add(const Allocation& block, const Operation& release, const Operation& record, const Operation& work,
             bool needed) {
        const std::uint32_t index = by_site_.number(block.made.site, places_.size());
        if (index == places_.size()) {
            Fact fact(RuleCode::REDUNDANT_SYNC, FactVariant::TOLD_NEEDLESSLY, release, block);
            fact.with(RelatedRole::USE, work).with(RelatedRole::RECORD, record);
            places_.push_back({fact, false});
            places_.back().fact.count = 0;
        }
        Place& place = places_[index];
        ++place.fact.count;
        place.needed |= needed;
    }

    void report(Facts& facts) const {
        for (const Place& place : places_)
            if (!place.needed) facts.add(place.fact);
    }

private:
    struct Place {
        Fact fact;
        bool needed;
    };
    std::vector<Place> places_;
    FlatMap by_site_;
};

}  // namespace streamsan::order
