// What handlers of faults note, until it can be written: accesses of the host, in the order of each thread.
//
// A note is made wherever the fault was, in an allocator too: it takes no lock and no memory, but for the thread's
// first, which maps some. It has its number among the operations from the moment of the access, so it does not matter
// when it is written.
#pragma once
#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>

#include "recorder/sites/sites.hpp"
#include "recorder/sites/stack_note.hpp"
#include "recorder/trace_writer/writer.hpp"

namespace streamsan::recorder::host {

class AccessNotes {
public:
    AccessNotes(Writer& writer, Sites& sites) : writer_(writer), sites_(sites) {}

    /// In a handler, or a call of the program.
    void add(std::uint64_t address, std::uint64_t size, bool writes, const call_sites::StackStart& start) noexcept;
    /// Writes what all threads have noted. Not in a handler.
    void write();
    [[nodiscard]] bool empty() const noexcept { return pending_.load(std::memory_order_relaxed) == 0; }
    /// Notes that had no room since the last question.
    std::uint32_t lost() noexcept { return lost_.exchange(0, std::memory_order_relaxed); }

    // Around a fork: the child has none of the parent's.
    void before_fork() { lock_.lock(); }
    void after_fork_in_parent() { lock_.unlock(); }
    void after_fork_in_child() noexcept;

private:
    struct Note {
        std::uint64_t sequence;
        std::uint64_t time;
        std::uint64_t address;
        std::uint64_t size;
        bool writes;
        call_sites::StackNote stack;
    };
    static constexpr std::uint32_t most = 256;
    /// Of one thread. Never given back, as handlers may look at it at any time.
    struct OfThread {
        std::atomic<std::uint32_t> made{0};
        std::atomic<std::uint32_t> written{0};
        std::atomic<std::int32_t> number{-1};  ///< in the THREADS table
        int thread = 0;                        ///< as the kernel numbers it
        Lane* lane = nullptr;
        OfThread* next = nullptr;
        std::array<Note, most> notes;
    };

    static thread_local constinit OfThread* of_this_thread __attribute__((tls_model("initial-exec")));
    OfThread* begin_thread() noexcept;
    void write(OfThread& thread, const Note& note);

    Writer& writer_;
    Sites& sites_;
    std::mutex lock_;
    std::atomic<OfThread*> threads_{nullptr};
    std::atomic<std::uint32_t> thread_count_{0};
    std::atomic<std::uint32_t> pending_{0};
    std::atomic<std::uint32_t> lost_{0};
};

}  // namespace streamsan::recorder::host
