// What all processes of a run share: the sequence counter and the clock's origin.
#pragma once
#include <atomic>
#include <cstdint>
#include <string>

namespace streamsan::recorder {

/// One page, mapped by every process of a run: from a file, or anonymous, then shared with what this process forks.
class SharedCounter {
public:
    SharedCounter() = default;
    ~SharedCounter();
    SharedCounter(const SharedCounter&) = delete;
    SharedCounter& operator=(const SharedCounter&) = delete;

    /// Maps the file (made if it is not there), or a page without a name when `path` is "". Returns "" or why not.
    std::string open(const std::string& path);
    /// The count of numbers given out so far. The next number is one more: `sequence().fetch_add(1) + 1`.
    [[nodiscard]] std::atomic<std::uint64_t>& sequence() const { return page_->sequence; }
    /// Nanoseconds that CLOCK_MONOTONIC lags behind the time since 1970: the same number for all processes of the run.
    [[nodiscard]] std::uint64_t monotonic_offset() const;
    /// The moment the run began, in nanoseconds since 1970.
    [[nodiscard]] std::uint64_t origin() const;

private:
    struct Page {
        std::atomic<std::uint64_t> sequence;
        char spare[120];  ///< the counter has its cache line alone
        std::atomic<std::uint64_t> offset;
        std::atomic<std::uint64_t> origin;
    };
    static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

    Page* page_ = nullptr;
};

}  // namespace streamsan::recorder
