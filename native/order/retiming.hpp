// When each operation would have run, had the order been this trace's: measured durations over the engine's order.
//
// First the times of a recording are taken apart along its own order (`measure`): what a call took itself, beside what
// it waited for; how long after its turn a kernel began. Then they are put together along the order of an edited trace
// (`predict`). A trace that was not edited gives the times that were measured.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <unordered_map>
#include <vector>

#include "clock.hpp"
#include "flat_map.hpp"
#include "generated/vocabulary.hpp"
#include "trace/slot.hpp"

namespace streamsan::order {

using Nanoseconds = std::int64_t;

/// When a call was made and returned, and when the device did its work; -1: not known.
struct CallTimes {
    Nanoseconds entered;
    Nanoseconds left;
    Nanoseconds begun;
    Nanoseconds ended;
};

/// What is left of an operation's times without what the order says.
struct OwnTimes {
    Nanoseconds before;  ///< the thread's own work since its call before
    Nanoseconds call;    ///< of the call, after all it waited for
    Nanoseconds launch;  ///< from the call to the begin of work whose turn had come; -1: not known
    Nanoseconds gap;     ///< from its turn to its begin; -1: not known
};

/// What was seen against the order: that does not bind the operation in a prediction, either.
enum class Unbound : std::uint8_t {
    nothing = 0,
    call = 1,      ///< the call was made before others' calls that the order has before it were over
    returns = 2,   ///< the call returned before what the order says it waited for was over
    work = 4,      ///< the work began before what the order has before it was over
    capacity = 8,  ///< the work ran beside other work that leaves it no room
};

/// The arrays of one trace, a row for each operation, in the order of the sequence numbers.
struct TimedOperations {
    std::span<const std::uint64_t> sequences;
    std::span<const std::uint16_t> threads;
    std::span<const CallTimes> times;
    std::span<OwnTimes> own;                ///< written by `measure`
    std::span<std::uint8_t> unbound;        ///< likewise
    std::span<const std::uint16_t> fills;   ///< thousandths of the device; 0: not known, or as much as there is
    std::span<const std::uint8_t> engines;  ///< DeviceEngine
    std::span<CallTimes> predicted;         ///< written by `predict`
    Nanoseconds inserted_wait = 0;          ///< what a wait that was put in takes after all it waits for
};

/// Sites of operations that were put into a trace (src/streamsan/evidence/fix/edited_trace.py).
constexpr std::uint32_t first_inserted_site = 1U << 31;

/// Work that a part of a device has been given.
class DeviceLoad {
public:
    /// When work that is ready at `ready`, takes `duration` and fills so much can begin.
    [[nodiscard]] Nanoseconds earliest(Nanoseconds ready, Nanoseconds duration, unsigned fills) const;
    void add(Nanoseconds begun, Nanoseconds ended, unsigned fills);

private:
    struct Work {
        Nanoseconds begun;
        unsigned fills;
    };
    std::multimap<Nanoseconds, Work> by_end_;
};

class Retiming {
public:
    [[nodiscard]] bool active() const { return active_; }
    void measure(const TimedOperations& operations) { start(operations, false); }
    void predict(const TimedOperations& operations) { start(operations, true); }

    /// The thread makes the call; `host` knows what others told it.
    void enter(const Slot& slot, const Timeline& host);
    /// What the call left on the timeline `own`, in a context.
    void work(const Timeline& own, std::uint32_t context);
    /// The call returns: `host` knows what it has waited for.
    void leave(const Slot& slot, const Timeline& host);

private:
    struct Host {
        Nanoseconds free = 0;          ///< when its latest call returned
        Nanoseconds polls_since = -1;  ///< when it began to ask again and again; -1: it does not
        std::uint64_t own = 0;         ///< `before` of its operations until now, summed
    };

    void start(const TimedOperations& operations, bool predicts);
    void sum_own_work();
    [[nodiscard]] std::uint32_t row_of(const Slot& slot) const;
    [[nodiscard]] Nanoseconds enter_measured(Host& host, Nanoseconds others, bool asks);
    [[nodiscard]] Nanoseconds enter_predicted(Host& host, Nanoseconds others) const;
    [[nodiscard]] Nanoseconds leave_measured(Host& host, Nanoseconds awaited, bool asks);
    [[nodiscard]] Nanoseconds leave_predicted(Nanoseconds awaited, bool waits) const;
    /// When all is over that `clock` knows of other timelines than `own`.
    [[nodiscard]] Nanoseconds known(const Clock& clock, std::uint32_t own) const;
    void reach(const Timeline& timeline, Nanoseconds end);
    [[nodiscard]] bool is_unbound(std::uint32_t row, Unbound what) const {
        return (operations_.unbound[row] & static_cast<std::uint8_t>(what)) != 0;
    }
    void note_unbound(std::uint32_t row, Unbound what) {
        operations_.unbound[row] =
            static_cast<std::uint8_t>(operations_.unbound[row] | static_cast<std::uint8_t>(what));
    }
    /// Both return when the work is over. `before`: when what is before it on its stream is; `others`: all else that
    /// the order has before it.
    Nanoseconds measure_work(DeviceLoad& load, Nanoseconds before, Nanoseconds others);
    Nanoseconds predict_work(DeviceLoad& load, Nanoseconds before, Nanoseconds others);
    [[nodiscard]] unsigned fills() const;

    bool active_ = false;
    bool predicts_ = false;
    TimedOperations operations_;
    std::vector<std::uint64_t> own_until_;                 ///< by row: `before` of its thread's operations up to it
    std::vector<Host> hosts_;                              ///< by thread
    std::vector<std::vector<Nanoseconds>> ends_;           ///< by timeline and tick: when that was over
    std::unordered_map<std::uint64_t, DeviceLoad> loads_;  ///< by context and engine

    // Of the call under way.
    std::uint32_t row_ = none;
    Nanoseconds entered_ = 0;
};

}  // namespace streamsan::order
