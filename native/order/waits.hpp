// Waits that brought nothing, by site.
#pragma once
#include <cstdint>
#include <vector>

#include "facts.hpp"
#include "flat_map.hpp"
#include "operation.hpp"

namespace streamsan::order {

/// A site is redundant only if every instance of it was. Removing all such sites together is sound: a join that changes
/// nothing leaves every later clock as it is, so each of the others still changes nothing without it.
class Waits {
public:
    struct Site {
        Operation first;
        std::uint64_t instances;
        bool needed;
        Operation record;  ///< sequence 0: none
    };

    void add(const Operation& wait, bool needed, const Operation* record) {
        const std::uint64_t key =
            std::uint64_t{wait.site} << 32 | std::uint64_t{wait.api} << 8 | static_cast<std::uint8_t>(wait.kind);
        const std::uint32_t index = by_site_.number(key, sites_.size());
        if (index == sites_.size()) {
            sites_.push_back({wait, 1, needed, record == nullptr ? Operation{} : *record});
            return;
        }
        Site& site = sites_[index];
        ++site.instances;
        site.needed |= needed;
    }

    [[nodiscard]] const std::vector<Site>& sites() const { return sites_; }
    void report(Facts& facts) const {
        for (const Site& site : sites_) {
            if (site.needed) continue;
            Fact fact(RuleCode::REDUNDANT_SYNC, FactVariant::DOMINATED, site.first);
            if (site.record.sequence != 0) fact.with(RelatedRole::RECORD, site.record);
            fact.count = site.instances;
            facts.add(fact);
        }
    }

private:
    std::vector<Site> sites_;
    FlatMap by_site_;
};

}  // namespace streamsan::order
