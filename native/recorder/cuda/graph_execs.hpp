// Executable graphs that are alive: what their bodies are, so that single nodes can be told of, and all again in a new
// file.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <vector>

#include "recorder/cuda/abi.hpp"
#include "recorder/cuda/graph_bodies.hpp"
#include "trace/slot.hpp"

namespace streamsan::recorder::cuda {

/// A kernel node that runs when an executable graph is launched.
struct GraphKernel {
    std::uint32_t number;
    const Kernel* kernel;  ///< null: not known
    LaunchDimensions dimensions;
};

/// What a launch of an executable graph runs. All of it stays as it is under one version.
struct GraphState {
    std::uint64_t made = 0;     ///< which executable graph it is: handles come back; 0: nothing is known
    std::uint64_t version = 0;  ///< no other executable graph ever has this one
    std::size_t nodes = 0;      ///< how many the body has
    bool for_device = false;    ///< kernels may launch it, too
};

/// Any thread may use it; nothing here calls the driver or the writer. A launch does not come
/// here, but in exact mode.
class GraphExecs {
public:
    /// `header`: the slot of its GRAPH_INSTANTIATE, complete.
    void made(abi::Word exec, const Slot& header, std::shared_ptr<const Body> body);
    void destroyed(abi::Word exec);
    /// It takes another body. Nodes are named by the handles of the graph that it was made from, and stay enabled or
    /// not; `body` gets these where the two have the same nodes in the same order, as the driver demands. Returns what
    /// was kept.
    std::shared_ptr<const Body> updated(abi::Word exec, Body body);
    /// The number of a node, by its handle in the graph that the executable graph was made from; 0 when not known.
    [[nodiscard]] std::uint32_t number_of(abi::Word exec, abi::Word node);
    /// A copy of a node; nothing when there is none of this number.
    [[nodiscard]] std::optional<BodyNode> node(abi::Word exec, std::uint32_t number) const;
    /// What the node uses now, enabled or not.
    [[nodiscard]] std::vector<Reference> references_of(abi::Word exec, std::uint32_t number) const;
    /// Calls `visit(const Reference&)` for what its nodes use now that are enabled, under the lock.
    template <class Visit>
    void each_use(abi::Word exec, Visit&& visit) const {
        const std::lock_guard lock(mutex_);
        const Exec* const known = find(exec);
        if (known == nullptr) return;
        const bool as_read = known->changed.empty() && known->enabled.empty();
        for (std::uint32_t number = 1; number <= known->body->nodes.size(); ++number) {
            const BodyNode& read = known->body->nodes[number - 1];
            const auto changed = as_read ? known->changed.end() : known->changed.find(number);
            const bool replaced = changed != known->changed.end();
            if (!(as_read ? read.enabled : now(*known, number).enabled)) continue;
            const Reference* const first =
                replaced ? changed->second.content.references.data() : known->body->references_of(read);
            const std::size_t count = replaced ? changed->second.content.references.size() : read.references;
            for (std::size_t index = 0; index < count; ++index) visit(first[index]);
        }
    }
    void set_node(abi::Word exec, std::uint32_t number, const NodeContent& content, NodeOrigin origin);
    void set_enabled(abi::Word exec, std::uint32_t number, bool enabled);

    [[nodiscard]] GraphState state_of(abi::Word exec) const;
    /// Its kernel nodes, in the order of their numbers. Nothing where it is another version.
    [[nodiscard]] std::vector<GraphKernel> kernels_of(abi::Word exec, std::uint64_t version) const;

    /// Slot and body of each, in the order in which they were made.
    [[nodiscard]] std::vector<std::pair<Slot, Body>> all() const;

private:
    /// What was set of a node since the body was read.
    struct Changed {
        NodeContent content;
        NodeOrigin origin;
    };
    struct Exec {
        Slot header;
        std::shared_ptr<const Body> body;
        std::unordered_map<abi::Word, std::uint32_t> numbers;  ///< made when first asked for
        std::unordered_map<std::uint32_t, Changed> changed;
        std::unordered_map<std::uint32_t, bool> enabled;
        std::uint64_t made = 0;
        std::uint64_t version = 0;
    };
    [[nodiscard]] const Exec* find(abi::Word exec) const;
    [[nodiscard]] static BodyNode now(const Exec& exec, std::uint32_t number);

    mutable std::mutex mutex_;
    std::unordered_map<abi::Word, Exec> execs_;
    std::uint64_t versions_ = 0;
};

/// Of this process. Never destroyed.
GraphExecs& graph_execs();
/// In a forked child: begins empty. Another thread of the parent may have held the lock, so what was is left behind.
void forget_graph_execs();

}  // namespace streamsan::recorder::cuda
