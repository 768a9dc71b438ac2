// Generated from src/streamsan/platforms/cuda/waits.toml by `python -m streamsan.generate`. Do not edit.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>

#include "generated/effects.hpp"
#include "generated/vocabulary.hpp"

namespace streamsan::effects {

/// A side of a copy, as far as the host's wait depends on it.
enum class Endpoint : std::uint8_t {
    DEVICE,
    MANAGED,
    PINNED,
    PAGEABLE,
    UNKNOWN,
};

/// By MemoryKind: which side memory of that kind is.
inline constexpr std::array<Endpoint, 18> endpoints{Endpoint::UNKNOWN, Endpoint::DEVICE, Endpoint::DEVICE, Endpoint::MANAGED, Endpoint::PINNED, Endpoint::PINNED, Endpoint::PAGEABLE, Endpoint::PAGEABLE, Endpoint::PAGEABLE, Endpoint::DEVICE, Endpoint::DEVICE, Endpoint::DEVICE, Endpoint::DEVICE, Endpoint::DEVICE, Endpoint::DEVICE, Endpoint::DEVICE, Endpoint::DEVICE, Endpoint::DEVICE};

/// By column (synchronous, asynchronous), source, destination.
inline constexpr
std::array<std::array<std::array<WaitClass, 5>, 5>, 2> copy_waits{{
    {{
        {{WaitClass::NONE, WaitClass::COMPLETE, WaitClass::COMPLETE, WaitClass::COMPLETE, WaitClass::COMPLETE}},  // from device
        {{WaitClass::MAYBE_COMPLETE, WaitClass::MAYBE_COMPLETE, WaitClass::MAYBE_COMPLETE, WaitClass::MAYBE_COMPLETE, WaitClass::MAYBE_COMPLETE}},  // from managed
        {{WaitClass::COMPLETE, WaitClass::MAYBE_COMPLETE, WaitClass::COMPLETE, WaitClass::COMPLETE, WaitClass::MAYBE_COMPLETE}},  // from pinned
        {{WaitClass::BEFORE, WaitClass::MAYBE_COMPLETE, WaitClass::COMPLETE, WaitClass::COMPLETE, WaitClass::MAYBE_COMPLETE}},  // from pageable
        {{WaitClass::BEFORE, WaitClass::MAYBE_COMPLETE, WaitClass::MAYBE_COMPLETE, WaitClass::MAYBE_COMPLETE, WaitClass::MAYBE_COMPLETE}},  // from unknown
    }},
    {{
        {{WaitClass::NONE, WaitClass::NONE, WaitClass::NONE, WaitClass::MAYBE_COMPLETE, WaitClass::NONE}},  // from device
        {{WaitClass::NONE, WaitClass::NONE, WaitClass::NONE, WaitClass::NONE, WaitClass::NONE}},  // from managed
        {{WaitClass::NONE, WaitClass::NONE, WaitClass::COMPLETE, WaitClass::COMPLETE, WaitClass::NONE}},  // from pinned
        {{WaitClass::MAYBE_COMPLETE, WaitClass::NONE, WaitClass::COMPLETE, WaitClass::COMPLETE, WaitClass::NONE}},  // from pageable
        {{WaitClass::NONE, WaitClass::NONE, WaitClass::NONE, WaitClass::NONE, WaitClass::NONE}},  // from unknown
    }},
}};

/// By column and target.
inline constexpr std::array<std::array<WaitClass, 5>, 2> memset_waits{{
    {{WaitClass::NONE, WaitClass::COMPLETE, WaitClass::COMPLETE, WaitClass::COMPLETE, WaitClass::NONE}},
    {{WaitClass::NONE, WaitClass::NONE, WaitClass::NONE, WaitClass::NONE, WaitClass::NONE}},
}};

}  // namespace streamsan::effects
