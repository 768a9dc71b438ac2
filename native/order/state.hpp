// What lives in a process: threads, contexts, streams.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "allocations.hpp"
#include "clock.hpp"
#include "failures.hpp"
#include "flat_map.hpp"
#include "held_commands.hpp"
#include "host_sides.hpp"
#include "mapped_regions.hpp"
#include "operation.hpp"

namespace streamsan::order {

constexpr std::uint64_t legacy_handle = handle::legacy_default_stream;
constexpr std::uint64_t per_thread_handle = handle::per_thread_default_stream;

/// The body of a callback that a thread runs.
struct CallbackBody {
    std::uint64_t key;
    Clock before;  ///< what the thread knew when it began
};

struct Thread {
    std::uint32_t timeline = none;
    std::uint32_t process = none;
    std::uint32_t context = none;       ///< the current one
    std::uint32_t opaque_version = 0;   ///< the last opaque call that it is known to be after
    Tick call_tick = 0;                 ///< where its last CUDA call is; a lazily advanced tick, see Engine::note_call
    std::uint32_t call_context = none;  ///< the context that was current at that call
    Operation last_call;
    std::uint64_t call_ends = 0;  ///< of a recording: the moment at which that call had surely not returned yet
    Operation inside;             ///< of a recording: a call that was entered, and nothing followed
    Epoch body;                   ///< the host function whose body it runs; tick 0: none
    std::uint64_t body_key = 0;
    bool orphaned = false;  ///< another thread took its context away, and that was said: its failures follow from it
    std::uint32_t run_version = 0;  ///< the version of what other threads had seen that it knows; see run_order.cpp
    std::uint32_t published_version = 0;  ///< its timeline's version, and tick, as of which the other threads know it
    Tick published_tick = 0;
    UnseenFailure failure;
    std::uint32_t branch = none;     ///< of an out-of-order queue: that of its latest command there, or ...
    std::uint32_t branch_of = none;  ///< (of which queue: index of OutOfOrderQueue)
    bool branch_open = false;        ///< ... of the command whose wait list it is in the middle of
    Operation callback;              ///< what registered the callback whose body it runs; no sequence: none
    std::uint64_t callback_key = 0;
    std::vector<CallbackBody> callback_bodies;  ///< the latest last
    std::uint32_t building = none;              ///< executable graph whose body it is in the middle of
    std::uint64_t building_left = 0;            ///< parts of that body to come
    std::size_t building_references = 0;
    Operation released;  ///< a block of a pool, by its latest call but for events; sequence 0: none
};

/// A stream that was destroyed with work that nobody is known to have waited for.
struct Leftover {
    Placed work;
    Placed free;
    bool has_work;
    bool has_free;
};

/// The last call of a thread in a context that is not its current one any more.
struct FormerUse {
    std::uint32_t thread = none;
    Epoch at;
    Operation call;
};

struct Context {
    std::uint64_t handle = 0;
    ContextKind kind = ContextKind::PRIMARY;
    bool assumed = false;  ///< never created in the trace
    bool dead = false;
    bool closed = false;      ///< of OpenCL: released for the last time; what was made in it lives on
    std::uint32_t epoch = 0;  ///< counts resets: streams and events of an earlier one are dead
    std::uint32_t process = none;
    Operation made;
    Operation ended;                      ///< the reset or destroy
    std::uint32_t legacy = none;          ///< stream index of the legacy default stream
    std::uint32_t awaited_opaque = 0;     ///< the opaque calls whose work the last wait for the whole context covered
    std::vector<std::uint32_t> streams;   ///< live ones, default streams included
    std::vector<std::uint32_t> unjoined;  ///< blocking streams with operations that the legacy stream has not joined
    Clock unjoined_destroyed;             ///< the same, of streams that were destroyed meanwhile
    Clock destroyed;                      ///< what destroyed streams knew
    std::uint64_t open_objects = 0;       ///< of OpenCL: memory objects, kernels, ... that live, and hold it
    Clock copied;                         ///< copies between this context and others, with all that is before them
    std::uint32_t copied_version = 0;     ///< changes with every such copy
    std::vector<Leftover> leftovers;
    std::vector<FormerUse> former_uses;
};

/// The contexts of a copy's memory, beside the one it was called in.
struct CopiedContexts {
    std::vector<std::uint32_t> contexts;
    Lanes relations = contract_edge;  ///< that its order with them belongs to: whose memory it is may not be known
};

/// What a stream was given last, if that was a kernel: a programmatic one behind it need not wait for its end.
enum class LastKernel : std::uint8_t {
    nothing,
    ordinary,  ///< it began when all before it had ended
    at_once,   ///< it need not have waited itself: see Engine::begin_at_once
};

struct Stream {
    std::uint32_t index = none;  ///< of itself
    std::uint64_t handle = 0;
    std::uint32_t timeline = none;
    std::uint32_t context = none;
    std::uint32_t context_epoch = 0;
    std::uint32_t name = 0;
    StreamKind kind = StreamKind::BLOCKING;
    bool assumed = false;
    /// Of one that is assumed: the program made it. It is no default stream, and streams of the same number are
    /// different.
    std::uint64_t apart = 0;
    /// Whether it may be any stream of an unknown caller, a default stream too.
    [[nodiscard]] bool of_anyone() const { return assumed && apart == 0; }
    bool alive = true;
    bool blocking = true;
    bool unjoined = false;  ///< it is in its context's list of the same name
    bool has_work = false;
    bool has_free = false;
    LastKernel last_kernel = LastKernel::nothing;
    Tick kernel_from = 0;         ///< of an ordinary last kernel: the tick of what was before it
    std::uint32_t early = none;   ///< timeline of what kernels do without waiting; none before the first such kernel
    std::uint32_t issuer = none;  ///< thread whose knowledge it has ...
    std::uint32_t issuer_version = 0;  ///< ... as of this version
    std::uint32_t legacy_version = 0;
    std::uint32_t copied_version = 0;  ///< as of which copy between contexts it knows them
    std::uint32_t opaque_version = 0;
    std::uint32_t waited_by = none;  ///< thread that learned from it last, for the waits of whole contexts ...
    std::uint32_t waited_version = 0;
    std::uint32_t awaited_opaque = 0;  ///< the opaque calls that the last wait for it covered
    std::uint32_t observed_by = none;  ///< ... and the same for observed waits
    std::uint32_t observed_version = 0;
    Placed work;  ///< last operation that is not an allocation or free
    Placed free;  ///< last stream-ordered free
    Operation made;
    Operation destroyed;
    std::uint32_t out_of_order = none;  ///< of an out-of-order queue: index of its OutOfOrderQueue
    std::uint32_t branch_of = none;     ///< of a branch: that of its queue
    std::uint32_t barriers = 0;         ///< of a branch: as of which barrier of its queue it knows that
    bool reserved = false;              ///< of a branch: a thread is in the middle of the wait list of its next command
    bool is_news = false;               ///< of a branch: it is in its queue's list of that name
    std::vector<std::uint64_t> bodies;  ///< sync keys of host functions whose bodies may still publish what they did
};

/// A capture that has begun.
struct Capture {
    std::uint64_t id = 0;
    std::uint64_t stream = 0;
    bool broken = false;
    Operation begin;
};

/// The latest wait or record on a stream that may be another unknown stream.
struct AmbiguousWait {
    std::uint64_t handle = 0;
    bool assumed = false;
    std::uint64_t apart = 0;
    std::uint64_t sequence = 0;
};

/// A kernel, or a launch of a graph with one, that goes on when a word is written: what is before that may be before
/// it.
struct Poller {
    Operation launch;
    Epoch at;
    std::uint64_t ends = UINT64_MAX;  ///< what is numbered so, or higher, was issued when it was known to have ended
};

/// A reset, or the destruction of a context: other threads' calls may show that they still use it.
struct Teardown {
    Operation operation;
    Epoch at;
    std::uint32_t context = none;
    std::uint64_t begins = 0;  ///< nanoseconds; 0: not known
    std::uint64_t ends = 0;    ///< it had surely not returned before
    bool said = false;
};

struct Process {
    std::int64_t index = 0;    ///< as the trace numbers it
    std::uint32_t number = 0;  ///< as the engine does
    bool initialised = false;
    bool forked_from_initialised = false;
    bool forked = false;
    bool fork_reported = false;
    bool silenced = false;  ///< child of an initialised parent: nothing more is said of it
    bool main_begun = false;
    bool main_ended = false;
    bool whole = false;  ///< main began before any CUDA call: nobody unknown came before
    bool exited = false;
    bool blind = false;  ///< some of its code could not be followed
    Operation fork;
    Clock inherited;  ///< history of the thread that forked it
    std::uint32_t opaque_version = 0;
    Clock opaque;                          ///< everything, as of the last opaque call
    std::uint32_t default_context = none;  ///< current to threads of which nothing else is said
    FlatMap contexts;
    FlatMap streams;
    FlatMap per_thread_streams;  ///< key: context index and thread
    FlatMap events;
    FlatMap handles;  ///< pools, graphs, ...; key: see Handles
    Allocations allocations;
    AmbiguousWait ambiguous;             ///< the latest ...
    AmbiguousWait other_ambiguous;       ///< ... and the latest with another handle
    std::vector<Operation> before_main;  ///< CUDA calls before MAIN_BEGIN, one for each site
    FlatMap before_main_sites;
    FlatMap execs;                    ///< executable graphs
    FlatMap graph_execs;              ///< the latest executable graph of a graph
    std::vector<Capture> captures;    ///< that have begun and not ended
    std::uint32_t worker = none;      ///< the stream of the latest device work
    Operation wait;                   ///< the latest by the host for a stream, an event or a context
    Operation trim;                   ///< the latest return of unused graph memory
    std::uint64_t host_function = 0;  ///< sequence of the latest one: who knows whom its body told
    bool takes_back = false;          ///< a pool in it says when it has a block again
    bool broken = false;              ///< its context met an error that stays: nothing succeeds any more
    std::vector<Teardown> teardowns;  ///< the latest ones
    Operation ending;                 ///< of a recording: its normal exit, judged when all has been seen
    std::uint32_t ending_thread = none;
    bool unknown_streams = false;       ///< some are of an unknown kind
    std::uint64_t unknown_work = 0;     ///< sequence of the latest operation on a stream of an unknown caller ...
    std::uint64_t unknown_awaited = 0;  ///< ... and of that when the host waited last
    bool unknown_after_end = false;     ///< such a stream was used after its context's end: it is a default stream
    std::vector<Poller> pollers;        ///< the latest ones
    std::size_t open_pollers = 0;       ///< of these, not known to have ended
    std::size_t unset_user_events = 0;
    HeldCommands held;  ///< what waits for one of them
    MappedRegions mapped;
    HostSides host_sides;
    bool has_opencl = false;         ///< a context of OpenCL was made
    std::uint64_t open_objects = 0;  ///< the same of which the context is not known
    bool value_ordered = false;      ///< values in memory order work in ways nobody sees
};

}  // namespace streamsan::order
