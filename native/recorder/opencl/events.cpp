// Events: their life, waits of the host, queries, user events.
#include "recorder/opencl/call.hpp"
#include "recorder/opencl/commands.hpp"
#include "recorder/opencl/live_objects.hpp"
#include "recorder/opencl/releases.hpp"

namespace streamsan::recorder::opencl {
namespace {

void release_event(Call& call) {
    begin_release(call, live().events, {OperationKind::EVENT_DESTROY, HandleKind::EVENT, abi::CL_INVALID_EVENT});
}

void user_event_made(Call& call) {
    if (call.result == 0) return;
    live().events.made(call.result, {true});
    write_returned(call, OperationKind::EVENT_CREATE, EventKind::USER, 0, call.result);
}

/// Of another API: when it is complete that API knows.
void foreign_event_made(Call& call) {
    if (call.result == 0) return;
    live().events.made(call.result, {});
    write_returned(call, OperationKind::EVENT_CREATE, EventKind::COMMAND, 0, call.result);
}

/// Commands that wait for it may begin before the call has returned.
void set_status(Call& call) { write_entered(call, OperationKind::EVENT_RECORD, 0, 0, call[0]); }

/// The first event is told before the wait, in which a program may hang.
void begin_wait(Call& call) {
    using namespace parameter::clWaitForEvents;
    if (call[num_events] == 0 || call[event_list] == 0) return;
    write_entered(call, OperationKind::EVENT_SYNCHRONIZE, 0, 0, read_word(call[event_list]));
}

void end_wait(Call& call) {
    using namespace parameter::clWaitForEvents;
    complete(call, true);
    if (call[event_list] == 0) return;
    for (Word position = 1; position < call[num_events]; ++position)
        write_returned(call, OperationKind::EVENT_SYNCHRONIZE, 0, 0,
                       read_word(call[event_list] + position * sizeof(Word)));
}

/// A program sees that a command is complete. It is no synchronisation point (3.4.1), but in this run it was so.
void queried(Call& call) {
    using namespace parameter::clGetEventInfo;
    if (call[param_name] != abi::CL_EVENT_COMMAND_EXECUTION_STATUS || call[param_value] == 0 || !call.succeeded())
        return;
    if (read_word<std::int32_t>(call[param_value]) != abi::CL_COMPLETE) return;
    write_returned(call, OperationKind::EVENT_QUERY, EdgeClass::OBSERVED, 0, call[event]);
}

}  // namespace

void register_events(HandlerTable& table) {
    table.on(Function::clCreateUserEvent, {nullptr, user_event_made});
    table.on(Function::clCreateEventFromGLsyncKHR, {nullptr, foreign_event_made});
    table.on(Function::clCreateEventFromEGLSyncKHR, {nullptr, foreign_event_made});
    table.on(Function::clSetUserEventStatus, {set_status, [](Call& call) { complete(call); }});
    table.on(Function::clRetainEvent, {[](Call& call) { begin_retain(call, live().events, HandleKind::EVENT); },
                                       [](Call& call) { end_retain(call, live().events); }});
    table.on(Function::clReleaseEvent, {release_event, [](Call& call) { complete(call); }});
    table.on(Function::clWaitForEvents, {begin_wait, end_wait});
    table.on(Function::clGetEventInfo, {nullptr, queried});
}

}  // namespace streamsan::recorder::opencl
