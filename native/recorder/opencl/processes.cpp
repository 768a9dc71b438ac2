#include "recorder/opencl/processes.hpp"

#include <cstdlib>
#include <new>
#include <pthread.h>
#include <sched.h>
#include <string>
#include <unistd.h>

#include "recorder/launch_path.hpp"
#include "recorder/opencl/live_objects.hpp"
#include "recorder/run/omissions.hpp"

namespace streamsan::recorder::opencl {
namespace {

/// The FORK operation of the fork under way on this thread: the child writes its process id there, through the mapping
/// that it shares with its parent.
thread_local Slot* fork_slot = nullptr;
/// The file for which this thread was told of; 0: none.
thread_local std::uint64_t told_of_thread = 0;
std::atomic<std::uint64_t> files{1};

std::atomic<Phase> phase_of_child{Phase::main};

/// A forked child has its own file from its first call on.
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
    if (recorder() == nullptr) return;
    try {
        if (phase.load(std::memory_order_relaxed) >= Phase::forked) begin_child();
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

void after_fork_in_child() noexcept {
    if (recorder() == nullptr) return;
    if (fork_slot != nullptr) fork_slot->object = static_cast<std::uint64_t>(getpid());
    fork_slot = nullptr;
    try {
        files.fetch_add(1, std::memory_order_relaxed);
        told_of_thread = files.load(std::memory_order_relaxed);
        objects_after_fork();
        forget_api_names();
        phase_of_child.store(phase.exchange(Phase::forked, std::memory_order_relaxed), std::memory_order_relaxed);
    } catch (...) {
    }
}

void at_exit() noexcept {
    if (recorder() == nullptr) return;
    phase_of_child.store(Phase::after_main, std::memory_order_relaxed);
    if (phase.load(std::memory_order_relaxed) >= Phase::forked) return;
    const Phase before = phase.exchange(Phase::after_main, std::memory_order_relaxed);
    try {
        if (before == Phase::main) write_event(OperationKind::MAIN_END, 0, 0);
    } catch (...) {
    }
}

/// The library is unloaded with the process, after all exit handlers and destructors of the program.
__attribute__((destructor)) void at_the_very_end() noexcept {
    if (recorder() == nullptr || phase.load(std::memory_order_relaxed) >= Phase::forked) return;
    try {
        write_event(OperationKind::PROCESS_EXIT, ExitKind::NORMAL, 0);
        recorder()->writer->close();
    } catch (...) {
    }
}

}  // namespace

STREAMSAN_LAUNCH_PATH std::uint8_t outside_main(std::uint32_t site) {
    const bool inside = phase.load(std::memory_order_relaxed) == Phase::main && !recorder()->sites->is_after_main(site);
    return inside ? 0 : static_cast<std::uint8_t>(SlotFlag::OUTSIDE);
}

STREAMSAN_LAUNCH_PATH void enter_process() {
    if (phase.load(std::memory_order_acquire) != Phase::main) [[unlikely]] {
        if (phase.load(std::memory_order_acquire) >= Phase::forked) begin_child();
        if (phase.load(std::memory_order_relaxed) == Phase::before_main && recorder()->sites->main_has_begun()) {
            Phase before = Phase::before_main;
            const bool first = phase.compare_exchange_strong(before, Phase::main, std::memory_order_relaxed);
            if (first) write_event(OperationKind::MAIN_BEGIN, 0, 0);
        }
    }
    if (told_of_thread != files.load(std::memory_order_relaxed)) [[unlikely]] {
        // The thread that begins a file is told of by who makes the file.
        const bool first = told_of_thread == 0;
        told_of_thread = files.load(std::memory_order_relaxed);
        if (first) write_event(OperationKind::THREAD_START, 0, 0);
    }
}

void watch_process() {
    told_of_thread = files.load(std::memory_order_relaxed);
    pthread_atfork(before_fork, nullptr, after_fork_in_child);
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

}  // namespace streamsan::recorder::opencl
