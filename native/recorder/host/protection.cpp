#include "recorder/host/protection.hpp"

#include <algorithm>

#include <sys/mman.h>

namespace streamsan::recorder::host {

bool Protection::set(std::uint64_t first, std::uint64_t last, Level level, Means means) const noexcept {
    if (means == Means::protection_key) {
        const int key = level == Level::open ? 0 : level == Level::no_writes ? no_writes_key_ : key_;
        return kernel_call(SYS_pkey_mprotect, first, last - first, PROT_READ | PROT_WRITE, key) == 0;
    }
    const int rights = level == Level::open        ? PROT_READ | PROT_WRITE
                       : level == Level::no_writes ? PROT_READ
                                                   : PROT_NONE;
    return kernel_call(SYS_mprotect, first, last - first, rights) == 0;
}

/// The protection that a page is to have, and the first page from which on it may be another.
Protection::Level Protection::level_at(std::uint64_t address, std::uint64_t& until) const noexcept {
    Level level = Level::open;
    for (std::size_t index = 0; index < count_; ++index) {
        const Interval& each = intervals_[index];
        const std::uint64_t from = each.first_page();
        const std::uint64_t to = each.last_page();
        if (from > address) {
            until = std::min(until, from);
        } else if (to > address) {
            until = std::min(until, to);
            level = std::max(level, each.device_writes ? Level::closed : Level::no_writes);
        }
    }
    return level;
}

/// Gives the pages of [first, last) the protection that the intervals ask for.
bool Protection::settle(std::uint64_t first, std::uint64_t last, Means means) noexcept {
    bool done = true;
    while (first < last) {
        std::uint64_t until = last;
        const Level level = level_at(first, until);
        while (until < last) {
            std::uint64_t further = last;
            if (level_at(until, further) != level) break;
            until = further;
        }
        done &= set(first, until, level, means);
        first = until;
    }
    return done;
}

bool Protection::in_call(std::uint64_t begin, std::uint64_t end) const noexcept {
    for (const Call& call : calls_) {
        const std::uint64_t from = call.begin.load(std::memory_order_seq_cst);
        if (from != 0 && from < end && begin < call.end.load(std::memory_order_relaxed)) return true;
    }
    return false;
}

/// Whether one more place may be cut; the same place costs once.
bool Protection::may_cut(std::uint64_t place) noexcept {
    std::size_t at = (place >> 12) * 0x9e3779b97f4a7c15 >> 50;
    static_assert(2 * most_cuts == std::size_t{1} << 14);
    for (; cuts_[at] != 0; at = (at + 1) % cuts_.size())
        if (cuts_[at] == place) return true;
    if (cut_count_ == most_cuts) return false;
    cuts_[at] = place;
    ++cut_count_;
    return true;
}

Protected Protection::protect(const Use& use) noexcept {
    Interval wanted{std::max(use.begin, use.first_page),
                    std::min(use.end, use.last_page),
                    0,
                    use.device_writes,
                    !use.device_writes,
                    use.means,
                    use.begin,
                    use.width,
                    use.pitch,
                    use.slice_pitch};
    if (wanted.begin >= wanted.end) return Protected::done;
    const bool in_part = wanted.end - wanted.begin > most_bytes;
    if (in_part) wanted.end = wanted.begin + most_bytes;
    const SignalFreeLock::Guard guard(lock_);
    if (forks_.load(std::memory_order_relaxed) != 0) return Protected::not_now;
    bool now = true;
    wanted.known = uses_.look(use.begin, use.end, use.site, now);
    if (!now || in_call(wanted.begin, wanted.end)) return Protected::not_now;
    if (!may_cut(wanted.first_page()) || !may_cut(wanted.last_page())) return Protected::too_many;
    for (std::size_t index = 0; index < count_; ++index) {
        Interval& each = intervals_[index];
        if (each.begin != wanted.begin || each.end != wanted.end || each.width != wanted.width ||
            each.pitch != wanted.pitch)
            continue;
        const bool closed = each.device_writes;
        each.device_writes |= wanted.device_writes;
        each.device_reads |= wanted.device_reads;
        each.known = wanted.known;
        if (closed || !each.device_writes) return in_part ? Protected::in_part : Protected::done;
        return settle(each.first_page(), each.last_page(), each.means) ? Protected::done : Protected::refused;
    }
    if (count_ == most_intervals) {
        const Interval old = intervals_[oldest_];
        remove(oldest_);
        oldest_ = (oldest_ + 1) % most_intervals;
        settle(old.first_page(), old.last_page(), old.means);
    }
    intervals_[count_++] = wanted;
    if (!settle(wanted.first_page(), wanted.last_page(), wanted.means)) {
        remove(count_ - 1);
        settle(wanted.first_page(), wanted.last_page(), wanted.means);
        return Protected::refused;
    }
    return in_part ? Protected::in_part : Protected::done;
}

void Protection::release_where(std::uint64_t begin, std::uint64_t end) noexcept {
    for (std::size_t index = 0; index < count_;) {
        const Interval each = intervals_[index];
        if (!each.overlaps(begin, end)) {
            ++index;
            continue;
        }
        remove(index);
        settle(each.first_page(), each.last_page(), each.means);
    }
}

void Protection::release(std::uint64_t begin, std::uint64_t end) noexcept {
    const SignalFreeLock::Guard guard(lock_);
    release_where(begin, end);
}

void Protection::release_all() noexcept { release(0, ~std::uint64_t{0}); }

/// The host has accessed an interval. A read ends what the device wrote; whether the host writes while the device reads
/// is still to be seen. Returns whether the interval is gone; `index` is then that of another one.
bool Protection::end_use(std::size_t& index, bool writes) noexcept {
    Interval& met = intervals_[index];
    const Interval before = met;
    uses_.noted(before.known);
    const bool goes_on = !writes && met.device_reads && met.means == Means::page_protection;
    if (goes_on) met.device_writes = false;
    else remove(index);
    settle(before.first_page(), before.last_page(), before.means);
    return !goes_on;
}

/// A page of an interval is open from here on. Returns whether nothing is left of the interval; `index` is then
/// another's.
bool Protection::leave_out(std::size_t index, std::uint64_t first) noexcept {
    Interval& each = intervals_[index];
    const Interval before = each;
    each.end = first;
    Interval behind = before;
    behind.begin = first + page;
    if (each.begin >= each.end) {
        if (behind.begin >= behind.end) remove(index);
        else each = behind;
    } else if (behind.begin < behind.end && count_ < most_intervals) {
        intervals_[count_++] = behind;
    }
    settle(before.first_page(), before.last_page(), before.means);
    return before.begin >= first && before.end <= first + page;
}

Met Protection::accessed(std::uint64_t address, bool writes) noexcept {
    const std::uint64_t first = address & ~(page - 1);
    Met met = Met::nothing;
    lock_.take();
    for (std::size_t index = 0; index < count_;) {
        Interval& each = intervals_[index];
        if (each.first_page() > first || each.last_page() <= first || !each.forbids(writes)) {
            ++index;
            continue;
        }
        if (each.holds(address)) {
            met = Met::use;
            index += end_use(index, writes) ? 0 : 1;
            continue;
        }
        if (met == Met::nothing) met = Met::neighbour;
        index += leave_out(index, first) ? 0 : 1;
    }
    lock_.give();
    return met;
}

Met Protection::given_to_kernel(std::uint64_t begin, std::uint64_t end, bool writes, std::uint64_t& address) noexcept {
    Met met = Met::nothing;
    const std::uint64_t first = begin & ~(page - 1);
    const std::uint64_t last = (end + page - 1) & ~(page - 1);
    const SignalFreeLock::Guard guard(lock_);
    for (std::size_t index = 0; index < count_;) {
        const Interval each = intervals_[index];
        if (each.first_page() >= last || each.last_page() <= first || !each.forbids(writes)) {
            ++index;
            continue;
        }
        if (each.overlaps(begin, end)) {
            address = met == Met::use ? std::min(address, std::max(begin, each.begin)) : std::max(begin, each.begin);
            met = Met::use;
            index += end_use(index, writes) ? 0 : 1;
            continue;
        }
        if (met == Met::nothing) met = Met::neighbour;
        remove(index);
        settle(each.first_page(), each.last_page(), each.means);
    }
    return met;
}

int Protection::begin_call(std::uint64_t begin, std::uint64_t end) noexcept {
    for (std::size_t number = 0; number < calls_.size(); ++number) {
        Call& call = calls_[number];
        std::uint64_t free = 0;
        if (call.begin.load(std::memory_order_relaxed) != 0) continue;
        if (!call.begin.compare_exchange_strong(free, begin, std::memory_order_seq_cst)) continue;
        call.end.store(end, std::memory_order_seq_cst);
        return static_cast<int>(number);
    }
    return -1;
}

void Protection::before_fork() noexcept {
    const SignalFreeLock::Guard guard(lock_);
    forks_.fetch_add(1, std::memory_order_relaxed);
    before_fork_ = intervals_;
    count_before_fork_ = count_;
}

void Protection::after_fork_in_child() noexcept {
    // The table may be half changed by a thread that the child does not have. What the driver does not pass on to
    // children is not mapped here, which does no harm.
    for (std::size_t index = 0; index < count_before_fork_; ++index) {
        const Interval& each = before_fork_[index];
        set(each.first_page(), each.last_page(), Level::open, each.means);
    }
    count_ = 0;
    forks_.store(0, std::memory_order_relaxed);
    for (Call& call : calls_) call.begin.store(0, std::memory_order_relaxed);
    lock_.give();
}

}  // namespace streamsan::recorder::host
