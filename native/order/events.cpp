#include "events.hpp"

namespace streamsan::order {

Event& Events::make(Process& process, std::uint64_t handle, std::uint32_t context, std::uint32_t context_epoch) {
    std::uint32_t index = process.events.find(handle);
    if (index == none) {
        index = static_cast<std::uint32_t>(events_.size());
        events_.push_back(std::make_unique<Event>());
        process.events.set(handle, index);
    }
    Event& event = *events_[index];
    event.handle = handle;
    event.context = context;
    event.context_epoch = context_epoch;
    return event;
}

void Events::destroy(std::uint32_t index, const Operation& operation) {
    Event& event = *events_[index];
    event.alive = false;
    event.destroyed = operation;
    // Waits that were issued have its clock already. Those that come too late may ask for it; see
    // Engine::wait_as_meant.
    std::uint32_t& oldest = destroyed_[destroyed_at_++ % destroyed_.size()];
    if (oldest != none && !events_[oldest]->alive && oldest != index) events_[oldest]->clock.clear();
    oldest = index;
}

}  // namespace streamsan::order
