#include "churn.hpp"

#include "engine.hpp"

namespace streamsan::order {
namespace {

constexpr std::size_t most_pairs = 65536;

}  // namespace

void Churn::add(const Operation& made, const Operation& freed, const Operation& work, const AllocationFact& allocation,
                std::uint64_t cost) {
    const std::uint64_t key = std::uint64_t{made.site} << 32 | freed.site;
    if (pairs_.size() >= most_pairs && by_sites_.find(key) == none) return;
    const std::uint32_t index = by_sites_.number(key, pairs_.size());
    if (index == pairs_.size()) pairs_.emplace_back();
    Pair& pair = pairs_[index];
    pair.made = made;
    pair.freed = freed;
    pair.work = work;
    pair.allocation = allocation;
    ++pair.rounds;
    pair.cost += cost;
}

void Churn::free_ordered(std::uint32_t process, const Freed& freed) {
    const std::uint64_t key = std::uint64_t{process} << 32 | freed.made.site;
    if (freed_.size() >= most_pairs && freed_by_site_.find(key) == none) return;
    const std::uint32_t index = freed_by_site_.number(key, freed_.size());
    if (index == freed_.size()) freed_.emplace_back();
    freed_[index] = freed;
    freed_[index].open = true;
}

const Churn::Freed* Churn::next_turn(std::uint32_t process, std::uint32_t site) {
    if (freed_.empty()) return nullptr;
    const std::uint32_t index = freed_by_site_.find(std::uint64_t{process} << 32 | site);
    if (index == none || !freed_[index].open) return nullptr;
    freed_[index].open = false;
    return &freed_[index];
}

void Churn::add_turn(const Freed& turn, const Operation& wait, bool assumed) {
    const std::uint64_t key = std::uint64_t{turn.made.site} << 32 | turn.freed.operation.site;
    if (wait.sequence != 0) add(turn.made, turn.freed.operation, turn.work, turn.allocation, 0);
    const std::uint32_t index = by_sites_.find(key);
    if (index == none) return;
    Pair& pair = pairs_[index];
    if (wait.sequence == 0) {
        ++pair.unwaited;
        return;
    }
    if (pair.wait.sequence == 0) ++pair.rounds;  // the turn before the first wait, and the one behind it
    pair.wait = wait;
    pair.assumed |= assumed;
}

void Engine::note_round(const Process& process, const Allocation& allocation, const Operation& operation,
                        std::uint64_t cost) {
    const bool dear = allocation.kind == MemoryKind::PLAIN || allocation.kind == MemoryKind::PINNED ||
                      allocation.kind == MemoryKind::MANAGED;
    if (!dear || allocation.marks.assumed || allocation.made.site == 0 || operation.site == 0) return;
    if (process.worker == none) return;
    const Operation& work = streams_[process.worker]->work.operation;
    if (work.sequence <= allocation.made.sequence) return;
    churn_.add(allocation.made, operation, work, described(allocation), cost);
}

void Engine::note_ordered_free(const Process& process, const Allocation& allocation, const Placed& freed) {
    if (allocation.kind != MemoryKind::STREAM_ORDERED || allocation.marks.assumed) return;
    if (allocation.made.site == 0 || freed.operation.site == 0 || process.worker == none) return;
    const Operation& work = streams_[process.worker]->work.operation;
    if (work.sequence <= allocation.made.sequence) return;
    churn_.free_ordered(process.number, {allocation.made, work, freed, described(allocation)});
}

void Engine::note_next_round(const Process& process, const Thread& thread, const Operation& operation) {
    const Churn::Freed* const turn = churn_.next_turn(process.number, operation.site);
    if (turn == nullptr) return;
    const bool waited = process.wait.sequence > turn->freed.operation.sequence &&
                        timeline(thread).clock.knows(turn->freed.epoch, contract);
    // Code that nobody can see may have set a threshold.
    churn_.add_turn(*turn, waited ? process.wait : Operation{}, process.opaque_version != 0);
}

void Engine::report_churn() {
    // Whether so many rounds are many depends on who made the trace: the reader of the facts knows that.
    constexpr std::uint64_t fewest = 4;
    for (const Churn::Pair& pair : churn_.pairs()) {
        if (pair.rounds < fewest || !pair.each_turn_waits()) continue;
        Fact fact(RuleCode::ALLOCATION_CHURN, FactVariant::CHURN, pair.made);
        fact.with(RelatedRole::ALLOC, pair.made).with(RelatedRole::FREE, pair.freed).with(RelatedRole::USE, pair.work);
        if (pair.wait.sequence != 0) fact.with(RelatedRole::SYNC, pair.wait);
        fact.allocation = pair.allocation;
        fact.count = pair.rounds;
        fact.cost = pair.cost;
        fact.assumed = pair.assumed || pair.made.assumed() || pair.freed.assumed();
        report(fact);
    }
}

}  // namespace streamsan::order
