#include "churn.hpp"

#include <algorithm>

namespace streamsan::order {
namespace {

constexpr std::size_t most_pairs = 65536;
constexpr std::size_t most_contexts = 64;  ///< of one pair that are told apart

/// Whether the memory was made at a known place, was freed at one, and may have been used between by `work`.
bool is_round(const Allocation& allocation, const Operation& freed, const Operation& work) {
    return !allocation.marks.assumed && allocation.made.site != 0 && freed.site != 0 &&
           work.sequence > allocation.made.sequence;
}

}  // namespace

void Churn::add(const Operation& made, const Operation& freed, const Operation& work, const AllocationFact& allocation,
                std::uint32_t context, std::uint64_t cost) {
    const std::uint64_t key = std::uint64_t{made.site} << 32 | freed.site;
    if (pairs_.size() >= most_pairs && by_sites_.find(key) == none) return;
    const std::uint32_t index = by_sites_.number(key, pairs_.size());
    if (index == pairs_.size()) pairs_.emplace_back();
    Pair& pair = pairs_[index];
    pair.made = made;
    pair.freed = freed;
    pair.work = work;
    pair.allocation = allocation;
    const bool is_first = std::find(pair.contexts.begin(), pair.contexts.end(), context) == pair.contexts.end();
    if (is_first && pair.contexts.size() < most_contexts) pair.contexts.push_back(context);
    if (!is_first || pair.contexts.size() == 1) ++pair.rounds;
    pair.cost += cost;
}

void Churn::note_ordered_free(std::uint32_t process, const Allocation& allocation, const Placed& freed,
                              const Operation& work) {
    if (allocation.kind != MemoryKind::STREAM_ORDERED || !is_round(allocation, freed.operation, work)) return;
    const std::uint64_t key = std::uint64_t{process} << 32 | allocation.made.site;
    if (freed_.size() >= most_pairs && freed_by_site_.find(key) == none) return;
    const std::uint32_t index = freed_by_site_.number(key, freed_.size());
    if (index == freed_.size()) freed_.emplace_back();
    freed_[index] = {allocation.made, work, freed, described(allocation), allocation.context, true};
}

void Churn::note_next(std::uint32_t process, std::uint32_t site, const Operation& latest_wait, const Clock& known,
                      bool unseen) {
    if (freed_.empty()) return;
    const std::uint32_t at = freed_by_site_.find(std::uint64_t{process} << 32 | site);
    if (at == none || !freed_[at].open) return;
    freed_[at].open = false;
    const Freed& turn = freed_[at];
    const Operation& freed = turn.freed.operation;
    const bool waited = latest_wait.sequence > freed.sequence && known.knows(turn.freed.epoch, contract);
    if (waited) add(turn.made, freed, turn.work, turn.allocation, turn.context, 0);
    const std::uint32_t index = by_sites_.find(std::uint64_t{turn.made.site} << 32 | freed.site);
    if (index == none) return;
    Pair& pair = pairs_[index];
    if (!waited) {
        ++pair.unwaited;
        return;
    }
    if (pair.wait.sequence == 0) ++pair.rounds;  // the turn before the first wait, and the one behind it
    pair.wait = latest_wait;
    pair.assumed |= unseen;
}

void Churn::note_free(const Allocation& allocation, const Operation& freed, const Operation& work, std::uint64_t cost) {
    const bool dear = allocation.kind == MemoryKind::PLAIN || allocation.kind == MemoryKind::PINNED ||
                      allocation.kind == MemoryKind::MANAGED;
    if (!dear || !is_round(allocation, freed, work)) return;
    add(allocation.made, freed, work, described(allocation), allocation.context, cost);
}

void Churn::report(Facts& facts) const {
    // Whether so many rounds are many depends on who made the trace: the reader of the facts knows that.
    constexpr std::uint64_t fewest = 4;
    for (const Pair& pair : pairs_) {
        const bool each_turn_waits = pair.unwaited <= pair.rounds / 2;
        if (pair.rounds < fewest || !each_turn_waits) continue;
        Fact fact(RuleCode::ALLOCATION_CHURN, FactVariant::CHURN, pair.made);
        fact.with(RelatedRole::ALLOC, pair.made).with(RelatedRole::FREE, pair.freed).with(RelatedRole::USE, pair.work);
        if (pair.wait.sequence != 0) fact.with(RelatedRole::SYNC, pair.wait);
        fact.allocation = pair.allocation;
        fact.count = pair.rounds;
        fact.cost = pair.cost;
        fact.assumed = pair.assumed || pair.made.assumed() || pair.freed.assumed();
        facts.add(fact);
    }
}

}  // namespace streamsan::order
