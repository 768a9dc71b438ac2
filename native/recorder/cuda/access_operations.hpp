// Operations that say what launches touched, as it was seen on the device.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "generated/vocabulary.hpp"
#include "recorder/accesses/access_ranges.hpp"

namespace streamsan::recorder::cuda {

/// Each reference has half a slot, and may have a slot for its rows; an operation has 255 slots behind its own.
constexpr std::size_t most_accesses = 168;

/// What the kernel's launch of this number touched.
void write_launch_accesses(std::uint64_t launch, const std::vector<AccessRows>& all, SeenAccesses seen);
/// What a node touched in the graph's launch of this number.
void write_node_accesses(std::uint64_t launch, std::uint32_t node, const std::vector<AccessRows>& all,
                         SeenAccesses seen);
/// The nodes of a graph's launch touched what was told of another launch.
void write_same_accesses(std::uint64_t launch, std::uint64_t other, SeenAccesses seen);

}  // namespace streamsan::recorder::cuda
