// What machine code says of launches' references, put into the slots of a trace before anybody reads them.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "trace/slot.hpp"

namespace streamsan::order {

/// What becomes of one reference. Numbers as in launched_code/reference_patches.py.
struct ReferencePatch {
    enum class Verdict : std::uint8_t { stays, no_use, known };
    Verdict verdict = Verdict::stays;
    std::uint8_t bits = 0;    ///< access mode and flags of the reference, where it is known
    std::uint64_t begin = 0;  ///< bytes from the address that was recorded, modulo 2^64
    std::uint64_t size = 0;   ///< 0: not known
};

/// What becomes of the launches of one shape.
struct ShapePatches {
    std::size_t first = 0;  ///< of the patches of all shapes, the first one of this
    std::size_t count = 0;
    std::uint8_t room = 0;  ///< continuation slots that a launch may have, else it stays as it is
    bool talks = false;     ///< the kernel may talk to the host while it runs
};

/// What is gathered while slots are patched. Sites and shapes outside of the spans are passed over.
struct PatchedNotes {
    std::span<std::int64_t> launches;  ///< launches and nodes of each shape, not empty; 0: it is not known
    std::span<std::uint8_t> patched;   ///< of each site: whether it launched kernels that were patched
    std::span<std::uint8_t> talkers;   ///< of each site: whether it launched kernels that may talk
};

/// The patches of all launch shapes of a trace. Slots are untrusted.
class ReferencePatches {
public:
    /// `own_bits`, `further_bits`: bits that change in the modes of a launch's own slot, and of further references.
    ReferencePatches(std::vector<ReferencePatch> patches, std::vector<ShapePatches> shapes, std::uint8_t own_bits,
                     std::uint8_t further_bits);

    /// Patch whole operations in place; tell whether there was one to patch.
    bool patch(std::span<Slot> slots, const PatchedNotes& notes);

private:
    const ReferencePatch& at(std::size_t number) const { return number < patches_.size() ? patches_[number] : stays_; }
    const ShapePatches* shape_of(const Slot& slot, const PatchedNotes& notes) const;
    void patch_further(std::span<Slot> continuations, std::size_t patch, std::size_t end) const;

    std::vector<ReferencePatch> patches_;
    std::vector<ShapePatches> shapes_;
    std::uint8_t own_bits_;
    std::uint8_t further_bits_;
    bool graphs_talk_ = false;  ///< a node of a graph may talk: launches of graphs do
    const ReferencePatch stays_;
};

}  // namespace streamsan::order
