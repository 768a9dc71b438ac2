// Queues: their life, what is waited for, markers and barriers.
#include "recorder/opencl/call.hpp"
#include "recorder/opencl/commands.hpp"
#include "recorder/opencl/live_objects.hpp"
#include "recorder/opencl/releases.hpp"

namespace streamsan::recorder::opencl {
namespace {

constexpr std::size_t most_properties = 64;

Word properties_in_list(Word list) {
    for (std::size_t pair = 0; list != 0 && pair < most_properties; ++pair, list += 2 * sizeof(Word)) {
        const Word name = read_word(list);
        if (name == 0) break;
        if (name == abi::CL_QUEUE_PROPERTIES) return read_word(list + sizeof(Word));
    }
    return 0;
}

void tell_of_queue(Call& call, Word queue, const QueueInfo& info) {
    live().queues.made(queue, info);
    const Reference context{info.context, 0, 0};
    write_returned(call, OperationKind::STREAM_CREATE,
                   info.out_of_order ? StreamKind::OUT_OF_ORDER : StreamKind::NON_BLOCKING, 0, queue, &context, 1);
}

void queue_made(Call& call, Word properties) {
    if (call.result == 0) return;
    if ((properties & abi::CL_QUEUE_ON_DEVICE) != 0) return live().queues.forget(call.result);
    tell_of_queue(call, call.result,
                  {call[0], call[1], (properties & abi::CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE) != 0});
}

void release_queue(Call& call) {
    begin_release(call, live().queues,
                  {OperationKind::STREAM_DESTROY, HandleKind::STREAM, abi::CL_INVALID_COMMAND_QUEUE});
}

/// Events hold their queue: who asks one for it may retain it, also when the program has released its own references.
void retain_queue(Call& call) { call.scratch[0] = live().queues.retain(call[0]) == Standing::dead ? 1 : 0; }

void queue_retained(Call& call) {
    if (call.scratch[0] == 0 || !call.succeeded()) return end_retain(call, live().queues);
    if (const auto info = live().queues.find(call[0])) tell_of_queue(call, call[0], *info);
}

void set_property(Call& call) {
    using namespace parameter::clSetCommandQueueProperty;
    auto info = live().queues.find(call[command_queue]);
    if (!info || !call.succeeded() || (call[properties] & abi::CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE) == 0) return;
    // The call waits for the queue (OpenCL 1.0): from here on it is another one.
    write_returned(call, OperationKind::STREAM_SYNCHRONIZE, 0, call[command_queue], 0);
    info->out_of_order = call[enable] != 0;
    const Reference context{info->context, 0, 0};
    write_returned(call, OperationKind::STREAM_CREATE,
                   info->out_of_order ? StreamKind::OUT_OF_ORDER : StreamKind::NON_BLOCKING, 0, call[command_queue],
                   &context, 1);
}

template <MarkerKind marker>
void mark(Call& call) {
    write_command(call, OperationKind::QUEUE_MARKER, marker);
}

template <MarkerKind with_list, MarkerKind without>
void mark_by_list(Call& call) {
    const Word count = call.arguments[call.row().wait_count];
    write_command(call, OperationKind::QUEUE_MARKER, count != 0 ? with_list : without);
}

}  // namespace

void register_queues(HandlerTable& table) {
    table.on(Function::clCreateCommandQueue,
             {nullptr, [](Call& call) { queue_made(call, call[parameter::clCreateCommandQueue::properties]); }});
    for (const Function function :
         {Function::clCreateCommandQueueWithProperties, Function::clCreateCommandQueueWithPropertiesKHR})
        table.on(function, {nullptr, [](Call& call) {
                                queue_made(call, properties_in_list(
                                                     call[parameter::clCreateCommandQueueWithProperties::properties]));
                            }});
    table.on(Function::clRetainCommandQueue, {retain_queue, queue_retained});
    table.on(Function::clReleaseCommandQueue, {release_queue, [](Call& call) { complete(call); }});
    table.on(Function::clSetCommandQueueProperty, {nullptr, set_property});
    table.on(Function::clFinish,
             {[](Call& call) { write_entered(call, OperationKind::STREAM_SYNCHRONIZE, 0, call[0], 0); },
              [](Call& call) { complete(call, true); }});
    table.on(Function::clFlush,
             {[](Call& call) { write_entered(call, OperationKind::HANDLE_USE, HandleKind::STREAM, 0, call[0]); },
              [](Call& call) { complete(call); }});
    table.on(Function::clEnqueueMarker, {mark<MarkerKind::ALL_BEFORE>, end_command});
    table.on(Function::clEnqueueBarrier, {mark<MarkerKind::BARRIER_ALL>, end_command});
    table.on(Function::clEnqueueWaitForEvents, {mark<MarkerKind::BARRIER_WAIT_LIST>, end_command});
    table.on(Function::clEnqueueMarkerWithWaitList,
             {mark_by_list<MarkerKind::WAIT_LIST, MarkerKind::ALL_BEFORE>, end_command});
    table.on(Function::clEnqueueBarrierWithWaitList,
             {mark_by_list<MarkerKind::BARRIER_WAIT_LIST, MarkerKind::BARRIER_ALL>, end_command});
}

}  // namespace streamsan::recorder::opencl
