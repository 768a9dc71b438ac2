// Conditions of graphs: which body of a conditional node surely runs in each launch.
#pragma once
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "recorder/cuda/abi.hpp"
#include "recorder/cuda/driver.hpp"

namespace streamsan::recorder::cuda {

/// What a conditional node was made with.
struct Conditional {
    abi::Word condition = 0;
    std::int32_t type = 0;
    std::vector<abi::Word> bodies;  ///< graphs; the driver gives them when the node is made, and has no call for them
};

/// The conditions of this process, by handle. Any thread may use it; nothing here calls the driver.
class GraphConditions {
public:
    /// `initial`: its value when a launch begins; nothing: nobody knows.
    void made(abi::Word condition, std::optional<std::uint32_t> initial);
    [[nodiscard]] std::optional<std::uint32_t> initial(abi::Word condition) const;

private:
    mutable std::mutex mutex_;
    std::unordered_map<abi::Word, std::uint32_t> initial_;
};

/// Of this process. Never destroyed.
GraphConditions& graph_conditions();

/// A conditional node in a flattened body, and where the nodes of each of its own bodies are: [first, last).
struct Choice {
    Conditional node;
    std::vector<std::pair<std::size_t, std::size_t>> bodies;
};

/// The number of the body that a condition of this value chooses; nothing: none, or nobody knows.
std::optional<std::size_t> chosen_body(const Choice& choice, std::uint32_t value);

/// Whether a kernel node may set the condition: it is given the handle, or nobody knows what it is given. Asks the
/// driver; call it inside an OwnCalls.
bool may_set_condition(const Driver& driver, abi::Word node, abi::Word condition);

}  // namespace streamsan::recorder::cuda
