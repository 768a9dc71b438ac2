// Which handler a callback has: by effect, or by name where an API's handler differs from that of its effect. Each
// family of calls registers its own, once, before the first callback; dispatch then goes by callback id.
//
// What dispatch has done before a handler's `enter`: `call` is filled (callback, parameters, context, symbol, entered),
// and CONTEXT_CURRENT is written if the thread's context changed. `sequence` and `site` are taken by write_entered and
// write_returned. A handler that writes nothing at entry leaves `call.slot` null. `exit` sees `call.status`; if a call
// failed and its handlers wrote no operation, dispatch writes a CALL with the status.
//
// Captured calls (`call.captured`): while a stream of the call is capturing, neither `enter` nor `exit` runs at the
// usual time. When the call succeeds, `captured_exit` runs instead. When it fails, `enter` and then `exit` run at exit.
// Handlers need not look at `call.captured`, unless they are registered with `sees_captures`.
#pragma once
#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "recorder/cuda/abi.hpp"
#include "recorder/cuda/call.hpp"

namespace streamsan::recorder::cuda {

constexpr std::size_t effect_count = static_cast<std::size_t>(Effect::USER_OBJECT) + 1;

/// The handler of one callback, and whether it is run for captured calls too.
struct Registered {
    Handler handler;
    bool sees_captures = false;
};

/// The exit of a call that was written at its entry and did its work there.
[[gnu::hot]] inline void exit_plain(ThreadState& state, Call& call) { complete(state, call, false); }
/// The exit of a call that waited: what it waited for is behind it.
inline void exit_wait(ThreadState& state, Call& call) { complete(state, call, true); }

class HandlerTable {
public:
    /// For every API of this effect that has no handler of its own name.
    void on(Effect effect, Handler handler, bool sees_captures = false) {
        by_effect_[static_cast<std::size_t>(effect)] = {handler, sees_captures};
    }
    /// For the API of this name (without `_v2`, `_ptsz`), in place of its effect's.
    void on(std::string_view api, Handler handler, bool sees_captures = false) {
        by_name_.emplace_back(api, Registered{handler, sees_captures});
    }
    [[nodiscard]] Registered of(const Callback& callback) const {
        for (const auto& [name, registered] : by_name_) {
            if (name == callback.name) return registered;
        }
        return by_effect_[static_cast<std::size_t>(callback.effect)];
    }

private:
    std::array<Registered, effect_count> by_effect_{};
    std::vector<std::pair<std::string_view, Registered>> by_name_;
};

// One for each family; called once each by the injection.
void register_contexts(HandlerTable& table);  // contexts.cpp
void register_streams(HandlerTable& table);   // streams.cpp
void register_events(HandlerTable& table);    // events.cpp
void register_memory(HandlerTable& table);    // memory_calls.cpp: allocations, frees, registration, VMM, pools, IPC
void register_work(HandlerTable& table);      // launches.cpp and copies.cpp: launches, copies, fills, prefetches, ...
void register_graphs(HandlerTable& table);    // captures.cpp, graphs.cpp, host_functions.cpp

// captures.cpp
/// Whether the stream of this call is capturing. Asked only while `Recorder::captures` is not 0. Calls the driver.
bool is_captured(ThreadState& state, const Call& call);
/// At the exit of a captured call that succeeded: writes memory nodes, nothing for all others.
void captured_exit(ThreadState& state, Call& call);
/// At the exit of a captured call that failed: true where it has written what there is to tell, and no handler need
/// run.
bool captured_failure(ThreadState& state, Call& call);
/// A context is about to go, and the captures of its streams with it: from the resource callback.
void captures_lose_context(abi::Word context);

// graphs.cpp
/// A graph resource callback: Resource::graph_*. Comes inside the driver call that `state.call` describes.
void graph_resource(ThreadState& state, abi::Resource resource, const abi::GraphData& data);
/// At the exit of a call that succeeded, where nobody tells of the nodes that it made (the Sanitizer API): what can be
/// learnt of them from the call.
void graph_call_ended(ThreadState& state, Call& call);

// modules.cpp
/// Machine code is loaded or unloaded, perhaps inside a call of our own.
void module_resource(ThreadState& state, abi::Resource resource, const abi::ModuleData& data);
/// Whether a call only asks for code or a function: programs try one after another, and a refusal is an answer.
bool asks_for_code(const Callback& callback);

// When a new file is begun, what is alive is written again: the slot that told of each thing, with its sequence and
// thread. Each family writes its own into `lane`; called while no other thread writes. Locks: see
// trace_writer/writer.hpp.
void restate_handles(Lane& lane);  // live_handles.cpp: contexts, streams, events
void restate_memory(Lane& lane);   // memory_calls.cpp
void restate_graphs(Lane& lane);   // graphs.cpp

// In a forked child: what the parent had alive is not the child's.
void handles_after_fork();
void memory_after_fork();  // memory_calls.cpp
void graphs_after_fork();  // graphs.cpp

/// All rows of the callback table.
std::span<const Callback> callbacks();
/// Whether a driver function's callback is of use: without it its effect, or its failure, would be missed.
bool is_handled(const Callback& callback);

}  // namespace streamsan::recorder::cuda
