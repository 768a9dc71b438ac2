// Where the kernels of a graph's launch note, and what is written of it.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "recorder/accesses/access_ranges.hpp"
#include "recorder/cuda/call.hpp"
#include "recorder/cuda/graph_execs.hpp"
#include "recorder/cuda/graph_grids.hpp"
#include "recorder/cuda/learned_graphs.hpp"
#include "recorder/cuda/noted_launches.hpp"
#include "recorder/cuda/sanitizer_abi.hpp"

namespace streamsan::recorder::cuda {

/// Where the kernels of a graph's launch note that run in one context.
struct GraphPlace {
    std::shared_ptr<AccessContext> context;
    std::size_t part;
    std::size_t launch;  ///< index
};

/// One thread at a time uses it, but for `tell` and `write`. Nothing here calls the driver.
class GraphNotes {
public:
    /// `launches`: of each executable graph as it is so many are looked at; 0: all.
    explicit GraphNotes(std::uint32_t launches) : learned_(launches) {}

    /// Whether this call launches the executable graph. One that is uploaded has its kernels told of as well.
    static bool is_launched(const Call& call, abi::Word exec);
    /// What a kernel of the launch under way is given; null: it is not looked at. `wanted`: it is to be.
    const void* given(const Call& call, const abi::SanitizerNodeLaunchData& data,
                      const std::shared_ptr<AccessContext>& context, bool wanted, bool copies_tensors);
    /// A launch that the driver has, or has refused.
    struct Issued {
        std::uint64_t sequence;
        abi::Word exec;
        GraphState state;
        bool succeeded;
        bool trusted;  ///< it was not looked at
        bool unknown;  ///< nothing tells which node some of its kernels are
    };
    /// Nothing where it is no launch of a graph with kernels.
    std::optional<Issued> issued(std::uint64_t sequence, bool succeeded);
    /// Writes what is known of it by now.
    void tell(const Issued& launch);
    /// Writes what a launch touched that has ended, and what later ones are trusted to touch.
    void write(const Noted& launch, std::map<std::uint32_t, TouchedRanges>& touched,
               const std::vector<std::uint64_t>& bases, bool whole);

private:
    /// A launch of a graph that the driver does not have yet. Its kernels are told of one after the other. The driver
    /// gives all kernels on one of its streams what the last of them is given: so all are given the same, and what they
    /// note differs by their grids.
    struct UnderWay {
        abi::Word exec = 0;
        GraphState state;
        LearnedGraphs::Answer answer = LearnedGraphs::Answer::WATCH;
        bool left = false;                        ///< from here on no kernel of it is looked at
        std::shared_ptr<const GraphGrids> grids;  ///< null: not known
        std::vector<LaunchedNode> shown;          ///< where they are not
        std::vector<GraphPlace> places;
    };
    UnderWay& under_way(const Call& call);
    static const void* given_in(const std::shared_ptr<AccessContext>& context, UnderWay& graph, const Call& call,
                                std::uint64_t grid);

    std::unordered_map<std::uint64_t, UnderWay> under_way_;
    KnownGrids grids_;
    LearnedGraphs learned_;
};

}  // namespace streamsan::recorder::cuda
