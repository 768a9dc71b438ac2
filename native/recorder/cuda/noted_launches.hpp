// Launches that note what they touch, by the part of the device's memory in which they do.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "recorder/cuda/access_memory.hpp"
#include "recorder/cuda/graph_grids.hpp"
#include "recorder/cuda/learned_accesses.hpp"
#include "recorder/cuda/recorder.hpp"

namespace streamsan::recorder::cuda {

/// Ranges of one allocation that are told of a launch.
constexpr std::size_t most_of_allocation = 48;
constexpr std::uint32_t most_launches = 1U << DeviceNotes::launch_bits;

/// What a launch of a graph notes.
struct NotedGraph {
    abi::Word exec = 0;
    GraphState state;
    std::uint64_t low = 0;                    ///< the grid that notes under the launch's first number
    std::shared_ptr<const GraphGrids> grids;  ///< null until the launch has shown them
    bool teaches = false;
};

struct Noted {
    std::uint64_t sequence;  ///< of the LAUNCH or GRAPH_LAUNCH
    std::uint64_t stream;    ///< as the trace names it
    std::thread::id thread;
    std::uint32_t number;               ///< in its part
    bool copies_tensors;                ///< then not all that it touches is noted
    PlacedLaunch learned_from;          ///< without a shape: nothing is learned from it
    std::shared_ptr<NotedGraph> graph;  ///< null: a kernel's launch
    std::uint32_t numbers = 1;          ///< from `number` on
    std::uint64_t issued_at = 0;        ///< the driver has it since then; 0: not yet
    bool left = false;                  ///< its stream was destroyed, and cannot be asked
    bool ended = false;
};

struct AccessContext {
    abi::Word context;
    AccessMemory memory;
    bool usable = false;
    std::size_t part = 0;  ///< that launches note in
    std::array<std::vector<Noted>, AccessMemory::parts> launches;
    std::array<std::uint32_t, AccessMemory::parts> numbers{};  ///< that are given away, by part
};

/// Only memory that the program got: what a kernel keeps for itself is of no interest.
inline void keep_known_memory(TouchedRanges& touched) {
    const AddressMap& memory = recorder()->memory;
    const auto unknown = [&memory](const ByteRange& range) {
        return !memory.maybe(range.begin) && !memory.maybe(range.end - 1);
    };
    for (auto& ranges : touched.of) std::erase_if(ranges, unknown);
    for (auto& ranges : touched.bounds) std::erase_if(ranges, unknown);
}

}  // namespace streamsan::recorder::cuda
