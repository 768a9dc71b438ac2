#include "recorder/cuda/host_accesses.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <vector>

#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "recorder/cuda/graph_execs.hpp"
#include "recorder/cuda/not_understood.hpp"
#include "recorder/run/omissions.hpp"
#include "recorder/cuda/processes.hpp"
#include "recorder/cuda/recorder.hpp"
#include "recorder/trace_writer/row_table.hpp"
#include "recorder/host/fault_chain.hpp"
#include "recorder/host/host_memory.hpp"
#include "recorder/trace_writer/undisturbed.hpp"

namespace streamsan::recorder::cuda {
namespace {

using host::HostMemory;
using host::Means;
using host::Protected;
using host::Protection;

Gap too_large{"host memory of one use beyond 64 MiB is not watched: accesses of the host there are not seen"};
Gap too_many_pieces{
    "more pieces of host memory are in use than can be protected: accesses of the host to some are not seen"};
Gap not_protected{"the kernel does not let host memory be protected here: accesses of the host to it are not seen"};
Gap too_many_accesses{"more accesses of the host than could be noted: some are not seen"};
Gap no_keys{"this machine has no memory protection keys: accesses of the host to managed memory are not seen"};
Gap ring{"the process uses io_uring, whose kernel threads must reach its memory: accesses of the host are not seen"};

/// Read and written by the recorder's calls alone; a fork begins anew.
std::atomic<bool> managed_is_watched{false};
std::atomic<bool> watching{false};
std::atomic<std::uint32_t> uses_seen{0};

HostMemory& here() { return *host::host_memory.load(std::memory_order_relaxed); }

/// On the thread that faulted. Its state is the thread's own.
bool inside_api() noexcept {
    const ThreadState* const state = state_of_this_thread;
    return state != nullptr && (state->call.callback != nullptr || state->runtime != nullptr || state->inside);
}

bool is_host_memory(MemoryKind kind) {
    return kind == MemoryKind::PINNED || kind == MemoryKind::REGISTERED || kind == MemoryKind::MANAGED;
}

constexpr unsigned long deny_access = 1, deny_writes = 2;

/// A key under which this thread, and those that it starts, are denied `rights`. All others are denied all: that is how
/// a process begins.
int new_key(unsigned long rights) {
    const long key = host::kernel_call(SYS_pkey_alloc, 0UL, rights);
    return key > 0 ? static_cast<int>(key) : -1;
}

/// Whether a ring for asynchronous system calls is open. The kernel answers EFAULT there, long after the call.
bool has_ring() {
    DIR* const files = opendir("/proc/self/fd");
    if (files == nullptr) return false;
    bool found = false;
    while (const dirent* const each = readdir(files)) {
        std::array<char, 64> target{};
        if (readlinkat(dirfd(files), each->d_name, target.data(), target.size() - 1) <= 0) continue;
        found |= std::strstr(target.data(), "io_uring") != nullptr;
    }
    closedir(files);
    return found;
}

/// Looked for where one was asked for, and now and then: at uses 1, 2, 4, 8, ... and every 256th.
bool stays_away(ThreadState& state, const Call& call) {
    const std::uint32_t number = uses_seen.fetch_add(1, std::memory_order_relaxed) + 1;
    const bool asked = here().ring_was_asked_for.load(std::memory_order_relaxed);
    if (!asked && (number & (number - 1)) != 0 && number % 256 != 0) return false;
    const Undisturbed undisturbed;
    host::keep_fault_chain_first();
    if (!has_ring()) return false;
    watching.store(false, std::memory_order_relaxed);
    here().protection.release_all();
    say_not_understood(state, call, ring);
    return true;
}

void say(ThreadState& state, const Call& call, Protected result) {
    if (result == Protected::in_part) say_not_understood(state, call, too_large);
    if (result == Protected::too_many) say_not_understood(state, call, too_many_pieces);
    if (result == Protected::refused) say_not_understood(state, call, not_protected);
}

void add_use(ThreadState& state, const Reference& reference) {
    constexpr auto strided = static_cast<std::uint8_t>(SlotFlag::STRIDED);
    if (reference.address == 0 || (reference.mode_flags & conditional_flag) != 0) return;
    if ((reference.mode_flags & strided) != 0 && reference.rows == 0) return;  // nobody knows which bytes
    if (here().known.maybe(reference.address)) state.host_uses.push_back(reference);
}

/// Whether the host waits for the operation itself, and so has the memory back when the call returns.
bool is_over(OperationKind kind, Detail detail) {
    if (kind != OperationKind::COPY && kind != OperationKind::MEMSET) return false;
    return static_cast<WaitClass>(detail.value) == WaitClass::COMPLETE;
}

void protect(ThreadState& state, const Call& call, const Reference& reference) {
    HostMemory& memory = here();
    const auto range = memory.known.find(reference.address);
    if (!range) return;
    host::Use use;
    const std::uint64_t end = range->base + range->size;
    use.begin = reference.address;
    use.end =
        reference.size == 0 || reference.size > end - reference.address ? end : reference.address + reference.size;
    use.site = call.site;
    if (reference.rows != 0) {
        const Rows rows = row_table().of(reference.rows);
        use.width = rows.width;
        use.pitch = std::max<std::uint64_t>(rows.pitch, 1);
        if (rows.slices > 1) use.slice_pitch = std::max<std::uint64_t>(rows.slice_pitch, 1);
    }
    use.device_writes = (reference.mode_flags & 3) != static_cast<std::uint8_t>(AccessMode::READ);
    constexpr std::uint64_t in_page = Protection::page - 1;
    if (range->kind == MemoryKind::REGISTERED) {
        // The pages that are the buffer's own: on the first and the last one lies what nobody registered, the stack of
        // a thread perhaps, which the kernel must reach.
        use.first_page = (range->base + in_page) & ~in_page;
        use.last_page = end & ~in_page;
    } else {
        use.first_page = range->base & ~in_page;
        use.last_page = (end + in_page) & ~in_page;
    }
    if (range->kind == MemoryKind::MANAGED) {
        // Without the right to access it the driver would refuse the GPU as well, and the kernel would fail.
        if (!managed_is_watched.load(std::memory_order_relaxed)) {
            say_not_understood(state, call, no_keys);
            return;
        }
        use.means = Means::protection_key;
    }
    say(state, call, memory.protection.protect(use));
}

}  // namespace

void begin_host_accesses() {
    Recorder& all = *recorder();
    if (!all.settings.host_accesses) return;
    const char* reason = host::is_preloaded() ? "" : "the recorder was not preloaded (LD_PRELOAD) into this process";
    if (*reason == '\0') {
        auto* const memory = new HostMemory(*all.writer, *all.sites, inside_api);
        if (const int closed = new_key(deny_access); closed > 0) {
            memory->protection.use_keys(closed, new_key(deny_writes));
            managed_is_watched.store(true, std::memory_order_relaxed);
        }
        reason = host::begin_host_memory(*memory);
    }
    if (*reason != '\0') {
        note_omission("accesses of the host are not recorded: " + std::string(reason));
        return;
    }
    watching.store(true, std::memory_order_relaxed);
    all.host_accesses = true;
}

void host_memory_begins(const Range& range) {
    if (is_host_memory(range.kind)) here().known.add(range);
}

void host_memory_ends(const Range& range) {
    if (!is_host_memory(range.kind)) return;
    here().known.remove(range.base);
    here().protection.release(range.base, range.base + range.size);
}

void host_memory_stays_open(std::uint64_t address) { here().known.remove(address); }

void open_all_host_memory() { here().protection.release_all(); }

void note_host_uses(ThreadState& state, OperationKind kind, Detail detail, const Reference* references,
                    std::size_t count) {
    if (kind != OperationKind::LAUNCH && kind != OperationKind::COPY && kind != OperationKind::MEMSET) return;
    if (is_over(kind, detail)) return;
    for (std::size_t index = 0; index < count; ++index) add_use(state, references[index]);
}

void note_graph_uses(ThreadState& state, std::uint64_t exec) {
    graph_execs().each_use(exec, [&state](const Reference& reference) { add_use(state, reference); });
}

void protect_host_uses(ThreadState& state, const Call& call) {
    if (call.status == abi::success && watching.load(std::memory_order_relaxed) && !stays_away(state, call)) {
        for (const Reference& each : state.host_uses) protect(state, call, each);
    }
    state.host_uses.clear();
    if (here().notes.lost() != 0) [[unlikely]]
        say_not_understood(state, call, too_many_accesses);
}

void write_host_accesses() {
    host::AccessNotes& notes = here().notes;
    if (!notes.empty()) [[unlikely]]
        notes.write();
}

void host_accesses_before_fork() {
    here().notes.before_fork();
    here().protection.before_fork();
}

void host_accesses_after_fork(bool in_child) {
    if (in_child) {
        here().protection.after_fork_in_child();
        here().notes.after_fork_in_child();
        return;
    }
    here().protection.after_fork_in_parent();
    here().notes.after_fork_in_parent();
}

void end_host_accesses() {
    watching.store(false, std::memory_order_relaxed);
    here().protection.release_all();
    write_host_accesses();
}

}  // namespace streamsan::recorder::cuda
