#include "rows.hpp"

#include <algorithm>
#include <optional>

namespace streamsan::order {
namespace {

/// Steps of a search. Beyond it nobody knows: hostile rows must not take time.
constexpr std::uint64_t most_steps = 4096;
/// Ranges are less than half of what a signed number holds, so that sums of a few fit.
constexpr std::uint64_t largest_extent = std::uint64_t{1} << 59;

std::optional<std::uint64_t> product(std::uint64_t one, std::uint64_t other) {
    std::uint64_t result;
    if (__builtin_mul_overflow(one, other, &result) || result > largest_extent) return std::nullopt;
    return result;
}

/// The rows of a slot, where they make sense.
std::optional<Rows> sensible(const RowsSlot& slot) {
    if (slot.width == 0 || slot.rows == 0 || slot.slices == 0 || slot.width > largest_extent) return std::nullopt;
    Rows rows{slot.width, slot.rows == 1 ? 0 : slot.pitch, slot.rows, slot.slices == 1 ? 0 : slot.slice_pitch,
              slot.slices};
    const auto down = product(rows.count - 1, rows.pitch);
    const auto deep = product(rows.slices - 1, rows.slice_pitch);
    if (!down || !deep || (rows.count > 1 && rows.pitch < rows.width)) return std::nullopt;
    if (rows.slices > 1 && rows.slice_pitch < *down + rows.width) return std::nullopt;
    return rows;
}

Rows simplest(Rows rows) {
    const auto merge = [&rows] {
        if (rows.count > 1 && rows.pitch == rows.width) {
            rows.width *= rows.count;
            rows.count = 1;
        }
    };
    merge();
    if (rows.count == 1) {
        rows.pitch = rows.slice_pitch;
        rows.count = rows.slices;
        rows.slices = 1;
    } else if (rows.slices > 1 && rows.slice_pitch == rows.pitch * rows.count) {
        rows.count *= rows.slices;
        rows.slices = 1;
    }
    merge();
    if (rows.slices == 1) rows.slice_pitch = 0;
    if (rows.count == 1) rows.pitch = 0;
    return rows;
}

std::int64_t floor_of(std::int64_t number, std::int64_t divisor) {
    return number / divisor - (number % divisor < 0 ? 1 : 0);
}

bool is_same(const Rows& one, const Rows& other) {
    return one.width == other.width && one.pitch == other.pitch && one.count == other.count &&
           one.slice_pitch == other.slice_pitch && one.slices == other.slices;
}

/// Whether rows, and slices where both have some, lie at the same distances.
bool same_grid(const Rows& one, const Rows& other) {
    return one.pitch == other.pitch && (one.slices == 1 || other.slices == 1 || one.slice_pitch == other.slice_pitch);
}

/// Of rows at the same distances: whether a row of each begin so near to each other that they share a byte.
Meeting meeting_on_grid(const Touched& one, const Touched& other) {
    const Rows& mine = *one.rows;
    const Rows& theirs = *other.rows;
    const auto number = [](std::uint64_t value) { return static_cast<std::int64_t>(value); };
    const std::int64_t apart = number(other.begin - one.begin);
    const std::int64_t pitch = number(mine.pitch);
    // Row i of one and row j of the other: they meet where -theirs.width < apart - (i - j) pitch < mine.width.
    const auto rows_meet = [&](std::int64_t distance) {
        const std::int64_t least =
            std::max(floor_of(distance - number(mine.width), pitch) + 1, -number(theirs.count) + 1);
        const std::int64_t most =
            std::min(floor_of(distance + number(theirs.width) - 1, pitch), number(mine.count) - 1);
        return least <= most;
    };
    if (mine.slices == 1 && theirs.slices == 1) return rows_meet(apart) ? Meeting::meet : Meeting::never;
    const std::int64_t slice = number(mine.slices == 1 ? theirs.slice_pitch : mine.slice_pitch);
    const std::int64_t above = number(mine.count - 1) * pitch + number(mine.width);
    const std::int64_t below = number(theirs.count - 1) * pitch + number(theirs.width);
    const std::int64_t first = std::max(floor_of(apart - above, slice) + 1, -number(theirs.slices) + 1);
    const std::int64_t last = std::min(floor_of(apart + below - 1, slice), number(mine.slices) - 1);
    if (last - first >= number(most_steps)) return Meeting::unclear;
    for (std::int64_t each = first; each <= last; ++each) {
        if (rows_meet(apart - each * slice)) return Meeting::meet;
    }
    return Meeting::never;
}

std::uint64_t first_from(const Touched& touched, std::uint64_t address) {
    if (address <= touched.begin) return touched.begin;
    if (touched.rows == nullptr) return address;
    return address < touched.end ? touched.begin + touched.rows->first_from(address - touched.begin) : touched.end;
}

}  // namespace

std::uint64_t Rows::first_from(std::uint64_t offset) const {
    const std::uint64_t slice = slices == 1 ? 0 : std::min(offset / slice_pitch, slices - 1);
    const std::uint64_t in_slice = offset - slice * slice_pitch;
    const std::uint64_t row = std::min(in_slice / pitch, count - 1);
    if (in_slice - row * pitch < width) return offset;
    if (row + 1 < count) return slice * slice_pitch + (row + 1) * pitch;
    return slice + 1 < slices ? (slice + 1) * slice_pitch : extent();
}

Meeting meeting_of(const Touched& one, const Touched& other) {
    if (one.rows != nullptr && other.rows != nullptr && same_grid(*one.rows, *other.rows))
        return one.begin <= other.begin ? meeting_on_grid(one, other) : meeting_on_grid(other, one);
    // From a byte of the one to the next of the other, and back. A dense side meets the first row that it reaches.
    std::uint64_t at = std::max(one.begin, other.begin);
    for (std::uint64_t step = 0; step < most_steps; ++step) {
        const std::uint64_t mine = first_from(one, at);
        if (mine >= one.end) return Meeting::never;
        at = first_from(other, mine);
        if (at >= other.end) return Meeting::never;
        if (at == mine) return Meeting::meet;
    }
    return Meeting::unclear;
}

bool holds(const Touched& outer, const Touched& inner) {
    if (inner.begin < outer.begin || inner.end > outer.end) return false;
    if (outer.rows == nullptr) return true;
    const Rows& rows = *outer.rows;
    const std::uint64_t offset = inner.begin - outer.begin;
    const std::uint64_t slice = rows.slices == 1 ? 0 : std::min(offset / rows.slice_pitch, rows.slices - 1);
    const std::uint64_t in_slice = offset - slice * rows.slice_pitch;
    const std::uint64_t row = std::min(in_slice / rows.pitch, rows.count - 1);
    const std::uint64_t column = in_slice - row * rows.pitch;
    const std::uint64_t width = inner.rows == nullptr ? inner.end - inner.begin : inner.rows->width;
    if (column >= rows.width || width > rows.width - column) return false;
    if (inner.rows == nullptr) return true;
    return same_grid(rows, *inner.rows) && inner.rows->count <= rows.count - row &&
           inner.rows->slices <= rows.slices - slice;
}

const Rows* RowTable::rows_of(const RowsSlot& slot, std::uint64_t size, bool& fits) {
    const std::optional<Rows> found = sensible(slot);
    fits = found && found->extent() == size;
    if (!fits) return nullptr;
    const Rows rows = simplest(*found);
    if (rows.count == 1) return nullptr;
    std::uint64_t key = 0;
    for (const std::uint64_t each : {rows.width, rows.pitch, rows.count, rows.slice_pitch, rows.slices})
        key = spread(key ^ each);
    for (;; ++key) {
        const std::uint32_t index = by_key_.number(key, rows_.size());
        if (index == rows_.size()) rows_.push_back(rows);
        if (is_same(rows_[index], rows)) return &rows_[index];
    }
}

}  // namespace streamsan::order
