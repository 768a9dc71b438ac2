#include "recorder/memory/address_map.hpp"

#include <algorithm>
#include <mutex>
#include <new>
#include <sys/mman.h>
#include <utility>

#include "recorder/memory/host_reads.hpp"

namespace streamsan::recorder {
namespace {

constexpr std::size_t bitmaps = 2;

/// What the host cannot read while it is allocated, and whose addresses a free may give back. Those of stream-ordered
/// memory stay the pool's, and its frees are too many to ask each time.
bool is_given_back(MemoryKind kind) { return kind == MemoryKind::PLAIN || kind == MemoryKind::MAPPED; }

}  // namespace

AddressMap::AddressMap() : live_(new Live) {
    void* bits = mmap(nullptr, bitmaps * granules / 8, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (bits == MAP_FAILED) throw std::bad_alloc();
    words_ = static_cast<Bits*>(bits);
    vacant_ = words_ + granules / 64;
}

AddressMap::~AddressMap() {
    munmap(static_cast<void*>(words_), bitmaps * granules / 8);
    delete live_;
}

[[gnu::hot]] void AddressMap::mark(std::uint64_t base, std::uint64_t size) noexcept {
    const std::uint64_t rest = ~std::uint64_t{0} - base;
    const std::uint64_t last = base + std::min(rest, size == 0 ? 0 : size - 1), end = last >> granule_bits;
    // Whole granules, as the bits tell them.
    constexpr std::uint64_t in_granule = (std::uint64_t{1} << granule_bits) - 1;
    std::uint64_t known = lowest_.load(std::memory_order_relaxed);
    while ((base & ~in_granule) < known &&
           !lowest_.compare_exchange_weak(known, base & ~in_granule, std::memory_order_relaxed)) {
    }
    known = highest_.load(std::memory_order_relaxed);
    while ((last | in_granule) > known &&
           !highest_.compare_exchange_weak(known, last | in_granule, std::memory_order_relaxed)) {
    }
    bool grows = false;
    if (end >= granules && !beyond_.load(std::memory_order_relaxed)) [[unlikely]] {
        beyond_.store(true, std::memory_order_relaxed);
        grows = true;
    }
    for (std::uint64_t granule = base >> granule_bits; granule <= std::min(end, granules - 1);) {
        const std::uint64_t in_word = granule & 63, count = std::min<std::uint64_t>(64 - in_word, end - granule + 1);
        const std::uint64_t bits = (count == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << count) - 1) << in_word;
        std::atomic<std::uint64_t>& word = words_[granule >> 6];
        if ((word.load(std::memory_order_relaxed) & bits) != bits) {
            word.fetch_or(bits, std::memory_order_relaxed);
            grows = true;
        }
        granule += count;
    }
    if (grows) growth_.fetch_add(1, std::memory_order_release);
}

[[gnu::hot]] void AddressMap::add(const Range& range) {
    // The bits first: whoever learns the address from the API's return must find them.
    mark(range.base, range.size);
    const std::lock_guard lock(live_->lock);
    occupy(range);
    if (keeps_bases_) [[unlikely]]
        live_->bases.insert(range.base);
    Ranges& ranges = live_->ranges;
    auto at = ranges.lower_bound(range.base);
    if (at != ranges.begin()) {
        const auto before = std::prev(at);
        if (range.base - before->first < before->second.size) at = ranges.erase(before);
    }
    while (at != ranges.end() && (at->first == range.base || at->first - range.base < range.size))
        at = ranges.erase(at);
    if (live_->spare.empty()) {
        ranges.emplace_hint(at, range.base, range);
        return;
    }
    live_->spare.key() = range.base;
    live_->spare.mapped() = range;
    ranges.insert(at, std::move(live_->spare));
}

[[gnu::hot]] std::optional<Range> AddressMap::take(std::uint64_t base) {
    const std::lock_guard lock(live_->lock);
    const auto found = live_->ranges.find(base);
    if (found == live_->ranges.end()) return std::nullopt;
    const Range range = found->second;
    if (live_->spare.empty()) live_->spare = live_->ranges.extract(found);
    else live_->ranges.erase(found);
    vacate(range);
    return range;
}

/// Under the lock, which those hold who find host memory there.
void AddressMap::occupy(const Range& range) noexcept {
    const std::uint64_t last = range.base + (range.size == 0 ? 0 : range.size - 1);
    bool again = false;
    for (std::uint64_t granule = range.base >> granule_bits; granule <= std::min(last >> granule_bits, granules - 1);
         ++granule) {
        if (!has(vacant_, granule)) [[likely]]
            continue;
        vacant_[granule >> 6].fetch_and(~(std::uint64_t{1} << (granule & 63)), std::memory_order_relaxed);
        again = true;
    }
    if (again) mark(range.base, range.size);
}

/// Under the lock. Notes the granules in which no other range is live.
void AddressMap::vacate(const Range& range) noexcept {
    if (!is_given_back(range.kind) || range.size == 0) return;
    const auto after = live_->ranges.lower_bound(range.base);
    const auto granule_of = [](std::uint64_t address) { return address >> granule_bits; };
    std::uint64_t first = granule_of(range.base), end = granule_of(range.base + range.size - 1) + 1;
    if (after != live_->ranges.begin()) {
        const Range& before = std::prev(after)->second;
        first = std::max(first, granule_of(before.base + std::max<std::uint64_t>(before.size, 1) - 1) + 1);
    }
    if (after != live_->ranges.end()) end = std::min(end, granule_of(after->first));
    if (first >= end || host_can_read(range.base)) return;
    for (std::uint64_t granule = first; granule < std::min(end, granules); ++granule)
        vacant_[granule >> 6].fetch_or(std::uint64_t{1} << (granule & 63), std::memory_order_relaxed);
}

/// Of an address where nothing is live.
[[gnu::noinline]] bool AddressMap::is_of_host(std::uint64_t address) const noexcept {
    if (!host_can_read(address)) return false;
    const std::lock_guard lock(live_->lock);
    const std::uint64_t granule = address >> granule_bits;
    if (!has(vacant_, granule)) return false;
    words_[granule >> 6].fetch_and(~(std::uint64_t{1} << (granule & 63)), std::memory_order_relaxed);
    return true;
}

std::optional<Range> AddressMap::find(std::uint64_t address) const {
    const std::lock_guard lock(live_->lock);
    auto after = live_->ranges.upper_bound(address);
    if (after == live_->ranges.begin()) return std::nullopt;
    const Range& range = std::prev(after)->second;
    if (address - range.base < range.size || address == range.base) return range;
    return std::nullopt;
}

std::vector<std::uint64_t> AddressMap::bases() const {
    const std::lock_guard lock(live_->lock);
    return {live_->bases.begin(), live_->bases.end()};
}

void AddressMap::forget_after_fork() {
    // The old one stays: another thread of the parent may have held its lock, in the middle of a change.
    Live* fresh = new Live;
    fresh->parent = live_;
    live_ = fresh;
}

}  // namespace streamsan::recorder
