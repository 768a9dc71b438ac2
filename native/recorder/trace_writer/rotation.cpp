// A new file under running threads, when the size limit asks for it. recording.hpp says how the threads are divided.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <sys/syscall.h>
#include <unistd.h>

#include "recorder/trace_writer/recording.hpp"

namespace streamsan::recorder {
namespace {

/// Changes the names of two files in one step. False where the kernel or the file system cannot.
bool exchange_names(const std::string& one, const std::string& other) {
    constexpr unsigned exchange = 2;  // RENAME_EXCHANGE, unnamed by older C libraries
    return syscall(SYS_renameat2, -100 /* AT_FDCWD */, one.c_str(), -100, other.c_str(), exchange) == 0;
}

}  // namespace

std::string Recording::older_name() const {
    constexpr std::string_view suffix = ".sst";
    const bool usual = path_.size() > suffix.size() && path_.ends_with(suffix);
    return usual ? path_.substr(0, path_.size() - suffix.size()) + ".old.sst" : path_ + ".old";
}

bool Recording::rotate(State& state) {
    const std::uint64_t old_generation = state.generation;
    state.generation = ++last_generation_;
    live_->generation.store(state.generation);
    state.floor = counter_.sequence().fetch_add(1, std::memory_order_acq_rel) + 1;
    const bool whole = wait_for_lanes(state);

    // The limit holds for all files together: the oldest goes before the next begins.
    if (state.previous) {
        for (Lane* lane : state.lanes)
            if (lane->latest_ != nullptr && state.previous->holds(lane->latest_)) {
                lane->saved_.assign(lane->latest_, lane->latest_ + lane->latest_->more + 1);
                lane->saved_of_ = lane->latest_;
            }
        unlink(state.previous->path().c_str());
        state.previous->detach();
        state.previous.reset();
    }
    state.unfinished = std::make_shared<TraceFile>();
    const Counts restated_before = state.restated;
    if (std::string reason = begin_next_file(state, *state.unfinished); !reason.empty()) {
        unlink(state.unfinished->path().c_str());
        stop(std::move(reason));
        return false;
    }
    end_file(state, *state.file, old_generation, restated_before, whole);
    return put_in_place(state, *state.unfinished);
}

std::string Recording::begin_next_file(State& state, TraceFile& next) {
    std::string reason = next.create(path_ + "." + std::to_string(getpid()) + ".part", metadata_, half_);
    if (reason.empty()) reason = state.tables->move_to(next);
    if (reason.empty()) reason = write_snapshot(state, next);
    return reason;
}

std::string Recording::write_snapshot(State& state, TraceFile& next) {
    state.restated = {};
    if (!restate_) return "";
    std::vector<Slot> slots;
    Lane lane;
    lane.restated_ = &slots;
    restate_(lane);
    lane.drop();

    std::vector<std::size_t> starts;
    for (std::size_t at = 0; at < slots.size(); at += slots[at].more + std::size_t{1}) starts.push_back(at);
    std::stable_sort(starts.begin(), starts.end(), [&slots](std::size_t one, std::size_t other) {
        return slots[one].sequence < slots[other].sequence;
    });
    const std::uint32_t threads = state.tables->threads(), sites = live_->sites.load(), apis = live_->apis.load();
    Segment segment;
    std::uint64_t used = 0, last = 0;
    for (const std::size_t start : starts) {
        Slot& slot = slots[start];
        // Numbers that two restated operations share, or that nobody knew, move up; none reaches the new file's own.
        slot.sequence = std::max(slot.sequence, last + 1);
        if (slot.sequence >= state.floor) continue;
        if (slot.thread >= threads) slot.thread = 0;
        if (slot.site >= sites) slot.site = 0;
        if (slot.api >= apis) slot.api = 0;
        const std::uint64_t bytes = (std::uint64_t{slot.more} + 1) * sizeof(Slot);
        if (used + bytes > segment.capacity) {
            const std::uint64_t rest = (slots.size() - state.restated.slots) * sizeof(Slot);
            std::string reason;
            const auto added =
                next.add(SegmentType::operations, segment_flag_snapshot, 0, slot.sequence, bytes,
                         std::min<std::uint64_t>(rest, std::uint64_t{4} << 20), half_ / 8, segment, reason);
            if (added == TraceFile::Added::full) return path_ + ": the size limit is too small for what is alive";
            if (added == TraceFile::Added::failed) return reason;
            used = 0;
        }
        std::memcpy(segment.payload + used, &slot, bytes);
        used += bytes;
        segment.commit(used);
        last = slot.sequence;
        ++state.restated.operations;
        state.restated.slots += slot.more + std::uint64_t{1};
    }
    return "";
}

bool Recording::put_in_place(State& state, TraceFile& next) {
    const std::string older = older_name(), part = next.path();
    bool named = exchange_names(part, path_);
    if (named) {
        next.renamed(path_);
        state.file->renamed(part);
        named = state.file->rename(older) == 0;
    } else {
        named = state.file->rename(older) == 0 && next.rename(path_) == 0;
    }
    if (!named) {
        stop(path_ + ": the file cannot be renamed");
        return false;
    }
    state.previous = std::move(state.file);
    state.file = std::move(state.unfinished);
    return true;
}

}  // namespace streamsan::recorder
