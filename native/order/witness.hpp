// What happens before chosen operations: the ground on which an execution that goes wrong is built.
#pragma once
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "clock.hpp"
#include "flat_map.hpp"

namespace streamsan::order {

/// Where an operation is: its call at the host thread, and what it starts on the timeline of a stream.
struct WatchPoint {
    std::uint64_t sequence = 0;
    Epoch call;
    Epoch work;  ///< tick 0: there is none, the host does all of it during the call
    std::uint16_t thread = 0;
};

/// Keeps what chosen operations know at their place, and where all the operations before them are. The relation is that
/// of the engine's own clocks, with the order in which a recording's calls came: an execution that nobody could see is
/// no proof.
class Watch {
public:
    /// Operations by sequence number; whatever was kept before is dropped. Of those in `early`, kernels that begin at
    /// once, it is asked what is before that which they do without waiting.
    void ask(const std::vector<std::uint64_t>& sequences, const std::vector<std::uint64_t>& early);
    [[nodiscard]] bool asks_early(std::uint64_t sequence) const { return early_.find(sequence) != none; }
    [[nodiscard]] bool active() const { return active_; }
    [[nodiscard]] bool asks(std::uint64_t sequence) const { return asked_.find(sequence) != none; }

    void note(const WatchPoint& point);
    /// Keeps `known`, the clock of the timeline on which an asked operation is.
    void note_asked(const WatchPoint& point, const Clock& known);
    /// A node of a graph's body: the nodes that the edges put before it.
    void note_node(std::uint64_t sequence, std::vector<std::uint64_t> before);

    struct Before {
        bool seen = false;
        std::vector<std::uint64_t> calls;  ///< that have been made, in the order of their numbers
        std::vector<std::uint64_t> works;  ///< that are complete, likewise; of a node: nodes
    };
    [[nodiscard]] Before before(std::uint64_t sequence) const;
    [[nodiscard]] bool has_seen(std::uint64_t sequence) const {
        const std::uint32_t index = asked_.find(sequence);
        return index != none && answers_[index].seen;
    }
    /// Whether the work of `earlier` is complete before the asked operation.
    [[nodiscard]] bool is_before(std::uint64_t earlier, std::uint64_t asked) const;

private:
    struct Asked {
        bool seen = false;
        bool node = false;
        WatchPoint point;
        std::size_t place = 0;    ///< how many points came before it, its own included
        std::vector<Tick> known;  ///< by timeline
        std::vector<std::uint64_t> nodes;
    };
    [[nodiscard]] static bool knows(const Asked& asked, Epoch epoch) {
        return epoch.tick != 0 && epoch.slot < asked.known.size() && asked.known[epoch.slot] >= epoch.tick;
    }

    bool active_ = false;
    FlatMap asked_;
    FlatMap early_;
    std::vector<Asked> answers_;
    std::vector<WatchPoint> points_;  ///< as the engine came to them: held commands when they were brought
    std::size_t forgotten_ = 0;       ///< how many points came before the first of these
    bool in_order_ = true;            ///< whether they are in the order of their numbers
};

}  // namespace streamsan::order
