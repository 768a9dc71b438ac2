// One call of the API, as its two callbacks see it; and what the recorder keeps for each host thread.
#pragma once
#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "generated/effects.hpp"
#include "generated/facts.hpp"
#include "generated/vocabulary.hpp"
#include "recorder/trace_writer/references.hpp"
#include "recorder/trace_writer/writer.hpp"
#include "trace/slot.hpp"

namespace streamsan::recorder::cuda {

using effects::Direction;
using effects::Effect;
using effects::Handle;
using effects::Role;

/// One parameter of a callback's parameter structure.
struct CallbackParameter {
    std::uint16_t offset;  ///< in the structure that `functionParams` points to
    std::uint16_t size;    ///< bytes of it there
    Role role;
    Handle handle;
};

/// One entry point of the driver or the runtime: a row of the generated table (generated/cuda_callbacks.hpp).
struct Callback {
    std::uint16_t id;       ///< CUPTI's callback id in its domain
    bool runtime;           ///< domain: runtime, else driver
    bool per_thread;        ///< a `_ptsz`/`_ptds` entry point: stream 0 is the per-thread default stream
    bool hot;               ///< runtime rows only: called so often that its callback is not enabled
    std::string_view name;  ///< as programs write it, without `_v2` or `_ptsz`
    Effect effect;
    std::uint8_t memory;  ///< MemoryKind of what it allocates, 0 for none
    std::uint8_t free;    ///< FreeClass, 0 for none
    effects::Wait wait;
    Direction direction;
    std::uint8_t count;
    std::array<CallbackParameter, 16> parameters;
};

/// A call between its two callbacks. One lives in each thread's state: driver calls do not nest.
struct Call {
    const Callback* callback = nullptr;
    const unsigned char* parameters = nullptr;
    std::uint64_t context = 0;                  ///< CUcontext current to the thread at entry
    std::atomic<std::uint16_t>* api = nullptr;  ///< where the id of the callback's name is kept; null: nowhere
    const char* symbol = nullptr;  ///< kernel's mangled name; launches only (garbage in all other callbacks)
    Slot* slot = nullptr;          ///< written at entry (flag ENTER) and completed at exit; null: nothing was written
    std::uint64_t sequence = 0;    ///< taken at entry; 0: none taken
    std::uint64_t entered = 0;     ///< Writer::now() at entry
    std::uint32_t site = 0;
    bool captured = false;    ///< its stream is capturing: the call is recorded into a graph, not done
    bool timed = true;        ///< its duration is of use: false for calls that leave work behind and return
    std::int32_t status = 0;  ///< at exit
    std::array<std::uint64_t, 4> scratch{};  ///< what a handler carries from entry to exit

    [[nodiscard]] std::uint64_t word(
        std::size_t position) const;  ///< parameter by position, zero-extended; 0 if there is none
    [[nodiscard]] const CallbackParameter* find(Role role, std::size_t nth = 0) const;
    [[nodiscard]] const CallbackParameter* find_handle(Handle handle, std::size_t nth = 0) const;
    [[nodiscard]] std::uint64_t value(const CallbackParameter* parameter) const;  ///< 0 for null
    [[nodiscard]] std::uint64_t value(Role role) const { return value(find(role)); }
    [[nodiscard]] std::uint64_t value(Handle handle, std::size_t nth = 0) const {
        return value(find_handle(handle, nth));
    }
    /// What an out parameter (a pointer to 8 bytes) points to, at exit; 0 if the pointer is null.
    [[nodiscard]] std::uint64_t output(const CallbackParameter* parameter) const;
    [[nodiscard]] std::uint64_t output(Role role) const { return output(find(role)); }
    /// The stream argument as the trace names it: 1 legacy, 2 per-thread, else the handle; 1 or 2 when there is no
    /// argument.
    [[nodiscard]] std::uint64_t stream() const;
};

/// Of one host thread. Reached through one thread-local pointer of the initial-exec model. What every call looks at
/// comes first, in three cache lines.
struct alignas(64) ThreadState {
    Call call;                          ///< the driver call under way
    const Callback* runtime = nullptr;  ///< the runtime call that encloses it, where its callback is enabled
    std::uint64_t context = 0;          ///< last CONTEXT_CURRENT written
    std::uint32_t correlation = 0;      ///< CUPTI's number of `call`: its exit has the same (for dispatch alone)
    bool runtime_wrote = false;         ///< an operation was written on behalf of that runtime call
    bool inside = false;                ///< we are calling the driver ourselves: callbacks pass
    bool has_shapes = false;            ///< we have the lock of launch shapes
    bool launches_collective = false;   ///< the kernel under way is one of NCCL's
    int* error = &errno;                ///< the thread's errno: where it lies is a call of the C library
    const void* frame =
        nullptr;                ///< where on the stack `call` began: one that never ended (an exception) is told by it
    std::uint64_t written = 0;  ///< operations that this thread has written, CONTEXT_CURRENT aside
    std::string explanation;    ///< the driver's own words, logged during this call
    std::shared_ptr<void> launches;     ///< what launches.cpp keeps for the thread
    std::shared_ptr<void> collectives;  ///< what collectives.cpp does

    // For dispatch alone.
    Slot context_slot{};  ///< of `context`: live things are restated together with it (rotation)
    Call runtime_call;    ///< the runtime call under way, as `call`; its `slot` is what was written for itself
    std::uint32_t runtime_correlation = 0;
    const void* runtime_frame = nullptr;
    std::uint64_t written_before = 0;  ///< `written` when `call` began
    bool covers_driver_calls = false;  ///< `runtime_call.slot` tells of the driver calls inside, too
    bool resetting = false;            ///< a reset of a device is under way: the ends of its contexts are part of it

    // Of the machine code that was loaded during a call on this thread.
    std::uint32_t code_loaded_in = 0;        ///< `correlation` of that call
    std::vector<std::uint32_t> code_loaded;  ///< numbers of the modules

    // For work.
    std::vector<Reference>
        host_uses;             ///< host memory that this call's work uses, where accesses of the host are recorded
    std::vector<Slot*> batch;  ///< what this call wrote before `call.slot`, when it is several operations
};

/// The calling thread's, null before its first call. The initial-exec model costs one load; the library is loaded late,
/// and a pointer fits into what the loader keeps for that.
inline thread_local constinit ThreadState* state_of_this_thread __attribute__((tls_model("initial-exec"))) = nullptr;
ThreadState& make_state_of_this_thread();

inline ThreadState& this_thread() {
    ThreadState* const state = state_of_this_thread;
    return state != nullptr ? *state : make_state_of_this_thread();
}

/// Guards own calls of the driver inside callbacks.
class OwnCalls {
public:
    OwnCalls() : OwnCalls(this_thread()) {}
    explicit OwnCalls(ThreadState& state) : state_(state), before_(state.inside) { state_.inside = true; }
    ~OwnCalls() { state_.inside = before_; }
    OwnCalls(const OwnCalls&) = delete;
    OwnCalls& operator=(const OwnCalls&) = delete;

private:
    ThreadState& state_;
    bool before_;
};

/// What is done at entry and at exit of the calls of one effect. `exit` sees `call.status`.
struct Handler {
    void (*enter)(ThreadState&, Call&) = nullptr;
    void (*exit)(ThreadState&, Call&) = nullptr;
};

/// Writes an operation at the entry of a call: site, api, time, stream, status unknown, flag ENTER; commits it. The
/// first reference goes into the slot's `address`, `size` and `flags` (also where these mean something else for the
/// kind), the others to continuation slots. `call.slot` is set; null when recording has stopped. A `call.site` that is
/// 0 is looked up.
Slot* write_entered(ThreadState&, Call&, OperationKind, Detail detail, std::uint64_t stream, std::uint64_t object,
                    const Reference* references = nullptr, std::size_t count = 0);
/// Writes a whole operation at the exit of a call, numbered now, with the call's status and duration.
Slot* write_returned(ThreadState&, Call&, OperationKind, Detail detail, std::uint64_t stream, std::uint64_t object,
                     const Reference* references = nullptr, std::size_t count = 0);
/// The usual exit of a call that was written at its entry: status and duration; `renumber` for waits.
void complete(ThreadState&, Call&, bool renumber);

/// As write_entered and write_returned, but left for `commit_prepared`: what rotation restates (live memory, live
/// handles) is changed between the two, and fields of the slot may be. Null when recording has stopped; then there is
/// nothing to commit.
Slot* prepare_entered(ThreadState&, Call&, OperationKind, Detail detail, std::uint64_t stream, std::uint64_t object,
                      const Reference* references = nullptr, std::size_t count = 0);
Slot* prepare_returned(ThreadState&, Call&, OperationKind, Detail detail, std::uint64_t stream, std::uint64_t object,
                       const Reference* references = nullptr, std::size_t count = 0);
void commit_prepared(ThreadState&);

}  // namespace streamsan::recorder::cuda
