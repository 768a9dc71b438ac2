#include "retiming.hpp"

#include <algorithm>

#include "engine.hpp"
#include "generated/facts.hpp"

namespace streamsan::order {
namespace {

/// The clocks of host and device are matched to within this: what is off by less is no sign of another order.
constexpr Nanoseconds clock_error = 20'000;

/// A launch takes about so long to reach the device: work whose turn came within it may have begun no sooner for that.
constexpr Nanoseconds launch_reach = 10'000;

constexpr std::uint16_t whole_device = 1000;

constexpr Kinds questions = {OperationKind::STREAM_QUERY, OperationKind::EVENT_QUERY};

/// Calls that a recording numbers when they are entered: others may be made while they wait.
constexpr Kinds numbered_at_entry = {OperationKind::FREE,          OperationKind::STREAM_DESTROY,
                                     OperationKind::EVENT_DESTROY, OperationKind::HANDLE_DESTROY,
                                     OperationKind::DEVICE_RESET,  OperationKind::CONTEXT_DESTROY,
                                     OperationKind::LAUNCH,        OperationKind::COPY,
                                     OperationKind::MEMSET,        OperationKind::GRAPH_LAUNCH};

}  // namespace

Nanoseconds DeviceLoad::earliest(Nanoseconds ready, Nanoseconds duration, unsigned fills) const {
    constexpr int most_tries = 64;
    Nanoseconds at = ready;
    for (int tries = 0; tries < most_tries; ++tries) {
        unsigned load = fills;
        Nanoseconds next = -1;
        for (auto work = by_end_.upper_bound(at); work != by_end_.end(); ++work) {
            if (work->second.begun >= at + duration) continue;
            load += work->second.fills;
            if (next < 0) next = work->first;
        }
        if (load <= whole_device || next < 0) return at;
        at = next;
    }
    return at;
}

void DeviceLoad::add(Nanoseconds begun, Nanoseconds ended, unsigned fills) {
    // Work that ended long ago meets nothing any more, however threads and streams are apart.
    constexpr std::size_t most_kept = 256;
    by_end_.emplace(ended, Work{begun, fills});
    if (by_end_.size() > most_kept) by_end_.erase(by_end_.begin());
}

void Retiming::start(const TimedOperations& operations, bool predicts) {
    active_ = true;
    predicts_ = predicts;
    operations_ = operations;
    hosts_.clear();
    ends_.clear();
    loads_.clear();
    own_until_.clear();
    if (predicts) sum_own_work();
    row_ = none;
}

void Retiming::sum_own_work() {
    // Of a damaged trace the sum may come round, which only unsigned numbers may.
    std::vector<std::uint64_t> by_thread;
    own_until_.reserve(operations_.sequences.size());
    for (std::size_t row = 0; row < operations_.sequences.size(); ++row) {
        const std::uint16_t thread = operations_.threads[row];
        if (thread >= by_thread.size()) by_thread.resize(thread + 1U);
        by_thread[thread] += static_cast<std::uint64_t>(operations_.own[row].before);
        own_until_.push_back(by_thread[thread]);
    }
}

std::uint32_t Retiming::row_of(const Slot& slot) const {
    if (slot.site >= first_inserted_site) return none;
    const auto at = std::lower_bound(operations_.sequences.begin(), operations_.sequences.end(), slot.sequence);
    if (at == operations_.sequences.end() || *at != slot.sequence) return none;
    return static_cast<std::uint32_t>(at - operations_.sequences.begin());
}

Nanoseconds Retiming::known(const Clock& clock, std::uint32_t own) const {
    Nanoseconds latest = 0;
    const std::uint32_t count = std::min<std::uint32_t>(clock.slots(), static_cast<std::uint32_t>(ends_.size()));
    for (std::uint32_t slot = 0; slot < count; ++slot) {
        const Tick tick = clock.at(slot)[all];
        const std::vector<Nanoseconds>& ends = ends_[slot];
        if (slot == own || tick <= 0 || ends.empty()) continue;
        latest = std::max(latest, ends[std::min<std::size_t>(static_cast<std::size_t>(tick), ends.size() - 1)]);
    }
    return latest;
}

void Retiming::reach(const Timeline& timeline, Nanoseconds end) {
    if (timeline.slot >= ends_.size()) ends_.resize(timeline.slot + 1U);
    std::vector<Nanoseconds>& ends = ends_[timeline.slot];
    const auto tick = static_cast<std::size_t>(std::max<Tick>(timeline.tick, 0));
    if (tick >= ends.size()) ends.resize(tick + 1, ends.empty() ? 0 : ends.back());
    ends[tick] = std::max(ends[tick], end);
}

void Retiming::enter(const Slot& slot, const Timeline& host_timeline) {
    if (slot.thread >= hosts_.size()) hosts_.resize(slot.thread + 1U);
    Host& host = hosts_[slot.thread];
    row_ = row_of(slot);
    const Nanoseconds others = known(host_timeline.clock, host_timeline.slot);
    const bool asks = questions.has(static_cast<OperationKind>(slot.kind));
    if (row_ == none) entered_ = host.free;
    else entered_ = predicts_ ? enter_predicted(host, others) : enter_measured(host, others, asks);
    reach(host_timeline, entered_);
}

Nanoseconds Retiming::enter_measured(Host& host, Nanoseconds others, bool asks) {
    const CallTimes& times = operations_.times[row_];
    if (others > times.entered) {
        note_unbound(row_, Unbound::call);
        others = 0;
    }
    Nanoseconds free = host.free;
    if (host.polls_since >= 0 && !asks) {
        // It asked again and again, and gave up: that is its own work.
        free = host.polls_since;
        host.polls_since = -1;
    }
    operations_.own[row_].before = std::max<Nanoseconds>(0, times.entered - std::max(free, others));
    return times.entered;
}

Nanoseconds Retiming::enter_predicted(Host& host, Nanoseconds others) const {
    const OwnTimes& own = operations_.own[row_];
    const Nanoseconds ready = is_unbound(row_, Unbound::call) ? host.free : std::max(host.free, others);
    // With the thread's work before calls that were taken out. A call that was moved up has its own alone.
    const auto since = static_cast<Nanoseconds>(own_until_[row_] - host.own);
    host.own = std::max(host.own, own_until_[row_]);
    return ready + (since >= own.before ? since : own.before);
}

void Retiming::leave(const Slot& slot, const Timeline& host_timeline) {
    Host& host = hosts_[slot.thread];
    const auto kind = static_cast<OperationKind>(slot.kind);
    const Nanoseconds awaited = known(host_timeline.clock, host_timeline.slot);
    const bool asks = questions.has(kind);
    Nanoseconds left = entered_;
    if (predicts_) left = leave_predicted(awaited, waits_of_host.has(kind));
    else if (row_ != none && asks && slot.status == status::not_ready) {
        operations_.own[row_].before = operations_.own[row_].call = 0;
        if (host.polls_since < 0) host.polls_since = host.free;
        left = operations_.times[row_].left;
    } else if (row_ != none) {
        left = leave_measured(host, awaited, asks);
    }
    host.free = std::max(host.free, left);
    if (!numbered_at_entry.has(kind)) reach(host_timeline, left);
    if (predicts_ && row_ != none) {
        operations_.predicted[row_].entered = entered_;
        operations_.predicted[row_].left = left;
    }
}

Nanoseconds Retiming::leave_measured(Host& host, Nanoseconds awaited, bool asks) {
    const CallTimes& times = operations_.times[row_];
    OwnTimes& own = operations_.own[row_];
    if (awaited > times.left + clock_error) {
        note_unbound(row_, Unbound::returns);
        awaited = 0;
    }
    Nanoseconds from = times.entered;
    if (asks && host.polls_since >= 0) {
        // The questions before were the wait for this answer.
        from = host.polls_since;
        own.before = 0;
    }
    host.polls_since = -1;
    own.call = std::max<Nanoseconds>(0, times.left - std::max(from, awaited));
    return times.left;
}

Nanoseconds Retiming::leave_predicted(Nanoseconds awaited, bool waits) const {
    if (row_ == none) return waits ? std::max(entered_, awaited) + operations_.inserted_wait : entered_;
    if (is_unbound(row_, Unbound::returns)) awaited = 0;
    return std::max(entered_, awaited) + operations_.own[row_].call;
}

void Retiming::work(const Timeline& own, std::uint32_t context) {
    const bool has_ends = own.slot < ends_.size() && !ends_[own.slot].empty();
    const Nanoseconds before = has_ends ? ends_[own.slot].back() : 0;
    const Nanoseconds others = known(own.clock, own.slot);
    Nanoseconds end = std::max({before, others, entered_});
    if (row_ != none && operations_.times[row_].begun >= 0) {
        DeviceLoad& load = loads_[std::uint64_t{context} << 8 | operations_.engines[row_]];
        end = predicts_ ? predict_work(load, before, others) : measure_work(load, before, others);
    }
    reach(own, end);
}

unsigned Retiming::fills() const {
    const auto engine = static_cast<DeviceEngine>(operations_.engines[row_]);
    return engine == DeviceEngine::COMPUTE ? operations_.fills[row_] : whole_device;
}

Nanoseconds Retiming::measure_work(DeviceLoad& load, Nanoseconds before, Nanoseconds others) {
    const CallTimes& times = operations_.times[row_];
    OwnTimes& own = operations_.own[row_];
    if (others > times.begun + clock_error) {
        note_unbound(row_, Unbound::work);
        others = 0;
    }
    Nanoseconds turn = std::max(before, others);
    if (fills() != 0) {
        const Nanoseconds ready = std::max(turn, times.entered);
        const Nanoseconds room = load.earliest(ready, times.ended - times.begun, fills());
        if (room > times.begun + clock_error) note_unbound(row_, Unbound::capacity);
        else if (room > ready) turn = room;
    }
    if (times.entered + launch_reach >= turn) {
        own.launch = std::max<Nanoseconds>(0, times.begun - times.entered);
        own.gap = -1;
    } else {
        own.launch = -1;
        own.gap = std::max<Nanoseconds>(0, times.begun - turn);
    }
    if (fills() != 0 && !is_unbound(row_, Unbound::capacity)) load.add(times.begun, times.ended, fills());
    return times.ended;
}

Nanoseconds Retiming::predict_work(DeviceLoad& load, Nanoseconds before, Nanoseconds others) {
    const CallTimes& times = operations_.times[row_];
    const OwnTimes& own = operations_.own[row_];
    const Nanoseconds duration = times.ended - times.begun;
    if (is_unbound(row_, Unbound::work)) others = 0;
    Nanoseconds begun = std::max(entered_ + own.launch, std::max(before, others) + own.gap);
    if (fills() != 0 && !is_unbound(row_, Unbound::capacity)) {
        const Nanoseconds room = load.earliest(begun, duration, fills());
        if (room > begun) begun = room + own.gap;
        load.add(begun, begun + duration, fills());
    }
    operations_.predicted[row_].begun = begun;
    operations_.predicted[row_].ended = begun + duration;
    return begun + duration;
}

void Engine::step_in_time(const Slot& slot, Thread& thread) {
    const bool arrived = !recording_ || arrive(slot, thread);
    retiming_.enter(slot, timeline(thread));
    if (arrived) perform(slot, thread);
    const auto kind = static_cast<OperationKind>(slot.kind);
    const bool works = !failed(slot.status) && runs_on_stream.has(kind);
    const std::uint32_t index = works ? stream_at(slot, thread, *processes_[thread.process]) : none;
    if (index != none) retiming_.work(timeline(*streams_[index]), streams_[index]->context);
    retiming_.leave(slot, timeline(thread));
}

}  // namespace streamsan::order
