#include "recorder/trace_writer/row_table.hpp"

#include <algorithm>
#include <new>

#include "generated/vocabulary.hpp"

namespace streamsan::recorder {
namespace {

/// Different rows of one process. A program that makes new ones without end is kept by its bounds from there on.
constexpr std::size_t most_rows = 1U << 16;
/// A slot of rows names its reference by a byte; the most continuation slots of an operation are for references.
constexpr std::size_t most_told = 64;

}  // namespace

std::uint32_t RowTable::number_of(const Rows& rows) {
    const std::lock_guard lock(mutex_);
    const auto known = numbers_.find(rows);
    if (known != numbers_.end()) return known->second;
    if (rows_.size() >= most_rows) return 0;
    rows_.push_back(rows);
    const auto number = static_cast<std::uint32_t>(rows_.size());
    numbers_.emplace(rows, number);
    return number;
}

Rows RowTable::of(std::uint32_t number) const {
    const std::lock_guard lock(mutex_);
    return number == 0 || number > rows_.size() ? Rows{} : rows_[number - 1];
}

void RowTable::after_fork() {
    new (&mutex_) std::mutex;  // another thread of the parent may have held it
}

RowTable& row_table() {
    static auto* const all = new RowTable;
    return *all;
}

unsigned count_rows(const Reference* references, std::size_t count) {
    unsigned found = 0;
    for (std::size_t position = 0; position < std::min(count, most_told); ++position)
        found += references[position].rows != 0 ? 1 : 0;
    return found;
}

void put_rows(Slot* slot, const Reference* references, std::size_t count, std::size_t first) {
    for (std::size_t position = 0; position < std::min(count, most_told); ++position) {
        if (references[position].rows == 0) continue;
        const Rows rows = row_table().of(references[position].rows);
        auto& told = *reinterpret_cast<RowsSlot*>(++slot);
        told.kind = static_cast<std::uint8_t>(OperationKind::ROWS);
        told.width = rows.width;
        told.pitch = rows.pitch;
        told.rows = rows.count;
        told.slice_pitch = rows.slice_pitch;
        told.slices = rows.slices;
        told.reference = static_cast<std::uint8_t>(first + position);
    }
}

}  // namespace streamsan::recorder
