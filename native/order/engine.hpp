// The order engine: one pass over the operations of a trace.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "facts.hpp"
#include "state.hpp"
#include "waits.hpp"

namespace streamsan::order {

/// A required order that does not hold by contract (requirements mode).
struct Unmet {
    enum class Sort : std::uint8_t { alloc_use = 1, use_use, use_free, device_host, elapsed, escape, teardown };
    Sort sort;
    std::uint64_t earlier;
    std::uint64_t later;
};

/// What a required order rests on; `unseen`: only on code that nobody can see.
enum class Verdict : std::uint8_t { contract, run, unseen, observed, unordered };

/// The rule that a use which is not ordered before such a free breaks, and how the fact is called.
std::uint16_t free_code(FreeClass family);
FactVariant free_variant(FreeClass family);

class Engine {
public:
    /// `thread_process[i]` is the process index of thread i, as in the trace's thread table.
    explicit Engine(const std::vector<std::int64_t>& thread_process, bool requirements);

    Engine(const Engine&) = delete;
    Engine& operator=(const Engine&) = delete;

    /// Takes whole slots; a slot's continuations follow it in the same call. Trusts nothing in them.
    void feed(const unsigned char* bytes, std::size_t slots);
    void finish();

    [[nodiscard]] const std::vector<Fact>& facts() const { return facts_.list(); }
    [[nodiscard]] const std::vector<Unmet>& unmet() const { return unmet_; }
    [[nodiscard]] const std::vector<Waits::Site>& waits() const { return waits_.sites(); }
    [[nodiscard]] std::uint64_t operations() const { return operations_; }
    [[nodiscard]] std::uint64_t problems() const { return problems_; }
    [[nodiscard]] const StreamName& stream_name(std::uint32_t index) const { return names_[index]; }
    [[nodiscard]] std::int64_t process_of(std::uint16_t thread) const;
    [[nodiscard]] std::uint64_t timelines() const { return timelines_.size(); }

private:
    // engine.cpp: reading slots
    void gather_references(const Slot& slot, const unsigned char* continuations, std::size_t count);
    void step(const Slot& slot);
    void dispatch(const Slot& slot, Thread& thread, Process& process, Operation& operation);
    void open_thread(std::uint16_t index);
    bool admit_call(const Slot& slot, Thread& thread, Process& process, const Operation& operation);
    void note_main(Process& process, const Operation& operation);
    void fork(const Slot& slot, Thread& thread, const Operation& operation);
    void exit(const Slot& slot, Thread& thread, Process& process, const Operation& operation);
    void opaque_call(Thread& thread, Process& process, const Operation& operation);
    void catch_up(Thread& thread, const Process& process);

    // streams.cpp: timelines, contexts, streams
    std::uint32_t new_timeline(const Timeline* creator);
    std::uint32_t context_of(Thread& thread, Process& process);
    std::uint32_t context_by_handle(Process& process, std::uint64_t handle);
    std::uint32_t new_context(Process& process, std::uint64_t handle, ContextKind kind, bool assumed, const Operation& made);
    std::uint32_t new_stream(Process& process, std::uint32_t context, std::uint64_t handle, StreamKind kind, bool assumed,
                             const Thread& thread, const Operation& made);
    /// The stream a handle names, introduced on first use; `none` when it is dead (then it has been reported).
    std::uint32_t stream_of(std::uint64_t handle, Thread& thread, Process& process, const Operation& operation);
    void stream_create(const Slot& slot, Thread& thread, Process& process, const Operation& operation);
    void stream_destroy(const Slot& slot, Thread& thread, Process& process, const Operation& operation);
    void end_stream(std::uint32_t index, const Operation& operation);
    /// Orders the next operation of the stream after its issuer, the legacy stream's rules, bodies, opaque calls.
    void enter(Stream& stream, Thread& thread, std::uint32_t thread_index);
    void leave(Stream& stream);
    Change learn_bodies(const Stream& stream, Timeline& waiter);
    void catch_up(Stream& stream, const Process& process);
    [[nodiscard]] bool stale(const Stream& stream) const;
    std::uint32_t intern(const StreamName& name);
    void note_ambiguous(Process& process, const Stream& stream, const Operation& operation);

    // waits.cpp: events, waits, sync keys
    std::uint32_t event_of(std::uint64_t handle, Process& process, Thread& thread, const Operation& operation);
    void event_create(const Slot& slot, Thread& thread, Process& process, const Operation& operation);
    void event_destroy(const Slot& slot, Thread& thread, Process& process, const Operation& operation);
    void event_record(const Slot& slot, Thread& thread, Process& process, Operation& operation);
    void stream_wait_event(const Slot& slot, Thread& thread, Process& process, Operation& operation);
    void event_wait(const Slot& slot, Thread& thread, Process& process, const Operation& operation, bool query);
    void event_elapsed(const Slot& slot, Thread& thread, Process& process, const Operation& operation);
    void stream_wait(const Slot& slot, Thread& thread, Process& process, Operation& operation, bool query);
    void context_wait(const Slot& slot, Thread& thread, Process& process, const Operation& operation);
    Change wait_for_stream(Timeline& host, Stream& stream, const Process& process);
    Change wait_for_context(Thread& thread, std::uint32_t thread_index, std::uint32_t context);
    void observe_context(Thread& thread, std::uint32_t thread_index, std::uint32_t context);
    /// A wait for an event that is gone: said by SS205, so what the programmer meant to order with it is not said again.
    void wait_as_meant(const Slot& slot, Thread& thread, Process& process, const Operation& operation);
    void host_release(const Slot& slot, Thread& thread);
    void host_acquire(const Slot& slot, Thread& thread);
    SyncKey& sync_key(std::uint64_t key);
    Clock everything();

    // work.cpp: device work and host accesses
    void work(const Slot& slot, Thread& thread, Process& process, Operation& operation);
    /// A use by `stream` (null: by the host thread itself, complete when its call returns).
    void use(Process& process, Thread& thread, const Stream* stream, const Reference& reference, Placed placed);
    void use_freed(Process& process, Thread& thread, const Stream* stream, std::uint32_t index, const Placed& use);
    void use_stale(std::uint32_t index, const Placed& use);
    void check_after_alloc(const Process& process, const Allocation& allocation, const Stream& stream, const Placed& use);
    void keep_use(Process& process, Allocation& allocation, const Reference& reference, const Placed& use, const Clock& clock);
    void keep_ranged_use(Process& process, Allocation& allocation, const Reference& reference, const Placed& use, const Clock& clock);
    void host_access(Thread& thread, Process& process, const Operation& operation);
    void host_clock(Thread& thread, Process& process, const Operation& operation);
    void judge_host_access(Process& process, const Allocation& allocation, const Reference& reference, const Clock& clock,
                           const Operation& operation);

    // memory.cpp: allocations and frees
    void allocate(const Slot& slot, Thread& thread, Process& process, Operation& operation);
    void release(const Slot& slot, Thread& thread, Process& process, Operation& operation);
    void release_ordered(const Slot& slot, Thread& thread, Process& process, Operation& operation, std::uint32_t index);
    bool judge_pointer(const Slot& slot, Thread& thread, Process& process, const Operation& operation, std::uint32_t index);
    void judge_second_free(Thread& thread, Allocation& allocation, const Operation& operation);
    bool judge_family(Allocation& allocation, FreeClass family, const Operation& operation);
    void judge_owner(Thread& thread, Process& process, const Allocation& allocation, FreeClass family, const Operation& operation);
    void judge_blocking(const Slot& slot, Thread& thread, const Allocation& allocation, std::uint32_t context, const Operation& operation);
    void pointer_lost(const Slot& slot, Process& process, const Operation& operation);

    // free_order.cpp: uses against the free
    bool judge_order(Process& process, Allocation& allocation, FreeClass family, const Clock& at, const Stream* stream,
                     const Operation& operation);

    // lifecycle.cpp: contexts, resets, leaks, exits
    void context_create(const Slot& slot, Thread& thread, Process& process, const Operation& operation);
    void context_current(const Slot& slot, Thread& thread, Process& process, const Operation& operation);
    void context_end(const Slot& slot, Thread& thread, Process& process, const Operation& operation);
    void end_memory(Process& process, std::uint32_t context, const Placed& by_host);
    void handle_use(const Slot& slot, Thread& thread, Process& process, Operation& operation);
    static std::uint64_t handle_key(const Slot& slot);
    void handle_create(const Slot& slot, Process& process, const Operation& operation);
    void handle_destroy(const Slot& slot, Process& process, const Operation& operation);
    bool live_handle(const Slot& slot, const Process& process, const Operation& operation);
    /// A call that failed: only what its handles are is judged.
    void judge_stale(const Slot& slot, Thread& thread, Process& process, Operation& operation);
    bool dead_context(const Context& context, const Operation& operation);
    void judge_teardown(Thread& thread, std::uint32_t context, const Operation& operation, bool at_exit);
    void report_leak(Allocation& allocation, FactVariant variant, const Operation& operation);
    void require_escape(Process& process, const Thread& thread, std::uint64_t sequence);

    // verdicts
    [[nodiscard]] static Verdict verdict(const Clock& clock, Epoch earlier);
    [[nodiscard]] bool equal_streams(const Stream* left, std::uint32_t right_name) const;
    [[nodiscard]] bool maybe_awaited(const Process& process, const Operation& use) const;
    [[nodiscard]] AllocationFact describe(const Allocation& allocation) const;
    void report(const Fact& fact) { facts_.add(fact); }
    void require(Unmet::Sort sort, std::uint64_t earlier, std::uint64_t later) {
        if (requirements_) unmet_.push_back({sort, earlier, later});
    }
    Timeline& timeline(std::uint32_t index) { return *timelines_[index]; }
    Timeline& timeline(const Thread& thread) { return *timelines_[thread.timeline]; }
    Timeline& timeline(const Stream& stream) { return *timelines_[stream.timeline]; }

    bool requirements_;
    std::vector<Thread> threads_;
    std::vector<std::unique_ptr<Process>> processes_;
    std::vector<std::unique_ptr<Timeline>> timelines_;
    struct Retired {
        std::uint32_t timeline;
        Tick tick;
    };
    std::vector<Retired> retired_;  ///< timelines of streams that are gone, for reuse
    std::vector<std::unique_ptr<Stream>> streams_;
    std::vector<std::uint32_t> spare_streams_;
    std::vector<std::unique_ptr<Event>> events_;
    std::vector<std::uint32_t> destroyed_events_ = std::vector<std::uint32_t>(64, none);  ///< the latest ones: they keep their clocks
    std::size_t destroyed_events_at_ = 0;
    std::vector<OtherHandle> handles_;
    std::vector<std::unique_ptr<Context>> contexts_;
    std::vector<StreamName> names_;
    FlatMap name_index_;
    FlatMap key_index_;
    std::vector<SyncKey> keys_;
    Clock forgotten_keys_;
    std::vector<Reference> references_;
    Waits waits_;
    Facts facts_;
    std::vector<Unmet> unmet_;
    std::uint64_t operations_ = 0;
    std::uint64_t problems_ = 0;
    bool finished_ = false;
};

}  // namespace streamsan::order
