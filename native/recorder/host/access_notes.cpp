#include "recorder/host/access_notes.hpp"

#include <cstdio>
#include <fstream>
#include <new>
#include <string>

#include <sys/mman.h>

#include "recorder/host/kernel_call.hpp"
#include "recorder/trace_writer/undisturbed.hpp"

namespace streamsan::recorder::host {

thread_local constinit AccessNotes::OfThread* AccessNotes::of_this_thread = nullptr;

namespace {

constexpr std::uint32_t most_threads = 1024;

std::string name_of(int thread) {
    std::ifstream file("/proc/self/task/" + std::to_string(thread) + "/comm");
    std::string name;
    std::getline(file, name);
    return name;
}

}  // namespace

AccessNotes::OfThread* AccessNotes::begin_thread() noexcept {
    if (thread_count_.fetch_add(1, std::memory_order_relaxed) >= most_threads) return nullptr;
    // Pages come as they are used: most threads have a note or two.
    const long place = kernel_call(SYS_mmap, 0, sizeof(OfThread), PROT_READ | PROT_WRITE,
                                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (place < 0 && place > -4096) return nullptr;
    // Zeros are what its members begin with, but for the number.
    auto* const made = reinterpret_cast<OfThread*>(place);
    made->number.store(-1, std::memory_order_relaxed);
    made->thread = static_cast<int>(kernel_call(SYS_gettid));
    if (lane_of_this_thread.lane != nullptr)
        made->number.store(lane_of_this_thread.lane->thread(), std::memory_order_relaxed);
    else number_of_this_thread = &made->number;
    made->next = threads_.load(std::memory_order_relaxed);
    while (!threads_.compare_exchange_weak(made->next, made, std::memory_order_release)) {
    }
    return made;
}

void AccessNotes::add(std::uint64_t address, std::uint64_t size, bool writes,
                      const call_sites::StackStart& start) noexcept {
    OfThread* mine = of_this_thread;
    if (mine == nullptr) mine = of_this_thread = begin_thread();
    const std::uint32_t made = mine != nullptr ? mine->made.load(std::memory_order_relaxed) : 0;
    if (mine == nullptr || made - mine->written.load(std::memory_order_acquire) >= most) {
        lost_.fetch_add(1, std::memory_order_relaxed);
        return;
    }
    Note& note = mine->notes[made % most];
    note.sequence = writer_.next_sequence();
    note.time = writer_.now();
    note.address = address;
    note.size = size;
    note.writes = writes;
    sites_.note(note.stack, start);
    pending_.fetch_add(1, std::memory_order_relaxed);
    mine->made.store(made + 1, std::memory_order_release);
}

void AccessNotes::write(OfThread& thread, const Note& note) {
    bool by_api = false;
    const std::uint32_t site = sites_.site_of(note.stack, by_api);
    if (by_api) return;
    if (thread.lane == nullptr) {
        std::int32_t number = thread.number.load(std::memory_order_relaxed);
        thread.lane = writer_.lane_for(number, number < 0 ? name_of(thread.thread) : "");
        thread.number.store(number, std::memory_order_relaxed);
    }
    Slot* const slot = thread.lane != nullptr ? thread.lane->reserve(0) : nullptr;
    if (slot == nullptr) return;
    slot->sequence = note.sequence;
    slot->time = note.time;
    slot->address = note.address;
    slot->size = note.size;
    slot->site = site;
    slot->kind = static_cast<std::uint8_t>(OperationKind::HOST_ACCESS);
    slot->flags = static_cast<std::uint8_t>(note.writes ? AccessMode::WRITE : AccessMode::READ);
    thread.lane->commit();
}

void AccessNotes::write() {
    const Undisturbed undisturbed;
    const std::lock_guard guard(lock_);
    for (OfThread* each = threads_.load(std::memory_order_acquire); each != nullptr; each = each->next) {
        std::uint32_t next = each->written.load(std::memory_order_relaxed);
        for (const std::uint32_t end = each->made.load(std::memory_order_acquire); next != end; ++next) {
            write(*each, each->notes[next % most]);
            each->written.store(next + 1, std::memory_order_release);
            pending_.fetch_sub(1, std::memory_order_relaxed);
        }
    }
}

void AccessNotes::after_fork_in_child() noexcept {
    // The child's threads have numbers of their own. What is left behind stays mapped, untouched.
    threads_.store(nullptr, std::memory_order_relaxed);
    thread_count_.store(0, std::memory_order_relaxed);
    pending_.store(0, std::memory_order_relaxed);
    of_this_thread = nullptr;
    number_of_this_thread = nullptr;
    lock_.unlock();
}

}  // namespace streamsan::recorder::host
