// What the kernels of executable graphs touched, launch by launch. Where a launch is like the one before, that is all
// that is told of it. Where only the first launches are looked at, later ones are said to touch the same, as long as
// the graph stays as it is. Nothing here calls the driver; several threads may call all of it.
#pragma once
#include <cstdint>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "recorder/accesses/access_ranges.hpp"
#include "recorder/cuda/abi.hpp"
#include "recorder/cuda/graph_execs.hpp"
#include "recorder/memory/address_map.hpp"

namespace streamsan::recorder::cuda {

/// What one node touched in a launch.
struct NodeAccesses {
    std::uint32_t node;
    LaunchAccesses accesses;
    bool operator==(const NodeAccesses&) const = default;
};

/// Whether all that was touched is in memory that the nodes' arguments lead to, or is a variable: else a later launch
/// may touch other memory. Takes locks of the map and of the executable graphs.
bool arguments_lead_to(abi::Word exec, const std::vector<NodeAccesses>& nodes, const AddressMap& memory);

class LearnedGraphs {
public:
    enum class Answer {
        LOOK,   ///< the launch is looked at, and `learn` or `forget` is called of it later
        WATCH,  ///< it is looked at, but there is nothing to learn from it
        TRUST,  ///< it is not: it is like `trusted` says
        WAIT,   ///< it is not: `learn` returns it later, if anything can be said of it
    };
    /// What is to be written of a launch.
    struct Telling {
        std::uint64_t like = 0;  ///< another launch; 0: none, its nodes are told
        std::vector<NodeAccesses> nodes;
        std::vector<std::uint64_t> waiting;  ///< launches that are like this one
    };
    /// `launches`: of each graph as it is so many are looked at; 0: all.
    explicit LearnedGraphs(std::uint32_t launches) : most_(launches) {}

    Answer ask(abi::Word exec, const GraphState& state, std::uint64_t sequence, const AddressMap& memory);
    /// Of a launch that is trusted. `file`: which one is written to; what is told in another one is nothing to name.
    Telling trusted(abi::Word exec, const GraphState& state, std::uint64_t sequence, std::uint64_t file);
    /// Takes what a launch touched. `teaches`: the answer was LOOK. `is_led`: arguments lead to all of it.
    Telling learn(abi::Word exec, const GraphState& state, std::uint64_t sequence, std::vector<NodeAccesses> nodes,
                  bool teaches, bool is_led, std::uint64_t file);
    /// Nothing becomes known of a launch that was looked at: another one will be.
    void forget(abi::Word exec, const GraphState& state);

private:
    struct Graph {
        std::uint64_t version = 0;
        std::uint32_t asked = 0;    ///< launches that are or were looked at
        std::uint32_t learned = 0;  ///< of these, launches that showed what they touch
        bool differs = false;       ///< launches touch different things: all are looked at
        std::uint64_t told = 0;     ///< the launch of which `nodes` was told last
        std::uint64_t file = 0;     ///< where that was
        std::vector<NodeAccesses> nodes;
        std::vector<std::uint64_t> waiting;
    };
    Graph& graph_of(abi::Word exec, const GraphState& state);

    const std::uint32_t most_;
    std::mutex mutex_;
    std::unordered_map<abi::Word, Graph> graphs_;
};

}  // namespace streamsan::recorder::cuda
