// Streams: creation, destruction, waits and queries of the host.
#include "recorder/cuda/abi.hpp"
#include "recorder/cuda/contexts.hpp"
#include "recorder/cuda/driver.hpp"
#include "recorder/cuda/handlers.hpp"
#include "recorder/cuda/live_handles.hpp"
#include "recorder/cuda/recorder.hpp"

namespace streamsan::recorder::cuda {
namespace {

constexpr std::uint64_t non_blocking = 1;

/// The flags argument; the runtime's and the driver's have the same bits. cuStreamCreate of the first version has none.
StreamKind kind_of(const Call& call) {
    const bool apart = (call.value(Role::FLAGS) & non_blocking) != 0;
    return apart ? StreamKind::NON_BLOCKING : StreamKind::BLOCKING;
}

void exit_stream_create(ThreadState& state, Call& call) {
    const abi::Word stream = call.status == abi::success ? call.output(Role::OUT_HANDLE) : 0;
    const auto kind = static_cast<std::uint8_t>(kind_of(call));
    Slot* const slot = prepare_returned(state, call, OperationKind::STREAM_CREATE, kind, 0, stream);
    if (slot == nullptr) return;
    if (stream != 0) live_streams().add(stream, {*slot, state.context_slot});
    commit_prepared(state);
}

void enter_stream_destroy(ThreadState& state, Call& call) {
    const abi::Word stream = call.value(Handle::STREAM);
    Slot* const slot = prepare_entered(state, call, OperationKind::STREAM_DESTROY, 0, 0, stream);
    if (slot == nullptr) return;
    live_streams().remove(stream);
    commit_prepared(state);
}

void enter_stream_synchronize(ThreadState& state, Call& call) {
    write_entered(state, call, OperationKind::STREAM_SYNCHRONIZE, 0, call.stream(), 0);
}

void exit_stream_query(ThreadState& state, Call& call) {
    write_returned(state, call, OperationKind::STREAM_QUERY, 0, call.stream(), 0);
}

/// Attributes of streams, green contexts, ...: the handle must be alive.
void enter_stream_use(ThreadState& state, Call& call) {
    const CallbackParameter* const stream = call.find_handle(Handle::STREAM);
    if (stream == nullptr || call.value(stream) <= abi::per_thread_stream) return;
    const auto kind = static_cast<std::uint8_t>(HandleKind::STREAM);
    write_entered(state, call, OperationKind::HANDLE_USE, kind, 0, call.value(stream));
}

}  // namespace

void register_streams(HandlerTable& table) {
    table.on(Effect::STREAM_CREATE, {nullptr, exit_stream_create});
    table.on(Effect::STREAM_DESTROY, {enter_stream_destroy, exit_plain});
    table.on(Effect::STREAM_SYNCHRONIZE, {enter_stream_synchronize, exit_wait});
    table.on(Effect::STREAM_QUERY, {nullptr, exit_stream_query});
    table.on("cuStreamCopyAttributes", {enter_stream_use, exit_plain});
    table.on("cuStreamSetAttribute", {enter_stream_use, exit_plain});
}

}  // namespace streamsan::recorder::cuda
