#include "recorder/cuda/runtime_calls.hpp"

#include "recorder/cuda/abi.hpp"
#include "recorder/cuda/contexts.hpp"
#include "recorder/cuda/ended_handles.hpp"
#include "recorder/cuda/failures.hpp"

namespace streamsan::recorder::cuda {
namespace {

/// What a failed call is in the trace when the driver never saw it: a free keeps its kind, since the attempt is judged
/// (SS201, SS202); all else is a call with a status.
void write_failure(ThreadState& state, Call& call) {
    if (call.callback->effect == Effect::FREE && call.callback->free != 0) {
        const Reference freed{call.value(call.find(Role::FREED)), 0, 0};
        const std::uint64_t stream = call.find_handle(Handle::STREAM) != nullptr ? call.stream() : 0;
        if (freed.address != 0) {
            write_returned(state, call, OperationKind::FREE, call.callback->free, stream, 0, &freed, 1);
            return;
        }
    }
    write_returned(state, call, OperationKind::CALL, CallClass::PLAIN, 0, 0);
}

}  // namespace

void runtime_call_enter(ThreadState& state, Call& call) {
    state.covers_driver_calls = false;
    if (call.callback->effect == Effect::DEVICE_RESET) device_reset_begins(state, call, call.context);
    else tell_use_of_ended(state, call);
}

void runtime_call_exit(ThreadState& state, Call& call) {
    if (call.callback->effect == Effect::DEVICE_RESET) {
        complete(state, call, false);
        state.resetting = false;
    } else {
        complete_use_of_ended(state, call);
    }
    if (call.status == abi::success || is_answer(call)) return;
    const bool told = state.runtime_wrote;
    if (!told) write_failure(state, call);
    write_explanation(state, call);
}

}  // namespace streamsan::recorder::cuda
