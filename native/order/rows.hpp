// Rows of memory: which bytes a copy or a fill in two or three dimensions touches.
#pragma once
#include <cstdint>
#include <deque>

#include "flat_map.hpp"
#include "trace/slot.hpp"

namespace streamsan::order {

/// `count` rows of `width` bytes, `pitch` bytes apart, in `slices` slices. No row lies over another, and no fewer rows
/// or slices are the same bytes: several slices have several rows each, and there is more than one row.
struct Rows {
    std::uint64_t width = 0;
    std::uint64_t pitch = 0;
    std::uint64_t count = 0;
    std::uint64_t slice_pitch = 0;
    std::uint64_t slices = 1;

    /// The first touched byte that is not before `offset`, counted from the first row's; the end where there is none.
    [[nodiscard]] std::uint64_t first_from(std::uint64_t offset) const;
    [[nodiscard]] bool has(std::uint64_t offset) const { return offset < extent() && first_from(offset) == offset; }
    /// Bytes from the first to the last one.
    [[nodiscard]] std::uint64_t extent() const { return (slices - 1) * slice_pitch + (count - 1) * pitch + width; }
};

/// The bytes of [begin, end) that are touched: all, where there are no `rows`.
struct Touched {
    std::uint64_t begin;
    std::uint64_t end;
    const Rows* rows;
};

enum class Meeting : std::uint8_t { never, unclear, meet };

/// Whether a byte is in both, whose ranges overlap.
Meeting meeting_of(const Touched& one, const Touched& other);

/// Whether all bytes of `inner` surely are in `outer`.
bool holds(const Touched& outer, const Touched& inner);

/// All rows of a trace; different ones are few.
class RowTable {
public:
    /// The rows that a slot tells of a reference of `size` bytes; null where all bytes are touched. `fits`: whether
    /// they make sense and end where the reference does; else there are none.
    const Rows* rows_of(const RowsSlot& slot, std::uint64_t size, bool& fits);

private:
    std::deque<Rows> rows_;  ///< they stay where they are
    FlatMap by_key_;
};

}  // namespace streamsan::order
