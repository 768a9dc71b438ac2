#include "handles.hpp"

namespace streamsan::order {
namespace {

std::uint64_t key(std::uint64_t object, std::uint8_t kind) { return object ^ std::uint64_t{kind} << 56; }

}  // namespace

void Handles::create(const Slot& slot, Process& process, const Operation& operation) {
    std::uint32_t index = process.handles.find(key(slot.object, slot.detail));
    if (index == none) {
        index = static_cast<std::uint32_t>(handles_.size());
        handles_.emplace_back();
        process.handles.set(key(slot.object, slot.detail), index);
    }
    handles_[index] = {true, operation, {}};
}

void Handles::destroy(const Slot& slot, Process& process, const Operation& operation) {
    if (process.handles.find(key(slot.object, slot.detail)) == none)
        create(slot, process, Operation{});  // made before the trace
    Handle& handle = handles_[process.handles.find(key(slot.object, slot.detail))];
    handle.alive = false;
    handle.destroyed = operation;
}

bool Handles::admit(const Slot& slot, const Process& process, const Operation& operation) {
    // Pools belong to no context: a reset leaves them, and their memory, alone.
    const std::uint32_t index = process.handles.find(key(slot.object, slot.detail));
    if (index == none || handles_[index].alive) return true;
    Fact fact(RuleCode::STALE_HANDLE, FactVariant::STALE_OTHER, operation);
    if (handles_[index].made.kind != OperationKind{}) fact.with(RelatedRole::CREATE, handles_[index].made);
    fact.with(RelatedRole::DESTROY, handles_[index].destroyed);
    fact.assumed = operation.assumed();
    facts_.add(fact);
    return false;
}

bool Handles::lives(const Process& process, HandleKind kind, std::uint64_t object) const {
    const std::uint32_t index = process.handles.find(key(object, static_cast<std::uint8_t>(kind)));
    return index != none && handles_[index].alive;
}

}  // namespace streamsan::order
