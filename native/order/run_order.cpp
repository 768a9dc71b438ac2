#include "run_order.hpp"

namespace streamsan::order {

// Numbers are given when a call is entered, or when it returns where others can only then know of it. So the order of
// the numbers between threads holds wherever two calls do not overlap, and joins, mutexes and flags need not be
// recorded. All threads share one clock for it. What a thread has learned is put there when another one goes on, not
// before: a thread that goes on alone costs nothing.
void RunOrder::switch_to(std::uint32_t index) {
    if (running_ != none) publish(threads_[running_]);
    running_ = index;
    Thread& thread = threads_[index];
    if (thread.run_version == version_) return;
    Timeline& own = timelines_[thread.timeline];
    own.learn(known_, edges_.in(EdgeKind::run_order, run_edge));
    thread.run_version = version_;
    thread.published_version = own.version;  // what it has from there is there
}

void RunOrder::publish(Thread& thread) {
    Timeline& own = timelines_[thread.timeline];
    if (own.version != thread.published_version) {
        known_.join(own.clock, run_edge);
    } else if (own.tick != thread.published_tick) {
        known_.set(own.slot, Lanes{own.tick, own.tick, own.tick, own.tick} & run_edge);
    } else {
        return;
    }
    own.released = true;
    thread.published_version = own.version;
    thread.published_tick = own.tick;
    thread.run_version = ++version_;
}

void RunOrder::tell_unseen(Thread& thread, const Timeline& teller) {
    known_.join(teller.clock, edges_.in(EdgeKind::unseen_teller, opaque_edge));
    ++version_;
    timelines_[thread.timeline].learn(teller.clock, edges_.in(EdgeKind::unseen_teller, opaque_edge));
}

}  // namespace streamsan::order
