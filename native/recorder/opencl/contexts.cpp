// Contexts. What holds a context lives on when the program has released it.
#include "recorder/opencl/call.hpp"
#include "recorder/opencl/live_objects.hpp"
#include "recorder/opencl/releases.hpp"

namespace streamsan::recorder::opencl {
namespace {

void context_made(Call& call) {
    if (call.result == 0) return;
    live().contexts.made(call.result, {});
    write_returned(call, OperationKind::CONTEXT_CREATE, ContextKind::CL, 0, call.result);
}

void release_context(Call& call) {
    begin_release(call, live().contexts,
                  {OperationKind::CONTEXT_DESTROY, HandleKind::CONTEXT, abi::CL_INVALID_CONTEXT});
}

/// Queues, memory and programs hold their context: who asks one of them for it may retain it, also when the program has
/// released its own references.
void retain_context(Call& call) { call.scratch[0] = live().contexts.retain(call[0]) == Standing::dead ? 1 : 0; }

void context_retained(Call& call) {
    if (call.scratch[0] == 0 || !call.succeeded()) return end_retain(call, live().contexts);
    live().contexts.made(call[0], {});
    write_returned(call, OperationKind::CONTEXT_CREATE, ContextKind::CL, 0, call[0]);
}

}  // namespace

void register_contexts(HandlerTable& table) {
    table.on(Function::clCreateContext, {nullptr, context_made});
    table.on(Function::clCreateContextFromType, {nullptr, context_made});
    table.on(Function::clRetainContext, {retain_context, context_retained});
    table.on(Function::clReleaseContext, {release_context, [](Call& call) { complete(call); }});
}

}  // namespace streamsan::recorder::opencl
