// Reading slots, and what each kind of operation leads to.
#include "engine.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <initializer_list>

namespace streamsan::order {
namespace {

bool is_continuation(std::uint8_t kind) { return kind >= first_continuation_kind; }

/// Of a further reference of a copy: host memory that the trace knows nothing else of.
constexpr std::uint8_t host_side_bit = bit(SlotFlag::HOST_SIDE);

/// Of a further reference: the access may not happen. A recorder says CONDITIONAL of words that may be leftovers of the
/// stack.
constexpr std::uint8_t doubtful_bits = bit(SlotFlag::ASSUMED) | bit(SlotFlag::CONDITIONAL);

/// Of a further reference. In a slot of its own the bit is that of a call that never returned.
constexpr std::uint8_t behind_bit = bit(SlotFlag::BEHIND);

/// Kinds whose address, size, object and access bits are their first memory reference.
bool names_memory(OperationKind kind) {
    using enum OperationKind;
    static constexpr Kinds with_memory = {ALLOC,           FREE,         LAUNCH,      COPY,
                                          MEMSET,          PREFETCH,     HOST_ACCESS, POINTER_LOST,
                                          ALLOC_ATTRIBUTE, BLOCK_STREAM, OPAQUE_CALL, STREAM_MEMORY_OP};
    return with_memory.has(kind);
}

/// Whether its references are a kernel's.
bool is_of_kernel(const Slot& slot) {
    const auto kind = static_cast<OperationKind>(slot.kind);
    const bool node = kind == OperationKind::GRAPH_NODE || kind == OperationKind::GRAPH_NODE_UPDATE;
    return kind == OperationKind::LAUNCH || kind == OperationKind::NODE_ACCESSES ||
           (node && slot.detail == static_cast<std::uint8_t>(NodeKind::KERNEL));
}

/// Whether the program itself called CUDA here. What a reader states of an unknown caller's objects, or of a context
/// that came to be by itself, is no call.
bool is_cuda_call(const Slot& slot) {
    using enum OperationKind;
    static constexpr Kinds always = {CALL,
                                     CONTEXT_DESTROY,
                                     DEVICE_RESET,
                                     CONTEXT_SYNCHRONIZE,
                                     PEER_ENABLE,
                                     STREAM_DESTROY,
                                     STREAM_QUERY,
                                     EVENT_DESTROY,
                                     EVENT_RECORD,
                                     STREAM_SYNCHRONIZE,
                                     STREAM_WAIT_EVENT,
                                     EVENT_SYNCHRONIZE,
                                     EVENT_QUERY,
                                     EVENT_ELAPSED,
                                     HANDLE_USE,
                                     HANDLE_CREATE,
                                     HANDLE_DESTROY,
                                     ALLOC_ATTRIBUTE,
                                     LAUNCH,
                                     COPY,
                                     MEMSET,
                                     HOST_FUNCTION,
                                     PREFETCH,
                                     STREAM_MEMORY_OP,
                                     QUEUE_MARKER,
                                     EVENT_CALLBACK,
                                     CAPTURE_BEGIN,
                                     CAPTURE_END,
                                     GRAPH_INSTANTIATE,
                                     GRAPH_UPDATE,
                                     GRAPH_NODE_UPDATE,
                                     GRAPH_LAUNCH,
                                     GRAPH_CLONE,
                                     GRAPH_TRIM};
    const auto kind = static_cast<OperationKind>(slot.kind);
    const bool assumed = (slot.flags & bit(SlotFlag::ASSUMED)) != 0;
    if (always.has(kind)) return true;
    switch (kind) {
        case CONTEXT_CREATE:
        case CONTEXT_CURRENT: return slot.api != 0 && !assumed;
        case STREAM_CREATE:
        case EVENT_CREATE: return !assumed;
        case ALLOC:
            return !assumed && !pageable(static_cast<MemoryKind>(slot.detail)) &&
                   slot.detail != static_cast<std::uint8_t>(MemoryKind::POOL_BLOCK);
        case FREE:
            return slot.detail != static_cast<std::uint8_t>(FreeClass::HOST_HEAP) &&
                   slot.detail != static_cast<std::uint8_t>(FreeClass::HOST_SCOPE) &&
                   slot.detail != static_cast<std::uint8_t>(FreeClass::POOL_BLOCK);
        default: return false;
    }
}

/// What is judged by rules of its own when it failed.
bool acts_though_failed(OperationKind kind) {
    using enum OperationKind;
    return kind == FREE || kind == GRAPH_LAUNCH || kind == NOT_UNDERSTOOD || kind == MALFORMED_CALL;
}

/// Brings in what a slot ahead will look up: the cell of the hash table, or the record it leads to.
// Inlined by force: a function that only fetches counts as one without effect, and its calls would be dropped.
[[gnu::always_inline]] inline void prefetch(const unsigned char* slot, const Allocations& allocations, bool record) {
    const std::uint8_t kind = slot[offsetof(Slot, kind)];
    const auto bring = [&](std::size_t offset) __attribute__((always_inline)) {
        std::uint64_t address;
        std::memcpy(&address, slot + offset, sizeof address);
        if (record) allocations.prefetch_record(address);
        else allocations.prefetch_base(address);
    };
    if (kind == static_cast<std::uint8_t>(OperationKind::REFERENCES)) {
        bring(offsetof(ReferencesSlot, first_address));
        if (slot[offsetof(ReferencesSlot, count)] > 1) bring(offsetof(ReferencesSlot, second_address));
    } else if (names_memory(static_cast<OperationKind>(kind))) {
        bring(offsetof(Slot, address));
    }
}

}  // namespace

Engine::Engine(const std::vector<std::int64_t>& thread_process, bool requirements,
               const std::vector<std::uint16_t>& asking, const std::vector<std::uint16_t>& setting, bool recording,
               std::uint64_t begins_at, std::uint64_t without)
    : requirements_(requirements),
      recording_(recording),
      begins_at_(begins_at),
      edges_(without),
      run_order_(edges_, timelines_, threads_),
      contexts_(facts_),
      handles_(facts_),
      graphs_(facts_, edges_, recording, begins_at),
      failures_(asking, setting, recording, facts_) {
    constexpr std::size_t largest_thread_count = 65536;
    const std::size_t count = std::min(thread_process.size(), largest_thread_count);
    threads_.resize(count);
    FlatMap by_index;
    for (std::size_t i = 0; i < count; ++i) {
        const auto key = static_cast<std::uint64_t>(thread_process[i]);
        const std::uint32_t process = by_index.number(key, processes_.size());
        if (process == processes_.size()) {
            processes_.push_back(std::make_unique<Process>());
            processes_.back()->index = thread_process[i];
            processes_.back()->number = process;
            if (requirements) processes_.back()->allocations.keep_all();
        }
        threads_[i].process = process;
    }
    references_.reserve(512);
}

std::int64_t Engine::process_of(std::uint16_t thread) const {
    return thread < threads_.size() ? processes_[threads_[thread].process]->index : -1;
}

void Engine::gather_references(const Slot& slot, const unsigned char* continuations, std::size_t count) {
    references_.clear();
    host_sides_.clear();
    polls_ = false;
    if (slot.address != 0 && names_memory(static_cast<OperationKind>(slot.kind))) {
        const bool value = slot.kind == static_cast<std::uint8_t>(OperationKind::STREAM_MEMORY_OP);
        // The upper half of a launch's `object` is its launch shape, of which nothing is asked here.
        references_.push_back({slot.address, value ? 0 : slot.size, static_cast<std::uint32_t>(slot.object),
                               static_cast<AccessMode>(slot.flags & mode_bits), false,
                               static_cast<std::uint8_t>(slot.flags & reference_bits)});
        polls_ = references_.back().polls();
    }
    const bool copies = slot.kind == static_cast<std::uint8_t>(OperationKind::COPY);
    bool any_rows = false;
    bool any_bounds = (slot.size & bounded_bit) != 0;
    for (std::size_t i = 0; i < count; ++i) {
        ReferencesSlot more;
        std::memcpy(&more, continuations + i * sizeof(Slot), sizeof more);
        if (more.kind != static_cast<std::uint8_t>(OperationKind::REFERENCES)) {
            any_rows |= more.kind == static_cast<std::uint8_t>(OperationKind::ROWS);
            continue;
        }
        if (more.count == 0 || more.count > 2) ++problems_;
        const auto add = [this, copies, &any_bounds](std::uint64_t address, std::uint64_t size,
                                                     std::uint32_t generation, std::uint8_t bits) {
            if (address == 0) return;
            if ((bits & host_side_bit) != 0 && copies) {
                host_sides_.push_back({address, size, 0, static_cast<AccessMode>(bits & mode_bits), false, 0});
                return;
            }
            any_bounds |= (size & bounded_bit) != 0;
            references_.push_back({address, size, generation, static_cast<AccessMode>(bits & mode_bits),
                                   (bits & doubtful_bits) != 0, static_cast<std::uint8_t>(bits & reference_bits),
                                   (bits & behind_bit) != 0});
            polls_ |= references_.back().polls();
        };
        if (more.count >= 1) add(more.first_address, more.first_size, more.first_generation, more.first_mode);
        if (more.count >= 2) add(more.second_address, more.second_size, more.second_generation, more.second_mode);
    }
    if (any_bounds && is_of_kernel(slot)) gather_bounds();
    if (any_rows) gather_rows(slot, continuations, count);
}

void Engine::gather_bounds() {
    for (Reference& reference : references_) {
        if ((reference.size & bounded_bit) == 0) continue;
        const std::uint64_t bytes = reference.size & UINT32_MAX;
        // Of 31 bits the highest one is the sign.
        const std::int64_t begin = static_cast<std::int64_t>(reference.size << 1) >> 33;
        reference.size = 0;
        const std::uint64_t low = reference.address + static_cast<std::uint64_t>(begin);
        const bool wraps = begin < 0 ? low > reference.address : low < reference.address;
        if (wraps || low > UINT64_MAX - bytes) {
            ++problems_;
            continue;
        }
        reference.followed = true;
        if (bytes != 0) reference.bounds = {low, low + bytes};
    }
}

void Engine::gather_rows(const Slot& slot, const unsigned char* continuations, std::size_t count) {
    constexpr std::uint8_t nowhere = 255;
    // Rows name references as the slots have them, those without an address included.
    std::array<std::uint8_t, 256> places;
    places.fill(nowhere);
    std::size_t number = 0;
    std::size_t place = 0;
    const auto note = [&](std::uint64_t address) {
        if (number < places.size() && place < nowhere && address != 0)
            places[number] = static_cast<std::uint8_t>(place);
        ++number;
        place += address != 0 ? 1 : 0;
    };
    if (names_memory(static_cast<OperationKind>(slot.kind))) note(slot.address);
    const bool kernel = is_of_kernel(slot);  // of its references the bit of STRIDED is ATOMIC
    for (std::size_t i = 0; i < count; ++i) {
        const unsigned char* const at = continuations + i * sizeof(Slot);
        const auto kind = static_cast<OperationKind>(at[offsetof(Slot, kind)]);
        if (kind == OperationKind::REFERENCES) {
            ReferencesSlot more;
            std::memcpy(&more, at, sizeof more);
            if (more.count >= 1) note(more.first_address);
            if (more.count >= 2) note(more.second_address);
        } else if (kind == OperationKind::ROWS) {
            RowsSlot told;
            std::memcpy(&told, at, sizeof told);
            const std::uint8_t to = places[told.reference];
            if (to == nowhere || to >= references_.size() || references_[to].rows != nullptr) {
                ++problems_;
                continue;
            }
            Reference& reference = references_[to];
            bool fits = false;
            reference.rows = row_table_.rows_of(told, reference.size, fits);
            if (!fits) ++problems_;
            else if (!kernel) reference.flags = static_cast<std::uint8_t>(reference.flags & ~bit(SlotFlag::STRIDED));
        }
    }
}

void Engine::feed(const unsigned char* bytes, std::size_t slots) {
    // Allocations are met in no order that a cache could guess. What slots ahead will look up is brought in early:
    // first the cell of the hash table, and when that is there the record it leads to.
    constexpr std::size_t far = 20;
    constexpr std::size_t near = 10;
    std::size_t brought_far = 0;
    std::size_t brought_near = 0;
    const Process* process = processes_.empty() ? nullptr : processes_.front().get();
    for (std::size_t i = 0; i < slots;) {
        if (process != nullptr) {
            for (; brought_far < std::min(slots, i + far); ++brought_far) {
                prefetch(bytes + brought_far * sizeof(Slot), process->allocations, false);
            }
            for (; brought_near < std::min(slots, i + near); ++brought_near) {
                prefetch(bytes + brought_near * sizeof(Slot), process->allocations, true);
            }
        }
        Slot slot;
        std::memcpy(&slot, bytes + i * sizeof(Slot), sizeof slot);
        ++i;
        if (is_continuation(slot.kind)) {
            ++problems_;  // a continuation without its slot
            continue;
        }
        std::size_t more = 0;
        while (more < slot.more && i + more < slots &&
               is_continuation(bytes[(i + more) * sizeof(Slot) + offsetof(Slot, kind)])) {
            ++more;
        }
        if (more != slot.more) ++problems_;
        ++operations_;
        if (slot.thread >= threads_.size()) {
            ++problems_;
        } else if (slot.kind == static_cast<std::uint8_t>(OperationKind::CALL) &&
                   slot.detail == static_cast<std::uint8_t>(CallClass::EXPLAINED)) {
            explanations_.add(threads_[slot.thread].last_call, bytes + i * sizeof(Slot), more);
        } else {
            process = processes_[threads_[slot.thread].process].get();
            if (process->unset_user_events != 0 || !process->held.empty()) [[unlikely]] {
                if (hold(slot, bytes + i * sizeof(Slot), more)) {
                    i += more;
                    continue;
                }
            }
            gather_references(slot, bytes + i * sizeof(Slot), more);
            step(slot);
        }
        i += more;
    }
}

void Engine::open_thread(std::uint16_t index) {
    Thread& thread = threads_[index];
    Process& process = *processes_[thread.process];
    if (recording_ && thread_timelines_.size() == most_recorded_threads) {
        thread.timeline = thread_timelines_[index % most_recorded_threads];
        crowded_ = true;
    } else {
        thread.timeline = timelines_.make(nullptr);
        if (recording_) thread_timelines_.push_back(thread.timeline);
    }
    Timeline& own = timeline(thread);
    if (process.forked) own.learn(process.inherited, edges_.in(EdgeKind::fork, contract_edge));
}

void Engine::catch_up(Thread& thread, const Process& process) {
    if (thread.opaque_version == process.opaque_version) return;
    thread.opaque_version = process.opaque_version;
    timeline(thread).learn(process.opaque, edges_.in(EdgeKind::opaque, opaque_edge));
}

void Engine::step(const Slot& slot) {
    // It orders nothing, and is no operation of its thread: that one is not seen to go on.
    if (slot.kind == static_cast<std::uint8_t>(OperationKind::DEVICE_TIME)) return;
    Thread& thread = threads_[slot.thread];
    if (thread.timeline == none) open_thread(slot.thread);
    if (retiming_.active()) [[unlikely]]
        step_in_time(slot, thread);
    else if (!recording_ || arrive(slot, thread)) perform(slot, thread);
    if (watch_.active()) note_watched(slot, thread);
}

void Engine::perform(const Slot& slot, Thread& thread) {
    Process& process = *processes_[thread.process];
    if (thread.building != none && slot.kind != static_cast<std::uint8_t>(OperationKind::GRAPH_NODE) &&
        slot.kind != static_cast<std::uint8_t>(OperationKind::GRAPH_EDGE)) {
        finish_body(thread);
    }
    catch_up(thread, process);
    Operation operation{
        slot.sequence, slot.site, 0, slot.api, slot.thread, slot.status, static_cast<OperationKind>(slot.kind),
        slot.flags};
    const bool asks = failures_.asks(operation);  // needs no device
    if (is_cuda_call(slot) && !asks) {
        const bool follows = !process.teardowns.empty() && follows_from_teardown(slot, thread, process, operation);
        if (!admit_call(slot, thread, process, operation) || follows) return;
    }
    // After an initialised parent's fork nothing of the child is judged, but it may still hand order on.
    if (process.silenced && slot.kind > static_cast<std::uint8_t>(OperationKind::MAIN_END)) return;
    dispatch(slot, thread, process, operation);
}

void Engine::dispatch(const Slot& slot, Thread& thread, Process& process, Operation& operation) {
    using enum OperationKind;
    const auto kind = static_cast<OperationKind>(slot.kind);
    const bool failed = operation.failed();
    if (thread.callback.sequence != 0) [[unlikely]]
        judge_callback(slot, thread, operation);
    if (failed || thread.failure.matters()) failures_.watch(slot, operation, thread.failure, failed, process.broken);
    if (failed && recording_ && status::sticky(slot.status)) process.broken = true;
    if (failed && !acts_though_failed(kind)) {
        if (judge_refusal(slot, process, operation)) return;
        if (kind == CAPTURE_END) capture_end(slot, process);
        judge_stale(slot, thread, process, operation);
        judge_refused_use(process, thread, operation);
        return;
    }
    if (failed && judge_refusal(slot, process, operation)) return;
    switch (kind) {
        case NOT_UNDERSTOOD:
            process.blind = true;
            report(Fact(RuleCode::NOT_UNDERSTOOD, FactVariant::NONE, operation));
            return;
        case MALFORMED_CALL: report(Fact(RuleCode::MALFORMED_CALL, FactVariant::NONE, operation)); return;
        case FREE: release(slot, thread, process, operation); return;
        case GRAPH_LAUNCH: graph_launch(slot, thread, process, operation); return;
        case THREAD_START: return;
        case HOST_RELEASE: host_release(slot, thread, process); return;
        case HOST_ACQUIRE: host_acquire(slot, thread, process); return;
        case FORK: fork(slot, thread, operation); return;
        case MAIN_BEGIN:
            if (process.main_begun) return;
            process.main_begun = true;
            process.whole = !process.initialised && !process.blind && begins_at_ == 0;
            for (const Operation& early : process.before_main)
                report(Fact(RuleCode::CALL_OUTSIDE_MAIN, FactVariant::BEFORE_MAIN, early));
            process.before_main.clear();
            return;
        case MAIN_END: process.main_ended = process.main_begun; return;
        case PROCESS_EXIT: exit(slot, thread, process, operation); return;
        case CALL: return;
        case OPAQUE_CALL: opaque_call(thread, process, operation); return;
        case CONTEXT_CREATE: {
            const auto sort = static_cast<ContextKind>(slot.detail);
            const bool known = sort == ContextKind::CREATED || sort == ContextKind::CL;
            process.has_opencl |= sort == ContextKind::CL;
            contexts_.create(process, slot.object, known ? sort : ContextKind::PRIMARY, operation);
            return;
        }
        case CONTEXT_CURRENT: context_current(slot, thread, process, operation); return;
        case CONTEXT_DESTROY:
        case DEVICE_RESET: context_end(slot, thread, process, operation); return;
        case CONTEXT_SYNCHRONIZE:
            process.wait = operation;
            context_wait(slot, thread, process, operation);
            return;
        case PEER_ENABLE: contexts_.admit(contexts_.named(process, slot.object), operation); return;
        case STREAM_CREATE: stream_create(slot, thread, process, operation); return;
        case STREAM_DESTROY: stream_destroy(slot, thread, process, operation); return;
        case STREAM_SYNCHRONIZE:
            process.wait = operation;
            stream_wait(slot, thread, process, operation, false);
            return;
        case STREAM_QUERY: stream_wait(slot, thread, process, operation, true); return;
        case EVENT_CREATE: event_create(slot, thread, process, operation); return;
        case EVENT_DESTROY: event_destroy(slot, thread, process, operation); return;
        case EVENT_RECORD: event_record(slot, thread, process, operation); return;
        case STREAM_WAIT_EVENT: stream_wait_event(slot, thread, process, operation); return;
        case EVENT_SYNCHRONIZE:
            process.wait = operation;
            event_wait(slot, thread, process, operation, false);
            return;
        case EVENT_QUERY: event_wait(slot, thread, process, operation, true); return;
        case EVENT_ELAPSED: event_elapsed(slot, thread, process, operation); return;
        case HANDLE_USE: handle_use(slot, thread, process, operation); return;
        case HANDLE_CREATE: handle_create(slot, process, operation); return;
        case HANDLE_DESTROY: handle_destroy(slot, process, operation); return;
        case ALLOC: allocate(slot, thread, process, operation); return;
        case POINTER_LOST: pointer_lost(slot, process, operation); return;
        case HOST_ACCESS: host_access(thread, process, operation); return;
        case ALLOC_ATTRIBUTE:
        case LAUNCH_ACCESSES: return;  // what was seen of a launch is among its own references
        case BLOCK_STREAM: block_stream(slot, thread, process, operation); return;
        case HOST_CLOCK: host_clock(thread, process, operation); return;
        case LAUNCH:
        case COPY:
        case MEMSET:
        case HOST_FUNCTION:
        case PREFETCH:
        case STREAM_MEMORY_OP: work(slot, thread, process, operation); return;
        case EVENT_CALLBACK: event_callback(slot, thread, process, operation); return;
        case QUEUE_MARKER: queue_marker(slot, thread, process, operation); return;
        case CAPTURE_BEGIN: capture_begin(slot, thread, process, operation); return;
        case CAPTURE_END: capture_end(slot, process); return;
        case GRAPH_INSTANTIATE: graph_instantiate(slot, thread, process, operation); return;
        case GRAPH_UPDATE: graph_update(slot, thread, process, operation); return;
        case GRAPH_NODE:
        case GRAPH_EDGE:
            if (graphs_.add_part(slot, operation, references_, thread)) finish_body(thread);
            return;
        case GRAPH_NODE_UPDATE: graph_node_update(slot, process, operation); return;
        case NODE_ACCESSES:
            if (slot.stream != 0) graphs_.foretell(process, slot, references_);
            return;
        case GRAPH_CLONE: return;
        case GRAPH_TRIM: process.trim = operation; return;
        default: ++problems_; return;
    }
}

void Engine::finish() {
    if (finished_) return;
    finished_ = true;
    for (Thread& thread : threads_) {
        if (thread.building != none) finish_body(thread);
    }
    if (requirements_) {
        for (const Thread& thread : threads_) {
            Process& process = *processes_[thread.process];
            if (thread.timeline == none || process.exited || process.silenced) continue;
            process.exited = true;
            require_escape(process, thread, UINT64_MAX);  // the end of an entry: its caller goes on from here
        }
    }
    for (const std::unique_ptr<Process>& process : processes_) {
        if (process->ending.sequence == 0) continue;
        run_order_.go_on(process->ending_thread);  // other threads may have waited and freed since
        judge_exit(threads_[process->ending_thread], *process, process->ending);
    }
    churn_.report(facts_);
    waits_.report(facts_);
    kept_blocks_.report(facts_);
}

}  // namespace streamsan::order
