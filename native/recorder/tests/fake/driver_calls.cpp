// The driver's functions for contexts, memory, streams, events and launches, each with its callbacks.
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <dlfcn.h>
#include <unistd.h>
#include <utility>

#include "model.hpp"
#include "modules.hpp"

using namespace fake;

namespace {

Tool the_tool;
int initialised_in = 0;  // process id
std::atomic<std::uint32_t> correlations{0};
thread_local std::uint32_t work_correlation = 0;
thread_local Word current = 0;
abi::LogFunction log_function = nullptr;
void* log_data = nullptr;

Node copy_node(Word destination, Word source, std::size_t bytes) {
    Node node = node_of(abi::NodeType::memcpy);
    abi::Copy3D& copy = node.given.copy.copy;
    copy.source.type = copy.destination.type = abi::MemoryType::unified;
    copy.source.device = source;
    copy.destination.device = destination;
    copy.source.pitch = copy.destination.pitch = copy.width = bytes;
    copy.height = copy.depth = copy.source.height = copy.destination.height = 1;
    return node;
}

Node fill_node(Word destination, unsigned char value, std::size_t bytes) {
    Node node = node_of(abi::NodeType::memset);
    node.given.memset = {destination, 0, value, 1, bytes, 1, 0};
    return node;
}

bool is_memory(Word address) {
    const auto& memory = model().memory;
    auto after = memory.upper_bound(address);
    if (after == memory.begin()) return false;
    --after;
    return address < after->first + after->second.size;
}

Status enqueue(Word handle, Node node) {
    Stream* stream = model().stream(handle);
    if (stream == nullptr) return invalid_handle;
    if (stream->capture) return model().capture(*stream, handle, std::move(node));
    if (handle <= abi::legacy_stream) {
        for (const auto& capture : model().captures) {
            if (model().stream(capture->origin)->flags != 0) continue;
            capture->invalid = true;
            return 906;  // the legacy stream would have to wait for a blocking stream that captures
        }
    }
    node.correlation = work_correlation;
    if (const Word held = model().held_before(handle); held != 0)
        model().stream(held)->waiting.push_back(std::move(node));
    else model().run(node);
    return 0;
}

/// Whether an event's work has still to be done.
bool is_pending(const Event& event) { return event.waits_for != 0 && model().held_before(event.waits_for) != 0; }

Status copy(Word stream, Word destination, Word source, std::size_t bytes, Word device_side) {
    if (!is_memory(device_side) || destination == 0 || source == 0) {
        if (destination == 0 || source == 0) log_line("Null address specified");
        return invalid_value;
    }
    return enqueue(stream, copy_node(destination, source, bytes));
}

/// The status of waiting for a stream that may be capturing.
Status await(Word handle) {
    Stream* stream = model().stream(handle);
    if (stream == nullptr) return invalid_handle;
    if (!stream->capture) return 0;
    if (stream->capture->invalid) return capture_invalidated;
    stream->capture->invalid = true;
    return capture_unsupported;
}

void drop_context(Word context) {
    const abi::ResourceData data{context, 0, nullptr};
    fire_resource(abi::Resource::context_destroy_starting, &data);
    std::erase_if(model().memory, [&](const auto& entry) {
        const Kind kind = entry.second.kind;
        return entry.second.context == context &&
               (kind == Kind::plain || kind == Kind::managed || kind == Kind::pinned);
    });
    std::erase_if(model().streams, [&](const auto& entry) { return entry.second.context == context; });
    model().contexts.erase(context);
    model().release_handle(context);
}

Word make_context() {
    const Word context = model().new_handle();
    model().contexts.insert(context);
    const abi::ResourceData data{context, 0, nullptr};
    fire_resource(abi::Resource::context_created, &data);
    return context;
}

}  // namespace

namespace fake {

void log_line(const std::string& line) {
    std::string text = line;
    if (log_function != nullptr) log_function(log_data, abi::LogLevel::error, text.data(), text.size());
}

Status driver_state() { return initialised_in == getpid() ? 0 : not_initialized; }

}  // namespace fake

extern "C" {

Tool* fake_tool() { return &the_tool; }
Word fake_current_context() { return current; }
std::uint32_t fake_next_correlation() { return ++correlations; }
std::uint32_t* fake_work_correlation() { return &work_correlation; }
void fake_set_current_context(Word context) { current = context; }
bool fake_is_child() { return initialised_in != 0 && initialised_in != getpid(); }

Status cuInit(unsigned flags) {
    if (fake_is_child()) return not_initialized;
    if (initialised_in != 0) return driver_call(1, "cuInit", [] { return 0; }, flags);
    initialised_in = getpid();
    if (const char* path = std::getenv("CUDA_INJECTION64_PATH"); path != nullptr && *path != '\0') {
        if (void* library = dlopen(path, RTLD_NOW); library != nullptr) {
            if (const auto initialize = reinterpret_cast<int (*)()>(dlsym(library, "InitializeInjection")))
                initialize();
        }
    }
    fire_resource(abi::Resource::init_finished, nullptr);
    return 0;
}

Status cuLogsRegisterCallback(abi::LogFunction function, void* data, Word* handle) {
    log_function = function;
    log_data = data;
    if (handle != nullptr) *handle = 1;
    return 0;
}

Status cuDevicePrimaryCtxRetain(Word* context, int device) {
    return driver_call(
        386, "cuDevicePrimaryCtxRetain",
        [&] {
            if (device != 0) return 101;
            if (model().primary == 0) {
                // The subscriber finds the new context current already.
                model().primary = current = model().new_handle();
                model().contexts.insert(current);
                const abi::ResourceData data{current, 0, nullptr};
                fire_resource(abi::Resource::context_created, &data);
            }
            *context = model().primary;
            return 0;
        },
        context, device);
}

Status cuDevicePrimaryCtxReset_v2(int device) {
    return driver_call(
        545, "cuDevicePrimaryCtxReset_v2",
        [&] {
            if (model().primary != 0) drop_context(std::exchange(model().primary, 0));
            return 0;
        },
        device);
}

Status cuCtxCreate_v4(Word* context, const void* parameters, unsigned flags, int device) {
    return driver_call(
        757, "cuCtxCreate_v4",
        [&] {
            *context = current = make_context();
            return 0;
        },
        context, parameters, flags, device);
}

Status cuCtxDestroy_v2(Word context) {
    return driver_call(
        322, "cuCtxDestroy_v2",
        [&] {
            if (!model().contexts.contains(context)) return invalid_context;
            drop_context(context);
            if (current == context) current = 0;
            return 0;
        },
        context);
}

Status cuCtxGetCurrent(Word* context) {
    return driver_call(
        304, "cuCtxGetCurrent",
        [&] {
            *context = current;
            return 0;
        },
        context);
}

Status cuCtxSetCurrent(Word context) {
    return driver_call(
        303, "cuCtxSetCurrent",
        [&] {
            current = context;
            return 0;
        },
        context);
}

Status cuCtxSynchronize_v2(Word context) {
    return driver_call(800, "cuCtxSynchronize_v2", [&] { return model().unsafe_call(); }, context);
}

Status cuCtxSynchronize() {
    return driver_call(17, "cuCtxSynchronize", [&] { return model().unsafe_call(); });
}

Status cuMemAlloc_v2(Word* address, std::size_t size) {
    return driver_call(
        243, "cuMemAlloc_v2",
        [&] {
            if (current == 0) return invalid_context;
            if (size == 0) return invalid_value;
            if (const Status forbidden = model().unsafe_call(); forbidden != 0) return forbidden;
            *address = model().allocate(size, Kind::plain, current);
            return *address != 0 ? 0 : 2;
        },
        address, size);
}

Status cuMemAllocManaged(Word* address, std::size_t size, unsigned flags) {
    return driver_call(
        371, "cuMemAllocManaged",
        [&] {
            *address = model().allocate(size, Kind::managed, current);
            return *address != 0 ? 0 : 2;
        },
        address, size, flags);
}

Status cuMemFree_v2(Word address) {
    return driver_call(
        245, "cuMemFree_v2",
        [&] {
            if (address == 0) return 0;
            if (const Status forbidden = model().unsafe_call(); forbidden != 0) return forbidden;
            return model().release(address, {Kind::plain, Kind::managed, Kind::stream_ordered, Kind::graph});
        },
        address);
}

Status cuMemHostAlloc(void** address, std::size_t size, unsigned flags) {
    return driver_call(
        39, "cuMemHostAlloc",
        [&] {
            *address = reinterpret_cast<void*>(model().allocate(size, Kind::pinned, current));
            return *address != nullptr ? 0 : 2;
        },
        address, size, flags);
}

Status cuMemFreeHost(void* address) {
    return driver_call(
        38, "cuMemFreeHost", [&] { return model().release(reinterpret_cast<Word>(address), {Kind::pinned}); }, address);
}

Status cuMemHostRegister_v2(void* address, std::size_t size, unsigned flags) {
    return driver_call(
        379, "cuMemHostRegister_v2",
        [&] {
            const bool added =
                model()
                    .memory.emplace(reinterpret_cast<Word>(address), Block{size, Kind::registered, current, true})
                    .second;
            return added ? 0 : 712;
        },
        address, size, flags);
}

Status cuMemHostUnregister(void* address) {
    return driver_call(
        302, "cuMemHostUnregister",
        [&] {
            const Status status = model().release(reinterpret_cast<Word>(address), {Kind::registered});
            return status == 0 ? 0 : 713;
        },
        address);
}

Status cuMemAllocAsync(Word* address, std::size_t size, Word stream) {
    return driver_call(
        598, "cuMemAllocAsync",
        [&] {
            Stream* in = model().stream(stream);
            if (in == nullptr) return invalid_handle;
            if (!in->capture) {
                *address = model().allocate(size, Kind::stream_ordered, current);
                return *address != 0 ? 0 : 2;
            }
            *address = model().allocate(size, Kind::graph, current);
            return model().capture(*in, stream, alloc_node(*address, size));
        },
        address, size, stream);
}

Status cuMemFreeAsync(Word address, Word stream) {
    return driver_call(
        600, "cuMemFreeAsync",
        [&] {
            Stream* in = model().stream(stream);
            if (in == nullptr) return invalid_handle;
            if (!in->capture)
                return model().release(address, {Kind::stream_ordered, Kind::plain, Kind::managed, Kind::graph});
            if (in->capture->invalid) return capture_invalidated;
            if (!model().is_of_graph(address)) return invalid_value;
            return model().capture(*in, stream, free_node(address));
        },
        address, stream);
}

Status cuMemcpyHtoD_v2(Word destination, const void* source, std::size_t bytes) {
    return driver_call(
        276, "cuMemcpyHtoD_v2",
        [&] { return copy(0, destination, reinterpret_cast<Word>(source), bytes, destination); }, destination, source,
        bytes);
}

Status cuMemcpyDtoH_v2(void* destination, Word source, std::size_t bytes) {
    return driver_call(
        278, "cuMemcpyDtoH_v2", [&] { return copy(0, reinterpret_cast<Word>(destination), source, bytes, source); },
        destination, source, bytes);
}

Status cuMemcpyDtoD_v2(Word destination, Word source, std::size_t bytes) {
    return driver_call(
        280, "cuMemcpyDtoD_v2", [&] { return copy(0, destination, source, bytes, source); }, destination, source,
        bytes);
}

Status cuMemcpyHtoDAsync_v2(Word destination, const void* source, std::size_t bytes, Word stream) {
    return driver_call(
        277, "cuMemcpyHtoDAsync_v2",
        [&] { return copy(stream, destination, reinterpret_cast<Word>(source), bytes, destination); }, destination,
        source, bytes, stream);
}

Status cuMemcpyDtoHAsync_v2(void* destination, Word source, std::size_t bytes, Word stream) {
    return driver_call(
        279, "cuMemcpyDtoHAsync_v2",
        [&] { return copy(stream, reinterpret_cast<Word>(destination), source, bytes, source); }, destination, source,
        bytes, stream);
}

Status cuMemcpyDtoDAsync_v2(Word destination, Word source, std::size_t bytes, Word stream) {
    return driver_call(
        281, "cuMemcpyDtoDAsync_v2", [&] { return copy(stream, destination, source, bytes, source); }, destination,
        source, bytes, stream);
}

Status cuMemsetD8_v2(Word destination, unsigned char value, std::size_t bytes) {
    return driver_call(
        249, "cuMemsetD8_v2",
        [&] { return is_memory(destination) ? enqueue(0, fill_node(destination, value, bytes)) : invalid_value; },
        destination, value, bytes);
}

Status cuMemsetD8Async(Word destination, unsigned char value, std::size_t bytes, Word stream) {
    return driver_call(
        216, "cuMemsetD8Async",
        [&] { return is_memory(destination) ? enqueue(stream, fill_node(destination, value, bytes)) : invalid_value; },
        destination, value, bytes, stream);
}

Status cuStreamCreate(Word* stream, unsigned flags) {
    return driver_call(
        124, "cuStreamCreate",
        [&] {
            *stream = model().new_handle();
            model().streams[*stream] = {flags, current, nullptr};
            return 0;
        },
        stream, flags);
}

Status cuStreamDestroy_v2(Word stream) {
    // As measured: what is no stream is a crash, before any callback.
    {
        const std::lock_guard guard(model().lock);
        if (!model().streams.contains(stream)) std::raise(SIGSEGV);
    }
    return driver_call(
        326, "cuStreamDestroy_v2",
        [&] {
            const auto capture = model().stream(stream)->capture;
            if (capture && capture->origin == stream) model().leave(capture);
            model().streams.erase(stream);
            model().release_handle(stream);
            return 0;
        },
        stream);
}

Status cuStreamSynchronize(Word stream) {
    return driver_call(126, "cuStreamSynchronize", [&] { return await(stream); }, stream);
}

Status cuStreamQuery(Word stream) {
    return driver_call(
        125, "cuStreamQuery",
        [&] {
            const Stream* const asked = model().stream(stream);
            const bool busy = asked != nullptr && asked->held && !asked->waiting.empty();
            return busy ? 600 : await(stream);
        },
        stream);
}

Status cuStreamWaitEvent(Word stream, Word event, unsigned flags) {
    return driver_call(
        295, "cuStreamWaitEvent",
        [&] {
            Stream* waiting = model().stream(stream);
            const auto found = model().events.find(event);
            if (waiting == nullptr || found == model().events.end()) return invalid_handle;
            const Event& awaited = found->second;
            if (!awaited.capture) return waiting->capture ? 905 : 0;  // capture isolation
            waiting->capture = awaited.capture;
            std::vector<Word>& ends = awaited.capture->ends[stream];
            ends.insert(ends.end(), awaited.nodes.begin(), awaited.nodes.end());
            return 0;
        },
        stream, event, flags);
}

Status cuEventCreate(Word* event, unsigned flags) {
    return driver_call(
        118, "cuEventCreate",
        [&] {
            *event = model().new_handle();
            model().events[*event] = {};
            return 0;
        },
        event, flags);
}

Status cuEventDestroy_v2(Word event) {
    return driver_call(
        325, "cuEventDestroy_v2",
        [&] {
            if (model().events.erase(event) == 0) return invalid_handle;
            model().release_handle(event);
            return 0;
        },
        event);
}

Status cuEventRecord(Word event, Word stream) {
    return driver_call(
        119, "cuEventRecord",
        [&] {
            const Stream* recorded = model().stream(stream);
            const auto found = model().events.find(event);
            if (recorded == nullptr || found == model().events.end()) return invalid_handle;
            if (recorded->capture && recorded->capture->invalid) return capture_invalidated;
            found->second.capture = recorded->capture;
            if (recorded->capture) found->second.nodes = recorded->capture->ends[stream];
            found->second.waits_for = model().held_before(stream);
            return 0;
        },
        event, stream);
}

Status cuEventSynchronize(Word event) {
    return driver_call(
        121, "cuEventSynchronize",
        [&] {
            const auto found = model().events.find(event);
            if (found == model().events.end()) return invalid_handle;
            return found->second.capture ? 907 : 0;
        },
        event);
}

Status cuEventQuery(Word event) {
    return driver_call(
        120, "cuEventQuery",
        [&] {
            const auto found = model().events.find(event);
            if (found == model().events.end()) return invalid_handle;
            if (is_pending(found->second)) return 600;
            return found->second.capture ? 907 : 0;
        },
        event);
}

Status cuLaunchKernel(Word function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                      unsigned block_y, unsigned block_z, unsigned shared_bytes, Word stream, void** arguments,
                      void** extra) {
    const auto* kernel = reinterpret_cast<const Kernel*>(function);
    return launching_call(
        kernel->mangled, 307, "cuLaunchKernel",
        [&] {
            if (block_x * block_y * block_z > 1024) {
                log_line("One or more of block dimensions of (" + std::to_string(block_x) + "," +
                         std::to_string(block_y) + "," + std::to_string(block_z) +
                         ") exceeds corresponding maximum value of (1024,1024,64)");
                return invalid_value;
            }
            load_at_first_launch(function, kernel->mangled);
            Node node = kernel_node(kernel, arguments);
            node.launch = {{grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared_bytes, stream, nullptr, 0};
            return enqueue(stream, std::move(node));
        },
        function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes, stream, arguments, extra);
}

Status cuLaunchKernelEx(const abi::LaunchConfig* configuration, Word function, void** arguments, void** extra) {
    const auto* kernel = reinterpret_cast<const Kernel*>(function);
    return launching_call(
        kernel->mangled, 652, "cuLaunchKernelEx",
        [&] {
            load_at_first_launch(function, kernel->mangled);
            Node node = kernel_node(kernel, arguments);
            node.launch = *configuration;
            return enqueue(configuration->stream, std::move(node));
        },
        configuration, function, arguments, extra);
}

/// For programs of tests: what the stream is given from now on waits, until it is held no more.
void fake_hold_stream(Word stream, bool held) {
    const std::lock_guard guard(model().lock);
    Stream* const found = model().stream(stream);
    found->held = held;
    for (const Node& node : std::exchange(found->waiting, {})) model().run(node);
}

Status cuLaunchHostFunc(Word stream, void (*function)(void*), void* user) {
    return driver_call(
        527, "cuLaunchHostFunc", [&] { return enqueue(stream, host_node(function, user)); }, stream, function, user);
}

}  // extern "C"
