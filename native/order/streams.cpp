// Timelines, contexts' streams, and what orders a stream's next operation.
#include <algorithm>

#include "engine.hpp"

namespace streamsan::order {
std::uint32_t Engine::new_stream(Process& process, std::uint32_t context, std::uint64_t handle, StreamKind kind,
                                 bool assumed, const Thread& thread, const Operation& made, std::uint64_t apart) {
    std::uint32_t index;
    if (spare_streams_.empty()) {
        index = static_cast<std::uint32_t>(streams_.size());
        streams_.push_back(std::make_unique<Stream>());
    } else {
        index = spare_streams_.back();
        spare_streams_.pop_back();
        *streams_[index] = Stream{};
    }
    Stream& stream = *streams_[index];
    Timeline& creator = timeline(thread);
    stream.index = index;
    stream.handle = handle;
    stream.kind = kind;
    stream.assumed = assumed;
    stream.apart = apart;
    stream.blocking =
        kind != StreamKind::NON_BLOCKING && kind != StreamKind::LEGACY && kind != StreamKind::OUT_OF_ORDER;
    stream.context = context;
    stream.context_epoch = contexts_[context].epoch;
    stream.made = made;
    stream.name = names_.intern({handle, made.site, kind, assumed, apart});
    // A handle cannot be used before it was made. What unknown callers made existed before everything, and so do
    // default streams: they continue no timeline, for who waits for them is not after what their first user knows.
    const bool anyone = kind == StreamKind::LEGACY || kind == StreamKind::PER_THREAD;
    stream.opaque_version = stream.awaited_opaque = anyone ? 0 : process.opaque_version;
    stream.timeline = timelines_.make(assumed || anyone ? nullptr : &creator);
    if (!assumed && !anyone) timeline(stream).learn(creator, edges_.in(EdgeKind::creation, contract_edge));
    // Unknown code may have work pending on it that no wait may be called redundant for.
    if (assumed || (anyone && !process.whole)) {
        timeline(stream).advance();
        leave(stream);
    }
    if (kind == StreamKind::LEGACY) stream.legacy_version = 1;  // differs from what any other stream has met
    process.unknown_streams |= kind == StreamKind::UNKNOWN;
    contexts_[context].streams.push_back(index);
    return index;
}

Stream* Engine::other_stream_of(std::uint64_t handle, Thread& thread, Process& process, const Operation& operation) {
    if (handle == legacy_handle || handle == per_thread_handle || handle == 0) {
        const std::uint32_t context = contexts_.current(thread, process);
        if (handle == per_thread_handle) {
            const std::uint64_t owner = recording_ ? operation.thread % most_recorded_threads : operation.thread;
            const std::uint64_t key = std::uint64_t{context} << 16 | owner;
            std::uint32_t index = process.per_thread_streams.find(key);
            if (index == none) {
                index = new_stream(process, context, handle, StreamKind::PER_THREAD, false, thread, Operation{});
                process.per_thread_streams.set(key, index);
            }
            return streams_[index].get();
        }
        // A reset does not end default streams: the context comes back with the same ones.
        return &legacy_stream(process, context, thread);
    }
    const std::uint32_t index = process.streams.find(handle);
    if (index == none) {
        const std::uint32_t introduced = new_stream(process, contexts_.current(thread, process), handle,
                                                    StreamKind::UNKNOWN, true, thread, Operation{});
        process.streams.set(handle, introduced);
        return streams_[introduced].get();
    }
    const Stream& stream = *streams_[index];
    // One of an unknown caller may be a default stream, which nothing but its program's end ends.
    if (stream.assumed && stream.destroyed.kind != OperationKind::STREAM_DESTROY) {
        note_ambiguous(process, stream, operation);
        process.unknown_after_end = true;
    }
    Fact fact(RuleCode::STALE_HANDLE, FactVariant::STALE_STREAM, operation);
    fact.operation.stream_name = stream.name;
    fact.with(RelatedRole::CREATE, stream.made).with(RelatedRole::DESTROY, stream.destroyed);
    fact.assumed = stream.assumed || operation.assumed();
    report(fact);
    return nullptr;
}

Stream& Engine::legacy_stream(Process& process, std::uint32_t context, const Thread& thread) {
    std::uint32_t& index = contexts_[context].legacy;
    if (index == none)
        index = new_stream(process, context, legacy_handle, StreamKind::LEGACY, false, thread, Operation{});
    return *streams_[index];
}

void Engine::stream_create(const Slot& slot, Thread& thread, Process& process, const Operation& operation) {
    if (slot.object <= per_thread_handle) {
        ++problems_;
        return;
    }
    const bool assumed = operation.assumed();
    auto kind = static_cast<StreamKind>(slot.detail);
    if (kind != StreamKind::BLOCKING && kind != StreamKind::NON_BLOCKING && kind != StreamKind::OUT_OF_ORDER)
        kind = StreamKind::UNKNOWN;
    const std::uint32_t old = process.streams.find(slot.object);
    const bool restated = is_restated(slot);
    if (restated && old != none && !stale(*streams_[old])) return;
    if (old != none) {
        if (streams_[old]->alive) end_stream(old, operation);  // its destroy was not seen
        spare_streams_.push_back(old);
    }
    const std::uint32_t context = contexts_.named_or_current(process, thread, slot.address);
    if (slot.address != 0 && !contexts_.admit(context, operation)) return;
    const std::uint32_t index =
        new_stream(process, context, slot.object, kind, assumed, thread, operation, assumed ? slot.size : 0);
    process.streams.set(slot.object, index);
    if (kind == StreamKind::OUT_OF_ORDER) {
        streams_[index]->out_of_order = static_cast<std::uint32_t>(queues_.size());
        queues_.emplace_back();
    }
    if (restated && !assumed) {
        timeline(*streams_[index]).advance();  // it may have work pending
        leave(*streams_[index]);
    }
}

void Engine::stream_destroy(const Slot& slot, Thread& thread, Process& process, const Operation& operation) {
    if (slot.object == legacy_handle || slot.object == per_thread_handle) return;
    const Stream* const named = stream_of(slot.object, thread, process, operation);
    if (named == nullptr || slot.object == 0) return;
    const Stream& stream = *named;
    if (requirements_) {
        // Its work goes on, but whoever waits for it before destroying the stream waits for a reason.
        const Clock& known = timeline(thread).clock;
        const auto look = [&](const Placed& pending) {
            if (!known.knows(pending.epoch, contract))
                require(Unmet::Sort::teardown, pending.operation.sequence, operation.sequence);
        };
        if (stream.has_work) look(stream.work);
        if (stream.has_free) look(stream.free);
    }
    end_stream(stream.index, operation);
}

void Engine::end_stream(std::uint32_t index, const Operation& operation) {
    if (streams_[index]->out_of_order != none) end_queue(*streams_[index], operation);
    Stream& stream = *streams_[index];
    Context& context = contexts_[stream.context];
    Timeline& own = timeline(stream);
    stream.alive = false;
    stream.destroyed = operation;
    // Its work goes on: whoever waits for the context waits for it, and so does the legacy stream.
    if (!stream.bodies.empty()) learn_bodies(stream, own);
    own.released = true;
    if (value_words_.pending()) value_words_.settle(index);
    context.destroyed.join(own.clock, contract_edge);
    if (stream.unjoined) {
        context.unjoined_destroyed.join(own.clock, blocking_edge(stream));
        context.unjoined.erase(std::remove(context.unjoined.begin(), context.unjoined.end(), index),
                               context.unjoined.end());
        stream.unjoined = false;
    }
    context.streams.erase(std::remove(context.streams.begin(), context.streams.end(), index), context.streams.end());
    constexpr std::size_t most_leftovers = 64;
    if ((stream.has_work || stream.has_free) && context.leftovers.size() < most_leftovers) {
        context.leftovers.push_back({stream.work, stream.free, stream.has_work, stream.has_free});
    }
    timelines_.retire(stream.timeline);
    if (stream.early != none) timelines_.retire(stream.early);
}

void Engine::catch_up(Stream& stream, const Process& process) {
    if (stream.opaque_version == process.opaque_version) return;
    stream.opaque_version = process.opaque_version;
    stream.last_kernel = LastKernel::nothing;
    timeline(stream).learn(process.opaque, edges_.in(EdgeKind::opaque, opaque_edge));
    // The unknown code may have issued work here: a wait for the stream has something to wait for again.
    timeline(stream).advance();
    if (stream.kind == StreamKind::LEGACY) ++stream.legacy_version;
    leave(stream);
}

LastKernel Engine::enter(Stream& stream, Thread& thread, std::uint32_t thread_index) {
    Timeline& own = timeline(stream);
    Timeline& host = timeline(thread);
    Context& context = contexts_[stream.context];
    catch_up(stream, *processes_[thread.process]);
    if (value_words_.pending()) own.learn(everything(), edges_.in(EdgeKind::opaque, opaque_edge));
    LastKernel before = stream.last_kernel;
    stream.last_kernel = LastKernel::nothing;
    // The issue edge. When the host learned nothing new, only its own component can have moved.
    host.released = true;
    if (stream.issuer == thread_index && stream.issuer_version == host.version) {
        const Lanes now = {host.tick, host.tick, host.tick, host.tick};
        if (own.clock.at(host.slot)[contract] != host.tick && edges_.has(EdgeKind::issue)) {
            own.clock.set(host.slot, now);
            ++own.version;
        }
    } else {
        own.learn(host, edges_.in(EdgeKind::issue, contract_edge));
        stream.issuer = thread_index;
        stream.issuer_version = host.version;
    }
    if (stream.kind == StreamKind::LEGACY) {
        // What the legacy stream's rules put between two kernels is itself behind the first of them.
        if (!context.unjoined.empty() || !context.unjoined_destroyed.empty()) before = LastKernel::nothing;
        for (const std::uint32_t other : context.unjoined) {
            learn_all(*streams_[other], own, EdgeKind::legacy_after_blocking, blocking_edge(*streams_[other]));
            streams_[other]->unjoined = false;
        }
        context.unjoined.clear();
        if (!context.unjoined_destroyed.empty()) {
            own.learn(context.unjoined_destroyed, edges_.in(EdgeKind::legacy_after_destroyed, contract_edge));
            context.unjoined_destroyed.clear();
        }
        ++stream.legacy_version;
    } else if (stream.blocking && context.legacy != none) {
        Stream& legacy = *streams_[context.legacy];
        if (stream.legacy_version != legacy.legacy_version) {
            stream.legacy_version = legacy.legacy_version;
            before = LastKernel::nothing;
            learn_all(legacy, own, EdgeKind::blocking_after_legacy, blocking_edge(stream));
        }
    }
    if (stream.copied_version != context.copied_version) [[unlikely]] {
        stream.copied_version = context.copied_version;
        before = LastKernel::nothing;
        own.learn(context.copied, edges_.in(EdgeKind::blocking_after_legacy, run_edge));
    }
    if (!stream.bodies.empty()) learn_bodies(stream, own);
    return before;
}

CopiedContexts Engine::contexts_of_copy(const Process& process, const Stream& stream) {
    CopiedContexts copied;
    std::vector<std::uint32_t>& contexts = copied.contexts;
    for (const Reference& reference : references_) {
        const std::uint32_t at = process.allocations.named_by(reference.address, reference.generation);
        if (at == none) continue;
        const Allocation& allocation = process.allocations[at];
        if (host_side(allocation.kind) || allocation.kind == MemoryKind::MANAGED) continue;
        if (allocation.context == none) copied.relations = run_edge;
        contexts_.each_of(process, [&](std::uint32_t context) {
            const bool of_it = allocation.context == none || allocation.context == context;
            const bool known = std::find(contexts.begin(), contexts.end(), context) != contexts.end();
            if (of_it && !known && context != stream.context && !contexts_[context].dead) contexts.push_back(context);
        });
    }
    return copied;
}

void Engine::copy_behind(const CopiedContexts& copied, Stream& stream, Thread& thread, std::uint32_t thread_index,
                         Process& process) {
    const auto learn_others = [&](std::uint32_t context) {
        for (const std::uint32_t other : contexts_[context].streams) {
            if (other == stream.index) continue;
            learn_all(*streams_[other], timeline(stream), EdgeKind::legacy_after_blocking, run_edge);
        }
    };
    for (const std::uint32_t context : copied.contexts) {
        Stream& legacy = legacy_stream(process, context, thread);
        enter(legacy, thread, thread_index);
        learn_all(legacy, timeline(stream), EdgeKind::legacy_after_blocking, copied.relations);
        learn_others(context);
    }
    learn_others(stream.context);
}

void Engine::copy_before(const CopiedContexts& copied, Stream& stream) {
    const auto note = [&](std::uint32_t context) {
        contexts_[context].copied.join(timeline(stream).clock, run_edge);
        ++contexts_[context].copied_version;
    };
    for (const std::uint32_t context : copied.contexts) {
        timeline(*streams_[contexts_[context].legacy])
            .learn(timeline(stream), edges_.in(EdgeKind::blocking_after_legacy, copied.relations));
        note(context);
    }
    note(stream.context);
}

Change Engine::learn_all(Stream& stream, Timeline& waiter, EdgeKind kind, Lanes relations) {
    Change change = waiter.learn(timeline(stream), edges_.in(kind, relations));
    if (!stream.bodies.empty() && edges_.has(kind)) change += learn_bodies(stream, waiter, relations);
    return change;
}

Change Engine::learn_bodies(const Stream& stream, Timeline& waiter, Lanes relations) {
    Change change;
    for (const std::uint64_t body : stream.bodies) {
        const SyncKey* key = keys_.find(body);
        if (key != nullptr) change += waiter.learn(key->clock, edges_.in(EdgeKind::body_to_stream, relations));
    }
    return change;
}

void Engine::add_body(Stream& stream, std::uint64_t key) {
    constexpr std::size_t most_bodies = 16;
    if (std::find(stream.bodies.begin(), stream.bodies.end(), key) != stream.bodies.end()) return;
    if (stream.bodies.size() >= most_bodies) {
        learn_bodies(stream, timeline(stream));
        stream.bodies.clear();
    }
    stream.bodies.push_back(key);
}

void Engine::leave(Stream& stream) {
    if (!stream.blocking || stream.unjoined) return;
    stream.unjoined = true;
    contexts_[stream.context].unjoined.push_back(stream.index);
}

void Engine::note_ambiguous(Process& process, const Stream& stream, const Operation& operation) {
    note_unknown(process, stream, operation);
    if (!stream.assumed && stream.kind != StreamKind::LEGACY && stream.kind != StreamKind::PER_THREAD) return;
    if (process.ambiguous.handle != stream.handle) process.other_ambiguous = process.ambiguous;
    process.ambiguous = {stream.handle, stream.assumed, stream.apart, operation.sequence};
}

}  // namespace streamsan::order
