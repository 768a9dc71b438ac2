// Handles that are alive, each with the slot that told of it: a new file begins with them.
#pragma once
#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "recorder/trace_writer/writer.hpp"
#include "trace/slot.hpp"

namespace streamsan::recorder::cuda {

/// One handle.
struct LiveHandle {
    Slot slot;     ///< the operation that told of it
    Slot current;  ///< CONTEXT_CURRENT as it stood for the thread then; its `object` is the context that the handle
                   ///< belongs to
};

/// Handles of one sort that are no more, until the driver gives them out again. Any thread may use it.
class EndedHandles {
public:
    void end(std::uint64_t handle) {
        const std::lock_guard lock(mutex_);
        // Only with all forgotten some are missed; with too many a program that makes handles in plenty is slowed down.
        if (handles_.size() >= most) handles_.clear();
        handles_.insert(handle);
        count_.store(handles_.size(), std::memory_order_relaxed);
    }
    void begin(std::uint64_t handle) {
        if (count_.load(std::memory_order_relaxed) == 0) return;
        const std::lock_guard lock(mutex_);
        handles_.erase(handle);
        count_.store(handles_.size(), std::memory_order_relaxed);
    }
    [[nodiscard]] bool has(std::uint64_t handle) const {
        if (count_.load(std::memory_order_relaxed) == 0) return false;
        const std::lock_guard lock(mutex_);
        return handles_.contains(handle);
    }

private:
    static constexpr std::size_t most = 1 << 16;
    mutable std::mutex mutex_;
    std::unordered_set<std::uint64_t> handles_;
    std::atomic<std::size_t> count_{0};
};

/// One sort of handles. Changed between `prepare_*` and `commit_prepared` of the operation that tells of the change.
class LiveHandles {
public:
    void add(std::uint64_t handle, const LiveHandle& live) {
        const std::lock_guard lock(state_->mutex);
        state_->handles.insert_or_assign(handle, live);
        state_->ended.begin(handle);
    }
    void remove(std::uint64_t handle) {
        const std::lock_guard lock(state_->mutex);
        if (state_->handles.erase(handle) != 0) state_->ended.end(handle);
    }
    /// Those of a context that is gone.
    void remove_members(std::uint64_t context) {
        const std::lock_guard lock(state_->mutex);
        std::erase_if(state_->handles, [this, context](const auto& entry) {
            if (entry.second.current.object != context) return false;
            state_->ended.end(entry.first);
            return true;
        });
    }
    void forget() {
        const std::lock_guard lock(state_->mutex);
        state_->handles.clear();
    }
    /// Whether it was alive, and is no more.
    [[nodiscard]] bool has_ended(std::uint64_t handle) const { return state_->ended.has(handle); }
    [[nodiscard]] std::optional<LiveHandle> find(std::uint64_t handle) const {
        const std::lock_guard lock(state_->mutex);
        const auto found = state_->handles.find(handle);
        return found == state_->handles.end() ? std::nullopt : std::optional(found->second);
    }
    template <class Visit>
    void each(Visit&& visit) const {
        const std::lock_guard lock(state_->mutex);
        for (const auto& [handle, live] : state_->handles) visit(handle, live);
    }
    /// In a forked child: begins empty. Another thread of the parent may have held the lock, so it is left behind.
    void forget_after_fork() { state_ = new State; }

private:
    struct State {
        std::mutex mutex;
        std::unordered_map<std::uint64_t, LiveHandle> handles;
        EndedHandles ended;
    };
    State* state_ = new State;
};

// Of this process. Never destroyed.
LiveHandles& live_contexts();
LiveHandles& live_streams();
LiveHandles& live_events();
/// The latest record of each event, as EVENT_RECORD told of it. Kept only where files have a limit.
LiveHandles& event_records();
/// Graphs, executable graphs and pools, of which nothing else is kept here.
EndedHandles& ended_graphs();
EndedHandles& ended_graph_execs();
EndedHandles& ended_pools();
/// The latest CONTEXT_CURRENT of each thread, by the thread's index.
LiveHandles& current_contexts();

}  // namespace streamsan::recorder::cuda
