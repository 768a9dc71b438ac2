// Generated from src/streamsan/platforms/cuda/facts.toml by `python -m streamsan.generate`. Do not edit.
#pragma once
#include <cstdint>

#include "generated/vocabulary.hpp"

namespace streamsan {

/// Gone after a reset, or the end of the context that made it.
constexpr bool dies_with_context(MemoryKind kind) {
    switch (kind) {
        case MemoryKind::PLAIN:
        case MemoryKind::MANAGED:
        case MemoryKind::PINNED:
        case MemoryKind::REGISTERED:
        case MemoryKind::IPC:
        case MemoryKind::DEVICE_SYMBOL:
        case MemoryKind::ARRAY:
            return true;
        default: return false;
    }
}

/// From a pool or a graph: given back in a stream's order, and no free waits for it.
constexpr bool pooled(MemoryKind kind) {
    switch (kind) {
        case MemoryKind::STREAM_ORDERED:
        case MemoryKind::GRAPH:
        case MemoryKind::POOL_IMPORT:
            return true;
        default: return false;
    }
}

/// The host's own memory: the device does not know it.
constexpr bool pageable(MemoryKind kind) {
    switch (kind) {
        case MemoryKind::HOST_HEAP:
        case MemoryKind::HOST_STACK:
        case MemoryKind::HOST_STATIC:
            return true;
        default: return false;
    }
}

/// Surely the host's memory, pageable, pinned or registered. Managed memory is nobody's.
constexpr bool host_side(MemoryKind kind) {
    switch (kind) {
        case MemoryKind::PINNED:
        case MemoryKind::REGISTERED:
        case MemoryKind::HOST_HEAP:
        case MemoryKind::HOST_STACK:
        case MemoryKind::HOST_STATIC:
            return true;
        default: return false;
    }
}

/// Such a free releases memory of the kind; a free of any other is a mistake. True of unknown kinds, of
/// those of other platforms, and of families that are no calls and could not refuse.
constexpr bool accepts(FreeClass family, MemoryKind kind) {
    switch (family) {
        case FreeClass::DEVICE:
            switch (kind) {
                case MemoryKind::UNKNOWN:
                case MemoryKind::PLAIN:
                case MemoryKind::STREAM_ORDERED:
                case MemoryKind::MANAGED:
                case MemoryKind::POOL_BLOCK:
                case MemoryKind::GRAPH:
                case MemoryKind::POOL_IMPORT:
                case MemoryKind::SVM:
                case MemoryKind::CL_BUFFER:
                    return true;
                default: return false;
            }
        case FreeClass::ASYNC:
            switch (kind) {
                case MemoryKind::UNKNOWN:
                case MemoryKind::PLAIN:
                case MemoryKind::STREAM_ORDERED:
                case MemoryKind::POOL_BLOCK:
                case MemoryKind::GRAPH:
                case MemoryKind::POOL_IMPORT:
                case MemoryKind::SVM:
                case MemoryKind::CL_BUFFER:
                    return true;
                default: return false;
            }
        case FreeClass::PINNED:
            switch (kind) {
                case MemoryKind::UNKNOWN:
                case MemoryKind::PINNED:
                case MemoryKind::POOL_BLOCK:
                case MemoryKind::SVM:
                case MemoryKind::CL_BUFFER:
                    return true;
                default: return false;
            }
        case FreeClass::UNREGISTER:
            switch (kind) {
                case MemoryKind::UNKNOWN:
                case MemoryKind::REGISTERED:
                case MemoryKind::POOL_BLOCK:
                case MemoryKind::SVM:
                case MemoryKind::CL_BUFFER:
                    return true;
                default: return false;
            }
        case FreeClass::UNMAP:
            switch (kind) {
                case MemoryKind::UNKNOWN:
                case MemoryKind::MAPPED:
                case MemoryKind::POOL_BLOCK:
                case MemoryKind::SVM:
                case MemoryKind::CL_BUFFER:
                    return true;
                default: return false;
            }
        case FreeClass::IPC_CLOSE:
            switch (kind) {
                case MemoryKind::UNKNOWN:
                case MemoryKind::IPC:
                case MemoryKind::POOL_BLOCK:
                case MemoryKind::SVM:
                case MemoryKind::CL_BUFFER:
                    return true;
                default: return false;
            }
        case FreeClass::HOST_HEAP:
            switch (kind) {
                case MemoryKind::UNKNOWN:
                case MemoryKind::REGISTERED:
                case MemoryKind::HOST_HEAP:
                case MemoryKind::HOST_STACK:
                case MemoryKind::HOST_STATIC:
                case MemoryKind::POOL_BLOCK:
                case MemoryKind::SVM:
                case MemoryKind::CL_BUFFER:
                    return true;
                default: return false;
            }
        case FreeClass::ARRAY:
            switch (kind) {
                case MemoryKind::UNKNOWN:
                case MemoryKind::POOL_BLOCK:
                case MemoryKind::SVM:
                case MemoryKind::CL_BUFFER:
                case MemoryKind::ARRAY:
                    return true;
                default: return false;
            }
        default: return true;
    }
}

/// Such a free waits for the context that owns the memory, unless that is pooled. Observed, not promised.
constexpr bool waits(FreeClass family) {
    switch (family) {
        case FreeClass::DEVICE:
        case FreeClass::PINNED:
        case FreeClass::UNREGISTER:
        case FreeClass::IPC_CLOSE:
        case FreeClass::ARRAY:
            return true;
        default: return false;
    }
}

/// Such a free of such memory waits for all work of the context that owns it. Observed, not promised.
constexpr bool waits(FreeClass family, MemoryKind kind) { return waits(family) && !pooled(kind); }

/// Handles that need no creation. Those of streams that were made are greater.
namespace handle {
inline constexpr std::uint64_t legacy_default_stream = 1;
inline constexpr std::uint64_t per_thread_default_stream = 2;
}  // namespace handle

namespace status {
inline constexpr std::int16_t success = 0;
inline constexpr std::int16_t invalid_value = 1;
inline constexpr std::int16_t out_of_memory = 2;
inline constexpr std::int16_t initialization_error = 3;
inline constexpr std::int16_t devices_unavailable = 46;
inline constexpr std::int16_t invalid_context = 201;
inline constexpr std::int16_t invalid_handle = 400;
inline constexpr std::int16_t not_ready = 600;
inline constexpr std::int16_t illegal_address = 700;
inline constexpr std::int16_t peer_already_enabled = 704;
inline constexpr std::int16_t context_is_destroyed = 709;
inline constexpr std::int16_t not_registered = 713;
inline constexpr std::int16_t launch_failure = 719;
inline constexpr std::int16_t not_supported = 801;

/// A program calls to see them: no failures.
constexpr bool answers(std::int16_t status) {
    return status == 217 || status == 600 || status == 704 || status == 705 || status == 708 || status == 712 || status == 713 || status == 801;
}

/// A capture forbids the call, or is broken.
constexpr bool of_capture(std::int16_t status) {
    return status == 900 || status == 901 || status == 902 || status == 903 || status == 904 || status == 905 || status == 906 || status == 907 || status == 908;
}

/// A free that returns it was given a wrong pointer.
constexpr bool of_pointers(std::int16_t status) {
    return status == 1 || status == 400 || status == 713;
}

/// Every later call of the process returns it, too.
constexpr bool sticky(std::int16_t status) {
    return status == 700 || status == 710 || status == 714 || status == 715 || status == 716 || status == 717 || status == 718 || status == 719;
}
}  // namespace status

}  // namespace streamsan
