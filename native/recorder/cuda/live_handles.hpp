// Handles that are alive, each with the slot that told of it: a new file begins with them.
#pragma once
#include <cstdint>
#include <mutex>
#include <optional>
#include <unordered_map>

#include "recorder/trace_writer/writer.hpp"
#include "trace/slot.hpp"

namespace streamsan::recorder::cuda {

/// One handle.
struct LiveHandle {
    Slot slot;     ///< the operation that told of it
    Slot current;  ///< CONTEXT_CURRENT as it stood for the thread then; its `object` is the context that the handle belongs to
};

/// One sort of handles. Changed between `prepare_*` and `commit_prepared` of the operation that tells of the change.
class LiveHandles {
public:
    void add(std::uint64_t handle, const LiveHandle& live) {
        const std::lock_guard lock(state_->mutex);
        state_->handles.insert_or_assign(handle, live);
    }
    void remove(std::uint64_t handle) {
        const std::lock_guard lock(state_->mutex);
        state_->handles.erase(handle);
    }
    /// Those of a context that is gone.
    void remove_members(std::uint64_t context) {
        const std::lock_guard lock(state_->mutex);
        std::erase_if(state_->handles, [context](const auto& entry) { return entry.second.current.object == context; });
    }
    [[nodiscard]] std::optional<LiveHandle> find(std::uint64_t handle) const {
        const std::lock_guard lock(state_->mutex);
        const auto found = state_->handles.find(handle);
        return found == state_->handles.end() ? std::nullopt : std::optional(found->second);
    }
    template <class Visit> void each(Visit&& visit) const {
        const std::lock_guard lock(state_->mutex);
        for (const auto& [handle, live] : state_->handles) visit(handle, live);
    }
    /// In a forked child: begins empty. Another thread of the parent may have held the lock, so it is left behind.
    void forget_after_fork() { state_ = new State; }

private:
    struct State {
        std::mutex mutex;
        std::unordered_map<std::uint64_t, LiveHandle> handles;
    };
    State* state_ = new State;
};

// Of this process. Never destroyed.
LiveHandles& live_contexts();
LiveHandles& live_streams();
LiveHandles& live_events();
/// The latest CONTEXT_CURRENT of each thread, by the thread's index.
LiveHandles& current_contexts();

}  // namespace streamsan::recorder::cuda
