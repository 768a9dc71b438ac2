// Events, waits of every kind, and order between host threads.
#include <algorithm>

#include "engine.hpp"

namespace streamsan::order {
namespace {

Lanes mask_of(std::uint8_t detail) {
    switch (static_cast<EdgeClass>(detail)) {
        case EdgeClass::CONTRACT: return contract_edge;
        case EdgeClass::OBSERVED: return observed_edge;
        default: return run_edge;
    }
}

}  // namespace

Event* Engine::event_of(std::uint64_t handle, Process& process, Thread& thread, const Operation& operation) {
    const std::uint32_t index = process.events.find(handle);
    if (index == none) {
        const std::uint32_t context = contexts_.current(thread, process);
        return &events_.make(process, handle, context, contexts_[context].epoch);
    }
    Event& event = events_[index];
    const Context& context = contexts_[event.context];
    if (event.alive && event.context_epoch == context.epoch && !context.dead) return &event;
    Fact fact(RuleCode::STALE_HANDLE, FactVariant::STALE_EVENT, operation);
    fact.with(RelatedRole::CREATE, event.made)
        .with(RelatedRole::DESTROY, event.alive ? context.ended : event.destroyed);
    fact.assumed = !event.created || operation.assumed();
    report(fact);
    return nullptr;
}

Change Engine::learn_event(const Event& event, Timeline& waiter, EdgeKind kind, Lanes relations) {
    if (!event.recorded) {
        if (!event.created) learn_anything(waiter);  // whoever gave us the event may have recorded anything in it
        return {!event.created, !event.created};
    }
    const Change change = waiter.learn(event.clock, edges_.in(kind, relations));
    waiter.learn(event.at, edges_.in(kind, event.inside_launch ? run_edge : relations));
    return change;
}

void Engine::event_create(const Slot& slot, Thread& thread, Process& process, const Operation& operation) {
    const bool restated = is_restated(slot);
    if (restated && events_.live(process, slot.object) != nullptr) return;
    const std::uint32_t context = contexts_.current(thread, process);
    Event& event = events_.make(process, slot.object, context, contexts_[context].epoch);
    if (event.is_unset()) --process.unset_user_events;  // its end was not seen
    event.user = slot.detail == static_cast<std::uint8_t>(EventKind::USER);
    event.created = !operation.assumed() && !restated;  // who knows what was recorded in it before
    event.alive = true;
    event.recorded = false;
    event.opaque_version = process.opaque_version;
    event.made = operation;
    if (event.is_unset()) ++process.unset_user_events;
}

void Engine::event_destroy(const Slot& slot, Thread& thread, Process& process, const Operation& operation) {
    const Event* const event = event_of(slot.object, process, thread, operation);
    if (event == nullptr) return;
    if (event->is_unset()) --process.unset_user_events;
    events_.destroy(process.events.find(slot.object), operation);
}

void Engine::event_record(const Slot& slot, Thread& thread, Process& process, Operation& operation) {
    Event* const named = event_of(slot.object, process, thread, operation);
    if (slot.stream == 0 && named != nullptr && named->user) {
        set_user_event(*named, thread, process, operation);
        return;
    }
    Stream* const source = place(slot, thread, process, operation);
    if (named == nullptr || source == nullptr) return;
    Stream& stream = *source;
    Event& event = *named;
    if (slot.address != 0) note_kept_block(slot, thread, process, stream, operation);
    enter(stream, thread, slot.thread);
    Timeline& own = timeline(stream);
    own.released = true;
    event.clock.assign(own.clock);
    // The record is work too for a host that reads the event's time; for a stream that waits it adds nothing.
    event.note_record(own.advance(), false, stream.index, process.opaque_version, operation);
    own.released = true;
    leave(stream);
    note_ambiguous(process, stream, operation);
}

void Engine::stream_wait_event(const Slot& slot, Thread& thread, Process& process, Operation& operation) {
    const Event* const named = event_of(slot.object, process, thread, operation);
    const bool news = named == nullptr || is_news_to_next(*named, slot, thread, process);
    Stream* const waiter = place(slot, thread, process, operation);
    if (named == nullptr && waiter != nullptr) wait_as_meant(slot, thread, process, operation);
    if (named == nullptr || waiter == nullptr) return;
    Stream& stream = *waiter;
    const Event& event = *named;
    enter(stream, thread, slot.thread);
    bool needed = brings(learn_event(event, timeline(stream), EdgeKind::event_to_stream), process);
    if (stream.branch_of != none) needed |= news;
    // What was brought late follows a host that knows more by now.
    needed |= event.user || brings_held_;
    if (event.recorded && event.source == none) {
        needed |= !event.created || event.opaque_version != process.opaque_version;  // a user event
    } else if (event.recorded) {
        const Stream& source = *streams_[event.source];
        const bool same = event.source == stream.index && event.record.sequence > stream.made.sequence;
        const bool other_name = source.blocking && process.unknown_work != 0;
        const bool certain = same || (event.created && !source.assumed && !stream.assumed && !other_name &&
                                      event.opaque_version == process.opaque_version);
        needed |= event.inside_launch || !certain;
    } else {
        // Never recorded: no wait, unless unknown code did.
        needed |= event.opaque_version != process.opaque_version;
    }
    note_wait(operation, needed, event.recorded ? &event.record : nullptr);
    leave(stream);
    note_ambiguous(process, stream, operation);
}

bool Engine::is_news_to_next(const Event& event, const Slot& slot, const Thread& thread, const Process& process) {
    const std::uint32_t index = process.streams.find(slot.stream);
    if (index == none || streams_[index]->out_of_order == none || !event.recorded) return false;
    const std::uint32_t queue = streams_[index]->out_of_order;
    const bool open = thread.branch_open && thread.branch_of == queue;
    return !(timeline(thread).clock.knows(event.at, contract) || queues_[queue].barrier.knows(event.at, contract) ||
             (open && timeline(*streams_[thread.branch]).clock.knows(event.at, contract)));
}

void Engine::wait_as_meant(const Slot& slot, Thread& thread, Process& process, const Operation& operation) {
    const Event& event = events_[process.events.find(slot.object)];
    if (!event.recorded) return;
    if (operation.kind != OperationKind::STREAM_WAIT_EVENT) {
        timeline(thread).learn(event.clock, edges_.in(EdgeKind::destroyed_event, run_edge));
        return;
    }
    const std::uint32_t known = process.streams.find(slot.stream);
    if (slot.stream > per_thread_handle && (known == none || stale(*streams_[known]))) return;
    Stream& stream = *stream_of(slot.stream, thread, process, operation);
    if (stale(stream)) return;
    // Nothing is put on the stream: whoever waits for it is not after this call.
    timeline(stream).learn(event.clock, edges_.in(EdgeKind::destroyed_event, run_edge));
    if (stream.kind == StreamKind::LEGACY) ++stream.legacy_version;
    leave(stream);
}

void Engine::event_wait(const Slot& slot, Thread& thread, Process& process, const Operation& operation, bool query) {
    const Event* const named = event_of(slot.object, process, thread, operation);
    if (named == nullptr && !query) wait_as_meant(slot, thread, process, operation);
    if (named == nullptr || (query && slot.status != 0)) return;
    const Event& event = *named;
    Timeline& host = timeline(thread);
    process.unknown_awaited = process.unknown_work;
    const bool pending = event.recorded && !host.clock.knows(event.at, contract);
    const bool observed = query && slot.detail == static_cast<std::uint8_t>(EdgeClass::OBSERVED);
    const Lanes relations = observed ? observed_edge : contract_edge;
    bool needed = brings(learn_event(event, host, EdgeKind::event_to_host, relations), process) || pending;
    if (observed && event.recorded && event.source != none)
        implicit_waits_.keep(event.source, {operation, event.at}, event.clock);
    if (event.recorded && event.source != none) {
        const Stream& source = *streams_[event.source];
        needed |= !event.created || source.assumed || (source.blocking && process.unknown_work != 0);
        note_ambiguous(process, source, operation);
    }
    needed |= event.opaque_version != process.opaque_version;
    if (!query) note_wait(operation, needed, event.recorded ? &event.record : nullptr);
}

void Engine::event_elapsed(const Slot& slot, Thread& thread, Process& process, const Operation& operation) {
    for (const std::uint64_t handle : {slot.object, slot.address}) {
        const Event* const event = event_of(handle, process, thread, operation);
        if (event != nullptr && event->recorded && !timeline(thread).clock.knows(event->at, contract))
            require(Unmet::Sort::elapsed, event->record.sequence, operation.sequence);
    }
}

Change Engine::wait_for_stream(Timeline& host, Stream& stream, const Process& process) {
    catch_up(stream, process);
    if (value_words_.pending()) value_words_.settle(stream.index);
    if (stream.out_of_order != none) gather(stream);
    Change change = host.learn(timeline(stream), edges_.in(EdgeKind::stream_to_host, contract_edge));
    // The legacy stream's queue holds waits for the blocking streams, and theirs for it: without changing either.
    const Context& context = contexts_[stream.context];
    if (stream.kind == StreamKind::LEGACY) {
        for (const std::uint32_t other : context.unjoined) {
            change += learn_all(*streams_[other], host, EdgeKind::legacy_to_host, blocking_edge(*streams_[other]));
        }
        change += host.learn(context.unjoined_destroyed, edges_.in(EdgeKind::legacy_to_host, contract_edge));
    } else if (stream.blocking && context.legacy != none) {
        Stream& legacy = *streams_[context.legacy];
        if (stream.legacy_version != legacy.legacy_version)
            change += learn_all(legacy, host, EdgeKind::legacy_to_host, blocking_edge(stream));
    }
    if (!stream.bodies.empty()) change += learn_bodies(stream, host);
    return change;
}

void Engine::stream_wait(const Slot& slot, Thread& thread, Process& process, Operation& operation, bool query) {
    Stream* const named = place(slot, thread, process, operation);
    if (named == nullptr || (query && slot.status != 0)) return;
    Stream& stream = *named;
    const Change change = wait_for_stream(timeline(thread), stream, process);
    note_ambiguous(process, stream, operation);
    process.unknown_awaited = process.unknown_work;
    // Two unknown streams may be one: what was issued on the other may be what this wait is for. And code that nobody
    // can see may have issued work to any stream.
    const std::uint32_t covered = std::max(stream.awaited_opaque, contexts_[stream.context].awaited_opaque);
    const bool unseen = covered != process.opaque_version;
    stream.awaited_opaque = process.opaque_version;
    // And a stream of an unknown caller may be this thread's default stream, or the legacy one, which a blocking stream
    // comes after.
    const bool other_name = stream.kind != StreamKind::NON_BLOCKING && process.unknown_work != 0;
    if (!query) note_wait(operation, brings(change, process) || stream.assumed || unseen || other_name, nullptr);
}

Change Engine::wait_for_context(Thread& thread, std::uint32_t thread_index, std::uint32_t context_index) {
    Context& context = contexts_[context_index];
    const Process& process = *processes_[thread.process];
    Timeline& host = timeline(thread);
    Change change;
    for (const std::uint32_t index : context.streams) {
        Stream& stream = *streams_[index];
        catch_up(stream, process);
        if (value_words_.pending()) value_words_.settle(index);
        Timeline& own = timeline(stream);
        if (!stream.bodies.empty()) change += learn_bodies(stream, host);
        if (stream.waited_by == thread_index && stream.waited_version == own.version &&
            host.clock.knows({own.slot, own.tick}, contract)) {
            continue;
        }
        change += host.learn(own, edges_.in(EdgeKind::context_to_host, contract_edge));
        stream.waited_by = thread_index;
        stream.waited_version = own.version;
    }
    change += host.learn(context.destroyed, edges_.in(EdgeKind::destroyed_to_host, contract_edge));
    return change;
}

void Engine::observe_context(Thread& thread, std::uint32_t thread_index, std::uint32_t context_index) {
    Context& context = contexts_[context_index];
    Timeline& host = timeline(thread);
    for (const std::uint32_t index : context.streams) {
        Stream& stream = *streams_[index];
        Timeline& own = timeline(stream);
        if (!stream.bodies.empty()) learn_bodies(stream, host, observed_edge);
        if (stream.observed_by == thread_index && stream.observed_version == own.version &&
            host.clock.knows({own.slot, own.tick}, all)) {
            continue;
        }
        host.learn(own, edges_.in(EdgeKind::observed_wait, observed_edge));
        stream.observed_by = thread_index;
        stream.observed_version = own.version;
    }
    host.learn(context.destroyed, edges_.in(EdgeKind::observed_wait, observed_edge));
}

void Engine::observe_copy(Thread& thread, Stream& stream, const Placed& copy) {
    Timeline& own = timeline(stream);
    implicit_waits_.keep(stream.index, copy, own.clock);
    timeline(thread).learn(own, edges_.in(EdgeKind::observed_wait, observed_edge));
}

void Engine::context_wait(const Slot& slot, Thread& thread, Process& process, const Operation& operation) {
    const std::uint32_t index = contexts_.named_or_current(process, thread, slot.object);
    Context& context = contexts_[index];
    if (!contexts_.admit(index, operation)) return;
    legacy_stream(process, index, thread);  // is where an unknown caller's work would be; see new_stream
    const Change change = wait_for_context(thread, slot.thread, index);
    process.unknown_awaited = process.unknown_work;
    const bool unseen = context.awaited_opaque != process.opaque_version;  // it may have left work anywhere
    context.awaited_opaque = process.opaque_version;
    note_wait(operation, change.contract || unseen || process.unknown_after_end, nullptr);
}

void Engine::host_release(const Slot& slot, Thread& thread, const Process& process) {
    Timeline& host = timeline(thread);
    if (thread.call_tick > host.tick) host.advance();
    host.released = true;
    if (thread.body_key == slot.object) thread.body = {};
    if (thread.callback_key == slot.object) thread.callback = {};
    keys_.at(key_name(process, slot.object)).clock.join(host.clock, mask_of(slot.detail));
    if (!thread.callback_bodies.empty() && thread.callback_bodies.back().key == slot.object) [[unlikely]] {
        // A runtime may call it on the program's own thread, within any call: only this run promises that.
        host.clock.keep_promised(thread.callback_bodies.back().before, host.slot);
        ++host.version;
        thread.callback_bodies.pop_back();
    }
}

void Engine::begin_body(Thread& thread, std::uint64_t key, const Clock& before) {
    constexpr std::size_t deepest = 16;
    if (thread.callback_bodies.size() >= deepest) thread.callback_bodies.erase(thread.callback_bodies.begin());
    thread.callback_bodies.push_back({key, before});
}

void Engine::host_acquire(const Slot& slot, Thread& thread, Process& process) {
    Timeline& host = timeline(thread);
    if (const SyncKey* key = keys_.find(key_name(process, slot.object)); key != nullptr) {
        if (key->of_callback) begin_body(thread, slot.object, host.clock);
        host.learn(key->clock, edges_.in(EdgeKind::release, mask_of(slot.detail)));
        if (key->callback.sequence != 0) {
            thread.callback = key->callback;
            thread.callback_key = slot.object;
        }
        if (key->function.tick != 0) {
            thread.body = key->function;
            thread.body_key = slot.object;
            process.unknown_awaited = process.unknown_work;  // its stream may be an unknown caller's, and so any
        }
    } else if (!keys_.forgotten().empty()) {
        host.learn(keys_.forgotten(), edges_.in(EdgeKind::release, run_edge));
    }
}

}  // namespace streamsan::order
