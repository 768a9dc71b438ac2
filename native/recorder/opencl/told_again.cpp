#include "recorder/opencl/told_again.hpp"

#include <algorithm>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

namespace streamsan::recorder::opencl {
namespace {

using Word = std::uint64_t;
using Slots = std::vector<Slot>;

/// What told of each thing that is alive.
struct Told {
    std::mutex mutex;
    std::map<std::pair<OperationKind, Word>, Slots> handles;
    std::map<Word, Slots> memory;
    std::multimap<Word, Slots> mappings;  ///< the same may be mapped several times
};

Told*& told() {
    static Told* all = new Told;
    return all;
}

void remember_allocation(const Slot& slot, Slots slots) {
    if (slot.detail == static_cast<std::uint8_t>(MemoryKind::CL_MAPPED))
        told()->mappings.emplace(slot.address, std::move(slots));
    else told()->memory[slot.address] = std::move(slots);
}

void forget_memory(const Slot& slot) {
    if (slot.detail != static_cast<std::uint8_t>(FreeClass::CL_UNMAP)) {
        told()->memory.erase(slot.address);
        return;
    }
    const auto mapping = told()->mappings.find(slot.address);
    if (mapping != told()->mappings.end()) told()->mappings.erase(mapping);
}

}  // namespace

void remember_slots(std::span<const Slot> slots) {
    const Slot& slot = slots.front();
    if (slot.status < 0 && slot.status != status_unknown) return;
    const auto kind = static_cast<OperationKind>(slot.kind);
    switch (kind) {
        case OperationKind::CONTEXT_CREATE:
        case OperationKind::STREAM_CREATE:
        case OperationKind::EVENT_CREATE:
        case OperationKind::EVENT_RECORD:
        case OperationKind::HANDLE_CREATE:
        case OperationKind::ALLOC:
        case OperationKind::CONTEXT_DESTROY:
        case OperationKind::STREAM_DESTROY:
        case OperationKind::HANDLE_DESTROY:
        case OperationKind::EVENT_DESTROY:
        case OperationKind::FREE: break;
        default: return;  // work takes no lock
    }
    const std::lock_guard lock(told()->mutex);
    auto& handles = told()->handles;
    switch (kind) {
        case OperationKind::ALLOC: remember_allocation(slot, {slots.begin(), slots.end()}); break;
        case OperationKind::FREE: forget_memory(slot); break;
        case OperationKind::CONTEXT_DESTROY: handles.erase({OperationKind::CONTEXT_CREATE, slot.object}); break;
        case OperationKind::STREAM_DESTROY: handles.erase({OperationKind::STREAM_CREATE, slot.object}); break;
        case OperationKind::HANDLE_DESTROY: handles.erase({OperationKind::HANDLE_CREATE, slot.object}); break;
        case OperationKind::EVENT_DESTROY:
            handles.erase({OperationKind::EVENT_CREATE, slot.object});
            handles.erase({OperationKind::EVENT_RECORD, slot.object});
            break;
        default: handles[{kind, slot.object}] = {slots.begin(), slots.end()}; break;
    }
}

void tell_again(Lane& lane) {
    const std::lock_guard lock(told()->mutex);
    std::vector<const Slots*> all;
    for (const auto& [key, slots] : told()->handles) all.push_back(&slots);
    for (const auto& [key, slots] : told()->memory) all.push_back(&slots);
    for (const auto& [key, slots] : told()->mappings) all.push_back(&slots);
    std::ranges::sort(all, {}, [](const Slots* slots) { return slots->front().sequence; });
    for (const Slots* const slots : all) {
        Slot* const place = lane.reserve(static_cast<unsigned>(slots->size() - 1));
        if (place == nullptr) return;
        std::ranges::copy(*slots, place);
        // A state that is told again, and no call: nothing is asked of its order or place.
        if (place->kind != static_cast<std::uint8_t>(OperationKind::ALLOC)) place->api = 0;
        lane.commit();
    }
}

void told_after_fork() { told() = new Told; }

}  // namespace streamsan::recorder::opencl
