// What scenarios call: the driver of the fake device, which is linked into the program, in short words. A call site is
// the line of the scenario's call.
#pragma once
#include <array>
#include <cstdint>
#include <deque>
#include <dlfcn.h>
#include <source_location>
#include <vector>

#include "recorder/tests/fake/model.hpp"
#include "scenarios.hpp"

namespace fake {

constexpr std::size_t kib = 1 << 10;
constexpr Word context = 0xc0;

using Where = std::source_location;
using Nodes = std::vector<Word>;

/// Calls a function of the driver by its name.
template <class... Arguments>
Status call(Where where, const char* name, Arguments... arguments) {
    recorded::line_here = where.line();
    return reinterpret_cast<Status (*)(Arguments...)>(dlsym(RTLD_DEFAULT, name))(arguments...);
}

/// Calls a function whose first argument is the place of a handle or an address that it makes.
template <class... Arguments>
Word make(Where where, const char* name, Arguments... arguments) {
    Word made = 0;
    call(where, name, &made, arguments...);
    return made;
}

/// Adds a node; `more`: what the function takes after the dependencies.
template <class... More>
Word add(Where where, const char* name, Word graph, const Nodes& before, More... more) {
    return make(where, name, graph, before.data(), before.size(), more...);
}

inline Word handle_of(const Kernel& kernel) { return reinterpret_cast<Word>(&kernel); }

/// Pointers to a kernel's arguments.
struct Pointers {
    explicit Pointers(Nodes& values) {
        for (Word& value : values) list.push_back(&value);
    }
    std::vector<void*> list;
};

inline Word stream_create(Where where = Where::current()) { return make(where, "cuStreamCreate", 1U); }
inline Status stream_destroy(Word stream, Where where = Where::current()) {
    return call(where, "cuStreamDestroy_v2", stream);
}
inline Status stream_synchronize(Word stream, Where where = Where::current()) {
    return call(where, "cuStreamSynchronize", stream);
}
inline Word event_create(Where where = Where::current()) { return make(where, "cuEventCreate", 0U); }
inline Status event_record(Word event, Word stream, Where where = Where::current()) {
    return call(where, "cuEventRecord", event, stream);
}
inline Status stream_wait(Word stream, Word event, Where where = Where::current()) {
    return call(where, "cuStreamWaitEvent", stream, event, 0U);
}
inline Word allocate(std::size_t bytes, Where where = Where::current()) { return make(where, "cuMemAlloc_v2", bytes); }
inline Status release(Word address, Where where = Where::current()) { return call(where, "cuMemFree_v2", address); }
inline Status allocate_async(Word& address, std::size_t bytes, Word stream, Where where = Where::current()) {
    return call(where, "cuMemAllocAsync", &address, bytes, stream);
}
inline Status release_async(Word address, Word stream, Where where = Where::current()) {
    return call(where, "cuMemFreeAsync", address, stream);
}
inline Status launch(const Kernel& kernel, Word stream, Nodes values, Where where = Where::current()) {
    Pointers pointers(values);
    return call(where, "cuLaunchKernel", handle_of(kernel), 1U, 1U, 1U, 1U, 1U, 1U, 0U, stream, pointers.list.data(),
                static_cast<void**>(nullptr));
}
inline Status host_function(Word stream, void (*function)(void*), Where where = Where::current()) {
    return call(where, "cuLaunchHostFunc", stream, function, static_cast<void*>(nullptr));
}
inline Status destroy_context(Where where = Where::current()) { return call(where, "cuCtxDestroy_v2", context); }

inline Status begin_capture(Word stream, int mode = 0, Where where = Where::current()) {
    return call(where, "cuStreamBeginCapture_v2", stream, mode);
}
inline Status begin_capture_to(Word stream, Word graph, Where where = Where::current()) {
    const Word* const none = nullptr;
    return call(where, "cuStreamBeginCaptureToGraph", stream, graph, none, none, std::size_t{0}, 2);
}
inline Status end_capture(Word stream, Word& graph, Where where = Where::current()) {
    return call(where, "cuStreamEndCapture", stream, &graph);
}
inline Status instantiate(Word& executable, Word graph, unsigned long long flags = 0, Where where = Where::current()) {
    return call(where, "cuGraphInstantiateWithFlags", &executable, graph, flags);
}
inline Status update(Word executable, Word graph, Where where = Where::current()) {
    std::array<Word, 3> result{};
    return call(where, "cuGraphExecUpdate_v2", executable, graph, result.data());
}
inline Status graph_launch(Word executable, Word stream, Where where = Where::current()) {
    return call(where, "cuGraphLaunch", executable, stream);
}
inline Status exec_destroy(Word executable, Where where = Where::current()) {
    return call(where, "cuGraphExecDestroy", executable);
}

inline Word graph_create(Where where = Where::current()) { return make(where, "cuGraphCreate", 0U); }
inline Status graph_destroy(Word graph, Where where = Where::current()) { return call(where, "cuGraphDestroy", graph); }
inline Status graph_clone(Word& made, Word graph, Where where = Where::current()) {
    return call(where, "cuGraphClone", &made, graph);
}
inline Word add_kernel(Word graph, const Nodes& before, const Kernel& kernel, Nodes values,
                       Where where = Where::current()) {
    Pointers pointers(values);
    abi::KernelNode given{};
    given.kernel = handle_of(kernel);
    given.arguments = pointers.list.data();
    return add(where, "cuGraphAddKernelNode_v2", graph, before, &given);
}
inline Word add_copy(Word graph, const Nodes& before, Word to, Word from, std::size_t bytes,
                     Where where = Where::current()) {
    abi::Copy3D copy{};
    copy.source.type = copy.destination.type = abi::MemoryType::device;
    copy.source.device = from;
    copy.destination.device = to;
    copy.width = bytes;
    copy.height = copy.depth = 1;
    return add(where, "cuGraphAddMemcpyNode", graph, before, &copy, context);
}
inline Word add_fill(Word graph, const Nodes& before, Word to, std::size_t bytes, std::size_t rows = 1,
                     std::size_t pitch = 0, Where where = Where::current()) {
    abi::MemsetNode fill{to, pitch, 0, 1, bytes, rows, 0};
    return add(where, "cuGraphAddMemsetNode", graph, before, &fill, context);
}
inline Word add_host(Word graph, const Nodes& before, void* data, Where where = Where::current()) {
    abi::HostNode host{nullptr, data};
    return add(where, "cuGraphAddHostNode", graph, before, &host);
}
inline Word add_empty(Word graph, const Nodes& before, Where where = Where::current()) {
    return add(where, "cuGraphAddEmptyNode", graph, before);
}
inline Word add_event(Word graph, const Nodes& before, bool record, Word event, Where where = Where::current()) {
    return add(where, record ? "cuGraphAddEventRecordNode" : "cuGraphAddEventWaitNode", graph, before, event);
}
inline Word add_child(Word graph, const Nodes& before, Word child, Where where = Where::current()) {
    return add(where, "cuGraphAddChildGraphNode", graph, before, child);
}
inline Word add_semaphore(Word graph, const Nodes& before, Where where = Where::current()) {
    return add(where, "cuGraphAddExternalSemaphoresSignalNode", graph, before, static_cast<const void*>(nullptr));
}
inline Word add_operations(Word graph, const Nodes& before, Word waited, Word written, Where where = Where::current()) {
    static std::deque<std::array<abi::BatchMemoryOperation, 3>> kept;
    kept.push_back({{{abi::MemoryOperation::wait_value_32, waited, 1, 0, 0, 0},
                     {abi::MemoryOperation::barrier, 0, 0, 0, 0, 0},
                     {abi::MemoryOperation::write_value_64, written, 1, 0, 0, 0}}});
    abi::BatchMemoryNode given{context, 3, kept.back().data(), 0};
    return add(where, "cuGraphAddBatchMemOpNode", graph, before, &given);
}
inline Word add_alloc(Word graph, const Nodes& before, std::size_t bytes, Word& address,
                      Where where = Where::current()) {
    abi::MemoryAllocNode given{};
    given.bytes = bytes;
    const Word made = add(where, "cuGraphAddMemAllocNode", graph, before, &given);
    address = given.address;
    return made;
}
inline Word add_free(Word graph, const Nodes& before, Word address, Where where = Where::current()) {
    return add(where, "cuGraphAddMemFreeNode", graph, before, address);
}
/// `flags` 1: it has the value at the beginning of each launch.
inline Word condition_create(Word graph, unsigned value, unsigned flags, Where where = Where::current()) {
    return make(where, "cuGraphConditionalHandleCreate", graph, Word{0}, value, flags);
}
/// By the generic call. Returns the graphs of its bodies too. `type` 0 is IF, 1 WHILE, 2 SWITCH.
inline Word add_conditional(Word graph, const Nodes& before, Nodes& bodies, Word condition = 0, int type = 0,
                            Where where = Where::current()) {
    abi::NodeParameters given{};
    given.type = static_cast<std::int32_t>(abi::NodeType::conditional);
    auto& conditional = *reinterpret_cast<abi::ConditionalNode*>(&given.words);
    conditional.condition = condition;
    conditional.type = type;
    conditional.size = static_cast<std::uint32_t>(bodies.size());
    const void* const no_edges = nullptr;
    const Word made = make(where, "cuGraphAddNode_v2", graph, before.data(), no_edges, before.size(), &given);
    bodies.assign(conditional.bodies, conditional.bodies + conditional.size);
    return made;
}

inline Status set_kernel(Word executable, Word node, const Kernel& kernel, Nodes values,
                         Where where = Where::current()) {
    Pointers pointers(values);
    abi::KernelNode given{};
    given.function = handle_of(kernel);
    given.arguments = pointers.list.data();
    return call(where, "cuGraphExecKernelNodeSetParams_v2", executable, node, &given);
}
inline Status set_child(Word executable, Word node, Word child, Where where = Where::current()) {
    return call(where, "cuGraphExecChildGraphNodeSetParams", executable, node, child);
}
inline Status enable(Word executable, Word node, unsigned enabled, Where where = Where::current()) {
    return call(where, "cuGraphNodeSetEnabled", executable, node, enabled);
}

}  // namespace fake
