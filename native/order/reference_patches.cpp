#include "reference_patches.hpp"

#include <algorithm>

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
    if ((patch.begin != 0 || patch.size != 0) && address != 0) {
        address += patch.begin;
        size = patch.size;
    }
}

// Words and modes of a REFERENCES slot lie where a Slot has these fields.
static_assert(offsetof(ReferencesSlot, first_address) == offsetof(Slot, sequence));
static_assert(offsetof(ReferencesSlot, first_size) == offsetof(Slot, time));
static_assert(offsetof(ReferencesSlot, second_address) == offsetof(Slot, stream));
static_assert(offsetof(ReferencesSlot, second_size) == offsetof(Slot, object));
static_assert(offsetof(ReferencesSlot, first_mode) == offsetof(Slot, detail));
static_assert(offsetof(ReferencesSlot, second_mode) == offsetof(Slot, flags));

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
        found = true;
        note(notes.patched, slot.site);
        if (launch) put(at(shape->first), own_bits_, slot.flags, slot.address, slot.size);
        const std::size_t further = std::min<std::size_t>(slot.more, slots.size() - i - 1);
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
