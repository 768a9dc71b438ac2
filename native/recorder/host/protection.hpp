// Which host memory is protected because work that uses it was enqueued.
//
// A use is an interval of bytes. A page has the strongest protection that an interval on it asks for: nothing is
// allowed where the device writes, reading where it only reads. The first access of the host that an interval forbids
// ends it: the rest of it is the host's again at once, for whatever happens to it later happens later than this access.
//
// Pages are protected as a whole, intervals are bytes. What lies beside an interval on its first or last page is a
// neighbour: its access takes that page out of the interval, and is nothing to tell.
//
// Nothing here allocates, and no lock is held while memory of the program is touched: a handler of faults calls it,
// wherever the fault was.
#pragma once
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "recorder/host/known_uses.hpp"
#include "recorder/host/signal_free_lock.hpp"

namespace streamsan::recorder::host {

/// How the pages of an interval are closed.
enum class Means : std::uint8_t {
    page_protection,  ///< mprotect: reads stay possible where only writes are to be noticed
    protection_key,   ///< a memory protection key: the mapping keeps its rights, which the GPU's driver looks at
};

/// Memory that work was given.
struct Use {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    std::uint64_t first_page = 0;  ///< pages that may be protected: from here ...
    std::uint64_t last_page = 0;   ///< ... to here, end excluded
    std::uint32_t site = 0;        ///< of the call
    bool device_writes = false;
    Means means = Means::page_protection;
    std::uint64_t width = 0;  ///< of rows that it touches, with gaps between them; 0: all bytes
    std::uint64_t pitch = 1;
    std::uint64_t slice_pitch = ~std::uint64_t{0};
};

/// What came of an attempt to protect.
enum class Protected : std::uint8_t {
    done,
    not_now,   ///< a system call is filling it, or the same use was looked at often enough
    in_part,   ///< the use is larger than what is protected of one
    too_many,  ///< too many places where a mapping would be cut
    refused,   ///< the kernel would not
};

/// What an access met.
enum class Met : std::uint8_t { nothing, neighbour, use };

class Protection {
public:
    static constexpr std::uint64_t page = 4096;
    /// Of one use: more would take milliseconds for each.
    static constexpr std::uint64_t most_bytes = std::uint64_t{64} << 20;
    /// Of all: the oldest gives way.
    static constexpr std::size_t most_intervals = 1024;
    /// A mapping of the driver that was cut does not grow together again, and a process has 65,530 mappings.
    static constexpr std::size_t most_cuts = 8192;

    Protected protect(const Use& use) noexcept;
    /// Nothing of [begin, end) is protected from here on: it is about to be given back.
    void release(std::uint64_t begin, std::uint64_t end) noexcept;
    void release_all() noexcept;

    /// An access that a page refused. In a handler that blocks all signals.
    Met accessed(std::uint64_t address, bool writes) noexcept;
    /// A system call is about to access [begin, end): what would refuse it is released. `address` becomes the first
    /// byte that was in use.
    Met given_to_kernel(std::uint64_t begin, std::uint64_t end, bool writes, std::uint64_t& address) noexcept;

    /// A range that a system call is working on: nothing of it is protected meanwhile. Returns a number for `end_call`,
    /// -1 where there is no room.
    int begin_call(std::uint64_t begin, std::uint64_t end) noexcept;
    void end_call(int number) noexcept {
        calls_[static_cast<std::size_t>(number)].begin.store(0, std::memory_order_release);
    }

    // Around a fork. Handlers of the program run in between, so the lock is not held: but nothing is protected until it
    // is over, and what was is known from before.
    void before_fork() noexcept;
    void after_fork_in_parent() noexcept { forks_.fetch_sub(1, std::memory_order_relaxed); }
    /// All is accessible again.
    void after_fork_in_child() noexcept;

    /// What `Means::protection_key` uses: a key that denies threads all, and one that denies writes to the threads that
    /// may read under it, and all to the others (-1: there is none).
    void use_keys(int closed, int no_writes) noexcept {
        key_ = closed;
        no_writes_key_ = no_writes > 0 ? no_writes : closed;
    }

private:
    struct Interval {
        std::uint64_t begin = 0;
        std::uint64_t end = 0;
        std::uint32_t known = 0;  ///< its number among `uses_`
        bool device_writes = false;
        bool device_reads = false;
        Means means = Means::page_protection;
        std::uint64_t origin = 0;  ///< where its first row begins
        std::uint64_t width = 0;
        std::uint64_t pitch = 1;
        std::uint64_t slice_pitch = ~std::uint64_t{0};

        [[nodiscard]] std::uint64_t first_page() const { return begin & ~(page - 1); }
        [[nodiscard]] std::uint64_t last_page() const { return (end + page - 1) & ~(page - 1); }
        [[nodiscard]] bool forbids(bool writes) const {
            return writes || device_writes || means == Means::protection_key;
        }
        [[nodiscard]] bool holds(std::uint64_t address) const {
            if (address < begin || address >= end) return false;
            return width == 0 || (address - origin) % slice_pitch % pitch < width;
        }
        [[nodiscard]] bool overlaps(std::uint64_t from, std::uint64_t to) const { return begin < to && from < end; }
    };
    struct Call {
        std::atomic<std::uint64_t> begin{0};  ///< 0: free
        std::atomic<std::uint64_t> end{0};
    };
    enum class Level : std::uint8_t { open, no_writes, closed };

    [[nodiscard]] Level level_at(std::uint64_t address, std::uint64_t& until) const noexcept;
    bool settle(std::uint64_t first, std::uint64_t last, Means means) noexcept;
    bool set(std::uint64_t first, std::uint64_t last, Level level, Means means) const noexcept;
    [[nodiscard]] bool in_call(std::uint64_t begin, std::uint64_t end) const noexcept;
    bool may_cut(std::uint64_t place) noexcept;
    void remove(std::size_t index) noexcept { intervals_[index] = intervals_[--count_]; }
    void release_where(std::uint64_t begin, std::uint64_t end) noexcept;
    bool leave_out(std::size_t index, std::uint64_t first) noexcept;
    bool end_use(std::size_t& index, bool writes) noexcept;

    SignalFreeLock lock_;
    std::array<Interval, most_intervals> intervals_{};
    std::array<Interval, most_intervals> before_fork_{};
    std::size_t count_before_fork_ = 0;
    std::atomic<unsigned> forks_{0};  ///< under way
    std::size_t count_ = 0;
    std::size_t oldest_ = 0;
    KnownUses uses_;
    std::array<Call, 256> calls_{};
    std::array<std::uint64_t, 2 * most_cuts> cuts_{};
    std::size_t cut_count_ = 0;
    int key_ = -1;
    int no_writes_key_ = -1;
};

}  // namespace streamsan::recorder::host
