// Where the lanes get room: segments of the current file, made before they are needed, and their pages.
#include <algorithm>
#include <exception>

#include "recorder/trace_writer/recording.hpp"

namespace streamsan::recorder {
namespace {

constexpr std::uint64_t most_bytes = std::uint64_t{4} << 20;
/// Pages are got in such portions where the page fetcher has not been: a short stop.
constexpr std::uint64_t segment_portion = std::uint64_t{64} << 10;
/// Of a segment that is made ahead, so many are got with it.
constexpr std::uint64_t portion_ahead = std::uint64_t{1} << 20;

constexpr std::uint64_t whole_size(const Segment& segment) { return sizeof(SegmentHeader) + segment.capacity; }

}  // namespace

bool Recording::make_room(Lane& lane, unsigned need) {
    if (stopped()) return false;
    return guarded([&]() -> std::uint32_t {
               if (lane.generation_ == live_->generation.load(std::memory_order_acquire)) {
                   if (lane.capacity_ - lane.used_ >= need) return more_pages(lane, need);
                   if (take_next(lane, need)) return more_pages(lane, need);
               }
               const std::lock_guard lock(state_->rotation);
               return !stopped() && new_segment(*state_, lane, need);
           }) != 0;
}

void Lane::set_limit() {
    const auto there = static_cast<std::uint32_t>((populated_ - sizeof(SegmentHeader)) / sizeof(Slot));
    limit_ = asked_for_next_ ? there : std::min(there, capacity_ / 2);
}

bool Recording::take_fetched(Lane& lane, unsigned need) {
    if (lane.capacity_ == lane.limit_) return false;
    const std::byte* header = reinterpret_cast<std::byte*>(lane.base_) - sizeof(SegmentHeader);
    const std::byte* ready = lane.ready_.load(std::memory_order_acquire);
    // What was fetched for an earlier segment of this lane lies elsewhere.
    if (ready <= header + lane.populated_ || ready > reinterpret_cast<std::byte*>(lane.base_ + lane.capacity_))
        return false;
    lane.populated_ = static_cast<std::uint64_t>(ready - header);
    lane.set_limit();
    return lane.limit_ - lane.used_ >= need;
}

bool Recording::more_pages(Lane& lane, unsigned need) {
    // Of the segment that the lane has: nobody else needs to know.
    std::byte* header = reinterpret_cast<std::byte*>(lane.base_) - sizeof(SegmentHeader);
    const std::uint64_t whole = sizeof(SegmentHeader) + std::uint64_t{lane.capacity_} * sizeof(Slot);
    if (!lane.asked_for_next_ && lane.used_ + need > lane.capacity_ / 2) ask_for_next(lane);
    lane.set_limit();
    while (!take_fetched(lane, need) && lane.limit_ - lane.used_ < need) {
        const std::uint64_t portion = std::min(segment_portion, whole - lane.populated_);
        if (!populate(header + lane.populated_, portion)) {
            stop(path_ + ": no space for more pages of the file");
            return false;
        }
        lane.populated_ += portion;
        lane.set_limit();
    }
    fetch_ahead(lane);
    return true;
}

void Recording::fetch_ahead(Lane& lane) {
    std::byte* header = reinterpret_cast<std::byte*>(lane.base_) - sizeof(SegmentHeader);
    std::byte* end = reinterpret_cast<std::byte*>(lane.base_ + lane.capacity_);
    std::byte* begin = header + lane.populated_;
    if (lane.asked_ > begin && lane.asked_ <= end) begin = lane.asked_;
    if (end == begin) return;
    lane.asked_ = end;
    state_->pages.ask(begin, end, lane.ready_);
}

void Recording::ask_for_next(Lane& lane) {
    lane.asked_for_next_ = true;
    if (lane.next_state_.load(std::memory_order_acquire) != NextSegment::none) return;
    lane.next_state_.store(NextSegment::asked, std::memory_order_relaxed);
    State& state = *state_;
    const bool will_come =
        state.pages.later([this, &state, &lane, generation = lane.generation_, wanted = lane.next_bytes_] {
            bring_next(state, lane, generation, wanted);
        });
    if (!will_come) lane.next_state_.store(NextSegment::none, std::memory_order_relaxed);
}

/// On the page fetcher's thread.
void Recording::bring_next(State& state, Lane& lane, std::uint64_t generation, std::uint64_t wanted) {
    Segment segment;
    std::shared_ptr<TraceFile> file;
    bool there = false;
    try {
        {
            const std::lock_guard lock(state.rotation);
            if (!state.closed && !stopped() && state.generation == generation) file = state.file;
        }
        std::string reason;
        there = file != nullptr &&
                file->add(SegmentType::operations, 0, lane.number_, 0, sizeof(Slot), wanted - sizeof(SegmentHeader),
                          half_ / 8, segment, reason) == TraceFile::Added::yes;
    } catch (const std::exception&) {
        there = false;  // no memory: the lane's thread will find out
    }
    if (there) {
        const std::uint64_t populated = std::min(portion_ahead, whole_size(segment));
        lane.next_header_ = reinterpret_cast<std::byte*>(segment.header);
        lane.next_bytes_there_ = whole_size(segment);
        lane.next_generation_ = generation;
        if (populate(lane.next_header_, populated)) {
            lane.next_populated_ = populated;
            auto asked = NextSegment::asked;
            if (lane.next_state_.compare_exchange_strong(asked, NextSegment::ready, std::memory_order_acq_rel)) {
                Clock::adjust();
                return;
            }
        }
        file->take_back(segment);
    }
    lane.next_state_.store(NextSegment::none, std::memory_order_release);
}

/// Without a lock: the lane goes on in the segment that was made for it. False when there is none, or not a good one.
bool Recording::take_next(Lane& lane, unsigned need) {
    if (lane.next_state_.load(std::memory_order_acquire) != NextSegment::ready) return false;
    if (lane.next_generation_ != lane.generation_ || lane.next_bytes_there_ < (std::uint64_t{need} + 1) * sizeof(Slot))
        return false;
    const Segment segment{reinterpret_cast<SegmentHeader*>(lane.next_header_),
                          lane.next_header_ + sizeof(SegmentHeader), lane.next_bytes_there_ - sizeof(SegmentHeader)};
    const std::uint64_t populated = lane.next_populated_;
    auto ready = NextSegment::ready;
    if (!lane.next_state_.compare_exchange_strong(ready, NextSegment::none, std::memory_order_acq_rel)) return false;
    adopt(*state_, lane, segment, populated);
    return true;
}

/// The lane gets another segment, which lies behind the one that is or was being made for it.
void Recording::abandon_next(State& state, Lane& lane) {
    auto asked = NextSegment::asked;
    if (lane.next_state_.compare_exchange_strong(asked, NextSegment::abandoned, std::memory_order_acq_rel)) return;
    if (asked != NextSegment::ready) return;
    if (lane.next_generation_ == state.generation) give_back(*state.file, lane);
    else lane.next_state_.store(NextSegment::none, std::memory_order_relaxed);
}

void Recording::give_back(TraceFile& file, Lane& lane) {
    const Segment segment{reinterpret_cast<SegmentHeader*>(lane.next_header_),
                          lane.next_header_ + sizeof(SegmentHeader), lane.next_bytes_there_ - sizeof(SegmentHeader)};
    auto ready = NextSegment::ready;
    if (lane.next_state_.compare_exchange_strong(ready, NextSegment::none, std::memory_order_acq_rel))
        file.take_back(segment);
}

void Recording::give_back_all(const State& state, TraceFile& file, std::uint64_t generation) {
    std::vector<Lane*> ready;
    for (Lane* lane : state.lanes)
        if (lane->next_state_.load(std::memory_order_acquire) == NextSegment::ready &&
            lane->next_generation_ == generation)
            ready.push_back(lane);
    // From the end of the file.
    std::sort(ready.begin(), ready.end(),
              [](const Lane* one, const Lane* other) { return one->next_header_ > other->next_header_; });
    for (Lane* lane : ready) give_back(file, *lane);
}

void Recording::adopt(State& state, Lane& lane, const Segment& segment, std::uint64_t populated) {
    // The segment before the last one. The last one may still be completed: its pages stay.
    if (lane.filled_ != nullptr) state.pages.let_go(lane.filled_, lane.filled_ + lane.filled_bytes_);
    if (lane.capacity_ != 0) {
        lane.filled_ = reinterpret_cast<std::byte*>(lane.base_) - sizeof(SegmentHeader);
        lane.filled_bytes_ = sizeof(SegmentHeader) + std::uint64_t{lane.capacity_} * sizeof(Slot);
    }
    lane.next_bytes_ = std::min(4 * lane.next_bytes_,
                                half_ == 0 ? most_bytes : std::clamp(half_ / 32, least_segment_bytes, most_bytes));
    lane.base_ = reinterpret_cast<Slot*>(segment.payload);
    lane.commit_ = &segment.header->commit;
    lane.capacity_ = static_cast<std::uint32_t>(segment.capacity / sizeof(Slot));
    lane.used_ = 0;
    lane.populated_ = populated;
    lane.asked_for_next_ = false;
    lane.set_limit();
}

bool Recording::new_segment(State& state, Lane& lane, unsigned need) {
    if (lane.state_ != &state) {
        std::int32_t number = -1;
        if (!enroll(state, lane, number, thread_name())) return false;
    }
    Clock::adjust();
    for (int attempt = 0; attempt < 2; ++attempt) {
        if (lane.generation_ != state.generation) {
            lane.generation_ = state.generation;
            lane.last_ = std::max(lane.last_, state.floor);
            lane.used_ = lane.limit_ = lane.capacity_ = 0;
            lane.operations_ = lane.slots_ = 0;
            lane.filled_ = nullptr;
        } else if (lane.capacity_ - lane.used_ >= need) {
            return true;
        }
        abandon_next(state, lane);
        Segment segment;
        std::string reason;
        const std::uint64_t wanted = lane.next_bytes_ - sizeof(SegmentHeader);
        switch (state.file->add(SegmentType::operations, 0, lane.number_, 0, std::uint64_t{need} * sizeof(Slot), wanted,
                                half_ / 8, segment, reason)) {
            case TraceFile::Added::failed: stop(std::move(reason)); return false;
            case TraceFile::Added::full:
                if (attempt == 0 && rotate(state)) continue;
                if (!stopped()) stop(path_ + ": the size limit is too small for what is alive");
                return false;
            case TraceFile::Added::yes: break;
        }
        const std::uint64_t populated = std::min(segment_portion, whole_size(segment));
        adopt(state, lane, segment, populated);
        if (populate(reinterpret_cast<std::byte*>(segment.header), populated)) return more_pages(lane, need);
        stop(path_ + ": no space for more pages of the file");
        return false;
    }
    return false;
}

}  // namespace streamsan::recorder
