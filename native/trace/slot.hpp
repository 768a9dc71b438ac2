// The bytes of a slot: the C++ face of src/streamsan/trace/layout.py. docs/trace-format.md is the specification.
#pragma once
#include <cstddef>
#include <cstdint>

namespace streamsan {

/// One operation, 64 bytes, little-endian.
struct Slot {
    std::uint64_t sequence;
    std::uint64_t time;
    std::uint64_t stream;
    std::uint64_t object;  ///< handle or key; the generation of the first reference where `address` is one
    std::uint64_t address;
    std::uint64_t size;
    std::uint32_t site;
    std::uint16_t api;
    std::uint16_t thread;
    std::int16_t status;
    std::uint8_t kind;
    std::uint8_t detail;
    std::uint8_t flags;
    std::uint8_t more;
    std::uint16_t duration;
};
static_assert(sizeof(Slot) == 64 && offsetof(Slot, kind) == 58);

/// A continuation slot with one or two further references.
struct ReferencesSlot {
    std::uint64_t first_address;
    std::uint64_t first_size;
    std::uint64_t second_address;
    std::uint64_t second_size;
    std::uint32_t first_generation;
    std::uint32_t second_generation;
    std::uint8_t spare[18];
    std::uint8_t kind;
    std::uint8_t first_mode;
    std::uint8_t second_mode;
    std::uint8_t count;
    std::uint16_t unseen;  ///< of memory that instrumentation does not see: readers set it, in a file it is 0
};
static_assert(sizeof(ReferencesSlot) == 64 && offsetof(ReferencesSlot, kind) == 58);

/// A continuation slot with up to 56 bytes of text.
struct TextSlot {
    char text[56];
    std::uint16_t length;
    std::uint8_t kind;
    std::uint8_t spare[5];
};
static_assert(sizeof(TextSlot) == 64 && offsetof(TextSlot, kind) == 58);

/// A continuation slot that says which bytes of a reference are touched.
struct RowsSlot {
    std::uint64_t width;
    std::uint64_t pitch;
    std::uint64_t rows;
    std::uint64_t slice_pitch;
    std::uint64_t slices;
    std::uint8_t spare[16];
    std::uint8_t reference;  ///< which memory reference of the operation, from 0
    std::uint8_t spare_before_kind;
    std::uint8_t kind;
    std::uint8_t spare_end[5];
};
static_assert(sizeof(RowsSlot) == 64 && offsetof(RowsSlot, kind) == 58);

/// The size of a kernel's reference that has this bit is none: bits 32 to 62 say where the bounds of what it touches
/// begin, from its address on (signed), bits 0 to 31 how many bytes they have; 0: there are none that are known, only
/// that the kernel follows the address. src/streamsan/trace/reference_bounds.py writes it.
constexpr std::uint64_t bounded_bit = std::uint64_t{1} << 63;

constexpr std::int16_t status_unknown = -32768;

/// Kinds from here on are continuation slots, in every version of the format.
constexpr std::uint8_t first_continuation_kind = 240;

}  // namespace streamsan
