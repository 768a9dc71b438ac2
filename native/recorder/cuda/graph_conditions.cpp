#include "recorder/cuda/graph_conditions.hpp"

#include <cstring>

namespace streamsan::recorder::cuda {
namespace {

/// CUgraphConditionalNodeType.
constexpr std::int32_t if_node = 0, while_node = 1, switch_node = 2;
/// A program that makes conditions without end must not fill the memory.
constexpr std::size_t most_conditions = 1'000'000;

/// Whether the handle stands somewhere in these bytes: a parameter of its own, or a member of a structure.
bool holds(const void* bytes, std::size_t size, abi::Word condition) {
    constexpr std::size_t alignment = 4;
    const auto* const begin = static_cast<const unsigned char*>(bytes);
    for (std::size_t at = 0; at + sizeof condition <= size; at += alignment)
        if (std::memcmp(begin + at, &condition, sizeof condition) == 0) return true;
    return false;
}

}  // namespace

void GraphConditions::made(abi::Word condition, std::optional<std::uint32_t> initial) {
    const std::lock_guard lock(mutex_);
    if (initial_.size() >= most_conditions) initial_.clear();
    if (initial) initial_.insert_or_assign(condition, *initial);
    else initial_.erase(condition);
}

std::optional<std::uint32_t> GraphConditions::initial(abi::Word condition) const {
    const std::lock_guard lock(mutex_);
    const auto found = initial_.find(condition);
    return found == initial_.end() ? std::nullopt : std::optional(found->second);
}

GraphConditions& graph_conditions() {
    static auto* const all = new GraphConditions;
    return *all;
}

std::optional<std::size_t> chosen_body(const Choice& choice, std::uint32_t value) {
    std::size_t chosen = value;
    if (choice.node.type == if_node || choice.node.type == while_node) chosen = value != 0 ? 0 : 1;
    else if (choice.node.type != switch_node) return std::nullopt;
    return chosen < choice.bodies.size() ? std::optional(chosen) : std::nullopt;
}

bool may_set_condition(const Driver& driver, abi::Word node, abi::Word condition) {
    abi::KernelNode found{};
    const bool known = (driver.cuGraphKernelNodeGetParams_v2 != nullptr &&
                        driver.cuGraphKernelNodeGetParams_v2(node, &found) == abi::success) ||
                       (driver.cuGraphKernelNodeGetParams != nullptr &&
                        driver.cuGraphKernelNodeGetParams(node, &found) == abi::success);
    if (!known || found.arguments == nullptr) return true;
    const abi::Word function = found.function != 0 ? found.function : found.kernel;
    for (const auto info : {driver.cuKernelGetParamInfo, driver.cuFuncGetParamInfo}) {
        if (info == nullptr) continue;
        constexpr std::size_t most_parameters = 4096;
        constexpr abi::Status past_the_last = 1;  // CUDA_ERROR_INVALID_VALUE
        for (std::size_t index = 0; index < most_parameters; ++index) {
            std::size_t offset = 0, size = 0;
            const abi::Status status = info(function, index, &offset, &size);
            if (status == past_the_last) return false;
            if (status != abi::success) break;  // this call does not know such handles
            if (found.arguments[index] == nullptr || holds(found.arguments[index], size, condition)) return true;
        }
    }
    return true;
}

}  // namespace streamsan::recorder::cuda
