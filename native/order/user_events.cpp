// User events: what waits for one does not run before the host sets it.
#include <algorithm>
#include <cstring>

#include "engine.hpp"

namespace streamsan::order {
namespace {

/// What is put on a queue, or is about its latest command.
constexpr Kinds on_queue = {OperationKind::LAUNCH,           OperationKind::COPY,          OperationKind::MEMSET,
                            OperationKind::PREFETCH,         OperationKind::HOST_FUNCTION, OperationKind::QUEUE_MARKER,
                            OperationKind::EVENT_RECORD,     OperationKind::ALLOC,         OperationKind::FREE,
                            OperationKind::STREAM_WAIT_EVENT};
/// Of these, what is no command of its own.
constexpr Kinds about_latest = {OperationKind::EVENT_RECORD, OperationKind::ALLOC, OperationKind::FREE};

bool is_barrier(const Slot& slot) {
    const auto kind = static_cast<MarkerKind>(slot.detail);
    return slot.kind == static_cast<std::uint8_t>(OperationKind::QUEUE_MARKER) &&
           (kind == MarkerKind::BARRIER_ALL || kind == MarkerKind::BARRIER_WAIT_LIST);
}

bool waits_for_all(const Slot& slot) {
    const auto kind = static_cast<MarkerKind>(slot.detail);
    return slot.kind == static_cast<std::uint8_t>(OperationKind::QUEUE_MARKER) &&
           (kind == MarkerKind::BARRIER_ALL || kind == MarkerKind::ALL_BEFORE);
}

/// Releases of objects that are no events (5.11).
bool releases_object(const Slot& slot) {
    switch (static_cast<OperationKind>(slot.kind)) {
        case OperationKind::STREAM_DESTROY:
        case OperationKind::HANDLE_DESTROY:
        case OperationKind::CONTEXT_DESTROY: return true;
        case OperationKind::FREE: return slot.detail == static_cast<std::uint8_t>(FreeClass::CL_RELEASE);
        default: return false;
    }
}

}  // namespace

std::uint64_t Engine::holding_event(const Slot& slot, Process& process) {
    const auto kind = static_cast<OperationKind>(slot.kind);
    HeldCommands& held = process.held;
    if (kind == OperationKind::STREAM_WAIT_EVENT) {
        // What is on a queue stays in its order: the rest of a wait list waits for whatever its beginning does.
        if (const std::uint64_t by = HeldCommands::find(held.streams, slot.stream); by != 0) return by;
        for (const HeldCommands::Open& each : held.open) {
            if (each.queue == slot.stream && each.thread == slot.thread && !each.issued) return each.event;
        }
    }
    if (kind == OperationKind::STREAM_WAIT_EVENT || kind == OperationKind::EVENT_CALLBACK) {
        const Event* const event = events_.live(process, slot.object);
        if (event != nullptr && event->is_unset()) return slot.object;
        if (const std::uint64_t by = HeldCommands::find(held.events, slot.object); by != 0) return by;
        if (kind == OperationKind::EVENT_CALLBACK) return 0;
    }
    if (kind == OperationKind::EVENT_DESTROY) return HeldCommands::find(held.events, slot.object);
    if (held.empty()) return 0;
    if (kind == OperationKind::STREAM_DESTROY) {
        for (const HeldCommands::Held& each : held.slots) {
            if (each.slot.stream == slot.object) return each.event;
        }
        return 0;
    }
    if (slot.stream == 0 || !on_queue.has(kind)) return 0;
    if (const std::uint64_t by = HeldCommands::find(held.streams, slot.stream); by != 0) return by;
    const std::uint32_t index = process.streams.find(slot.stream);
    if (index == none || streams_[index]->out_of_order == none) return 0;
    if (waits_for_all(slot)) {
        for (const HeldCommands::Held& each : held.slots) {
            if (each.slot.stream == slot.stream) return each.event;
        }
    }
    const auto open = std::find_if(held.open.begin(), held.open.end(), [&slot](const HeldCommands::Open& each) {
        return each.queue == slot.stream && each.thread == slot.thread;
    });
    if (open == held.open.end()) return 0;
    const bool unmaps = kind == OperationKind::FREE && slot.detail == static_cast<std::uint8_t>(FreeClass::CL_UNMAP);
    if (!open->issued || (about_latest.has(kind) && !unmaps)) return open->event;
    held.open.erase(open);  // the thread's next command has begun
    return 0;
}

bool Engine::hold(const Slot& slot, const unsigned char* continuations, std::size_t more) {
    Thread& thread = threads_[slot.thread];
    if (failed(slot.status)) return false;
    if (thread.timeline == none) open_thread(slot.thread);
    Process& process = *processes_[thread.process];
    if (!process.held.empty() && releases_object(slot)) judge_release(slot, process);
    const std::uint64_t event = holding_event(slot, process);
    if (event == 0) {
        if (static_cast<OperationKind>(slot.kind) == OperationKind::EVENT_DESTROY) keep_for_held_waits(slot, process);
        return false;
    }
    HeldCommands& held = process.held;
    if (held.slots.size() >= HeldCommands::most) {
        ++problems_;
        return true;
    }
    const auto kind = static_cast<OperationKind>(slot.kind);
    HeldCommands::Held kept{slot, {continuations, continuations + more * sizeof(Slot)}, event, none};
    const std::uint32_t index = slot.stream == 0 ? none : process.streams.find(slot.stream);
    const bool branched = index != none && streams_[index]->out_of_order != none;
    if (branched && thread.branch_open && thread.branch_of == streams_[index]->out_of_order) {
        kept.branch = thread.branch;  // it stays reserved
        thread.branch_open = false;
        thread.branch_of = none;
    }
    held.slots.push_back(std::move(kept));
    const bool is_wait = kind == OperationKind::STREAM_WAIT_EVENT;
    if (kind == OperationKind::EVENT_RECORD && HeldCommands::find(held.events, slot.object) == 0)
        held.events.push_back({slot.object, event});
    if (on_queue.has(kind) && !is_wait && !about_latest.has(kind)) {
        held.waiting.push_back({slot.sequence, slot.site, index == none ? 0U : streams_[index]->name, slot.api,
                                slot.thread, slot.status, kind, slot.flags});
    }
    if (slot.stream == 0 || kind == OperationKind::STREAM_DESTROY || kind == OperationKind::EVENT_CALLBACK) return true;
    if (!branched || is_barrier(slot)) {
        if (HeldCommands::find(held.streams, slot.stream) == 0) held.streams.push_back({slot.stream, event});
        return true;
    }
    const auto open = std::find_if(held.open.begin(), held.open.end(), [&slot](const HeldCommands::Open& each) {
        return each.queue == slot.stream && each.thread == slot.thread;
    });
    const bool issues = !is_wait && !about_latest.has(kind);
    if (open == held.open.end()) held.open.push_back({slot.stream, event, slot.thread, issues});
    else if (is_wait) *open = {slot.stream, open->issued ? event : open->event, slot.thread, false};
    else open->issued |= issues;
    return true;
}

void Engine::keep_for_held_waits(const Slot& slot, Process& process) {
    HeldCommands& held = process.held;
    const Event* const ending = events_.live(process, slot.object);
    if (ending == nullptr || held.empty()) return;
    std::uint64_t own = 0;
    for (HeldCommands::Held& each : held.slots) {
        const bool waits = each.slot.kind == static_cast<std::uint8_t>(OperationKind::STREAM_WAIT_EVENT);
        if (!waits || each.slot.object != slot.object) continue;
        if (own == 0) {
            own = HeldCommands::own_handles + held.kept_events++;
            const Event copy = *ending;  // `make` may move it
            Event& kept = events_.make(process, own, copy.context, copy.context_epoch);
            kept = copy;
            kept.handle = own;
            kept.created = false;  // it is none that the program has to release
        }
        each.slot.object = own;
    }
}

void Engine::set_user_event(Event& event, Thread& thread, Process& process, const Operation& operation) {
    if (event.is_unset()) --process.unset_user_events;
    Timeline& host = timeline(thread);
    host.released = true;
    event.clock.assign(host.clock);
    const Epoch set = host.advance();
    event.note_record(set, false, none, process.opaque_version, operation);
    host.released = true;
    // What is brought now is behind this call, and asks for it.
    if (watch_.active() && !process.held.empty()) watch_.note({operation.sequence, set, {}, operation.thread});
    bring_held(process, event.handle);
}

void Engine::bring_held(Process& process, std::uint64_t event) {
    HeldCommands& held = process.held;
    if (held.empty()) return;
    std::vector<HeldCommands::Held> due;
    std::vector<HeldCommands::Held> rest;
    for (HeldCommands::Held& each : held.slots) (each.event == event ? due : rest).push_back(std::move(each));
    held.slots = std::move(rest);
    const auto is_due = [event](const auto& each) { return each.event == event; };
    std::erase_if(held.streams, is_due);
    std::erase_if(held.events, is_due);
    std::erase_if(held.open, is_due);
    std::erase_if(held.waiting, [&due](const Operation& each) {
        return std::any_of(due.begin(), due.end(),
                           [&each](const HeldCommands::Held& slot) { return slot.slot.sequence == each.sequence; });
    });
    const std::vector<Reference> own = references_;
    const bool own_polls = polls_;
    const bool nested = brings_held_;
    brings_held_ = true;
    for (const HeldCommands::Held& each : due) {
        const std::size_t more = each.continuations.size() / sizeof(Slot);
        Thread& thread = threads_[each.slot.thread];
        if (each.branch != none && !thread.branch_open) {
            thread.branch = each.branch;
            thread.branch_of = streams_[each.branch]->branch_of;
            thread.branch_open = streams_[each.branch]->reserved;
        }
        if (process.unset_user_events + process.held.slots.size() != 0 &&
            hold(each.slot, each.continuations.data(), more))
            continue;
        gather_references(each.slot, each.continuations.data(), more);
        perform(each.slot, thread);
        if (watch_.active()) note_watched(each.slot, thread);
    }
    if (held.slots.empty()) held.kept_events = 0;  // nobody asks for one of them any more: their handles come again
    brings_held_ = nested;
    references_ = own;
    polls_ = own_polls;
}

void Engine::judge_release(const Slot& slot, const Process& process) {
    const HeldCommands& held = process.held;
    const HeldCommands::Held& first = held.slots.front();
    const Event* const event = events_.live(process, first.event);
    if (event == nullptr || held.waiting.empty()) return;
    if (slot.kind == static_cast<std::uint8_t>(OperationKind::FREE)) {
        const std::uint32_t index = process.allocations.containing(slot.address);
        if (index == none || !process.allocations[index].live()) return;
    }
    const Operation release{
        slot.sequence, slot.site, 0, slot.api, slot.thread, slot.status, static_cast<OperationKind>(slot.kind),
        slot.flags};
    Fact fact(RuleCode::RELEASE_UNDER_USER_EVENT, FactVariant::NONE, release);
    fact.with(RelatedRole::CREATE, event->made).with(RelatedRole::USE, held.waiting.front());
    fact.assumed = !event->created || release.assumed();
    if (held.waiting.front().thread != slot.thread) fact.rests_on = EdgeClass::RUN;
    report(fact);
}

void Engine::event_callback(const Slot& slot, Thread& thread, Process& process, const Operation& operation) {
    const Event* const event = event_of(slot.object, process, thread, operation);
    if (event == nullptr || slot.address == 0) return;
    Timeline& host = timeline(thread);
    host.released = true;
    SyncKey& key = keys_.at(key_name(process, slot.address));
    const Lanes relations = edges_.in(EdgeKind::command_to_callback, contract_edge);
    key.clock.join(host.clock, contract_edge);
    // Of a command that has only begun nothing is known to be complete.
    if (event->recorded && static_cast<CallbackTime>(slot.detail) == CallbackTime::COMPLETE) {
        key.clock.join(event->clock, relations);
        key.clock.learn(event->at, relations);
    }
    key.callback = operation;
    key.of_callback = true;
}

void Engine::judge_callback(const Slot& slot, const Thread& thread, const Operation& operation) {
    using enum OperationKind;
    const bool blocks = static_cast<WaitClass>(slot.detail) == WaitClass::COMPLETE;
    bool forbidden = false;
    switch (operation.kind) {
        case STREAM_SYNCHRONIZE:
        case EVENT_SYNCHRONIZE:
        case CONTEXT_SYNCHRONIZE:
        case STREAM_CREATE:
        case CONTEXT_CREATE: forbidden = true; break;
        case LAUNCH:
        case COPY:
        case MEMSET:
        case PREFETCH: forbidden = blocks; break;
        case CALL: forbidden = slot.detail == static_cast<std::uint8_t>(CallClass::BLOCKING); break;
        case FREE: forbidden = slot.detail == static_cast<std::uint8_t>(FreeClass::CL_SVM_BLOCKING); break;
        default: break;
    }
    if (!forbidden) return;
    Fact fact(RuleCode::BLOCKING_CALL_IN_CALLBACK, FactVariant::NONE, operation);
    fact.with(RelatedRole::CREATE, thread.callback);
    fact.assumed = operation.assumed();
    report(fact);
}

}  // namespace streamsan::order
