#include "recorder/cuda/dispatch.hpp"

#include <array>
#include <cerrno>

#include "generated/cuda_callbacks.hpp"
#include "recorder/cuda/contexts.hpp"
#include "recorder/cuda/device_accesses.hpp"
#include "recorder/cuda/device_times.hpp"
#include "recorder/cuda/ended_handles.hpp"
#include "recorder/cuda/failures.hpp"
#include "recorder/cuda/handlers.hpp"
#include "recorder/cuda/host_accesses.hpp"
#include "recorder/cuda/processes.hpp"
#include "recorder/cuda/recorder.hpp"
#include "recorder/cuda/reused_blocks.hpp"
#include "recorder/cuda/runtime_calls.hpp"
#include "recorder/launch_path.hpp"
#include "recorder/run/omissions.hpp"

namespace streamsan::recorder::cuda {
namespace {

/// What a callback id leads to: one cache line.
struct alignas(64) Row {
    const Callback* callback = nullptr;
    Registered registered;
    bool launches = false;  ///< the symbol is a kernel's name
    bool timed = true;
    bool shares = false;                ///< it lets others write to memory
    std::atomic<std::uint16_t> api{0};  ///< id of the function's name, 0: not looked up
};

/// Whether the duration of a call tells anything: not of those that only leave work behind. A look at the clock costs
/// as much as all else at the end of a launch.
bool is_timed(const Callback& callback) {
    switch (callback.effect) {
        case Effect::LAUNCH:
        case Effect::GRAPH_LAUNCH:
        case Effect::EVENT_RECORD:
        case Effect::STREAM_WAIT_EVENT:
        case Effect::HOST_FUNCTION:
        case Effect::STREAM_MEMORY_OP: return false;
        case Effect::COPY:
        case Effect::MEMSET:
        case Effect::COPY_BATCH: return callback.wait != effects::Wait::ASYNCHRONOUS;
        case Effect::ALLOC: return callback.memory != static_cast<std::uint8_t>(MemoryKind::STREAM_ORDERED);
        case Effect::FREE: return callback.free != static_cast<std::uint8_t>(FreeClass::ASYNC);
        default: return true;
    }
}

std::array<Row, driver_ids> driver_rows{};
std::array<const Callback*, runtime_ids> runtime_rows{};

/// The program goes on after a call that never returned to us (an exception of a host callback, longjmp, a thread that
/// was cancelled and went on in its cleanup handlers): then the stack is no deeper than where that call began. Else a
/// call inside a call: the driver's own business.
bool never_ended(const void* frame, const void* began_at) { return frame >= began_at; }

/// Its exit was not seen: an exception, or the callback was disabled meanwhile.
bool runtime_call_is_over(const ThreadState& state, const void* frame) {
    return never_ended(frame, state.runtime_frame) ||
           (state.runtime->hot && !hot_enabled.load(std::memory_order_relaxed));
}

void forget_call(ThreadState& state) {
    state.call.callback = nullptr;
    state.call.slot = nullptr;
}

/// A call that is captured is not done. It leaves nothing, but memory nodes and failures.
[[gnu::cold, gnu::noinline]] void exit_captured(ThreadState& state, Call& call, const Handler& handler) {
    if (call.status == abi::success) {
        captured_exit(state, call);
        return;
    }
    if (captured_failure(state, call)) return;
    if (handler.enter != nullptr) handler.enter(state, call);
    if (handler.exit != nullptr) handler.exit(state, call);
}

STREAMSAN_LAUNCH_PATH void driver_enter(Row& row, const abi::CallbackData& data, const void* frame) {
    ThreadState& state = this_thread();
    if (state.inside) [[unlikely]]
        return;
    Call& call = state.call;
    if (call.callback != nullptr) [[unlikely]] {
        if (!never_ended(frame, state.frame)) return;
        forget_call(state);
    }
    if (state.runtime != nullptr) [[unlikely]] {
        if (runtime_call_is_over(state, frame)) state.runtime = nullptr;
        else if (state.covers_driver_calls) return;
    }
    call.callback = row.callback;
    call.api = &row.api;
    call.parameters = static_cast<const unsigned char*>(data.parameters);
    call.context = data.context;
    call.symbol = row.launches ? data.symbol : nullptr;
    call.timed = row.timed;
    call.slot = nullptr;
    call.sequence = 0;
    call.site = 0;
    call.captured = false;
    call.status = status_unknown;
    call.entered = recorder()->writer->now();
    state.correlation = data.correlation;
    state.frame = frame;
    if (recorder()->host_accesses) [[unlikely]]
        write_host_accesses();
    if (!inside_main()) [[unlikely]]
        look_for_main(state);
    if (data.context != state.context) [[unlikely]]
        context_changed(state, data.context);
    state.written_before = state.written;
    if (recorder()->captures.load(std::memory_order_relaxed) != 0) [[unlikely]] {
        call.captured = is_captured(state, call);
        if (call.captured && !row.registered.sees_captures) return;
    }
    if (sees_accesses) [[unlikely]]
        before_call(state, call);
    if (row.shares && recorder()->poisons) [[unlikely]]
        memory_is_shared(call);
    if (row.registered.handler.enter != nullptr) row.registered.handler.enter(state, call);
    if (recorder()->times) [[unlikely]]
        work_entered(state, call);
}

STREAMSAN_LAUNCH_PATH void driver_exit(const Row& row, const abi::CallbackData& data) {
    if (state_of_this_thread == nullptr) return;  // no enter was seen
    ThreadState& state = *state_of_this_thread;
    Call& call = state.call;
    // The enter was not seen (the callback was enabled meanwhile), or it was that of a call inside a call.
    if (state.inside || call.callback != row.callback || state.correlation != data.correlation) [[unlikely]]
        return;
    call.status = data.returned != nullptr ? *data.returned : abi::success;
    const Handler& handler = row.registered.handler;
    if (sees_accesses && call.status == abi::success) [[unlikely]]
        graph_call_ended(state, call);
    if (call.captured && !row.registered.sees_captures) [[unlikely]] {
        exit_captured(state, call, handler);
    } else if (handler.exit != nullptr) {
        handler.exit(state, call);
    }
    if (sees_accesses && !call.captured) [[unlikely]]
        after_call(state, call);
    if (call.status != abi::success) [[unlikely]] {
        explain_driver_failure(state, call);
    } else if (!state.explanation.empty() && state.runtime == nullptr) [[unlikely]] {
        state.explanation.clear();
    }
    if (recorder()->host_accesses) [[unlikely]]
        protect_host_uses(state, call);
    forget_call(state);
}

[[gnu::noinline]] void runtime_enter(const Callback& callback, const abi::CallbackData& data, const void* frame) {
    ThreadState& state = this_thread();
    if (state.inside) return;
    if (state.runtime != nullptr && !runtime_call_is_over(state, frame)) return;  // the runtime uses itself
    Call& call = state.runtime_call;
    call = Call{};
    call.callback = &callback;
    call.parameters = static_cast<const unsigned char*>(data.parameters);
    call.context = data.context;
    call.status = status_unknown;
    call.entered = recorder()->writer->now();
    state.runtime = &callback;
    state.runtime_wrote = false;
    state.runtime_correlation = data.correlation;
    state.runtime_frame = frame;
    if (!inside_main()) look_for_main(state);
    if (data.context != state.context) context_changed(state, data.context);
    state.runtime_wrote = false;
    runtime_call_enter(state, call);
}

[[gnu::noinline]] void runtime_exit(const Callback& callback, const abi::CallbackData& data) {
    ThreadState& state = this_thread();
    if (state.inside || state.runtime != &callback || state.runtime_correlation != data.correlation) return;
    Call& call = state.runtime_call;
    call.status = data.returned != nullptr ? *data.returned : abi::success;
    runtime_call_exit(state, call);
    state.runtime = nullptr;
    call.slot = nullptr;
    state.explanation.clear();
}

[[gnu::noinline]] void resource_event(abi::Resource resource, const void* data) {
    if (resource == abi::Resource::init_finished) {
        driver_is_ready();
        return;
    }
    if (data == nullptr) return;
    const auto& event = *static_cast<const abi::ResourceData*>(data);
    ThreadState& state = this_thread();
    switch (resource) {
        case abi::Resource::context_created: context_created(state, event.context); return;
        case abi::Resource::context_destroy_starting:
            captures_lose_context(event.context);
            context_destroyed(state, event.context);
            return;
        case abi::Resource::module_loaded:
        case abi::Resource::module_unload_starting:
            if (event.descriptor != nullptr)
                module_resource(state, resource, *static_cast<const abi::ModuleData*>(event.descriptor));
            return;
        default: break;
    }
    if (event.descriptor != nullptr)
        graph_resource(state, resource, *static_cast<const abi::GraphData*>(event.descriptor));
}

STREAMSAN_LAUNCH_PATH void dispatch_or_throw(abi::Domain domain, std::uint32_t id, const void* callback_data,
                                             const void* frame) {
    if (domain == abi::Domain::driver) [[likely]] {
        if (id >= driver_ids || callback_data == nullptr) return;
        Row& row = driver_rows[id];
        if (row.callback == nullptr) return;
        const auto& data = *static_cast<const abi::CallbackData*>(callback_data);
        // An exit is of use only after its enter, so it need not look whether there is a recorder.
        if (data.site != abi::CallbackSite::enter) driver_exit(row, data);
        else if (recorder() != nullptr) driver_enter(row, data, frame);
        return;
    }
    if (recorder() == nullptr) return;
    if (domain == abi::Domain::runtime) {
        if (id >= runtime_ids || runtime_rows[id] == nullptr || callback_data == nullptr) return;
        const auto& data = *static_cast<const abi::CallbackData*>(callback_data);
        if (data.site == abi::CallbackSite::enter) runtime_enter(*runtime_rows[id], data, frame);
        else runtime_exit(*runtime_rows[id], data);
        return;
    }
    if (domain == abi::Domain::resource) resource_event(static_cast<abi::Resource>(id), callback_data);
}

/// One call is lost, and may be half written: the report says so.
[[gnu::cold, gnu::noinline]] void note_loss(abi::Domain domain, std::uint32_t id) noexcept {
    const Callback* callback = nullptr;
    if (domain == abi::Domain::driver && id < driver_ids) callback = driver_rows[id].callback;
    if (domain == abi::Domain::runtime && id < runtime_ids) callback = runtime_rows[id];
    note_lost_call(callback != nullptr ? callback->name : "an event of the driver");
}

}  // namespace

void prepare_dispatch() {
    HandlerTable table;
    register_contexts(table);
    register_streams(table);
    register_events(table);
    register_memory(table);
    register_work(table);
    register_graphs(table);
    prepare_ended_handles(table);
    for (const Callback& callback : callback_table) {
        if (callback.runtime) {
            runtime_rows[callback.id] = &callback;
            continue;
        }
        Row& row = driver_rows[callback.id];
        row.callback = &callback;
        row.registered = table.of(callback);
        row.launches = callback.effect == Effect::LAUNCH;
        row.timed = is_timed(callback);
        row.shares = shares_memory(callback);
    }
}

void forget_names_of_rows() {
    for (Row& row : driver_rows) row.api.store(0, std::memory_order_relaxed);
}

bool is_handled(const Callback& callback) {
    const Handler& handler = driver_rows[callback.id].registered.handler;
    // Frameworks exchange the mode at every allocation; all else without a handler is rare, and may fail.
    return handler.enter != nullptr || handler.exit != nullptr || callback.effect != Effect::CAPTURE_MODE;
}

std::span<const Callback> callbacks() { return callback_table; }

STREAMSAN_LAUNCH_PATH void dispatch(void*, abi::Domain domain, std::uint32_t id, const void* callback_data) noexcept {
    int* const error = state_of_this_thread != nullptr ? state_of_this_thread->error : &errno;
    const int before = *error;
    try {
        dispatch_or_throw(domain, id, callback_data, __builtin_frame_address(0));
    } catch (...) {
        // The program may well go on without our memory.
        note_loss(domain, id);
    }
    *error = before;
}

}  // namespace streamsan::recorder::cuda
