// The order that a recording adds: one host thread's calls come after what others had done before.
#pragma once
#include <cstdint>
#include <vector>

#include "clock.hpp"
#include "edges.hpp"
#include "flat_map.hpp"
#include "state.hpp"
#include "timelines.hpp"

namespace streamsan::order {

class RunOrder {
public:
    RunOrder(EdgeKinds edges, Timelines& timelines, std::vector<Thread>& threads)
        : edges_(edges), timelines_(timelines), threads_(threads) {}

    /// The next call is the thread's.
    void go_on(std::uint32_t thread) {
        if (thread != running_) switch_to(thread);
    }
    /// What `teller` knows may reach any host thread from now on, in a way that nobody sees.
    void tell_unseen(Thread& thread, const Timeline& teller);

private:
    [[gnu::noinline]] void switch_to(std::uint32_t index);
    void publish(Thread& thread);

    EdgeKinds edges_;
    Timelines& timelines_;
    std::vector<Thread>& threads_;
    std::uint32_t running_ = none;  ///< thread of the latest operation
    std::uint32_t version_ = 1;
    Clock known_;  ///< what the other threads had seen when they stopped running
};

}  // namespace streamsan::order
