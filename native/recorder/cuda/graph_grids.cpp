#include "recorder/cuda/graph_grids.hpp"

#include <algorithm>
#include <set>

#include "recorder/cuda/kernels.hpp"

namespace streamsan::recorder::cuda {
namespace {

bool is_like(const GraphKernel& kernel, const LaunchedNode& launched) {
    return kernel.kernel != nullptr && kernel.kernel->symbol == launched.symbol &&
           kernel.dimensions.grid == launched.dimensions.grid && kernel.dimensions.block == launched.dimensions.block;
}

/// Numbers by the nodes' handles: none where some of them is no node of the body, or another kernel.
std::vector<std::uint32_t> by_handle(abi::Word exec, const std::vector<GraphKernel>& kernels,
                                     const std::vector<LaunchedNode>& launched) {
    std::vector<std::uint32_t> numbers;
    std::set<std::uint32_t> met;
    for (const LaunchedNode& each : launched) {
        const std::uint32_t number = graph_execs().number_of(exec, each.handle);
        const auto kernel = std::ranges::lower_bound(kernels, number, {}, &GraphKernel::number);
        const bool found = number != 0 && kernel != kernels.end() && kernel->number == number;
        if (!found || !is_like(*kernel, each) || !met.insert(number).second) return {};
        numbers.push_back(number);
    }
    return numbers;
}

/// The kernel that is like this one; 0 where none is, or where several are, of the body's or of the launch's.
std::uint32_t only_one_like(const LaunchedNode& launched, const std::vector<GraphKernel>& kernels,
                            const std::vector<LaunchedNode>& all) {
    const auto like = std::ranges::find_if(kernels, [&](const GraphKernel& each) { return is_like(each, launched); });
    if (like == kernels.end()) return 0;
    const auto of_body =
        std::count_if(like, kernels.end(), [&](const GraphKernel& each) { return is_like(each, launched); });
    const auto of_launch = std::ranges::count_if(all, [&](const LaunchedNode& each) { return is_like(*like, each); });
    return of_body == 1 && of_launch == 1 ? like->number : 0;
}

/// Numbers as they were in an earlier version of the graph, or of kernels that are like no others; 0: not known.
std::vector<std::uint32_t> one_by_one(const GraphGrids* before, const std::vector<GraphKernel>& kernels,
                                      const std::vector<LaunchedNode>& launched) {
    /// Each is compared with all.
    constexpr std::size_t most = 4096;
    std::vector<std::uint32_t> numbers;
    for (const LaunchedNode& each : launched) {
        const std::uint32_t known =
            before != nullptr && before->has(each.grid) ? before->nodes[each.grid - before->low].number : 0;
        if (known != 0) numbers.push_back(known);
        else numbers.push_back(launched.size() <= most ? only_one_like(each, kernels, launched) : 0);
    }
    return numbers;
}

}  // namespace

GraphGrids grids_of(abi::Word exec, const GraphState& state, const std::vector<LaunchedNode>& launched,
                    const GraphGrids* before) {
    GraphGrids grids{state.version, 0, {}};
    std::vector<LaunchedNode> sorted = launched;
    std::ranges::sort(sorted, {}, &LaunchedNode::grid);
    const auto same =
        std::ranges::adjacent_find(sorted, [](const auto& one, const auto& other) { return one.grid == other.grid; });
    if (sorted.empty() || same != sorted.end()) return grids;
    const std::vector<GraphKernel> kernels = graph_execs().kernels_of(exec, state.version);
    std::vector<std::uint32_t> numbers = by_handle(exec, kernels, sorted);
    if (numbers.empty()) numbers = one_by_one(before, kernels, sorted);
    if (std::ranges::all_of(numbers, [](std::uint32_t number) { return number == 0; })) return grids;
    grids.low = sorted.front().grid;
    grids.nodes.resize(sorted.back().grid - grids.low + 1);
    for (std::size_t at = 0; at < sorted.size(); ++at) {
        const LaunchedNode& each = sorted[at];
        grids.nodes[each.grid - grids.low] = {numbers[at], each.wanted && numbers[at] != 0, each.copies_tensors};
        grids.some_unknown |= each.wanted && numbers[at] == 0;
    }
    return grids;
}

std::shared_ptr<const GraphGrids> KnownGrids::of(abi::Word exec, const GraphState& state) const {
    const auto known = known_.find(exec);
    const bool good =
        known != known_.end() && known->second.made == state.made && known->second.grids->version == state.version;
    return good ? known->second.grids : nullptr;
}

std::shared_ptr<const GraphGrids> KnownGrids::learn(abi::Word exec, const GraphState& state,
                                                    const std::vector<LaunchedNode>& launched) {
    const auto known = known_.find(exec);
    const GraphGrids* const before =
        known != known_.end() && known->second.made == state.made ? known->second.grids.get() : nullptr;
    auto grids = std::make_shared<const GraphGrids>(grids_of(exec, state, launched, before));
    known_.insert_or_assign(exec, Known{state.made, grids});
    return grids;
}

}  // namespace streamsan::recorder::cuda
