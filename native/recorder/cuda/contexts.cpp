// Contexts. That one begins or ends is told by the resource callbacks: the driver makes primary contexts when it wants,
// and ends them with their last user. What is current is told with every call (CUpti_CallbackData.context).
#include "recorder/cuda/contexts.hpp"

#include <optional>
#include <string_view>

#include "recorder/cuda/captures.hpp"
#include "recorder/cuda/handlers.hpp"
#include "recorder/cuda/live_handles.hpp"
#include "recorder/cuda/live_memory.hpp"
#include "recorder/cuda/recorder.hpp"

namespace streamsan::recorder::cuda {
namespace {

/// The call inside which a resource callback comes: the driver's, else the runtime's.
Call& enclosing(ThreadState& state) { return state.call.callback != nullptr ? state.call : state.runtime_call; }

bool in_a_call(const ThreadState& state) { return state.call.callback != nullptr || state.runtime != nullptr; }

bool is_primary(const Slot& slot) { return slot.detail == static_cast<std::uint8_t>(ContextKind::PRIMARY); }

/// The primary context of a device, 0 while it has none.
abi::Word primary_of(std::uint64_t device) {
    abi::Word found = 0;
    live_contexts().each([&](abi::Word context, const LiveHandle& live) {
        if (is_primary(live.slot) && live.slot.address == device) found = context;
    });
    return found;
}

/// The context is gone, and what belonged to it.
void forget(abi::Word context) {
    live_contexts().remove(context);
    live_streams().remove_members(context);
    live_events().remove_members(context);
    event_records().remove_members(context);
    memory_loses_context(context);
}

/// A free-standing operation about a context, numbered now, in the name of the call around it.
Slot* prepare_about(ThreadState& state, OperationKind kind, Detail detail, abi::Word context, std::uint64_t device) {
    Call& around = enclosing(state);
    Call call = around;
    call.slot = nullptr;
    call.status = abi::success;
    const Reference address{device, 0, 0};
    Slot* const slot = prepare_returned(state, call, kind, detail, 0, context, &address, 1);
    around.site = call.site;
    return slot;
}

/// A reset is written before it is done: what it ends may be given to others before it returns.
void write_reset(ThreadState& state, Call& call, abi::Word context) {
    if (context == 0) return;
    state.resetting = true;
    if (prepare_entered(state, call, OperationKind::DEVICE_RESET, 0, 0, context) == nullptr) return;
    // The context's handle stays known: another primary context, or the same, comes with the next call.
    forget(context);
    commit_prepared(state);
}

void enter_primary_reset(ThreadState& state, Call& call) {
    if (state.resetting) return;
    write_reset(state, call, primary_of(call.value(Role::DEVICE)));
}

void exit_primary_reset(ThreadState& state, Call& call) {
    complete(state, call, false);
    if (state.runtime == nullptr || state.runtime->effect != Effect::DEVICE_RESET) state.resetting = false;
}

void exit_context_destroy(ThreadState& state, Call& call) {
    // That it was destroyed the resource callback has told; the attempt on one that is gone is told here (SS205).
    if (call.status == abi::success) return;
    const abi::Word context = call.value(Handle::CONTEXT);
    if (context != 0) write_returned(state, call, OperationKind::CONTEXT_DESTROY, 0, 0, context);
}

void exit_set_or_push(ThreadState& state, Call& call) {
    const abi::Word context = call.value(Handle::CONTEXT);
    if (call.status != abi::success && context != 0) {
        write_returned(state, call, OperationKind::CONTEXT_CURRENT, 0, 0, context);
    }
}

void enter_context_synchronize(ThreadState& state, Call& call) {
    const abi::Word named = call.value(Handle::CONTEXT);
    write_entered(state, call, OperationKind::CONTEXT_SYNCHRONIZE, 0, 0, named != 0 ? named : call.context);
}

void exit_peer_enable(ThreadState& state, Call& call) {
    const abi::Word peer = call.value(Handle::CONTEXT);
    write_returned(state, call, OperationKind::PEER_ENABLE, 0, 0, peer);
}

/// They order, or use memory, in ways that nobody can see here: with other APIs and processes, or all streams of a
/// green context. All other functions whose effect the table does not tell only make and end objects.
constexpr std::string_view opaque_calls[] = {
    "cuSignalExternalSemaphoresAsync",
    "cuWaitExternalSemaphoresAsync",
    "cuGraphicsMapResources",
    "cuGraphicsUnmapResources",
    "cuCtxRecordEvent",
    "cuCtxWaitEvent",
    "cuGreenCtxRecordEvent",
    "cuGreenCtxWaitEvent",
};

void enter_opaque(ThreadState& state, Call& call) {
    const std::uint64_t stream = call.find_handle(Handle::STREAM) != nullptr ? call.stream() : 0;
    write_entered(state, call, OperationKind::OPAQUE_CALL, 0, stream, 0);
}

void exit_opaque(ThreadState& state, Call& call) { complete(state, call, false); }

}  // namespace

void context_changed(ThreadState& state, abi::Word context) {
    state.context = context;
    state.context_slot = {};
    if (context == 0) return;  // nothing current: the next call that has one says it
    Lane* const lane = recorder()->writer->lane();
    Slot* const slot = lane != nullptr ? lane->reserve(0) : nullptr;
    if (slot == nullptr) return;
    slot->time = enclosing(state).entered;
    slot->object = context;
    slot->kind = static_cast<std::uint8_t>(OperationKind::CONTEXT_CURRENT);
    state.context_slot = *slot;
    current_contexts().add(slot->thread, {*slot, {}});
    lane->commit();
}

void context_created(ThreadState& state, abi::Word context) {
    const Call& around = enclosing(state);
    const Effect effect = in_a_call(state) ? around.callback->effect : Effect::CALL;
    // Any call may make a primary context; others come from cuCtxCreate, or with a green context.
    const bool made =
        effect == Effect::CONTEXT_CREATE || effect == Effect::HANDLE_CREATE || effect == Effect::UNMODELLED;
    const ContextKind kind = made ? ContextKind::CREATED : ContextKind::PRIMARY;
    const std::uint64_t device = in_a_call(state) ? around.value(around.find(Role::DEVICE)) : 0;
    const auto detail = static_cast<std::uint8_t>(kind);
    Slot* const slot = prepare_about(state, OperationKind::CONTEXT_CREATE, detail, context, device);
    if (slot == nullptr) return;
    live_contexts().add(context, {*slot, {}});
    commit_prepared(state);
}

void context_destroyed(ThreadState& state, abi::Word context) {
    captures_lose_context(context);
    // Outside of any call the driver tears itself down at the end of the process.
    if (!in_a_call(state)) return;
    if (state.resetting) {
        forget(context);
        return;
    }
    if (prepare_about(state, OperationKind::CONTEXT_DESTROY, 0, context, 0) == nullptr) return;
    forget(context);
    commit_prepared(state);
}

void device_reset_begins(ThreadState& state, Call& call, abi::Word current) {
    abi::Word context = current;
    if (context == 0) {
        context = primary_of(0);  // a thread that has not chosen a device has the first
    } else if (const std::optional<LiveHandle> live = live_contexts().find(context); live && !is_primary(live->slot)) {
        return;  // with a created context current only the runtime's own state goes
    }
    write_reset(state, call, context);
}

std::uint32_t device_of_context(abi::Word context) {
    const std::optional<LiveHandle> live = live_contexts().find(context);
    return live ? static_cast<std::uint32_t>(live->slot.address) : 0;
}

void register_contexts(HandlerTable& table) {
    table.on(Effect::PRIMARY_RETAIN, {});
    table.on(Effect::PRIMARY_RESET, {enter_primary_reset, exit_primary_reset});
    table.on(Effect::CONTEXT_DESTROY, {nullptr, exit_context_destroy});
    table.on(Effect::CONTEXT_SET, {nullptr, exit_set_or_push});
    table.on(Effect::CONTEXT_PUSH, {nullptr, exit_set_or_push});
    table.on(Effect::CONTEXT_SYNCHRONIZE, {enter_context_synchronize, exit_wait});
    table.on(Effect::PEER_ENABLE, {nullptr, exit_peer_enable});
    for (const std::string_view name : opaque_calls) table.on(name, {enter_opaque, exit_opaque});
}

}  // namespace streamsan::recorder::cuda
