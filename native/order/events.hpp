// Events, and what their records carry to those who wait.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "clock.hpp"
#include "operation.hpp"
#include "state.hpp"

namespace streamsan::order {

struct Event {
    std::uint64_t handle = 0;
    std::uint32_t context = none;
    std::uint32_t context_epoch = 0;
    bool created = false;  ///< in the trace
    bool alive = true;
    bool recorded = false;
    std::uint32_t source = none;       ///< stream index of the latest record
    std::uint32_t opaque_version = 0;  ///< of its creation or latest record
    Clock clock;                       ///< what is before the latest record
    Epoch at;                          ///< that record itself: whoever reads the event's time must be after it
    bool user = false;                 ///< the host sets it
    bool inside_launch = false;        ///< recorded by a node of a graph that does not come after all others
    Operation made;
    Operation record;
    Operation destroyed;

    /// Whether it is a user event that nobody has set.
    [[nodiscard]] bool is_unset() const { return user && created && alive && !recorded; }
    /// Notes the record that was issued at `epoch` to the stream `stream`.
    void note_record(Epoch epoch, bool inside, std::uint32_t stream, std::uint32_t opaque, const Operation& operation) {
        at = epoch;
        inside_launch = inside;
        recorded = true;
        source = stream;
        opaque_version = opaque;
        record = operation;
    }
};

/// The events, by number. A handle keeps its number, whatever event it names.
class Events {
public:
    [[nodiscard]] Event& operator[](std::uint32_t index) { return *events_[index]; }
    /// The event of a handle; null: it is not known, or was destroyed.
    [[nodiscard]] Event* live(const Process& process, std::uint64_t handle) {
        const std::uint32_t index = process.events.find(handle);
        return index == none || !events_[index]->alive ? nullptr : events_[index].get();
    }
    /// The event that a handle names from now on; nothing is known of what was recorded in it.
    Event& make(Process& process, std::uint64_t handle, std::uint32_t context, std::uint32_t context_epoch) {
        const std::uint32_t index = process.events.number(handle, events_.size());
        if (index == events_.size()) events_.push_back(std::make_unique<Event>());
        Event& event = *events_[index];
        event.handle = handle;
        event.context = context;
        event.context_epoch = context_epoch;
        return event;
    }
    void destroy(std::uint32_t index, const Operation& operation) {
        Event& event = *events_[index];
        event.alive = false;
        event.destroyed = operation;
        // Waits that were issued have its clock already. Those that come too late may ask for it; see
        // Engine::wait_as_meant.
        std::uint32_t& oldest = destroyed_[destroyed_at_++ % destroyed_.size()];
        if (oldest != none && !events_[oldest]->alive && oldest != index) events_[oldest]->clock.clear();
        oldest = index;
    }

    /// Calls `use` with each event that was made in the trace and is alive, of any process.
    template <class Use>
    void each_alive(Use use) const {
        for (const std::unique_ptr<Event>& event : events_)
            if (event->alive && event->created) use(*event);
    }

private:
    std::vector<std::unique_ptr<Event>> events_;
    std::vector<std::uint32_t> destroyed_ =
        std::vector<std::uint32_t>(64, none);  ///< the latest ones: they keep their clocks
    std::size_t destroyed_at_ = 0;
};

}  // namespace streamsan::order
