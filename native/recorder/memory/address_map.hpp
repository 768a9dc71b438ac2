// Which addresses are, or ever were, memory that the program got from the API, and of what kind.
#pragma once
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <vector>

#include "generated/vocabulary.hpp"

namespace streamsan::recorder {

struct Range {
    std::uint64_t base;
    std::uint64_t size;
    MemoryKind kind;
    std::uint64_t sequence;  ///< of its ALLOC
};

class AddressMap {
public:
    AddressMap();
    ~AddressMap();
    AddressMap(const AddressMap&) = delete;
    AddressMap& operator=(const AddressMap&) = delete;

    /// Whether `address` may lie in memory that is or was allocated: one bit for every 2 MiB, read without a lock,
    /// cleared only where the process has memory of its own by now. True for some addresses that never were; a checker
    /// resolves exactly.
    [[nodiscard]] bool maybe(std::uint64_t address) const noexcept {
        return window().holds(address) && marked(address);
    }
    /// The lowest and the highest address of all that was ever allocated: most words of structures lie outside, and
    /// need not be looked up.
    struct Window {
        std::uint64_t lowest;
        std::uint64_t extent;
        [[nodiscard]] bool holds(std::uint64_t address) const noexcept { return address - lowest <= extent; }
        /// What of it lies in [from, to].
        [[nodiscard]] Window within(std::uint64_t from, std::uint64_t to) const noexcept {
            const std::uint64_t first = std::max(lowest, from), last = std::min(lowest + extent, to);
            return first <= last ? Window{first, last - first} : Window{~std::uint64_t{0}, 0};
        }
    };
    [[nodiscard]] Window window() const noexcept {
        const std::uint64_t lowest = lowest_.load(std::memory_order_relaxed),
                            highest = highest_.load(std::memory_order_relaxed);
        return lowest <= highest ? Window{lowest, highest - lowest} : Window{~std::uint64_t{0}, 0};
    }
    /// As `maybe`, of an address that the window holds.
    [[nodiscard]] bool marked(std::uint64_t address) const noexcept {
        const std::uint64_t granule = address >> granule_bits;
        if (granule >= granules) [[unlikely]]
            return beyond_.load(std::memory_order_relaxed);
        if (!has(words_, granule)) return false;
        return !has(vacant_, granule) || !is_of_host(address);
    }
    /// Whether memory of a device lay there, and the process has memory of its own there by now: the driver gives
    /// addresses back to the system, which hands them out for stacks and heaps.
    [[nodiscard]] bool was_given_back(std::uint64_t address) const noexcept {
        const std::uint64_t granule = address >> granule_bits;
        return granule < granules && has(vacant_, granule) && !has(words_, granule);
    }
    /// Changes when a word that was no address of memory may be one from now on. Looked at before the words are.
    [[nodiscard]] std::uint32_t growth() const noexcept { return growth_.load(std::memory_order_acquire); }
    /// Live ranges that it overlaps are gone: their frees were not seen.
    void add(const Range& range);
    /// The live range that begins at `base` is live no more. Returns what it was, nothing where there is none.
    std::optional<Range> take(std::uint64_t base);
    void remove(std::uint64_t base) { take(base); }
    /// The live range that holds `address`; takes a lock.
    [[nodiscard]] std::optional<Range> find(std::uint64_t address) const;
    /// Every address at which a range ever began, in order.
    [[nodiscard]] std::vector<std::uint64_t> bases() const;
    /// Calls `visit` for every live range (rotation), in the order of addresses, under the lock.
    template <class Visit>
    void each(Visit&& visit) const {
        const std::lock_guard lock(live_->lock);
        for (const auto& [base, range] : live_->ranges) visit(range);
    }
    /// In a forked child: begins without live ranges, and with a lock that no thread of the parent holds. `maybe` stays
    /// as it is.
    void forget_after_fork();
    /// From here on `bases` are kept.
    void keep_bases() noexcept { keeps_bases_ = true; }

private:
    using Ranges = std::map<std::uint64_t, Range>;
    struct Live {
        std::mutex lock;  // held for a walk down the tree: one that readers share would cost more than it saves
        Ranges ranges;
        std::set<std::uint64_t> bases;  ///< where they are kept
        Ranges::node_type spare;        ///< what the last free has left: the next allocation takes no memory
        const Live* parent = nullptr;
    };

    static constexpr unsigned granule_bits = 21;
    /// 2^49 bytes: what today's devices and hosts use. A bit each makes 32 MiB of addresses, of which a few pages are
    /// touched.
    static constexpr std::uint64_t granules = std::uint64_t{1} << (49 - granule_bits);

    using Bits = std::atomic<std::uint64_t>;

    static bool has(const Bits* bits, std::uint64_t granule) noexcept {
        return (bits[granule >> 6].load(std::memory_order_relaxed) >> (granule & 63) & 1) != 0;
    }
    void mark(std::uint64_t base, std::uint64_t size) noexcept;
    void occupy(const Range& range) noexcept;
    void vacate(const Range& range) noexcept;
    [[nodiscard]] bool is_of_host(std::uint64_t address) const noexcept;

    Bits* words_;
    Bits* vacant_;  ///< only memory of devices lay there, which the host cannot read, and no range is live
    std::atomic<std::uint64_t> lowest_{~std::uint64_t{0}};
    std::atomic<std::uint64_t> highest_{0};
    std::atomic<std::uint32_t> growth_{1};
    std::atomic<bool> beyond_{false};  ///< something lies where there are no bits
    Live* live_;
    bool keeps_bases_ = false;
};

}  // namespace streamsan::recorder
