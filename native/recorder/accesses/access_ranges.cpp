#include "recorder/accesses/access_ranges.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <utility>

namespace streamsan::recorder {
namespace {

constexpr std::size_t uses = 3;

/// Adds a range that begins where the last one ends, or later.
void append(std::vector<ByteRange>& ranges, std::uint64_t begin, std::uint64_t end) {
    if (!ranges.empty() && ranges.back().end == begin) ranges.back().end = end;
    else ranges.push_back({begin, end});
}

/// The set bits of a note, as ranges from `begin` on, a bit for 1 << `shift` bytes. Most words are full or empty.
void append_bits(std::vector<ByteRange>& ranges, std::span<const std::uint32_t> words, std::uint64_t begin,
                 unsigned shift) {
    constexpr std::uint64_t bits = 64, full = ~std::uint64_t{0};
    const auto wide = [words](std::size_t at) {
        std::uint64_t word = 0;
        std::memcpy(&word, words.data() + 2 * at, sizeof word);
        return word;
    };
    const std::size_t count = words.size() / 2;
    for (std::size_t at = 0; at < count; ++at) {
        std::uint64_t word = wide(at);
        if (word == 0) continue;
        const std::uint64_t first = begin + (at * bits << shift);
        if (word == full) {
            while (at + 1 < count && wide(at + 1) == full) ++at;
            append(ranges, first, begin + ((at + 1) * bits << shift));
            continue;
        }
        unsigned passed = 0;
        while (word != 0) {
            const auto zeros = static_cast<unsigned>(std::countr_zero(word));
            word >>= zeros;
            const auto ones = static_cast<unsigned>(std::countr_one(word));
            append(ranges, first + (std::uint64_t{passed + zeros} << shift),
                   first + (std::uint64_t{passed + zeros + ones} << shift));
            passed += zeros + ones;
            word = ones == bits ? 0 : word >> ones;
        }
    }
}

/// Puts ranges into order, and those together that meet.
void settle(std::vector<ByteRange>& ranges) {
    std::sort(ranges.begin(), ranges.end(), [](const ByteRange& one, const ByteRange& two) {
        return std::pair(one.begin, one.end) < std::pair(two.begin, two.end);
    });
    std::size_t kept = 0;
    for (const ByteRange& range : ranges) {
        if (kept != 0 && range.begin <= ranges[kept - 1].end)
            ranges[kept - 1].end = std::max(ranges[kept - 1].end, range.end);
        else ranges[kept++] = range;
    }
    ranges.resize(kept);
}

/// Rows of equal width and distance become one.
std::vector<AccessRows> in_rows(std::span<const ByteRange> ranges, AccessMode mode, bool atomic, bool bound) {
    std::vector<AccessRows> found;
    for (std::size_t at = 0; at < ranges.size();) {
        const std::uint64_t width = ranges[at].end - ranges[at].begin;
        AccessRows rows{ranges[at].begin, width, width, 1, 0, 1, mode, atomic, bound};
        if (!bound && at + 1 < ranges.size()) {
            const std::uint64_t pitch = ranges[at + 1].begin - ranges[at].begin;
            std::uint64_t next = at + 1;
            while (next < ranges.size() && ranges[next].end - ranges[next].begin == width &&
                   ranges[next].begin - ranges[next - 1].begin == pitch)
                ++next;
            rows.rows = next - at;
            if (rows.rows > 1) rows.pitch = pitch;
        }
        at += rows.rows;
        found.push_back(rows);
    }
    // The same, a level higher.
    std::vector<AccessRows> sliced;
    for (std::size_t at = 0; at < found.size();) {
        const AccessRows& first = found[at];
        const auto alike = [&](const AccessRows& other) {
            return other.width == first.width && other.pitch == first.pitch && other.rows == first.rows;
        };
        std::size_t next = at + 1;
        AccessRows rows = first;
        if (first.rows > 1 && next < found.size() && alike(found[next])) {
            const std::uint64_t distance = found[next].begin - first.begin;
            while (next < found.size() && alike(found[next]) && found[next].begin - found[next - 1].begin == distance)
                ++next;
            rows.slices = next - at;
            rows.slice_pitch = distance;
        }
        at = next;
        sliced.push_back(rows);
    }
    return sliced;
}

/// What of one allocation is used in one way.
struct Group {
    std::size_t allocation;
    AccessMode mode;
    bool atomic;
    std::vector<ByteRange> ranges;
    std::vector<ByteRange> bounds;
};

/// Cuts ranges where memory begins. `into` gets them by number of the base that is not behind them.
template <class Into>
void cut(std::span<const ByteRange> ranges, std::span<const std::uint64_t> bases, Into&& into) {
    for (ByteRange range : ranges) {
        auto next = std::upper_bound(bases.begin(), bases.end(), range.begin);
        while (range.begin < range.end) {
            const std::uint64_t end = next == bases.end() ? range.end : std::min(range.end, *next);
            into(static_cast<std::size_t>(next - bases.begin()), ByteRange{range.begin, end});
            range.begin = end;
            if (next != bases.end()) ++next;
        }
    }
}

std::vector<Group> groups_of(const TouchedRanges& touched, std::span<const std::uint64_t> bases) {
    std::map<std::size_t, std::array<Group, uses>> by_allocation;
    for (std::size_t use = 0; use < uses; ++use) {
        cut(touched.of[use], bases, [&](std::size_t allocation, const ByteRange& range) {
            by_allocation[allocation][use].ranges.push_back(range);
        });
        cut(touched.bounds[use], bases, [&](std::size_t allocation, const ByteRange& range) {
            by_allocation[allocation][use].bounds.push_back(range);
        });
    }
    std::vector<Group> groups;
    const auto add = [&](std::size_t allocation, Group& group, AccessMode mode, bool atomic) {
        if (group.ranges.empty() && group.bounds.empty()) return;
        groups.push_back({allocation, mode, atomic, std::move(group.ranges), std::move(group.bounds)});
    };
    for (auto& [allocation, group] : by_allocation) {
        auto& [read, written, atomic] = group;
        if (read.ranges == written.ranges && read.bounds == written.bounds) {
            add(allocation, read, AccessMode::READ_WRITE, false);
        } else {
            add(allocation, read, AccessMode::READ, false);
            add(allocation, written, AccessMode::WRITE, false);
        }
        add(allocation, atomic, AccessMode::READ_WRITE, true);
    }
    return groups;
}

/// One row over all that is in the group.
AccessRows bound_of(const Group& group) {
    std::uint64_t begin = UINT64_MAX, end = 0;
    for (const auto* const each : {&group.ranges, &group.bounds}) {
        if (each->empty()) continue;
        begin = std::min(begin, each->front().begin);
        end = std::max(end, each->back().end);
    }
    return {begin, end - begin, end - begin, 1, 0, 1, group.mode, group.atomic, true};
}

}  // namespace

void TouchedByLaunch::add(std::span<const DeviceNotes::Record> records, std::span<const std::uint32_t> bits) {
    constexpr std::uint64_t page_mask = (std::uint64_t{1} << (DeviceNotes::launch_shift - DeviceNotes::page_shift)) - 1;
    for (std::size_t index = 0; index < records.size(); ++index) {
        const DeviceNotes::Record& record = records[index];
        const std::uint64_t use = (record.key & 3) - 1;
        if (record.key == 0 || use >= uses) continue;  // never filled in: another thread was faster
        TouchedRanges& touched = launches_[static_cast<std::uint32_t>(record.key >> DeviceNotes::launch_shift)];
        const std::uint64_t page = record.key >> DeviceNotes::page_shift & page_mask;
        if (page == 0) {
            touched.noted = true;
            continue;
        }
        const unsigned shift = (record.key & DeviceNotes::bytes_bit) != 0 ? 0 : DeviceNotes::word_shift;
        const std::uint64_t begin = page << (DeviceNotes::bits_log2 + shift);
        if ((index + 1) * DeviceNotes::words <= bits.size()) {
            append_bits(touched.of[use], bits.subspan(index * DeviceNotes::words, DeviceNotes::words), begin, shift);
            continue;
        }
        const std::uint64_t first = (std::uint64_t{1} << 16) - record.below_end;
        if (record.end > first) touched.bounds[use].push_back({begin + first, begin + record.end});
    }
}

std::map<std::uint32_t, TouchedRanges> TouchedByLaunch::take() {
    for (auto& [launch, touched] : launches_) {
        for (std::size_t use = 0; use < uses; ++use) {
            settle(touched.of[use]);
            settle(touched.bounds[use]);
        }
    }
    return std::exchange(launches_, {});
}

LaunchAccesses accesses_of(const TouchedRanges& touched, std::span<const std::uint64_t> bases, std::size_t most_of_one,
                           std::size_t most) {
    const std::vector<Group> groups = groups_of(touched, bases);
    std::vector<std::vector<AccessRows>> by_group;
    std::size_t count = 0;
    for (const Group& group : groups) {
        std::vector<AccessRows> rows = in_rows(group.ranges, group.mode, group.atomic, false);
        const std::vector<AccessRows> bounds = in_rows(group.bounds, group.mode, group.atomic, true);
        rows.insert(rows.end(), bounds.begin(), bounds.end());
        if (rows.size() > most_of_one) rows = {bound_of(group)};
        count += rows.size();
        by_group.push_back(std::move(rows));
    }
    // The groups with the most rows are shortened first.
    while (count > most) {
        std::size_t largest = 0;
        for (std::size_t each = 1; each < by_group.size(); ++each) {
            if (by_group[each].size() > by_group[largest].size()) largest = each;
        }
        if (by_group[largest].size() <= 1) break;
        count -= by_group[largest].size() - 1;
        by_group[largest] = {bound_of(groups[largest])};
    }
    LaunchAccesses all{{}, touched.noted && count <= most};
    for (const auto& rows : by_group) all.rows.insert(all.rows.end(), rows.begin(), rows.end());
    if (all.rows.size() > most) all.rows.resize(most);
    return all;
}

}  // namespace streamsan::recorder
