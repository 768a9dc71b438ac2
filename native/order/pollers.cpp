// Kernels that poll a word which other work writes: an order that no call of the program shows.
#include "engine.hpp"

namespace streamsan::order {
namespace {

constexpr std::size_t most_pollers = 64;

bool may_hold(const Part& part, std::uint64_t address) {
    return part.begin <= address && (part.end == 0 || address < part.end);
}

}  // namespace

void Engine::learn_words(const Process& process, Timeline& own, const std::vector<Reference>& references) {
    for (const Reference& word : references) {
        const std::uint32_t at = word.polls() ? process.allocations.containing(word.address) : none;
        if (at == none || !process.allocations[at].live()) continue;
        graphs_.each_pending(process, process.allocations[at], [&](const Placed& use, const Part& part) {
            if (use.operation.reads_only() || !may_hold(part, word.address)) return;
            if (use.epoch.slot == own.slot || own.clock.knows(use.epoch, credited)) return;
            own.learn(timeline(use.epoch.slot), edges_.in(EdgeKind::word_to_poller, opaque_edge));
        });
    }
}

void Engine::add_poller(Process& process, const Placed& launch) {
    std::vector<Poller>& all = process.pollers;
    if (all.size() == most_pollers) {
        if (all.front().ends == UINT64_MAX) --process.open_pollers;
        all.erase(all.begin());
    }
    all.push_back({launch.operation, launch.epoch});
    ++process.open_pollers;
}

void Engine::end_pollers(Process& process, const Thread& thread, std::uint64_t sequence) {
    const Clock& known = timeline(thread).clock;
    for (Poller& each : process.pollers) {
        if (each.ends != UINT64_MAX || !known.knows(each.at, visible)) continue;
        each.ends = sequence;
        --process.open_pollers;
    }
}

const Operation* Engine::poller_between(const Process& process, const Clock& later_clock, const Operation& later,
                                        const Operation& earlier) const {
    for (const Poller& each : process.pollers) {
        const Operation& poller = each.launch;
        if (earlier.sequence >= each.ends) continue;  // it had ended before
        // The later one is behind the word that the earlier one, or what is behind that, may write; or the other way.
        const bool waits = poller.sequence == later.sequence || later_clock.knows(each.at, contract);
        const bool is_awaited = later.sequence < each.ends && poller.sequence <= earlier.sequence &&
                                poller.stream_name == earlier.stream_name;
        if (waits || is_awaited) return &poller;
    }
    return nullptr;
}

}  // namespace streamsan::order
