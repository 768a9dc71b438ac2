#include "recorder/trace_writer/recording.hpp"

#include <algorithm>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <new>
#include <sched.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "recorder/trace_writer/undisturbed.hpp"

namespace streamsan::recorder {
namespace {

constexpr std::uint64_t first_bytes = std::uint64_t{64} << 10;
constexpr std::size_t many_lanes = 64;
constexpr std::uint64_t least_half = std::uint64_t{256} << 10;

std::atomic<std::uint64_t> serials{0};

/// The number that the metadata give for `key`, 0 when they do not.
std::uint64_t metadata_number(std::string_view metadata, std::string_view key) {
    std::size_t at = metadata.find(key);
    if (at == std::string_view::npos) return 0;
    at = metadata.find_first_not_of(" :\t\n", at + key.size());
    std::uint64_t number = 0;
    for (; at < metadata.size() && metadata[at] >= '0' && metadata[at] <= '9'; ++at)
        number = number * 10 + static_cast<std::uint64_t>(metadata[at] - '0');
    return number;
}

}  // namespace

Recording::Recording() : serial_(++serials), live_(make_live_words()) {}

Recording::~Recording() {
    if (live_ != nullptr) {
        close();
        unmake_live_words(live_);
    }
    // What belongs to the parent of a forked child stays as it was at the fork.
    if (state_ == nullptr || !state_->closed) return;
    state_->pages.end();
    for (Lane* lane : state_->lanes) delete lane;
    delete state_;
}

std::string Recording::begin(const WriterOptions& options) {
    if (live_ == nullptr) return "no memory";
    const Undisturbed undisturbed;
    Clock::start();
    std::error_code error;
    path_ = std::filesystem::absolute(options.path, error).string();
    if (error) return options.path + ": " + error.message();
    // Moving the new file there would replace a device or a pipe.
    const auto there = std::filesystem::status(path_, error).type();
    if (there != std::filesystem::file_type::not_found && there != std::filesystem::file_type::regular)
        return options.path + ": not a regular file";
    half_ = options.max_bytes == 0 ? 0 : std::max(options.max_bytes / 2, least_half);
    if (last_generation_ == 0 || counter_path_ != options.counter)
        if (std::string reason = counter_.open(options.counter); !reason.empty()) return reason;
    counter_path_ = options.counter;
    metadata_ = options.metadata;
    constexpr std::string_view origin_key = "\"clock_origin\"";
    std::uint64_t origin = metadata_number(metadata_, origin_key);
    if (origin == 0) {
        origin = counter_.origin();
        const std::size_t end = metadata_.rfind('}');
        if (end == std::string::npos) return "the metadata are not a JSON object";
        const bool first = metadata_.find_last_not_of(" \t\n", end - 1) == metadata_.find('{');
        metadata_.insert(end, (first ? "" : ",") + std::string(origin_key) + ":" + std::to_string(origin));
    }
    monotonic_origin_ = origin - counter_.monotonic_offset();

    auto state = std::make_unique<State>();
    state->file = std::make_shared<TraceFile>();
    const std::string part = path_ + "." + std::to_string(getpid()) + ".part";
    if (std::string reason = state->file->create(part, metadata_, half_); !reason.empty()) return reason;
    if (const int failed = state->file->rename(path_); failed != 0) {
        unlink(part.c_str());
        return path_ + ": " + std::strerror(failed);
    }
    // An older file of an earlier run does not belong to this one.
    if (half_ != 0) unlink(older_name().c_str());
    state->tables = std::make_unique<SideTables>(*state->file, most_bytes_of_tables());
    state->generation = ++last_generation_;
    state->parent = state_;
    state_ = state.release();
    ++ids_generation_;
    live_->ours.store(1);
    live_->sites.store(1);
    live_->apis.store(1);
    live_->generation.store(last_generation_);
    return "";
}

std::uint32_t Recording::guarded(const std::function<std::uint32_t()>& work) {
    std::uint32_t result = 0;
    {
        const Undisturbed undisturbed;
        try {
            result = work();
            if (std::string failure = state_->tables->failure(); !failure.empty()) stop(std::move(failure));
        } catch (const std::exception&) {
            stop(path_ + ": no memory to go on");
        }
    }
    announce();
    return result;
}

void Recording::add_metadata(const std::string& member) {
    if (stopped()) return;
    guarded([&]() -> std::uint32_t {
        const std::lock_guard lock(state_->rotation);
        const std::size_t end = metadata_.rfind('}');
        if (stopped() || state_->closed || end == std::string::npos) return 0;
        metadata_.insert(end, ", " + member);
        const std::string json = "{" + member + "}";
        Segment segment;
        std::string reason;
        // Where there is no room for it, the next file has it.
        if (state_->file->add(SegmentType::metadata, 0, 0, 0, json.size(), json.size(), 0, segment, reason) !=
            TraceFile::Added::yes)
            return 0;
        std::memcpy(segment.payload, json.data(), json.size());
        segment.commit(json.size());
        return 1;
    });
}

void Recording::ids_below(std::uint32_t sites, std::uint32_t apis) {
    const auto raise = [](std::atomic<std::uint32_t>& word, std::uint32_t value) {
        std::uint32_t found = word.load(std::memory_order_relaxed);
        while (found < value && !word.compare_exchange_weak(found, value, std::memory_order_release)) {
        }
    };
    raise(live_->sites, sites);
    raise(live_->apis, apis);
}

std::string Recording::thread_name() {
    char name[17] = "";
    prctl(PR_GET_NAME, name);
    return name;
}

bool Recording::enroll(State& state, Lane& lane, std::int32_t& number, std::string_view name) {
    const std::uint32_t thread =
        number >= 0 ? static_cast<std::uint32_t>(number) : state.tables->thread(0, std::string(name));
    if (thread >= most_threads) {
        std::string failure = state.tables->failure();
        stop(failure.empty() ? path_ + ": more threads than a trace can tell apart" : std::move(failure));
        return false;
    }
    lane.thread_ = static_cast<std::uint16_t>(thread);
    number = static_cast<std::int32_t>(thread);
    if (lane.state_ == &state) return true;
    lane.recording_ = this;
    lane.state_ = &state;
    lane.live_ = live_;
    lane.counter_ = &counter_.sequence();
    lane.number_ = static_cast<std::uint32_t>(state.lanes.size()) + 1;  // 0 is the snapshot's
    lane.generation_ = 0;
    lane.next_state_.store(NextSegment::none,
                           std::memory_order_relaxed);  // nobody brings a child what its parent asked for
    lane.next_bytes_ = state.lanes.size() < many_lanes ? first_bytes : least_segment_bytes;
    if (half_ != 0) lane.next_bytes_ = std::min(lane.next_bytes_, least_segment_bytes);
    state.lanes.push_back(&lane);
    return true;
}

Lane* Recording::lane_of_new_thread() {
    if (stopped()) return nullptr;
    Lane* lane = nullptr;
    guarded([&]() -> std::uint32_t {
        State& state = *state_;
        const std::lock_guard lock(state.rotation);
        if (stopped()) return 0;
        const bool again = !state.released.empty();
        auto fresh = again ? nullptr : std::make_unique<Lane>();
        Lane* found = again ? state.released.back() : fresh.get();
        std::int32_t number = number_of_this_thread != nullptr ? number_of_this_thread->load() : -1;
        if (!enroll(state, *found, number, thread_name())) return 0;
        if (number_of_this_thread != nullptr) number_of_this_thread->store(number);
        if (again) state.released.pop_back();
        static_cast<void>(fresh.release());
        lane = found;
        return 1;
    });
    return lane;
}

Lane* Recording::lane_for(std::int32_t& thread, std::string_view name) {
    Lane* lane = nullptr;
    guarded([&]() -> std::uint32_t {
        State& state = *state_;
        const std::lock_guard lock(state.rotation);
        // Not one that a thread has left: its sequences may be beyond those that come.
        auto fresh = std::make_unique<Lane>();
        if (stopped() || !enroll(state, *fresh, thread, name)) return 0;
        lane = fresh.release();
        return 1;
    });
    return lane;
}

void Recording::release(Lane& lane) {
    if (forked()) return;
    const Undisturbed undisturbed;
    const std::lock_guard lock(state_->rotation);
    lane.drop();
    // The next thread goes on in its segment. The lane's sequences still increase: the new thread begins after this
    // moment.
    if (lane.state_ == state_) state_->released.push_back(&lane);
}

void Recording::copy_saved(const Lane& lane, const Slot* slot, std::vector<Slot>& kept) {
    if (stopped()) return;
    guarded([&]() -> std::uint32_t {
        const std::lock_guard lock(state_->rotation);
        if (lane.saved_of_ == slot) kept = lane.saved_;
        return 1;
    });
}

bool Recording::wait_for_lanes(const State& state) const {
    const auto milliseconds = [] {
        timespec time{};
        clock_gettime(CLOCK_MONOTONIC, &time);
        return static_cast<std::uint64_t>(time.tv_sec) * 1000 + static_cast<std::uint64_t>(time.tv_nsec) / 1'000'000;
    };
    const std::uint64_t deadline = milliseconds() + 2000;
    for (const Lane* lane : state.lanes)
        for (int tries = 0; lane->busy_.load(std::memory_order_acquire); ++tries) {
            if (tries < 100) continue;
            sched_yield();
            if (milliseconds() > deadline) return false;
        }
    return true;
}

void Recording::end_file(const State& state, TraceFile& file, std::uint64_t generation, Counts counts, bool whole) {
    give_back_all(state, file, generation);
    if (!whole) {
        file.trim();
        return;
    }
    for (const Lane* lane : state.lanes)
        if (lane->generation_ == generation) {
            counts.operations += lane->operations_;
            counts.slots += lane->slots_;
        }
    file.end(counts.operations, counts.slots);
}

void Recording::close() {
    if (state_ == nullptr || forked()) return;
    const Undisturbed undisturbed;
    State& state = *state_;
    const std::lock_guard lock(state.rotation);
    if (state.closed) return;
    state.closed = true;
    const bool stopped_before = stopped();
    live_->generation.store(0);
    counter_.sequence().fetch_add(1, std::memory_order_acq_rel);
    const bool idle = wait_for_lanes(state);
    // What was stopped keeps what it has, without an end mark: it is not the whole story.
    end_file(state, *state.file, state.generation, state.restated, idle && !stopped_before);
}

void Recording::stop(std::string reason) {
    live_->generation.store(0);
    const std::lock_guard lock(state_->stop_lock);
    if (state_->stop_reason.empty()) state_->stop_reason = std::move(reason);
}

void Recording::on_stop(std::function<void(std::string_view)> say) {
    say_ = std::move(say);
    announce();
}

void Recording::announce() {
    if (!stopped() || forked() || !say_) return;
    std::string reason;
    {
        const std::lock_guard lock(state_->stop_lock);
        if (state_->announced || state_->stop_reason.empty()) return;
        state_->announced = true;
        reason = state_->stop_reason;
    }
    say_(reason);
}

}  // namespace streamsan::recorder
