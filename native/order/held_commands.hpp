// Commands that wait for a user event that is not set: they are brought when it is.
#pragma once
#include <cstdint>
#include <vector>

#include "operation.hpp"

namespace streamsan::order {

/// Slots that are held back, and what is behind them. What a host thread does until the event is set is before them.
struct HeldCommands {
    /// Beyond this many further ones are lost (and counted as problems): no file makes the engine keep more.
    static constexpr std::size_t most = std::size_t{1} << 18;
    /// Handles from here on are no driver's: no address of a program is as high.
    static constexpr std::uint64_t own_handles = std::uint64_t{0xffff'c000} << 32;

    struct Held {
        Slot slot;
        std::vector<unsigned char> continuations;
        std::uint64_t event = 0;      ///< the user event that it waits for
        std::uint32_t branch = none;  ///< of an out-of-order queue: the branch that the wait list before it had opened
    };
    /// A stream or an event that is behind a held command.
    struct Behind {
        std::uint64_t handle = 0;
        std::uint64_t event = 0;
    };
    /// The command of a thread on an out-of-order queue whose wait list, or which itself, is held.
    struct Open {
        std::uint64_t queue = 0;
        std::uint64_t event = 0;
        std::uint16_t thread = 0;
        bool issued = false;
    };

    std::vector<Held> slots;  ///< in the order in which they came
    std::vector<Behind> streams;
    std::vector<Behind> events;
    std::vector<Open> open;
    std::uint64_t kept_events = 0;   ///< events that ended while a wait for them was held: they have handles of ours
    std::vector<Operation> waiting;  ///< the commands among them, for findings: as many as `slots` may be, or fewer

    [[nodiscard]] bool empty() const { return slots.empty(); }
    [[nodiscard]] static std::uint64_t find(const std::vector<Behind>& list, std::uint64_t handle) {
        for (const Behind& each : list) {
            if (each.handle == handle) return each.event;
        }
        return 0;
    }
};

}  // namespace streamsan::order
