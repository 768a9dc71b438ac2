// Rows that copies and fills touch. References name them by number, as references themselves are kept small: launches
// make many, and none with rows.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <vector>

#include "recorder/trace_writer/references.hpp"
#include "trace/slot.hpp"

namespace streamsan::recorder {

/// `count` rows of `width` bytes, `pitch` bytes apart, in `slices` slices.
struct Rows {
    std::uint64_t width;
    std::uint64_t pitch;
    std::uint64_t count;
    std::uint64_t slice_pitch;
    std::uint64_t slices;

    auto operator<=>(const Rows&) const = default;
};

class RowTable {
public:
    /// The number of such rows, from 1; 0 when there are too many different ones.
    std::uint32_t number_of(const Rows& rows);
    [[nodiscard]] Rows of(std::uint32_t number) const;
    void after_fork();

private:
    mutable std::mutex mutex_;
    std::map<Rows, std::uint32_t> numbers_;
    std::vector<Rows> rows_;
};

/// Of this process. Never destroyed.
RowTable& row_table();

/// How many of an operation's references are told to touch rows: slots to reserve behind those of the references.
[[nodiscard]] unsigned count_rows(const Reference* references, std::size_t count);
/// Fills those slots; the first one follows `slot`. The first of the references is number `first` of the operation's.
void put_rows(Slot* slot, const Reference* references, std::size_t count, std::size_t first = 0);

}  // namespace streamsan::recorder
