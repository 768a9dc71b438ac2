// An operation as findings need it, small enough to keep one for each use of each allocation.
#pragma once
#include <array>
#include <cstdint>
#include <initializer_list>

#include "clock.hpp"
#include "trace/slot.hpp"
#include "generated/facts.hpp"
#include "generated/vocabulary.hpp"

namespace streamsan::order {

struct Rows;

constexpr std::uint8_t bit(SlotFlag flag) { return static_cast<std::uint8_t>(flag); }

/// Whether a call is known to have failed.
constexpr bool failed(std::int16_t status) { return status != 0 && status != status_unknown; }

/// A set of kinds of operations.
class Kinds {
public:
    constexpr Kinds(std::initializer_list<OperationKind> kinds) {
        for (const OperationKind kind : kinds)
            words_[word(kind)] |= std::uint64_t{1} << static_cast<unsigned>(kind) % 64;
    }
    [[nodiscard]] constexpr bool has(OperationKind kind) const {
        return (words_[word(kind)] >> static_cast<unsigned>(kind) % 64 & 1U) != 0;
    }

private:
    static constexpr unsigned word(OperationKind kind) { return static_cast<unsigned>(kind) / 64; }
    std::array<std::uint64_t, 4> words_{};
};

/// Waits, and questions whether there is something to wait for.
constexpr Kinds waits_of_host = {OperationKind::STREAM_SYNCHRONIZE, OperationKind::STREAM_QUERY,
                                 OperationKind::EVENT_SYNCHRONIZE,  OperationKind::EVENT_QUERY,
                                 OperationKind::EVENT_ELAPSED,      OperationKind::CONTEXT_SYNCHRONIZE};

/// Done by the stream that its slot names, where it names one, not by the host.
constexpr Kinds runs_on_stream = {
    OperationKind::LAUNCH,        OperationKind::COPY,        OperationKind::MEMSET,
    OperationKind::HOST_FUNCTION, OperationKind::PREFETCH,    OperationKind::STREAM_MEMORY_OP,
    OperationKind::GRAPH_LAUNCH,  OperationKind::ALLOC,       OperationKind::FREE,
    OperationKind::EVENT_RECORD,  OperationKind::QUEUE_MARKER};

/// Bytes outside of which nothing is touched, where it is not known which in them are.
struct Bounds {
    std::uint64_t low = 0;
    std::uint64_t high = 0;  ///< behind the last one; 0: there are no bounds

    [[nodiscard]] bool known() const { return high != 0; }
    [[nodiscard]] bool holds(const Bounds& other) const {
        return known() && other.known() && low <= other.low && other.high <= high;
    }
    [[nodiscard]] bool apart(const Bounds& other) const {
        return known() && other.known() && (high <= other.low || other.high <= low);
    }
    bool operator==(const Bounds&) const = default;
};

/// One memory reference of an operation.
struct Reference {
    std::uint64_t address;
    std::uint64_t size;
    std::uint32_t generation;
    AccessMode mode;
    bool assumed;                ///< the access may not happen
    std::uint8_t flags;          ///< TOUCHES, and ATOMIC or STRIDED (with `rows` always ATOMIC)
    bool behind = false;         ///< of a kernel that begins at once: used after it has waited
    const Rows* rows = nullptr;  ///< which bytes are touched, where not all are and that is known
    Bounds bounds = {};          ///< of a kernel's, whose size is not known
    bool followed = false;       ///< of a kernel's, whose size is not known: its code follows the address

    /// Whether it is no use of its own: it says that a kernel polls the word there.
    [[nodiscard]] bool polls() const {
        return mode == AccessMode::OPAQUE && (flags & bit(SlotFlag::ATOMIC)) != 0 && size == 0 && rows == nullptr &&
               !bounds.known();
    }
};

constexpr std::uint8_t mode_bits = 3;
/// The flags of a slot or operation that are about its reference.
constexpr std::uint8_t reference_bits = bit(SlotFlag::TOUCHES) | bit(SlotFlag::ATOMIC);
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
    [[nodiscard]] bool writes() const { return mode() == AccessMode::WRITE || mode() == AccessMode::READ_WRITE; }
    [[nodiscard]] bool has(SlotFlag flag) const { return (flags & bit(flag)) != 0; }
    [[nodiscard]] bool assumed() const { return has(SlotFlag::ASSUMED); }
    [[nodiscard]] bool failed() const { return order::failed(status); }
    /// The same as a use by one reference; `bits`: what is known of that, of reference_bits.
    [[nodiscard]] Operation as_use(AccessMode use, std::uint8_t bits = 0) const {
        Operation result = *this;
        result.flags = static_cast<std::uint8_t>((flags & ~(mode_bits | reference_bits)) |
                                                 static_cast<std::uint8_t>(use) | (bits & reference_bits));
        return result;
    }
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
