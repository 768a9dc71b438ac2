// The order engine: one pass over the operations of a trace.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "allocation_records.hpp"
#include "churn.hpp"
#include "contexts.hpp"
#include "edges.hpp"
#include "events.hpp"
#include "explanations.hpp"
#include "facts.hpp"
#include "failures.hpp"
#include "graphs.hpp"
#include "handles.hpp"
#include "implicit_waits.hpp"
#include "kept_blocks.hpp"
#include "out_of_order.hpp"
#include "pool_blocks.hpp"
#include "retiming.hpp"
#include "rows.hpp"
#include "run_order.hpp"
#include "state.hpp"
#include "stream_names.hpp"
#include "sync_keys.hpp"
#include "timelines.hpp"
#include "value_words.hpp"
#include "waits.hpp"
#include "witness.hpp"

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
RuleCode free_code(FreeClass family);
FactVariant free_variant(FreeClass family);

class Engine {
public:
    /// `thread_process[i]` is the process index of thread i, as in the trace's thread table; `asking` and `setting`
    /// are for Failures. `recording`: the program ran, and the order of the numbers is that in which its threads'
    /// calls came; operations numbered less than `begins_at` restate what was there before. Bits of `without`: kinds of
    /// edges that are left out, to test the tests.
    explicit Engine(const std::vector<std::int64_t>& thread_process, bool requirements,
                    const std::vector<std::uint16_t>& asking = {}, const std::vector<std::uint16_t>& setting = {},
                    bool recording = false, std::uint64_t begins_at = 0, std::uint64_t without = 0);

    Engine(const Engine&) = delete;
    Engine& operator=(const Engine&) = delete;

    /// Asked before the first slot: what came before `sequence` is known, and facts about that alone are left out.
    void judge_from(std::uint64_t sequence) { facts_.judge_from(sequence); }
    /// Takes whole slots; a slot's continuations follow it in the same call. Trusts nothing in them.
    void feed(const unsigned char* bytes, std::size_t slots);
    void finish();

    [[nodiscard]] const std::vector<Fact>& facts() const { return facts_.list(); }
    [[nodiscard]] const std::vector<Unmet>& unmet() const { return unmet_; }
    [[nodiscard]] const std::vector<Waits::Site>& waits() const { return waits_.sites(); }
    [[nodiscard]] std::uint64_t operations() const { return operations_; }
    [[nodiscard]] std::uint64_t problems() const { return problems_ + timelines_.shared() + graphs_.problems(); }
    [[nodiscard]] const StreamName& stream_name(std::uint32_t index) const { return names_[index]; }
    [[nodiscard]] std::int64_t process_of(std::uint16_t thread) const;
    [[nodiscard]] std::uint64_t timelines() const { return timelines_.size(); }
    /// Allocations that are remembered, freed ones included until their addresses are given out again.
    [[nodiscard]] std::uint64_t allocations() const {
        std::uint64_t count = 0;
        for (const auto& process : processes_) count += process->allocations.size();
        return count;
    }
    [[nodiscard]] bool has_launched() const { return launched_; }
    /// Whether a pool told of a block that it hands out.
    [[nodiscard]] bool has_blocks() const {
        return std::ranges::any_of(processes_, [](const auto& process) { return process->allocations.has_blocks(); });
    }
    /// Whether work for which the host does not wait used memory that the host can access.
    [[nodiscard]] bool has_used_host_memory() const { return uses_host_; }
    /// Calls that were entered, that nothing of their thread followed, in processes that did not end normally.
    [[nodiscard]] std::vector<Operation> inside() const;
    [[nodiscard]] const std::vector<Explanation>& explanations() const { return explanations_.list(); }
    /// Asked before the first slot, for operations by sequence number; see Watch.
    void watch(const std::vector<std::uint64_t>& sequences, const std::vector<std::uint64_t>& early) {
        watch_.ask(sequences, early);
    }
    [[nodiscard]] const Watch& watched() const { return watch_; }
    /// Asked before the first slot; see Retiming.
    [[nodiscard]] Retiming& retiming() { return retiming_; }

private:
    // engine.cpp: reading slots
    void gather_references(const Slot& slot, const unsigned char* continuations, std::size_t count);
    /// What a kernel's references say in place of their sizes.
    void gather_bounds();
    /// What ROWS slots say of the references: of which bytes they are.
    [[gnu::noinline, gnu::cold]] void gather_rows(const Slot& slot, const unsigned char* continuations,
                                                  std::size_t count);
    void step(const Slot& slot);
    /// The same, for Retiming (retiming.cpp).
    [[gnu::noinline]] void step_in_time(const Slot& slot, Thread& thread);
    void perform(const Slot& slot, Thread& thread);
    void dispatch(const Slot& slot, Thread& thread, Process& process, Operation& operation);
    void open_thread(std::uint16_t index);
    bool admit_call(const Slot& slot, Thread& thread, Process& process, const Operation& operation);
    [[nodiscard]] bool shows_fork(const Slot& slot, const Process& process) const;
    void note_main(Process& process, const Operation& operation);
    void fork(const Slot& slot, Thread& thread, const Operation& operation);
    void exit(const Slot& slot, Thread& thread, Process& process, const Operation& operation);
    void judge_exit(Thread& thread, Process& process, const Operation& operation);
    void opaque_call(Thread& thread, Process& process, const Operation& operation);
    void catch_up(Thread& thread, const Process& process);

    // witness.cpp: what happens before chosen operations
    void note_watched(const Slot& slot, const Thread& thread);
    void note_watched_nodes(const GraphBody& body);
    /// The stream on which the slot's operation was done, `none` when there is none; makes none.
    [[nodiscard]] std::uint32_t stream_at(const Slot& slot, const Thread& thread, const Process& process) const;

    // recorded_calls.cpp: what only a recording has
    /// Whether the call returned: else there is nothing more to do.
    bool arrive(const Slot& slot, Thread& thread);
    void enter_only(const Slot& slot, Thread& thread);
    /// What a recording says of something that was there before it, or before its present file.
    [[nodiscard]] bool is_restated(const Slot& slot) const {
        return recording_ && (slot.api == 0 || slot.sequence < begins_at_);
    }

    // teardown.cpp: other threads' calls at a reset
    void note_times(const Slot& slot, Thread& thread) const;
    /// Keeps the thread's last call, which was in another context than its next one.
    [[gnu::noinline]] void leave_context(const Thread& thread, const Process& process, std::uint16_t index);
    [[nodiscard]] bool in_context(const Thread& thread, std::uint32_t context) const;
    void begin_teardown(const Slot& slot, Thread& thread, std::uint32_t context, const Operation& operation, bool said);
    void witness_teardown(Teardown& teardown, Thread& other, const Operation& call);
    /// Of a source: a call in a context of which no order says that it comes after the context's end, which another
    /// thread made.
    void judge_late_call(const Thread& thread, Process& process, const Operation& operation);
    /// Whether a call fails because another thread took its context away, which was said there.
    bool follows_from_teardown(const Slot& slot, Thread& thread, Process& process, const Operation& operation);

    // streams.cpp
    std::uint32_t new_stream(Process& process, std::uint32_t context, std::uint64_t handle, StreamKind kind,
                             bool assumed, const Thread& thread, const Operation& made, std::uint64_t apart = 0);
    /// The stream a handle names, introduced on first use; null when it is dead (then it has been reported).
    Stream* stream_of(std::uint64_t handle, Thread& thread, Process& process, const Operation& operation) {
        if (handle > per_thread_handle) {
            const std::uint32_t index = process.streams.find(handle);
            if (index != none && !stale(*streams_[index])) return streams_[index].get();
        }
        return other_stream_of(handle, thread, process, operation);
    }
    /// A default stream, a new one, or a dead one.
    Stream* other_stream_of(std::uint64_t handle, Thread& thread, Process& process, const Operation& operation);
    /// The stream of a slot, likewise; the operation is said to be on it.
    Stream* place(const Slot& slot, Thread& thread, Process& process, Operation& operation) {
        Stream* const stream = stream_of(slot.stream, thread, process, operation);
        if (stream == nullptr) return nullptr;
        operation.stream_name = stream->name;
        if (stream->out_of_order != none) [[unlikely]]
            return branch_for(slot, *stream, thread, process);
        return stream;
    }
    /// A context's legacy default stream, which nobody makes.
    Stream& legacy_stream(Process& process, std::uint32_t context, const Thread& thread);
    void stream_create(const Slot& slot, Thread& thread, Process& process, const Operation& operation);
    void stream_destroy(const Slot& slot, Thread& thread, Process& process, const Operation& operation);
    void end_stream(std::uint32_t index, const Operation& operation);
    /// Orders the next operation of the stream after its issuer, the legacy stream's rules, bodies, opaque calls.
    /// Returns what kernel is right before it, where nothing else is between.
    LastKernel enter(Stream& stream, Thread& thread, std::uint32_t thread_index);
    void leave(Stream& stream);
    /// The contexts, beside the stream's, whose memory a copy uses; all, where it is not known whose that is.
    [[nodiscard]] CopiedContexts contexts_of_copy(const Process& process, const Stream& stream);
    /// A copy between contexts is behind what these, and the stream's, were given: as an action of their legacy
    /// streams, in the stream's order. That streams which do not block are meant too is said in one place, and not in
    /// another.
    void copy_behind(const CopiedContexts& copied, Stream& stream, Thread& thread, std::uint32_t thread_index,
                     Process& process);
    /// ... and before what they are given later.
    void copy_before(const CopiedContexts& copied, Stream& stream);
    /// All that is on the stream, the bodies of its host functions included.
    Change learn_all(Stream& stream, Timeline& waiter, EdgeKind kind, Lanes relations);
    /// How sure it is that the stream and the legacy default stream wait for each other: one of an unknown kind may not
    /// be blocking.
    static Lanes blocking_edge(const Stream& stream) {
        return stream.kind == StreamKind::UNKNOWN ? run_edge : contract_edge;
    }
    Change learn_bodies(const Stream& stream, Timeline& waiter, Lanes relations = contract_edge);
    void add_body(Stream& stream, std::uint64_t key);
    void catch_up(Stream& stream, const Process& process);
    [[nodiscard]] bool stale(const Stream& stream) const {
        const Context& context = contexts_[stream.context];
        return !stream.alive || stream.context_epoch != context.epoch || context.dead;
    }
    void note_ambiguous(Process& process, const Stream& stream, const Operation& operation);

    // mapped_regions.cpp: maps; releases that wait
    void map_region(const Slot& slot, Thread& thread, Process& process, Operation& operation);
    void unmap_region(const Slot& slot, Thread& thread, Process& process, Operation& operation);
    /// A command uses memory of which a region is mapped.
    void judge_mapped(Process& process, const Allocation& allocation, const Reference& reference, const Access& access);
    /// The host uses the pointer of a map: whether the map is complete.
    void judge_unmapped_host(const Allocation& allocation, const Clock& clock, const Operation& operation);
    /// A free that waits for all uses, by contract.
    void finish_uses(Timeline& host, const Process& process, const Allocation& allocation);
    /// The body that is called when memory is gone is after all of its uses.
    void tell_of_end(std::uint64_t key, const Timeline& host, const Process& process, const Allocation& allocation);

    // user_events.cpp: user events, callbacks
    /// Whether the slot waits for a user event that is not set: it is kept until that is.
    bool hold(const Slot& slot, const unsigned char* continuations, std::size_t more);
    /// The user event that keeps a slot, 0: none does.
    std::uint64_t holding_event(const Slot& slot, Process& process);
    /// An event ends: held waits for it keep what it stands for.
    void keep_for_held_waits(const Slot& slot, Process& process);
    void set_user_event(Event& event, Thread& thread, Process& process, const Operation& operation);
    void bring_held(Process& process, std::uint64_t event);
    /// An object is released while commands are held.
    void judge_release(const Slot& slot, const Process& process);
    void event_callback(const Slot& slot, Thread& thread, Process& process, const Operation& operation);
    /// A call in a callback's body.
    void judge_callback(const Slot& slot, const Thread& thread, const Operation& operation);

    // branches.cpp: out-of-order queues
    /// A branch for the thread's next command, which waits for `awaited` (null: nothing is said).
    std::uint32_t choose_branch(Stream& queue, const Thread& thread, const Event* awaited);
    /// The branch of the thread's next command, whose wait list begins or goes on.
    Stream& open_branch(Stream& queue, Thread& thread, const Event* awaited);
    /// The same; the command is there now.
    Stream& take_branch(Stream& queue, Thread& thread);
    /// The branch of the thread's latest command; the queue's own timeline where it has none there.
    Stream& latest_branch(Stream& queue, const Thread& thread);
    Stream* branch_for(const Slot& slot, Stream& queue, Thread& thread, const Process& process);
    /// The queue's own timeline learns of all its commands.
    void gather(Stream& queue);
    void end_queue(Stream& queue, const Operation& operation);
    void queue_marker(const Slot& slot, Thread& thread, Process& process, Operation& operation);

    // waits.cpp: events, waits, sync keys
    /// The event a handle names, introduced on first use; null when it is dead (then it has been reported).
    Event* event_of(std::uint64_t handle, Process& process, Thread& thread, const Operation& operation);
    /// What waits for the event is after its record, or after whatever somebody unknown may have recorded in it.
    /// Whether what is before that is news.
    Change learn_event(const Event& event, Timeline& waiter, EdgeKind kind, Lanes relations = contract_edge);
    /// Of a wait on an out-of-order queue: whether the thread's next command there would not be after it anyway.
    bool is_news_to_next(const Event& event, const Slot& slot, const Thread& thread, const Process& process);
    /// Whether a wait that changed so much is needed. A stream of an unknown kind may be a blocking one: what is before
    /// work of the legacy default stream by that alone is no promise, and no reason to call a wait redundant either.
    static bool brings(Change change, const Process& process) {
        return change.contract || (change.any && process.unknown_streams);
    }
    void learn_anything(Timeline& waiter) { waiter.learn(everything(), edges_.in(EdgeKind::unknown_event, run_edge)); }
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
    /// The wait of a copy of which only measurements say that it is complete when its call returns (L-10).
    void observe_copy(Thread& thread, Stream& stream, const Placed& copy);
    /// A wait for an event that is gone: said by SS205, so what the programmer meant to order with it is not said
    /// again.
    void wait_as_meant(const Slot& slot, Thread& thread, Process& process, const Operation& operation);
    void note_wait(const Operation& wait, bool needed, const Operation* record) {
        waits_.add(wait, needed || crowded_, record);
    }
    void host_release(const Slot& slot, Thread& thread, const Process& process);
    /// A thread runs a callback's body from now on.
    static void begin_body(Thread& thread, std::uint64_t key, const Clock& before);
    void host_acquire(const Slot& slot, Thread& thread, Process& process);
    /// A sync key's name: processes that were recorded count theirs each for itself.
    [[nodiscard]] std::uint64_t key_name(const Process& process, std::uint64_t key) const {
        return recording_ && key != 0 ? key ^ std::uint64_t{process.number} << 48 : key;
    }
    Clock everything();
    [[nodiscard]] Operation latest_work(const Process& process) const {
        return process.worker == none ? Operation{} : streams_[process.worker]->work.operation;
    }

    // programmatic.cpp: kernels that begin before the one before them has ended
    /// What the kernel does without waiting, and where that is; `work` is where all else that it does is.
    void begin_at_once(Process& process, Thread& thread, Stream& stream, LastKernel before, const Placed& work);

    // pollers.cpp: kernels that poll words which other work writes
    /// The stream's next operation polls words: who wrote them may be before it.
    void learn_words(const Process& process, Timeline& own, const std::vector<Reference>& references);
    void add_poller(Process& process, const Placed& launch);
    /// Notes which pollers the thread knows to have ended.
    void end_pollers(Process& process, const Thread& thread, std::uint64_t sequence);
    /// The launch that polls a word which may order two operations; null where there is none.
    [[nodiscard]] const Operation* poller_between(const Process& process, const Clock& later_clock,
                                                  const Operation& later, const Operation& earlier) const;

    // values.cpp: stream memory operations
    /// What a stream's wait for a value, or write of one, orders. Whether it is known which write each wait is for.
    bool value_operation(const Slot& slot, Process& process, Stream& stream, const Placed& placed);
    /// The word of the operation, null where its value is not known, or others may write there.
    ValueWord* known_word(const Slot& slot, Process& process, const Operation& operation);
    void unknown_value(Process& process, Stream& stream, const PendingWait& wait);
    /// Nobody knows what satisfies the wait: until that is known it may be behind whatever there is.
    void wait_for_anything(Timeline& waiter, const PendingWait& wait);
    void tell_waiter(Stream& waiter, Timeline& writer, Lanes relations);
    /// Other work than stream memory operations uses an allocation.
    void note_other_use(Process& process, std::uint32_t allocation, OperationKind kind, AccessMode mode) {
        if (!value_words_.any() || kind == OperationKind::STREAM_MEMORY_OP) return;
        const bool reads = mode == AccessMode::READ && kind == OperationKind::COPY;
        if (!reads && value_words_.spoil(process.number, allocation, process.allocations[allocation].made.sequence))
            process.value_ordered = true;
    }

    // work.cpp: device work and host accesses
    void work(const Slot& slot, Thread& thread, Process& process, Operation& operation);
    /// Host memory that nobody told of: two copies that nothing orders must not meet there.
    void judge_host_sides(Process& process, const Timeline& host, const Timeline& own, const Placed& copy);
    /// Under its sync key a host function's body knows what the stream has done before, and those it tells believe it
    /// over.
    void reach_function(std::uint64_t key, Timeline& stream);
    void pass_function(std::uint64_t key, Timeline& stream, Epoch function);
    /// A use by `stream` (null: by the host thread itself, complete when its call returns), which knows what `own`
    /// does. `settled`: programs rely on it to be complete when its call returns, though that is not promised.
    void use(Process& process, Thread& thread, const Stream* stream, const Timeline& own, const Reference& reference,
             Placed placed, bool settled);
    /// `part`: of the allocation, what is used; null: that is not known.
    void use_freed(Process& process, Thread& thread, const Stream* stream, std::uint32_t index, const Placed& use,
                   const Part* part = nullptr);
    void use_stale(std::uint32_t index, const Placed& use);
    /// A call that failed: that it was given memory that is gone is a mistake all the same.
    void judge_refused_use(Process& process, Thread& thread, const Operation& operation);
    /// A graph was not instantiated, and a copy or fill of it names this memory, which is gone.
    void report_refused_graph(Allocation& allocation, const Operation& operation, EdgeClass rests_on);
    /// Of a use that no promised order puts after the allocation: whether it is not known to be unordered either.
    bool check_after_alloc(const Process& process, const Allocation& allocation, const Stream& stream,
                           const Clock& clock, const Access& use);
    void host_access(Thread& thread, Process& process, const Operation& operation);
    /// The host reads, again and again, what a kernel writes: it goes on when the kernel has got there.
    void learn_by_polling(Timeline& host, const Process& process, const Allocation& allocation);
    void host_clock(Thread& thread, Process& process, const Operation& operation);
    void judge_host_access(Process& process, const Allocation& allocation, const Reference& reference,
                           const Clock& clock, const Operation& operation);

    // memory.cpp: allocations and frees
    void allocate(const Slot& slot, Thread& thread, Process& process, Operation& operation);
    void release(const Slot& slot, Thread& thread, Process& process, Operation& operation);
    void release_ordered(const Slot& slot, Thread& thread, Process& process, Operation& operation, std::uint32_t index);
    bool judge_pointer(const Slot& slot, Thread& thread, Process& process, const Operation& operation,
                       std::uint32_t index);
    void judge_second_free(Thread& thread, Allocation& allocation, const Operation& operation);
    bool judge_family(Allocation& allocation, FreeClass family, const Operation& operation);
    void judge_owner(Thread& thread, Process& process, const Allocation& allocation, FreeClass family,
                     const Operation& operation);
    void judge_blocking(const Slot& slot, Thread& thread, const Allocation& allocation, std::uint32_t context,
                        const Operation& operation);
    void pointer_lost(const Slot& slot, Process& process, const Operation& operation);

    /// The memory is being freed: graphs that use it are stale, and if it is a graph's own it is not its launch's any
    /// more.
    void end_use(Process& process, std::uint32_t index, const Operation& operation);

    // reuse.cpp: blocks of pools
    /// Where what the owner asked for ends: a pool's block may be larger.
    [[nodiscard]] std::uint64_t owned_end(const Process& process, const Allocation& allocation) const;
    void hand_out(const Slot& slot, Process& process, Operation& operation);
    /// The same bytes as before: what nearly all pools do nearly always.
    void hand_out_again(Process& process, std::uint32_t index, const Operation& operation);
    void take_back(const Slot& slot, Process& process, Operation& operation);
    /// The pool was told of a stream that uses its block.
    void block_stream(const Slot& slot, Thread& thread, Process& process, Operation& operation);
    /// The stream in whose order a pool gives the block to its next owner; null where it is not known, or gone.
    [[nodiscard]] Stream* stream_of_block(const Process& process, const Allocation& block);
    /// A pool that was told of a stream keeps a block until what is there now is over (kept_blocks.cpp).
    void note_kept_block(const Slot& slot, Thread& thread, Process& process, const Stream& stream,
                         const Operation& record);
    /// Whether a use on that timeline was seen that may be pending.
    [[nodiscard]] bool is_used_on(const Process& process, const Allocation& block, const Epoch& last);
    /// Adds to what was there before `block` had its next owner the uses of it that may be pending.
    void add_uses(Process& process, const Allocation& allocation, PoolBlock& block, std::vector<PriorUse>& prior);
    /// Gives an operation of a pool the name of the stream that it speaks of.
    void name_stream(const Slot& slot, Process& process, std::uint32_t context, Operation& operation);
    /// Forgets a block whose bytes [begin, end) are handed out by `operation`; adds to `prior` the uses of it, and of
    /// those before it, that may still be pending. What is left of it on either side becomes free blocks.
    void clear_block(Process& process, std::uint32_t index, std::uint64_t begin, std::uint64_t end,
                     const Operation& operation, std::vector<PriorUse>& prior);
    /// Nobody tells any more who has the bytes [begin, end).
    void forget_blocks(Process& process, std::uint64_t begin, std::uint64_t end);
    /// A segment is being released by `operation`: the uses of its blocks become its own.
    void absorb_blocks(Process& process, std::uint32_t segment, const Operation& operation);
    /// A block that its pool does not have at the end, though the pool takes blocks back.
    void report_kept_block(const Process& process, Allocation& block, const Operation& operation);
    /// Whether the address where a block begins may be the end of the block before it, which a launch uses as well.
    [[nodiscard]] bool may_be_end(const Process& process, const Reference& reference, const Allocation& block) const;
    /// A use of a block, which knows what `clock` does, against uses of earlier blocks of the same bytes.
    void judge_reuse(Process& process, const Allocation& block, const Stream& stream, const Clock& clock,
                     const Access& later);

    // free_order.cpp: uses against the free
    bool judge_order(Process& process, Allocation& allocation, FreeClass family, const Clock& at, const Stream* stream,
                     const Operation& operation);

    // lifecycle.cpp: contexts, resets, leaks, exits
    void context_current(const Slot& slot, Thread& thread, Process& process, const Operation& operation);
    void context_end(const Slot& slot, Thread& thread, Process& process, const Operation& operation);
    /// Whether the memory lives, and dies with the context.
    [[nodiscard]] static bool goes_with_context(const Allocation& allocation, std::uint32_t context);
    /// The last release of an OpenCL context: what was made in it lives on.
    void close_context(const Thread& thread, const Process& process, std::uint32_t index, const Operation& operation);
    void end_memory(Process& process, std::uint32_t context, const Placed& by_host);
    void handle_use(const Slot& slot, Thread& thread, Process& process, Operation& operation);
    /// How many of OpenCL's objects hold a context; none: of those whose context is not known.
    [[nodiscard]] std::uint64_t& open_objects(Process& process, std::uint32_t context);
    void handle_create(const Slot& slot, Process& process, const Operation& operation);
    void handle_destroy(const Slot& slot, Process& process, const Operation& operation);
    /// A call that failed: only what its handles are is judged.
    void judge_stale(const Slot& slot, Thread& thread, Process& process, Operation& operation);
    /// Whether anything was said.
    bool judge_teardown(Thread& thread, std::uint32_t context, const Operation& operation, bool at_exit);
    /// Objects of OpenCL that no memory is, which the program never released; a recording sees all that it made.
    void report_unreleased(const Process& process, const Operation& operation);
    void report_leak(Allocation& allocation, FactVariant variant, const Operation& operation);
    void require_escape(Process& process, const Thread& thread, std::uint64_t sequence);

    // conflicts.cpp: uses against uses
    /// `clock` is what the later use knows.
    void judge_conflicts(Process& process, const Allocation& allocation, const Stream& stream, const Clock& clock,
                         const Access& later);
    /// Whether all that a kernel can reach of what the memory's owner asked for, no more being known of it, is touched
    /// by uses together that nothing orders before it: by writes, or by any where the kernel writes.
    bool is_taken_in_parts(const Process& process, const Allocation& allocation, const Clock& clock,
                           const Access& kernel);
    /// `taken`: what `is_taken_in_parts` says of the later use.
    void judge_conflict(const Process& process, const Allocation& allocation, const Stream& stream, const Clock& clock,
                        const Access& later, const Access& earlier, Epoch earlier_at, bool taken = false);

    // graph_calls.cpp: executable graphs made, updated, ended
    std::uint32_t new_exec(const Slot& slot, Process& process, const Operation& operation);
    void graph_instantiate(const Slot& slot, Thread& thread, Process& process, const Operation& operation);
    void graph_update(const Slot& slot, Thread& thread, Process& process, const Operation& operation);
    void graph_node_update(const Slot& slot, Process& process, const Operation& operation);
    void begin_body(const Slot& slot, Thread& thread, std::uint32_t index);
    void finish_body(Thread& thread);
    void exec_destroyed(const Slot& slot, Process& process, const Operation& operation);

    // graph_launch.cpp: launches, and what they do with memory
    void graph_launch(const Slot& slot, Thread& thread, Process& process, Operation& operation);
    void reach_tellers(Process& process, const GraphExec& exec, Timeline& own);
    void join_event(Process& process, Timeline& own, std::uint64_t handle);
    void look_at_changed(Process& process, GraphExec& exec, Stream& stream, const Operation& operation);
    void look_at_neighbours(Process& process, GraphExec& exec, Stream& stream, const Operation& operation);
    void require_launch(Process& process, GraphExec& exec, const Stream& stream, const Operation& operation);
    /// Judges an access to a graph's own memory from outside; whether anything more is to be said of it.
    bool admit_graph_memory(Process& process, std::uint32_t index, const Clock& clock, const Stream* stream,
                            const Operation& operation, FactVariant variant);
    void take_back_memory(Process& process, GraphExec& exec, const Stream& stream, const Operation& operation);
    void use_foreign_memory(Process& process, Thread& thread, GraphExec& exec, Stream& stream,
                            const Operation& operation);
    void free_foreign_memory(Process& process, GraphExec& exec, const Stream& stream, const Placed& placed);

    // captures.cpp: captures, and what is refused
    void capture_begin(const Slot& slot, Thread& thread, Process& process, Operation& operation);
    static void capture_end(const Slot& slot, Process& process);
    /// A call that failed because of what graphs and captures forbid; whether there is nothing else to judge.
    bool judge_refusal(const Slot& slot, Process& process, Operation& operation);
    void judge_capture(const Slot& slot, Process& process, Operation& operation);
    bool admit_graph_free(const Slot& slot, Thread& thread, Process& process, Operation& operation,
                          std::uint32_t index);

    // verdicts
    [[nodiscard]] static Verdict verdict(const Clock& clock, Epoch earlier);
    [[nodiscard]] bool equal_streams(const Stream* left, std::uint32_t right_name) const;
    /// Whether the next operation, one on `stream` or (null) of the host, may come after the use: the two are on one
    /// stream by two names, or a wait for a stream of an unknown caller may have covered the use.
    [[nodiscard]] bool may_be_behind(const Process& process, const Stream* stream, const Operation& use) const;
    /// What is not sure about a finding because of the order, and the streams, of its two operations.
    void add_doubts(Fact& fact, const Process& process, Verdict order, const Stream* stream,
                    const Operation& earlier) const;
    void note_unknown(Process& process, const Stream& stream, const Operation& operation) const {
        if (stream.of_anyone() && !recording_) process.unknown_work = operation.sequence;
    }
    /// Of a fact that rests on an observed order: names the copy or the query by which that is, where it is one's.
    /// Returns what the fact is then called, NONE where it is not.
    FactVariant name_wait(Fact& fact, Epoch earlier, const Clock& later) const;
    void report(const Fact& fact) { facts_.add(fact); }
    void require(Unmet::Sort sort, std::uint64_t earlier, std::uint64_t later) {
        if (requirements_) unmet_.push_back({sort, earlier, later});
    }
    Timeline& timeline(std::uint32_t index) { return timelines_[index]; }
    Timeline& timeline(const Thread& thread) { return timelines_[thread.timeline]; }
    Timeline& timeline(const Stream& stream) { return timelines_[stream.timeline]; }

    bool requirements_;
    bool recording_;
    std::uint64_t begins_at_;
    EdgeKinds edges_;
    bool launched_ = false;  ///< kernels
    bool uses_host_ = false;
    /// A program may start a thread for each task, and nobody says when one ends: further threads share the timelines
    /// of others. So their calls seem ordered: silence, never a false finding; no wait is called redundant from then
    /// on.
    static constexpr std::size_t most_recorded_threads = 512;
    std::vector<std::uint32_t> thread_timelines_;
    bool crowded_ = false;
    Explanations explanations_;
    std::vector<Thread> threads_;
    std::vector<std::unique_ptr<Process>> processes_;
    Timelines timelines_;
    RunOrder run_order_;
    std::vector<std::unique_ptr<Stream>> streams_;
    std::vector<std::uint32_t> spare_streams_;
    std::vector<OutOfOrderQueue> queues_;
    Events events_;
    StreamNames names_;
    SyncKeys keys_;
    ImplicitWaits implicit_waits_;
    std::vector<Reference> references_;
    std::vector<Reference> host_sides_;  ///< of a copy: host memory that the trace knows nothing else of
    bool brings_held_ = false;           ///< a user event was set: slots that waited for it come now
    bool polls_ = false;                 ///< one of the references says so
    RowTable row_table_;
    Churn churn_;
    Waits waits_;
    KeptBlocks kept_blocks_;
    Watch watch_;
    Retiming retiming_;
    ValueWords value_words_;
    AllocationRecords<PoolBlock> pool_blocks_;
    Facts facts_;
    Contexts contexts_;
    Handles handles_;
    Graphs graphs_;
    Failures failures_;
    std::vector<Unmet> unmet_;
    std::uint64_t operations_ = 0;
    std::uint64_t problems_ = 0;
    bool finished_ = false;
};

}  // namespace streamsan::order
