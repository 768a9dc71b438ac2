#include "churn.hpp"

#include "engine.hpp"

namespace streamsan::order {

void Churn::add(const Operation& made, const Operation& freed, const Operation& work, const AllocationFact& allocation, std::uint64_t cost) {
    constexpr std::size_t most_pairs = 65536;
    const std::uint64_t key = std::uint64_t{made.site} << 32 | freed.site;
    const std::uint32_t index = by_sites_.find(key);
    if (index != none) {
        Pair& pair = pairs_[index];
        pair.made = made;
        pair.freed = freed;
        pair.work = work;
        pair.allocation = allocation;
        ++pair.rounds;
        pair.cost += cost;
    } else if (pairs_.size() < most_pairs) {
        by_sites_.set(key, static_cast<std::uint32_t>(pairs_.size()));
        pairs_.push_back({made, freed, work, allocation, 1, cost});
    }
}

void Engine::note_round(const Process& process, const Allocation& allocation, const Operation& operation, std::uint64_t cost) {
    const bool dear = allocation.kind == MemoryKind::PLAIN || allocation.kind == MemoryKind::PINNED || allocation.kind == MemoryKind::MANAGED;
    if (!dear || allocation.marks.assumed || allocation.made.site == 0 || operation.site == 0) return;
    if (process.worker == none) return;
    const Operation& work = streams_[process.worker]->work.operation;
    if (work.sequence <= allocation.made.sequence) return;
    churn_.add(allocation.made, operation, work, describe(allocation), cost);
}

void Engine::report_churn() {
    // Whether so many rounds are many depends on who made the trace: the reader of the facts knows that.
    constexpr std::uint64_t fewest = 4;
    for (const Churn::Pair& pair : churn_.pairs()) {
        if (pair.rounds < fewest) continue;
        Fact fact(502, FactVariant::CHURN, pair.made);
        fact.with(RelatedRole::ALLOC, pair.made).with(RelatedRole::FREE, pair.freed).with(RelatedRole::USE, pair.work);
        fact.allocation = pair.allocation;
        fact.count = pair.rounds;
        fact.cost = pair.cost;
        fact.assumed = pair.made.assumed() || pair.freed.assumed();
        report(fact);
    }
}

}  // namespace streamsan::order
