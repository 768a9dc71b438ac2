#include "recorder/cuda/processes.hpp"

#include <cstdlib>
#include <new>
#include <pthread.h>
#include <sched.h>
#include <string>
#include <unistd.h>

#include "recorder/cuda/api_names.hpp"
#include "recorder/cuda/callback_source.hpp"
#include "recorder/cuda/device_accesses.hpp"
#include "recorder/cuda/device_times.hpp"
#include "recorder/cuda/device_variables.hpp"
#include "recorder/cuda/dispatch.hpp"
#include "recorder/cuda/handlers.hpp"
#include "recorder/cuda/host_accesses.hpp"
#include "recorder/cuda/launch_shapes.hpp"
#include "recorder/cuda/loaded_code.hpp"
#include "recorder/cuda/poison.hpp"
#include "recorder/cuda/recorder.hpp"
#include "recorder/cuda/recording_start.hpp"
#include "recorder/run/omissions.hpp"

namespace streamsan::recorder::cuda {
namespace {

/// The FORK operation of the fork under way on this thread. The child writes its process id there, through the mapping
/// that it shares with its parent: nobody else knows it in time.
thread_local Slot* fork_slot = nullptr;

/// Where a forked child was in its life when its parent forked, or is now: after_main once it has begun to exit.
std::atomic<Phase> phase_of_child{Phase::main};

/// A forked child has its own file from its first call on: most children never use CUDA, and become another program or
/// end.
[[gnu::noinline]] void begin_child() {
    Phase before = Phase::forked;
    if (!phase.compare_exchange_strong(before, Phase::beginning, std::memory_order_acq_rel)) {
        while (phase.load(std::memory_order_acquire) == Phase::beginning) sched_yield();
        return;
    }
    std::string error;
    bool recorded = false;
    try {
        recorded = recorder()->writer->reopen_after_fork(options_of_process(recorder()->settings), error);
        recorder()->sites->forget();
    } catch (const std::bad_alloc&) {
        error = "no memory";
    }
    const Phase now = phase_of_child.load(std::memory_order_relaxed);
    if (recorded) {
        write_event(OperationKind::THREAD_START, 0, 0);
        if (now == Phase::main) write_event(OperationKind::MAIN_BEGIN, 0, 0);
    } else {
        note_omission("the forked process " + std::to_string(getpid()) + " is not recorded: " + error);
    }
    phase.store(now, std::memory_order_release);
}

void before_fork() noexcept {
    fork_slot = nullptr;
    if (recorder() == nullptr || this_thread().inside) return;
    try {
        // Of a child that forks in its turn the file must tell.
        if (phase.load(std::memory_order_relaxed) >= Phase::forked) begin_child();
        // Enabled here and not in the child: CUPTI may take a lock that another thread of the parent holds there for
        // ever.
        enable_hot_callbacks(true);
        Lane* const lane = recorder()->writer->lane();
        Slot* const slot = lane != nullptr ? lane->reserve(0) : nullptr;
        if (slot == nullptr) return;
        slot->time = recorder()->writer->now();
        slot->kind = static_cast<std::uint8_t>(OperationKind::FORK);
        slot->flags = outside_main(0);
        lane->commit();
        fork_slot = slot;
    } catch (...) {
    }
}

void after_fork_in_parent() noexcept {
    if (recorder() == nullptr || this_thread().inside) return;
    if (phase.load(std::memory_order_relaxed) != Phase::after_main) enable_hot_callbacks(false);
}

void forget_parent(ThreadState& state) {
    state.call = Call{};
    state.runtime = nullptr;
    state.context = 0;
    state.context_slot = {};
    state.resetting = false;
    forget_api_names();
    forget_names_of_rows();
    handles_after_fork();
    memory_after_fork();
    graphs_after_fork();
    launch_shapes_after_fork();
    loaded_code().after_fork();
    device_variables().after_fork();
    device_accesses_after_fork();
    device_times_after_fork();
    recorder()->captures.store(0, std::memory_order_relaxed);
}

void after_fork_in_child() noexcept {
    if (recorder() == nullptr) return;
    ThreadState& state = this_thread();
    if (state.inside) return;
    if (fork_slot != nullptr) fork_slot->object = static_cast<std::uint64_t>(getpid());
    fork_slot = nullptr;
    try {
        forget_parent(state);
        phase_of_child.store(phase.exchange(Phase::forked, std::memory_order_relaxed), std::memory_order_relaxed);
    } catch (...) {
    }
}

void at_exit() noexcept {
    if (recorder() == nullptr) return;
    phase_of_child.store(Phase::after_main, std::memory_order_relaxed);
    if (recorder()->host_accesses) end_host_accesses();
    if (phase.load(std::memory_order_relaxed) >= Phase::forked) return;
    const Phase before = phase.exchange(Phase::after_main, std::memory_order_relaxed);
    try {
        finish_device_accesses();
        finish_device_times();
        // CUPTI is not called on this thread: another one may hold its lock inside a call that never returns (a reset,
        // say), and the program's exit would wait for it. Calls of the hot functions are seen as far as the driver
        // still answers them.
        if (before == Phase::main) write_event(OperationKind::MAIN_END, 0, 0);
    } catch (...) {
    }
}

/// The library is unloaded with the process, after all exit handlers and destructors of the program: the last moment we
/// see.
__attribute__((destructor)) void at_the_very_end() noexcept {
    if (recorder() == nullptr || phase.load(std::memory_order_relaxed) >= Phase::forked) return;
    try {
        if (recorder()->host_accesses) end_host_accesses();
        if (recorder()->poisons) write_poisoned_counts();
        write_event(OperationKind::PROCESS_EXIT, ExitKind::NORMAL, 0);
        recorder()->writer->close();
    } catch (...) {
    }
}

}  // namespace

void look_for_main(ThreadState&) {
    if (phase.load(std::memory_order_acquire) >= Phase::forked) begin_child();
    if (phase.load(std::memory_order_relaxed) != Phase::before_main || !recorder()->sites->main_has_begun()) return;
    Phase before = Phase::before_main;
    const bool first = phase.compare_exchange_strong(before, Phase::main, std::memory_order_relaxed);
    if (first) write_event(OperationKind::MAIN_BEGIN, 0, 0);
}

void watch_process() {
    // The last that is done before a fork, and the first behind it: what the others touch may be protected.
    if (recorder()->host_accesses) {
        pthread_atfork(
            host_accesses_before_fork, [] { host_accesses_after_fork(false); }, [] { host_accesses_after_fork(true); });
    }
    pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
    std::atexit(at_exit);
}

void write_event(OperationKind kind, Detail detail, std::uint64_t object) {
    Lane* const lane = recorder()->writer->lane();
    Slot* const slot = lane != nullptr ? lane->reserve(0) : nullptr;
    if (slot == nullptr) return;
    slot->time = recorder()->writer->now();
    slot->object = object;
    slot->kind = static_cast<std::uint8_t>(kind);
    slot->detail = detail.value;
    lane->commit();
}

}  // namespace streamsan::recorder::cuda
