#include "recorder/cuda/access_operations.hpp"

#include <algorithm>

#include "recorder/cuda/call.hpp"
#include "recorder/cuda/recorder.hpp"
#include "recorder/cuda/sanitizer.hpp"

namespace streamsan::recorder::cuda {
namespace {

/// As a reference of an operation. Of a kernel's reference with a size the bit of ATOMIC means gaps, unless it has
/// rows: so of atomic operations on bytes in a row only the first is told.
/// A word may be a flag that is polled: where nobody tells whether it is read and written in order, its mode is left
/// open.
Reference reference_to(const AccessRows& accessed) {
    constexpr std::uint64_t largest_flag = 8;
    if (!accessed.atomic && accessed.rows == 1 && accessed.width <= largest_flag && !sanitizer()->tells_order)
        return {accessed.begin, 0, static_cast<std::uint8_t>(AccessMode::OPAQUE)};
    auto flags = static_cast<std::uint8_t>(accessed.mode);
    if (accessed.bound) flags |= static_cast<std::uint8_t>(SlotFlag::ASSUMED);
    if (!accessed.atomic) return {accessed.begin, accessed.end() - accessed.begin, flags};
    flags |= static_cast<std::uint8_t>(SlotFlag::ATOMIC);
    if (accessed.rows != 1) return {accessed.begin, accessed.end() - accessed.begin, flags};
    if (!accessed.bound) flags |= static_cast<std::uint8_t>(SlotFlag::TOUCHES);
    return {accessed.begin, 0, flags};
}

struct Told {
    OperationKind kind;
    std::uint64_t launch;
    std::uint64_t node;   ///< 0: none, or all
    std::uint64_t other;  ///< another launch; 0: none
};

void write(const Told& told, const std::vector<AccessRows>& all, SeenAccesses seen) {
    Lane* const lane = recorder()->writer->lane();
    if (lane == nullptr) return;
    const std::size_t count = all.size();
    const std::size_t pairs = (count + 1) / 2;
    const auto in_rows =
        std::count_if(all.begin(), all.end(), [](const AccessRows& accessed) { return accessed.rows != 1; });
    Slot* const slot = lane->reserve(static_cast<unsigned>(pairs + static_cast<std::size_t>(in_rows)));
    if (slot == nullptr) return;
    slot->time = recorder()->writer->now();
    slot->object = told.launch;
    slot->address = told.node;
    slot->size = told.other;
    slot->kind = static_cast<std::uint8_t>(told.kind);
    slot->detail = static_cast<std::uint8_t>(seen);
    std::vector<Reference> references;
    references.reserve(count);
    for (const AccessRows& accessed : all) references.push_back(reference_to(accessed));
    put_further_references(slot, references.data(), count);
    Slot* next = slot + 1 + pairs;
    for (std::size_t index = 0; index < count; ++index) {
        const AccessRows& accessed = all[index];
        if (accessed.rows == 1) continue;
        auto& rows = *reinterpret_cast<RowsSlot*>(next++);
        rows.kind = static_cast<std::uint8_t>(OperationKind::ROWS);
        rows.reference = static_cast<std::uint8_t>(index);
        rows.width = accessed.width;
        rows.pitch = accessed.pitch;
        rows.rows = accessed.rows;
        rows.slice_pitch = accessed.slice_pitch;
        rows.slices = accessed.slices;
    }
    lane->commit();
}

}  // namespace

void write_launch_accesses(std::uint64_t launch, const std::vector<AccessRows>& all, SeenAccesses seen) {
    write({OperationKind::LAUNCH_ACCESSES, launch, 0, 0}, all, seen);
}

void write_node_accesses(std::uint64_t launch, std::uint32_t node, const std::vector<AccessRows>& all,
                         SeenAccesses seen) {
    write({OperationKind::NODE_ACCESSES, launch, node, 0}, all, seen);
}

void write_same_accesses(std::uint64_t launch, std::uint64_t other, SeenAccesses seen) {
    write({OperationKind::NODE_ACCESSES, launch, 0, other}, {}, seen);
}

}  // namespace streamsan::recorder::cuda
