// From notes to what a launch touched: ranges of bytes, and rows where they are strided.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "generated/vocabulary.hpp"
#include "recorder/accesses/device_notes.hpp"

namespace streamsan::recorder {

/// Bytes from `begin` up to `end`.
struct ByteRange {
    std::uint64_t begin;
    std::uint64_t end;
    bool operator==(const ByteRange&) const = default;
};

/// What one launch touched, by use: ranges in the order of addresses, none of which meets the next.
struct TouchedRanges {
    std::vector<ByteRange> of[3];      ///< by PageUse: every byte was touched
    std::vector<ByteRange> bounds[3];  ///< something in each was touched: there was no room for more
    bool noted = false;                ///< the kernel was one that notes what it touches
};

/// Gathers what launches touched from their notes.
class TouchedByLaunch {
public:
    /// Records that were taken, and the notes of the first of them: DeviceNotes::words each.
    void add(std::span<const DeviceNotes::Record> records, std::span<const std::uint32_t> bits);
    /// All that was added, by the launch's number. Nothing is left.
    std::map<std::uint32_t, TouchedRanges> take();

private:
    std::map<std::uint32_t, TouchedRanges> launches_;
};

/// Rows of `width` bytes, `pitch` bytes apart, in `slices` slices.
struct AccessRows {
    std::uint64_t begin;
    std::uint64_t width;
    std::uint64_t pitch;
    std::uint64_t rows;
    std::uint64_t slice_pitch;
    std::uint64_t slices;
    AccessMode mode;
    bool atomic;
    bool bound;  ///< one row, of which only some bytes may be touched

    bool operator==(const AccessRows&) const = default;
    [[nodiscard]] std::uint64_t end() const { return begin + (slices - 1) * slice_pitch + (rows - 1) * pitch + width; }
};

/// What a launch is said to have touched.
struct LaunchAccesses {
    std::vector<AccessRows> rows;
    bool whole;  ///< nothing else was
    bool operator==(const LaunchAccesses&) const = default;
};

/// The ranges as rows. They are cut where memory begins (`bases`, in order), so that none lies in two allocations. Of
/// an allocation of which there would be more than `most_of_one`, and of as many as make all too many, only the bounds
/// are left.
LaunchAccesses accesses_of(const TouchedRanges& touched, std::span<const std::uint64_t> bases, std::size_t most_of_one,
                           std::size_t most);

}  // namespace streamsan::recorder
