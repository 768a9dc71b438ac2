// An operation as findings need it, small enough to keep one for each use of each allocation.
#pragma once
#include <cstdint>

#include "clock.hpp"
#include "trace/slot.hpp"
#include "generated/facts.hpp"
#include "generated/vocabulary.hpp"

namespace streamsan::order {

/// One memory reference of an operation.
struct Reference {
    std::uint64_t address;
    std::uint64_t size;
    std::uint32_t generation;
    AccessMode mode;
    bool assumed;         ///< the access may not happen
    std::uint8_t flags;   ///< TOUCHES, and ATOMIC or STRIDED
    bool behind = false;  ///< of a kernel that begins at once: used after it has waited
};

constexpr std::uint8_t mode_bits = 3;
/// The flags of a slot or operation that are about its reference.
constexpr auto reference_bits = static_cast<std::uint8_t>(static_cast<std::uint8_t>(SlotFlag::TOUCHES) |
                                                          static_cast<std::uint8_t>(SlotFlag::ATOMIC));
static_assert(SlotFlag::ATOMIC == SlotFlag::STRIDED,
              "one bit: of a kernel's reference the one, of a copy's or a fill's the other");

struct Operation {
    std::uint64_t sequence = 0;
    std::uint32_t site = 0;
    std::uint32_t stream_name = 0;  ///< index of the interned StreamName; 0: the host
    std::uint16_t api = 0;
    std::uint16_t thread = 0;
    std::int16_t status = 0;
    OperationKind kind{};
    std::uint8_t flags = 0;  ///< SlotFlag, and in bits 0 and 1 the AccessMode of the use it is kept for

    [[nodiscard]] AccessMode mode() const { return static_cast<AccessMode>(flags & mode_bits); }
    [[nodiscard]] bool reads_only() const { return mode() == AccessMode::READ; }
    [[nodiscard]] bool assumed() const { return (flags & static_cast<std::uint8_t>(SlotFlag::ASSUMED)) != 0; }
};
static_assert(sizeof(Operation) == 24);

/// A duration as slots have it, in nanoseconds: rounded up, so that it is never too short.
constexpr std::uint64_t nanoseconds(std::uint16_t duration) {
    return std::uint64_t{duration & 2047U} << (duration >> 11);
}

/// The least time that it can stand for.
constexpr std::uint64_t least_nanoseconds(std::uint16_t duration) {
    const std::uint64_t mantissa = duration & 2047U;
    const unsigned exponent = duration >> 11;
    return exponent == 0 || mantissa == 0 ? mantissa : ((mantissa - 1) << exponent) + 1;
}

/// An operation and where it is on its timeline.
struct Placed {
    Operation operation;
    Epoch epoch;
};
static_assert(sizeof(Placed) == 32);

}  // namespace streamsan::order
