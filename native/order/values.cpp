// Stream memory operations: a wait for a value comes after the write that satisfies it, and after no other.
#include "engine.hpp"

namespace streamsan::order {

ValueWord* Engine::known_word(const Slot& slot, Process& process, const Operation& operation) {
    const bool doubtful = operation.assumed() || operation.has(SlotFlag::CONDITIONAL);
    // Another process may have the memory open.
    if (!names_value(slot.detail) || slot.address == 0 || doubtful || processes_.size() != 1) return nullptr;
    const std::uint32_t index = process.allocations.containing(slot.address);
    if (index == none) return nullptr;
    const Allocation& allocation = process.allocations[index];
    // Elsewhere the host, or code that names the variable, writes unseen.
    const bool device = allocation.kind == MemoryKind::PLAIN || allocation.kind == MemoryKind::STREAM_ORDERED;
    const bool stale = !allocation.live() || allocation.is_not_of(static_cast<std::uint32_t>(slot.object));
    if (!device || stale || allocation.marks.assumed || allocation.marks.escaped || allocation.marks.baked)
        return nullptr;
    ValueWord& word =
        value_words_.at(process.number, index, allocation.made.sequence, slot.address, (slot.detail & wide_word) != 0);
    return word.vague ? nullptr : &word;
}

bool Engine::value_operation(const Slot& slot, Process& process, Stream& stream, const Placed& placed) {
    Timeline& own = timeline(stream);
    ValueWord* const word = known_word(slot, process, placed.operation);
    const PendingWait wait{process.number, stream.index, slot.address, slot.size, slot.detail};
    if (word == nullptr) {
        unknown_value(process, stream, wait);
        return false;
    }
    own.released = true;
    if (narrow(slot.detail) != ValueOperation::WRITE) {
        Clock awaited;
        if (ValueWords::awaited(*word, slot.detail, slot.size, own.clock, awaited))
            own.learn(awaited, edges_.in(EdgeKind::value_to_wait, run_edge));
        else wait_for_anything(own, wait);
        return true;
    }
    const auto satisfied = [&](const PendingWait& each) {
        const bool same = each.address == slot.address || each.address == 0;
        const bool met = !names_value(each.detail) || is_met(each.detail, slot.size, each.value);
        return each.process == process.number && each.stream != stream.index && same && met;
    };
    value_words_.settle(satisfied, [&](const PendingWait& each) {
        const Lanes relations = names_value(each.detail) ? edges_.in(EdgeKind::value_to_wait, run_edge)
                                                         : edges_.in(EdgeKind::opaque, opaque_edge);
        tell_waiter(*streams_[each.stream], own, relations);
    });
    ValueWords::write(*word, {placed.epoch, own.clock, slot.size});
    return true;
}

void Engine::unknown_value(Process& process, Stream& stream, const PendingWait& wait) {
    Timeline& own = timeline(stream);
    process.value_ordered = true;
    const auto has = [this](AccessMode mode) {
        return std::any_of(references_.begin(), references_.end(),
                           [mode](const Reference& each) { return each.mode == mode; });
    };
    const bool anything = references_.empty();
    if (anything || has(AccessMode::WRITE)) {
        const auto perhaps = [&](const PendingWait& each) {
            const bool same = each.address == wait.address || each.address == 0 || wait.address == 0;
            return each.process == process.number && each.stream != stream.index && same;
        };
        value_words_.settle(perhaps, [&](const PendingWait& each) {
            tell_waiter(*streams_[each.stream], own, edges_.in(EdgeKind::opaque, opaque_edge));
        });
    }
    if (anything || has(AccessMode::READ)) wait_for_anything(own, wait);
}

void Engine::wait_for_anything(Timeline& waiter, const PendingWait& wait) {
    waiter.learn(everything(), edges_.in(EdgeKind::opaque, opaque_edge));
    value_words_.wait(wait);
}

void Engine::tell_waiter(Stream& waiter, Timeline& writer, Lanes relations) {
    timeline(waiter).learn(writer, relations);
    if (waiter.kind == StreamKind::LEGACY) ++waiter.legacy_version;
    leave(waiter);
}

}  // namespace streamsan::order
