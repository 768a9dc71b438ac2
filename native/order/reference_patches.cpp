#include "reference_patches.hpp"

#include <algorithm>
#include <cstring>

#include "generated/vocabulary.hpp"

namespace streamsan::order {
namespace {

constexpr unsigned shape_shift = 32;  ///< the shape of a LAUNCH is in the bits of `object` from here on

void put(const ReferencePatch& patch, std::uint8_t changed, std::uint8_t& mode, std::uint64_t& address,
         std::uint64_t& size) {
    switch (patch.verdict) {
        case ReferencePatch::Verdict::stays: return;
        case ReferencePatch::Verdict::no_use: address = size = 0; return;
        case ReferencePatch::Verdict::known: break;
    }
    mode = static_cast<std::uint8_t>((mode & ~changed) | patch.bits);
    // Of a part of a memory object the recorder tells the size; with it the bit of atomic accesses would mean gaps.
    const bool atomic = (patch.bits & static_cast<std::uint8_t>(SlotFlag::ATOMIC)) != 0;
    if (atomic && (size & bounded_bit) == 0) size = size <= UINT32_MAX && size != 0 ? size | bounded_bit : 0;
    if ((patch.begin != 0 || patch.size != 0) && address != 0) {
        address += patch.begin;
        size = patch.size;
    } else if (size == 0) {
        size = bounded_bit;  // no size and no bounds, but the code follows it
    }
}

// Words and modes of a REFERENCES slot lie where a Slot has these fields.
static_assert(offsetof(ReferencesSlot, first_address) == offsetof(Slot, sequence));
static_assert(offsetof(ReferencesSlot, first_size) == offsetof(Slot, time));
static_assert(offsetof(ReferencesSlot, second_address) == offsetof(Slot, stream));
static_assert(offsetof(ReferencesSlot, second_size) == offsetof(Slot, object));
static_assert(offsetof(ReferencesSlot, first_mode) == offsetof(Slot, detail));
static_assert(offsetof(ReferencesSlot, second_mode) == offsetof(Slot, flags));

/// Moves each reference of a launch to the place before its own, the first one into the launch's slot.
void move_up(Slot& launch, std::span<Slot> continuations, std::uint8_t own_bits) {
    Slot* before = nullptr;
    ReferencesSlot pair_before{};
    for (Slot& slot : continuations) {
        if (slot.kind < first_continuation_kind) return;
        if (static_cast<OperationKind>(slot.kind) != OperationKind::REFERENCES) continue;
        ReferencesSlot pair;
        std::memcpy(&pair, &slot, sizeof pair);
        if (before == nullptr) {
            constexpr std::uint64_t generation_bits = 0xffffffff;
            launch.address = pair.first_address;
            launch.size = pair.first_size;
            launch.object = (launch.object & ~generation_bits) | pair.first_generation;
            launch.flags = static_cast<std::uint8_t>((launch.flags & ~own_bits) | (pair.first_mode & own_bits));
        } else {
            pair_before.second_address = pair.first_address;
            pair_before.second_size = pair.first_size;
            pair_before.second_generation = pair.first_generation;
            pair_before.second_mode = pair.first_mode;
            pair_before.count = 2;
            std::memcpy(before, &pair_before, sizeof pair_before);
        }
        const bool both = pair.count >= 2;
        pair.first_address = both ? pair.second_address : 0;
        pair.first_size = both ? pair.second_size : 0;
        pair.first_generation = pair.second_generation;
        pair.first_mode = pair.second_mode;
        pair.second_address = pair.second_size = 0;
        std::memcpy(&slot, &pair, sizeof pair);
        before = &slot;
        pair_before = pair;
    }
}

void note(std::span<std::uint8_t> sites, std::uint32_t site) {
    if (site < sites.size()) sites[site] = 1;
}

}  // namespace

ReferencePatches::ReferencePatches(std::vector<ReferencePatch> patches, std::vector<ShapePatches> shapes,
                                   std::uint8_t own_bits, std::uint8_t further_bits)
    : patches_(std::move(patches)), shapes_(std::move(shapes)), own_bits_(own_bits), further_bits_(further_bits) {}

/// Count a kernel's slot, and return what becomes of it; null: its shape is not known, or it is no kernel.
const ShapePatches* ReferencePatches::shape_of(const Slot& slot, const PatchedNotes& notes) const {
    const auto kind = static_cast<OperationKind>(slot.kind);
    std::uint64_t shape = 0;
    if (kind == OperationKind::LAUNCH) {
        shape = slot.object >> shape_shift;
    } else {
        const bool node = kind == OperationKind::GRAPH_NODE || kind == OperationKind::GRAPH_NODE_UPDATE;
        if (!node || slot.detail != static_cast<std::uint8_t>(NodeKind::KERNEL) || slot.size == 0) return nullptr;
        shape = slot.size;
    }
    if (shape >= shapes_.size() || shape >= notes.launches.size()) shape = 0;
    ++notes.launches[shape];
    return shape == 0 ? nullptr : &shapes_[shape];
}

bool ReferencePatches::patch(std::span<Slot> slots, const PatchedNotes& notes) {
    bool found = false;
    for (std::size_t i = 0; i < slots.size(); ++i) {
        Slot& slot = slots[i];
        const ShapePatches* const shape = shape_of(slot, notes);
        if (shape == nullptr) {
            if (graphs_talk_ && static_cast<OperationKind>(slot.kind) == OperationKind::GRAPH_LAUNCH) {
                note(notes.talkers, slot.site);
            }
            continue;
        }
        const bool launch = static_cast<OperationKind>(slot.kind) == OperationKind::LAUNCH;
        if (shape->talks) {
            note(notes.talkers, slot.site);
            graphs_talk_ |= !launch;
        }
        if (shape->count == 0 || slot.more > shape->room) continue;
        const std::size_t further = std::min<std::size_t>(slot.more, slots.size() - i - 1);
        if (launch && slot.address == 0 && further != 0) {
            // All may be leftovers, so the launch's own place is empty, and does not count. A leftover stays behind it.
            if (at(shape->first).verdict == ReferencePatch::Verdict::stays) continue;
            move_up(slot, slots.subspan(i + 1, further), own_bits_);
        }
        found = true;
        note(notes.patched, slot.site);
        if (launch) put(at(shape->first), own_bits_, slot.flags, slot.address, slot.size);
        // Of a node's references none is in its own slot.
        patch_further(slots.subspan(i + 1, further), shape->first + (launch ? 1 : 0), shape->first + shape->count);
    }
    return found;
}

void ReferencePatches::patch_further(std::span<Slot> continuations, std::size_t patch, std::size_t end) const {
    for (Slot& slot : continuations) {
        if (patch >= end || slot.kind < first_continuation_kind) return;
        if (static_cast<OperationKind>(slot.kind) != OperationKind::REFERENCES) continue;
        put(at(patch), further_bits_, slot.detail, slot.sequence, slot.time);
        if (patch + 1 < end) put(at(patch + 1), further_bits_, slot.flags, slot.stream, slot.object);
        patch += 2;
    }
}

}  // namespace streamsan::order
