// What an operation names beside its handles: a detail, and memory.
#pragma once
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "generated/vocabulary.hpp"
#include "trace/slot.hpp"

namespace streamsan::recorder {

/// A reference to memory that an operation makes.
struct Reference {
    std::uint64_t address;
    std::uint64_t size;       ///< 0: not known
    std::uint8_t mode_flags;  ///< AccessMode and SlotFlag bits of this reference
    std::uint32_t rows = 0;   ///< number of the rows that it touches, see RowTable; 0: all bytes, or not known

    bool operator==(const Reference&) const = default;
};

/// Of a reference that may be a leftover, or may not be made.
constexpr auto conditional_flag = static_cast<std::uint8_t>(SlotFlag::CONDITIONAL);

/// An operation has room for one reference in its slot and two in each of at most 255 continuation slots.
constexpr std::size_t most_further_references = 510;

/// Fills the continuation slots that follow `slot`, two references in each: (count + 1) / 2 slots, reserved with it.
inline void put_further_references(Slot* slot, const Reference* references, std::size_t count) {
    for (std::size_t position = 0; position < count; position += 2) {
        auto& further = *reinterpret_cast<ReferencesSlot*>(++slot);
        further.kind = static_cast<std::uint8_t>(OperationKind::REFERENCES);
        further.first_address = references[position].address;
        further.first_size = references[position].size;
        further.first_mode = references[position].mode_flags;
        further.count = 1;
        if (position + 1 == count) break;
        further.second_address = references[position + 1].address;
        further.second_size = references[position + 1].size;
        further.second_mode = references[position + 1].mode_flags;
        further.count = 2;
    }
}

/// The detail of an operation: of the enumeration that its kind has, or a number.
struct Detail {
    constexpr Detail(std::uint8_t number) : value(number) {}
    template <class Enumeration>
        requires std::is_enum_v<Enumeration>
    constexpr Detail(Enumeration number) : value(static_cast<std::uint8_t>(number)) {}
    std::uint8_t value;
};

}  // namespace streamsan::recorder
