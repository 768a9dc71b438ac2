#include "facts.hpp"

#include <algorithm>

#include "allocations.hpp"

namespace streamsan::order {
namespace {

bool same_places(const Fact& left, const Fact& right) {
    if (left.code != right.code || left.variant != right.variant || left.operation.site != right.operation.site ||
        left.operation.api != right.operation.api || left.related_count != right.related_count ||
        left.allocation.site != right.allocation.site) {
        return false;
    }
    return std::equal(left.related.begin(), left.related.begin() + left.related_count, right.related.begin(),
                      [](const Related& a, const Related& b) {
                          return a.role == b.role && a.operation.site == b.operation.site &&
                                 a.operation.api == b.operation.api;
                      });
}

std::uint64_t key_of(const Fact& fact) {
    std::uint64_t key = spread(std::uint64_t{static_cast<std::uint16_t>(fact.code)} << 40 |
                               std::uint64_t{static_cast<std::uint8_t>(fact.variant)} << 32 | fact.operation.site);
    key = spread(key ^ (std::uint64_t{fact.operation.api} << 32 | fact.allocation.site));
    for (std::uint8_t i = 0; i < fact.related_count; ++i) {
        key = spread(key ^ (std::uint64_t{static_cast<std::uint8_t>(fact.related[i].role)} << 32 |
                            fact.related[i].operation.site));
    }
    return key;
}

std::uint64_t latest_sequence(const Fact& fact) {
    std::uint64_t latest = fact.operation.sequence;
    for (std::uint8_t i = 0; i < fact.related_count; ++i) latest = std::max(latest, fact.related[i].operation.sequence);
    return latest;
}

/// How little a fact leaves open: lower is more certain.
int doubt(const Fact& fact) {
    return (fact.unseen || fact.polled ? 16 : 0) + (fact.assumed ? (fact.likely ? 7 : 8) : 0) +
           (fact.may_be_equal ? 4 : 0) + static_cast<int>(fact.rests_on);
}

}  // namespace

AllocationFact described(const Allocation& allocation) {
    // A registration pins what it covers.
    const MemoryKind kind = allocation.marks.registered ? MemoryKind::REGISTERED : allocation.kind;
    return {allocation.base,
            allocation.size,
            allocation.generation,
            allocation.made.site,
            kind,
            allocation.marks.assumed,
            true};
}

Fact::Fact(RuleCode code_, FactVariant variant_, const Operation& operation_, const Allocation& about)
    : Fact(code_, variant_, operation_) {
    with(RelatedRole::ALLOC, about.made);
    allocation = described(about);
    assumed = operation.assumed();
}

void Facts::add(const Fact& fact) {
    if (judged_from_ != 0 && latest_sequence(fact) < judged_from_) return;
    for (std::uint64_t key = key_of(fact);; ++key) {
        const std::uint32_t index = by_key_.number(key, facts_.size());
        if (index == facts_.size()) {
            facts_.push_back(fact);
            return;
        }
        Fact& known = facts_[index];
        if (!same_places(known, fact)) continue;
        const std::uint64_t count = known.count + fact.count;
        const std::uint64_t cost = known.cost + fact.cost;
        // One certain instance is enough: it speaks for all of them.
        if (doubt(fact) < doubt(known)) known = fact;
        known.count = count;
        known.cost = cost;
        return;
    }
}

}  // namespace streamsan::order
