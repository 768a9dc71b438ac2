// Events: creation, records, waits of streams and of the host, queries.
#include <optional>

#include "recorder/cuda/abi.hpp"
#include "recorder/cuda/captures.hpp"
#include "recorder/cuda/handlers.hpp"
#include "recorder/cuda/live_handles.hpp"
#include "recorder/cuda/recorder.hpp"
#include "recorder/cuda/torch_pool.hpp"

namespace streamsan::recorder::cuda {
namespace {

abi::Word event_of(const Call& call) { return call.value(Handle::EVENT); }

void write_created(ThreadState& state, Call& call, SlotFlag flag) {
    const abi::Word event = call.status == abi::success ? call.output(Role::OUT_HANDLE) : 0;
    const Reference flagged{0, 0, static_cast<std::uint8_t>(flag)};
    Slot* const slot = prepare_returned(state, call, OperationKind::EVENT_CREATE, 0, 0, event, &flagged, 1);
    if (slot == nullptr) return;
    if (event != 0) live_events().add(event, {*slot, state.context_slot});
    commit_prepared(state);
}

void exit_event_create(ThreadState& state, Call& call) { write_created(state, call, SlotFlag{}); }

/// Whether and when the process that made it records it is not known here.
void exit_event_open(ThreadState& state, Call& call) { write_created(state, call, SlotFlag::ASSUMED); }

void enter_event_destroy(ThreadState& state, Call& call) {
    const abi::Word event = event_of(call);
    Slot* const slot = prepare_entered(state, call, OperationKind::EVENT_DESTROY, 0, 0, event);
    if (slot == nullptr) return;
    live_events().remove(event);
    event_records().remove(event);
    commit_prepared(state);
}

/// What the event stood for before, in case that the record fails.
thread_local std::optional<LiveHandle> record_before;

void enter_record(ThreadState& state, Call& call) {
    const abi::Word event = event_of(call);
    Slot* const slot = prepare_entered(state, call, OperationKind::EVENT_RECORD, 0, call.stream(), event);
    if (slot == nullptr) return;
    slot->address = block_kept_by_torch();
    if (rotates()) {
        LiveHandle record{*slot, {}};
        record.slot.status = abi::success;
        record.slot.flags = static_cast<std::uint8_t>(record.slot.flags & ~static_cast<unsigned>(SlotFlag::ENTER));
        record.current.object = state.context;
        record_before = event_records().find(event);
        event_records().add(event, record);
    }
    commit_prepared(state);
}

void exit_record(ThreadState& state, Call& call) {
    complete(state, call, false);
    if (call.status == abi::success || !rotates()) return;
    if (record_before) event_records().add(event_of(call), *record_before);
    else event_records().remove(event_of(call));
}

void write_stream_wait(ThreadState& state, Call& call) {
    write_entered(state, call, OperationKind::STREAM_WAIT_EVENT, 0, call.stream(), event_of(call));
}

/// A wait for an event of a capture makes its stream capture too: whether it has become a dependency in a graph or a
/// wait is known only when it returns. So while anything captures it is written then.
constexpr std::size_t deferred = 0;

void enter_stream_wait(ThreadState& state, Call& call) {
    call.scratch[deferred] = recorder()->captures.load(std::memory_order_relaxed) != 0;
    if (call.scratch[deferred] == 0) write_stream_wait(state, call);
}

void exit_stream_wait(ThreadState& state, Call& call) {
    if (call.scratch[deferred] != 0) {
        if (call.status == abi::success && is_captured(state, call)) return;
        write_stream_wait(state, call);
    }
    complete(state, call, false);
}

void enter_event_synchronize(ThreadState& state, Call& call) {
    write_entered(state, call, OperationKind::EVENT_SYNCHRONIZE, 0, 0, event_of(call));
}

void exit_event_query(ThreadState& state, Call& call) {
    write_returned(state, call, OperationKind::EVENT_QUERY, 0, 0, event_of(call));
}

void exit_elapsed(ThreadState& state, Call& call) {
    const Reference end{call.value(Handle::EVENT, 1), 0, 0};
    write_returned(state, call, OperationKind::EVENT_ELAPSED, 0, 0, event_of(call), &end, 1);
}

void enter_event_use(ThreadState& state, Call& call) {
    const auto kind = static_cast<std::uint8_t>(HandleKind::EVENT);
    write_entered(state, call, OperationKind::HANDLE_USE, kind, 0, event_of(call));
}

}  // namespace

void register_events(HandlerTable& table) {
    table.on(Effect::EVENT_CREATE, {nullptr, exit_event_create});
    table.on("cuIpcOpenEventHandle", {nullptr, exit_event_open});
    table.on("cuIpcGetEventHandle", {enter_event_use, exit_plain});
    table.on(Effect::EVENT_DESTROY, {enter_event_destroy, exit_plain});
    table.on(Effect::EVENT_RECORD, {enter_record, exit_record});
    table.on(Effect::STREAM_WAIT_EVENT, {enter_stream_wait, exit_stream_wait});
    table.on(Effect::EVENT_SYNCHRONIZE, {enter_event_synchronize, exit_wait});
    table.on(Effect::EVENT_QUERY, {nullptr, exit_event_query});
    table.on(Effect::EVENT_ELAPSED, {nullptr, exit_elapsed});
}

}  // namespace streamsan::recorder::cuda
