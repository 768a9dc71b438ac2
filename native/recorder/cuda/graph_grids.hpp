// Which node of an executable graph a kernel of its launch is: told by the number of its grid, which is the same at
// each launch. (Measured with driver 580: the handle that the Sanitizer API tells is that of the node in the graph that
// was instantiated, until that graph is destroyed, and of nobody's node from then on. The order of the grids is in
// general not that in which the driver lists the nodes.)
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "recorder/cuda/abi.hpp"
#include "recorder/cuda/graph_execs.hpp"

namespace streamsan::recorder::cuda {

/// A kernel of a launch, as the Sanitizer API tells of it.
struct LaunchedNode {
    std::uint64_t grid;
    abi::Word handle;
    std::string symbol;
    LaunchDimensions dimensions;
    bool wanted;          ///< it is to be looked at
    bool copies_tensors;  ///< then not all that it touches is noted
};

/// The kernels of one version of an executable graph, by grid.
struct GraphGrids {
    struct Node {
        std::uint32_t number = 0;  ///< in the body; 0: none that is known
        bool wanted = false;
        bool copies_tensors = false;
    };
    std::uint64_t version = 0;
    std::uint64_t low = 0;      ///< the first grid
    std::vector<Node> nodes;    ///< from that one on; none: nothing is known of this version
    bool some_unknown = false;  ///< of kernels that are wanted it is not known which nodes they are
    [[nodiscard]] bool has(std::uint64_t grid) const { return grid - low < nodes.size(); }
    [[nodiscard]] bool wants(std::uint64_t grid) const { return has(grid) && nodes[grid - low].wanted; }
};

/// Finds the nodes of one launch. `before`: what was found of an earlier version of the same executable graph; null:
/// nothing.
GraphGrids grids_of(abi::Word exec, const GraphState& state, const std::vector<LaunchedNode>& launched,
                    const GraphGrids* before);

/// What was found, by executable graph. One thread at a time.
class KnownGrids {
public:
    /// Of this version; null: not known.
    [[nodiscard]] std::shared_ptr<const GraphGrids> of(abi::Word exec, const GraphState& state) const;
    /// Keeps what one launch of this version shows, and returns it.
    std::shared_ptr<const GraphGrids> learn(abi::Word exec, const GraphState& state,
                                            const std::vector<LaunchedNode>& launched);

private:
    struct Known {
        std::uint64_t made;
        std::shared_ptr<const GraphGrids> grids;
    };
    std::unordered_map<abi::Word, Known> known_;
};

}  // namespace streamsan::recorder::cuda
