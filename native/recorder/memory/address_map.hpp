// Which addresses are, or ever were, memory that the program got from the API, and of what kind.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <shared_mutex>

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

    /// Whether `address` may lie in memory that is or was allocated: one bit for every 2 MiB, read without a lock, never cleared.
    /// True for some addresses that never were; a checker resolves exactly.
    [[nodiscard]] bool maybe(std::uint64_t address) const noexcept {
        const std::uint64_t granule = address >> granule_bits;
        if (granule >= granules) [[unlikely]] return beyond_.load(std::memory_order_relaxed);
        return (words_[granule >> 6].load(std::memory_order_relaxed) >> (granule & 63) & 1) != 0;
    }
    /// Live ranges that it overlaps are gone: their frees were not seen.
    void add(const Range& range);
    void remove(std::uint64_t base);
    /// The live range that holds `address`; takes a shared lock.
    [[nodiscard]] std::optional<Range> find(std::uint64_t address) const;
    /// Calls `visit` for every live range (rotation), in the order of addresses, under the shared lock.
    template <class Visit> void each(Visit&& visit) const {
        const std::shared_lock lock(live_->lock);
        for (const auto& [base, range] : live_->ranges) visit(range);
    }
    /// In a forked child: begins without live ranges, and with a lock that no thread of the parent holds. `maybe` stays as it is.
    void forget_after_fork();

private:
    struct Live {
        mutable std::shared_mutex lock;
        std::map<std::uint64_t, Range> ranges;
        const Live* parent = nullptr;
    };

    static constexpr unsigned granule_bits = 21;
    /// 2^49 bytes: what today's devices and hosts use. A bit each makes 32 MiB of addresses, of which a few pages are touched.
    static constexpr std::uint64_t granules = std::uint64_t{1} << (49 - granule_bits);

    void mark(std::uint64_t base, std::uint64_t size) noexcept;

    std::atomic<std::uint64_t>* words_;
    std::atomic<bool> beyond_{false};  ///< something lies where there are no bits
    Live* live_;
};

}  // namespace streamsan::recorder
