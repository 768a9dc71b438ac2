// How many threads a launch has.
#pragma once
#include <array>
#include <cstdint>

namespace streamsan::recorder::cuda {

/// Zeros are not known.
struct LaunchDimensions {
    std::array<std::uint32_t, 3> grid{};   ///< blocks
    std::array<std::uint32_t, 3> block{};  ///< threads
    std::uint32_t shared = 0;              ///< bytes of dynamic shared memory

    bool operator==(const LaunchDimensions&) const = default;
    LaunchDimensions() = default;
    LaunchDimensions(const std::uint32_t (&blocks)[3], const std::uint32_t (&threads)[3], std::uint32_t shared_bytes)
        : grid{blocks[0], blocks[1], blocks[2]}, block{threads[0], threads[1], threads[2]}, shared(shared_bytes) {}
};

}  // namespace streamsan::recorder::cuda
