#include "fake_driver.hpp"

#include <algorithm>

namespace cuda = streamsan::recorder::cuda;

namespace fake {

thread_local std::uint32_t line_here = 0;
thread_local Word context_here = 0xc0;

namespace {

constexpr Status invalid_value = 1;
constexpr Status not_supported = 801;
constexpr Status unsupported = 900, invalidated = 901, unmatched = 903, unjoined = 904;

void leave(const std::shared_ptr<Capture>& capture) {
    std::erase_if(world().capturing, [&](const auto& each) { return each.second == capture; });
    std::erase_if(world().captured_events, [&](const auto& each) { return each.second == capture; });
}

std::shared_ptr<Capture> capture_of(Word stream) {
    const auto found = world().capturing.find(stream);
    return found == world().capturing.end() ? nullptr : found->second;
}

bool joined(const Capture& capture) {
    std::set<Word> open(world().graphs[capture.graph].nodes.begin(), world().graphs[capture.graph].nodes.end());
    for (const Word node : world().graphs[capture.graph].nodes)
        for (const Word before : world().nodes[node].before) open.erase(before);
    if (const auto ends = capture.ends.find(capture.origin); ends != capture.ends.end())
        for (const Word node : ends->second) open.erase(node);
    return open.empty();
}

bool has_memory(Word graph) {
    const std::vector<Word>& nodes = world().graphs[graph].nodes;
    return std::any_of(nodes.begin(), nodes.end(), [](Word node) {
        const abi::NodeType type = world().nodes[node].type;
        return type == abi::NodeType::mem_alloc || type == abi::NodeType::mem_free ||
               type == abi::NodeType::conditional;
    });
}

bool keeps_memory(Word graph) {
    std::set<Word> kept;
    for (const Word node : world().graphs[graph].nodes)
        if (world().nodes[node].type == abi::NodeType::mem_alloc) kept.insert(world().nodes[node].address);
    for (const Word node : world().graphs[graph].nodes)
        if (world().nodes[node].type == abi::NodeType::mem_free) kept.erase(world().nodes[node].address);
    return !kept.empty();
}

void tell_node(abi::Resource resource, Word graph, Word node, Word original_graph = 0, Word original = 0) {
    abi::GraphData data{};
    data.graph = graph;
    data.node = node;
    data.original_graph = original_graph;
    data.original_node = original;
    tell(resource, data);
}

/// Gives a captured call's node its place in the capture; 0 and a status where the capture takes nothing more.
Status capture_node(const std::shared_ptr<Capture>& capture, Word stream, Node node, Word* made = nullptr) {
    if (capture->invalid) return invalidated;
    node.before = capture->ends[stream];
    const Word handle = world().add(capture->graph, std::move(node));
    capture->ends[stream] = {handle};
    if (made != nullptr) *made = handle;
    return 0;
}

Word copy_graph(Word graph) {
    const Word made = world().handle();
    std::map<Word, Word> copies;
    const std::vector<Word> nodes = world().graphs[graph].nodes;
    for (const Word original : nodes) {
        Node node = world().nodes[original];
        for (Word& before : node.before) before = copies[before];
        if (node.child != 0) node.child = copy_graph(node.child);
        const Word copy = world().handle();
        copies[original] = copy;
        world().nodes[copy] = node;
        world().graphs[made].nodes.push_back(copy);
        tell_node(abi::Resource::graph_node_created, made, copy);
        tell_node(abi::Resource::graph_node_cloned, made, copy, graph, original);
    }
    return made;
}

}  // namespace

World& world() {
    static World* const only = new World;
    return *only;
}

Word World::handle() {
    if (spare_handles.empty()) return next_handle += 0x40;
    const Word handle = spare_handles.back();
    spare_handles.pop_back();
    return handle;
}

Word World::allocate(std::size_t bytes, bool of_graph) {
    // The driver hands out the address that was given back last.
    for (auto& [address, block] : memory) {
        if (!of_graph && !block.of_graph && !block.alive && block.bytes == bytes) {
            block.alive = true;
            return address;
        }
    }
    const Word address = next_address;
    next_address += (bytes + (2 << 20) - 1) / (2 << 20) * (2 << 20);
    memory[address] = {bytes, true, of_graph};
    return address;
}

Word World::add(Word graph, Node node) {
    const Word made = handle();
    nodes[made] = std::move(node);
    graphs[graph].nodes.push_back(made);
    tell_node(abi::Resource::graph_node_created, graph, made);
    return made;
}

// -- questions of the recorder
// ------------------------------------------------------------------------------------------

namespace {

template <class Answer>
Status ask(Word node, Answer&& answer) {
    const std::lock_guard guard(world().lock);
    const auto found = world().nodes.find(node);
    if (world().questions_fail || found == world().nodes.end()) return invalid_value;
    answer(found->second);
    return 0;
}

Status get_nodes(Word graph, Word* nodes, std::size_t* count) {
    const std::lock_guard guard(world().lock);
    const auto found = world().graphs.find(graph);
    if (world().questions_fail || found == world().graphs.end()) return invalid_value;
    if (nodes != nullptr) std::copy_n(found->second.nodes.begin(), std::min(*count, found->second.nodes.size()), nodes);
    *count = found->second.nodes.size();
    return 0;
}

Status get_edges(Word graph, Word* from, Word* to, void*, std::size_t* count) {
    const std::lock_guard guard(world().lock);
    const auto found = world().graphs.find(graph);
    if (world().questions_fail || found == world().graphs.end()) return invalid_value;
    std::size_t at = 0;
    for (const Word node : found->second.nodes) {
        for (const Word before : world().nodes[node].before) {
            if (from != nullptr && at < *count) from[at] = before, to[at] = node;
            ++at;
        }
    }
    *count = at;
    return 0;
}

Status get_kernel(Word node, abi::KernelNode* parameters) {
    return ask(node, [parameters](Node& of) {
        of.argument_pointers.clear();
        for (Word& argument : of.arguments) of.argument_pointers.push_back(&argument);
        *parameters = {};
        parameters->kernel = parameters->function = reinterpret_cast<Word>(of.kernel);
        parameters->arguments = of.argument_pointers.data();
    });
}

Status parameter(Word function, std::size_t index, std::size_t* offset, std::size_t* size) {
    const auto& kernel = *reinterpret_cast<const Kernel*>(function);
    if (index >= kernel.sizes.size()) return invalid_value;
    *offset = index * 8;
    *size = kernel.sizes[index];
    return 0;
}

Status is_capturing(Word stream, abi::CaptureStatus* status) {
    const std::lock_guard guard(world().lock);
    const auto capture = capture_of(stream);
    using enum abi::CaptureStatus;
    *status = !capture ? none : capture->invalid ? abi::CaptureStatus::invalidated : active;
    return 0;
}

Status capture_info(Word stream, abi::CaptureStatus* status, std::uint64_t* id, Word*, const Word**, std::size_t*) {
    const std::lock_guard guard(world().lock);
    is_capturing(stream, status);
    if (const auto capture = capture_of(stream); capture && id != nullptr) *id = capture->id;
    return 0;
}

Status launch_own(Word, void (*function)(void*), void* data) {
    // At once, on a thread of the driver.
    {
        const std::lock_guard guard(world().lock);
        ++world().host_functions;
    }
    std::thread([function, data] { function(data); }).join();
    return 0;
}

}  // namespace

const cuda::Driver& driver() {
    static const cuda::Driver functions = [] {
        cuda::Driver made;
        made.cuStreamIsCapturing = is_capturing;
        made.cuStreamGetCaptureInfo_v2 = capture_info;
        made.cuThreadExchangeStreamCaptureMode = [](int* mode) -> Status {
            static thread_local int current = 0;
            std::swap(*mode, current);
            return 0;
        };
        made.cuLaunchHostFunc = launch_own;
        made.cuKernelGetParamInfo = parameter;
        made.cuKernelGetName = [](const char** name, Word function) -> Status {
            *name = reinterpret_cast<const Kernel*>(function)->symbol;
            return 0;
        };
        made.cuGraphGetNodes = get_nodes;
        made.cuGraphGetEdges_v2 = get_edges;
        made.cuGraphGetEdges = [](Word graph, Word* from, Word* to, std::size_t* count) {
            return get_edges(graph, from, to, nullptr, count);
        };
        made.cuGraphNodeGetType = [](Word node, abi::NodeType* type) {
            return ask(node, [type](Node& of) { *type = of.type; });
        };
        made.cuGraphKernelNodeGetParams_v2 = get_kernel;
        made.cuGraphKernelNodeGetParams = get_kernel;
        made.cuGraphMemcpyNodeGetParams = [](Word node, abi::Copy3D* to) {
            return ask(node, [to](Node& of) { *to = of.copy; });
        };
        made.cuGraphMemsetNodeGetParams = [](Word node, abi::MemsetNode* to) {
            return ask(node, [to](Node& of) { *to = of.fill; });
        };
        made.cuGraphHostNodeGetParams = [](Word node, abi::HostNode* to) {
            return ask(node, [to](Node& of) { *to = of.host; });
        };
        made.cuGraphChildGraphNodeGetGraph = [](Word node, Word* to) {
            return ask(node, [to](Node& of) { *to = of.child; });
        };
        made.cuGraphEventRecordNodeGetEvent = [](Word node, Word* to) {
            return ask(node, [to](Node& of) { *to = of.event; });
        };
        made.cuGraphEventWaitNodeGetEvent = made.cuGraphEventRecordNodeGetEvent;
        made.cuGraphMemAllocNodeGetParams = [](Word node, abi::MemoryAllocNode* to) {
            return ask(node, [to](Node& of) { *to = {}, to->address = of.address, to->bytes = of.bytes; });
        };
        made.cuGraphMemFreeNodeGetParams = [](Word node, Word* to) {
            return ask(node, [to](Node& of) { *to = of.address; });
        };
        made.cuGraphBatchMemOpNodeGetParams = [](Word node, abi::BatchMemoryNode* to) {
            return ask(node, [to](Node& of) { *to = of.operations; });
        };
        return made;
    }();
    static const cuda::Driver older = [] {
        cuda::Driver made = functions;
        made.cuGraphGetEdges_v2 = nullptr;
        made.cuGraphKernelNodeGetParams_v2 = nullptr;
        made.cuStreamGetCaptureInfo_v2 = nullptr;
        return made;
    }();
    return world().old ? older : functions;
}

// -- the program's calls
// ------------------------------------------------------------------------------------------------

#define AT line_here = where.line()
#define LOCKED const std::lock_guard guard(world().lock)

Word stream_create(Where where) {
    AT;
    Word made = 0;
    call(124, packed(&made, 1U), nullptr, context_here, [&] {
        LOCKED;
        made = world().handle();
        return 0;
    });
    return made;
}

Status stream_destroy(Word stream, Where where) {
    AT;
    return call(326, packed(stream), nullptr, context_here, [&] {
        LOCKED;
        if (const auto capture = capture_of(stream); capture && capture->origin == stream) leave(capture);
        world().spare_handles.push_back(stream);
        return 0;
    });
}

Status stream_synchronize(Word stream, Where where) {
    AT;
    return call(126, packed(stream), nullptr, context_here, [&]() -> Status {
        LOCKED;
        const auto capture = capture_of(stream);
        if (!capture) return 0;
        capture->invalid = true;
        return unsupported;
    });
}

Word event_create(Where where) {
    AT;
    Word made = 0;
    call(118, packed(&made, 0U), nullptr, context_here, [&] {
        LOCKED;
        made = world().handle();
        return 0;
    });
    return made;
}

Status event_record(Word event, Word stream, Where where) {
    AT;
    return call(119, packed(event, stream), nullptr, context_here, [&]() -> Status {
        LOCKED;
        const auto capture = capture_of(stream);
        world().captured_events.erase(event);
        if (!capture) return 0;
        if (capture->invalid) return invalidated;
        world().captured_events[event] = capture;
        world().event_ends[event] = capture->ends[stream];
        return 0;
    });
}

Status stream_wait(Word stream, Word event, Where where) {
    AT;
    return call(295, packed(stream, event, 0U), nullptr, context_here, [&]() -> Status {
        LOCKED;
        const auto found = world().captured_events.find(event);
        if (found == world().captured_events.end()) return 0;
        world().capturing[stream] = found->second;
        std::vector<Word>& ends = found->second->ends[stream];
        for (const Word node : world().event_ends[event])
            if (std::find(ends.begin(), ends.end(), node) == ends.end()) ends.push_back(node);
        return 0;
    });
}

Word allocate(std::size_t bytes, Where where) {
    AT;
    Word address = 0;
    call(243, packed(&address, bytes), nullptr, context_here, [&] {
        LOCKED;
        address = world().allocate(bytes, false);
        return 0;
    });
    return address;
}

Status release(Word address, Where where) {
    AT;
    return call(245, packed(address), nullptr, context_here, [&] {
        LOCKED;
        world().memory[address].alive = false;
        return 0;
    });
}

Status allocate_async(Word& address, std::size_t bytes, Word stream, Where where) {
    AT;
    return call(598, packed(&address, bytes, stream), nullptr, context_here, [&]() -> Status {
        LOCKED;
        const auto capture = capture_of(stream);
        address = world().allocate(bytes, capture != nullptr);
        if (!capture) return 0;
        Node node;
        node.type = abi::NodeType::mem_alloc;
        node.address = address;
        node.bytes = bytes;
        return capture_node(capture, stream, std::move(node));
    });
}

Status release_async(Word address, Word stream, Where where) {
    AT;
    return call(600, packed(address, stream), nullptr, context_here, [&]() -> Status {
        LOCKED;
        const auto capture = capture_of(stream);
        if (!capture) {
            world().memory[address].alive = world().memory[address].of_graph;
            return 0;
        }
        if (!world().memory[address].of_graph) return invalid_value;
        Node node;
        node.type = abi::NodeType::mem_free;
        node.address = address;
        return capture_node(capture, stream, std::move(node));
    });
}

Status launch(const Kernel& kernel, Word stream, std::vector<Word> arguments, Where where) {
    AT;
    std::vector<void*> pointers;
    for (Word& argument : arguments) pointers.push_back(&argument);
    const auto handle = reinterpret_cast<Word>(&kernel);
    return call(307, packed(handle, 1U, 1U, 1U, 1U, 1U, 1U, 0U, stream, pointers.data(), static_cast<void**>(nullptr)),
                kernel.symbol, context_here, [&]() -> Status {
                    LOCKED;
                    const auto capture = capture_of(stream);
                    if (!capture) return 0;
                    Node node;
                    node.type = abi::NodeType::kernel;
                    node.kernel = &kernel;
                    node.arguments = arguments;
                    return capture_node(capture, stream, std::move(node));
                });
}

Status host_function(Word stream, void (*function)(void*), void* data, Where where) {
    AT;
    return call(527, packed(stream, function, data), nullptr, context_here, [&]() -> Status {
        {
            LOCKED;
            if (const auto capture = capture_of(stream)) {
                Node node;
                node.type = abi::NodeType::host;
                node.host = {function, data};
                return capture_node(capture, stream, std::move(node));
            }
        }
        std::thread([function, data] { function(data); }).join();
        return 0;
    });
}

Status destroy_context(Where where) {
    AT;
    const Status status = call(322, packed(context_here), nullptr, context_here, [&] {
        LOCKED;
        world().capturing.clear();
        return 0;
    });
    return status;
}

Status begin_capture(Word stream, int mode, Where where) {
    AT;
    return call(539, packed(stream, mode), nullptr, context_here, [&]() -> Status {
        LOCKED;
        if (stream <= abi::legacy_stream) return unsupported;
        if (capture_of(stream)) return 401;
        const Word graph = world().handle();
        world().graphs[graph] = {};
        world().capturing[stream] =
            std::make_shared<Capture>(Capture{graph, stream, world().next_capture++, false, {}});
        return 0;
    });
}

Status begin_capture_to(Word stream, Word graph, Where where) {
    AT;
    const Word* const none = nullptr;
    return call(720, packed(stream, graph, none, none, std::size_t{0}, 2), nullptr, context_here, [&]() -> Status {
        LOCKED;
        world().capturing[stream] =
            std::make_shared<Capture>(Capture{graph, stream, world().next_capture++, false, {}});
        return 0;
    });
}

Status end_capture(Word stream, Word& graph, Where where) {
    AT;
    graph = 0;
    return call(497, packed(stream, &graph), nullptr, context_here, [&]() -> Status {
        LOCKED;
        const auto capture = capture_of(stream);
        if (!capture) return 401;
        if (capture->origin != stream) {
            capture->invalid = true;
            return unmatched;
        }
        const Status status = capture->invalid ? invalidated : joined(*capture) ? 0 : unjoined;
        if (status == 0) graph = capture->graph;
        leave(capture);
        return status;
    });
}

Status instantiate(Word& executable, Word graph, unsigned long long flags, Where where) {
    AT;
    return call(643, packed(&executable, graph, flags), nullptr, context_here, [&]() -> Status {
        LOCKED;
        if (world().graphs.find(graph) == world().graphs.end()) return invalid_value;
        if (has_memory(graph) && world().graphs[graph].instantiated) return not_supported;
        world().graphs[graph].instantiated = true;
        executable = copy_graph(graph);  // the driver's own copy has the handle of the executable graph
        world().executables[executable] = graph;
        world().auto_free.erase(executable);
        if ((flags & 1) != 0) world().auto_free.insert(executable);
        world().launched.erase(executable);
        return 0;
    });
}

Status update(Word executable, Word graph, Where where) {
    AT;
    std::array<Word, 3> result{};
    return call(696, packed(executable, graph, result.data()), nullptr, context_here, [&]() -> Status {
        LOCKED;
        const Word from = world().executables[executable];
        return world().graphs[from].nodes.size() == world().graphs[graph].nodes.size() ? 0 : 910;
    });
}

Status graph_launch(Word executable, Word stream, Where where) {
    AT;
    return call(514, packed(executable, stream), nullptr, context_here, [&]() -> Status {
        LOCKED;
        // It is refused while what the last launch allocated is alive.
        const bool keeps = keeps_memory(world().executables[executable]) && world().auto_free.count(executable) == 0;
        return !world().launched.insert(executable).second && keeps ? invalid_value : 0;
    });
}

Status exec_destroy(Word executable, Where where) {
    AT;
    return call(516, packed(executable), nullptr, context_here, [&] {
        LOCKED;
        world().executables.erase(executable);
        return 0;
    });
}

Word graph_create(Where where) {
    AT;
    Word made = 0;
    call(501, packed(&made, 0U), nullptr, context_here, [&] {
        LOCKED;
        made = world().handle();
        world().graphs[made] = {};
        return 0;
    });
    return made;
}

Status graph_destroy(Word graph, Where where) {
    AT;
    return call(517, packed(graph), nullptr, context_here, [&]() -> Status {
        LOCKED;
        const auto found = world().graphs.find(graph);
        if (found == world().graphs.end()) return invalid_value;
        abi::GraphData data{};
        data.graph = graph;
        tell(abi::Resource::graph_destroy_starting, data);
        for (const Word node : found->second.nodes) {
            world().nodes.erase(node);
            world().spare_handles.push_back(node);
        }
        world().graphs.erase(found);
        world().spare_handles.push_back(graph);
        return 0;
    });
}

Status graph_clone(Word& made, Word graph, Where where) {
    AT;
    return call(523, packed(&made, graph), nullptr, context_here, [&]() -> Status {
        LOCKED;
        if (has_memory(graph)) return not_supported;
        made = copy_graph(graph);
        return 0;
    });
}

namespace {

template <class... More>
Word add_by(std::uint16_t id, Word graph, const std::vector<Word>& before, Node node, More... more) {
    Word made = 0;
    node.before = before;
    call(id, packed(&made, graph, before.data(), before.size(), more...), nullptr, context_here, [&] {
        LOCKED;
        made = world().add(graph, node);
        return 0;
    });
    return made;
}

}  // namespace

Word add_kernel(Word graph, const std::vector<Word>& before, const Kernel& kernel, std::vector<Word> arguments,
                Where where) {
    AT;
    std::vector<void*> pointers;
    for (Word& argument : arguments) pointers.push_back(&argument);
    abi::KernelNode given{};
    given.kernel = reinterpret_cast<Word>(&kernel);
    given.arguments = pointers.data();
    Node node;
    node.type = abi::NodeType::kernel;
    node.kernel = &kernel;
    node.arguments = arguments;
    return add_by(689, graph, before, node, &given);
}

Word add_copy(Word graph, const std::vector<Word>& before, Word to, Word from, std::size_t bytes, Where where) {
    AT;
    Node node;
    node.type = abi::NodeType::memcpy;
    node.copy.source.type = node.copy.destination.type = abi::MemoryType::device;
    node.copy.source.device = from;
    node.copy.destination.device = to;
    node.copy.width = bytes;
    node.copy.height = node.copy.depth = 1;
    return add_by(504, graph, before, node, &node.copy, context_here);
}

Word add_fill(Word graph, const std::vector<Word>& before, Word to, std::size_t bytes, std::size_t rows,
              std::size_t pitch, Where where) {
    AT;
    Node node;
    node.type = abi::NodeType::memset;
    node.fill = {to, pitch, 0, 1, bytes, rows, 0};
    return add_by(506, graph, before, node, &node.fill, context_here);
}

Word add_host(Word graph, const std::vector<Word>& before, void* data, Where where) {
    AT;
    Node node;
    node.type = abi::NodeType::host;
    node.host = {nullptr, data};
    return add_by(530, graph, before, node, &node.host);
}

Word add_empty(Word graph, const std::vector<Word>& before, Where where) {
    AT;
    Node node;
    node.type = abi::NodeType::empty;
    return add_by(526, graph, before, node);
}

Word add_event(Word graph, const std::vector<Word>& before, bool record, Word event, Where where) {
    AT;
    Node node;
    node.type = record ? abi::NodeType::event_record : abi::NodeType::wait_event;
    node.event = event;
    return add_by(record ? 589 : 590, graph, before, node, event);
}

Word add_child(Word graph, const std::vector<Word>& before, Word child, Where where) {
    AT;
    Word made = 0;
    call(525, packed(&made, graph, before.data(), before.size(), child), nullptr, context_here, [&] {
        LOCKED;
        Node node;
        node.type = abi::NodeType::graph;
        node.before = before;
        node.child = copy_graph(child);
        made = world().add(graph, node);
        return 0;
    });
    return made;
}

Word add_semaphore(Word graph, const std::vector<Word>& before, Where where) {
    AT;
    Node node;
    node.type = abi::NodeType::semaphores_signal;
    return add_by(618, graph, before, node, static_cast<const void*>(nullptr));
}

Word add_operations(Word graph, const std::vector<Word>& before, Word waited, Word written, Where where) {
    AT;
    static std::deque<std::array<abi::BatchMemoryOperation, 3>> kept;
    kept.push_back({{{abi::MemoryOperation::wait_value_32, waited, 1, 0, 0, 0},
                     {abi::MemoryOperation::barrier, 0, 0, 0, 0, 0},
                     {abi::MemoryOperation::write_value_64, written, 1, 0, 0, 0}}});
    Node node;
    node.type = abi::NodeType::batch_mem_op;
    node.operations = {context_here, 3, kept.back().data(), 0};
    return add_by(669, graph, before, node, &node.operations);
}

Word add_alloc(Word graph, const std::vector<Word>& before, std::size_t bytes, Word& address, Where where) {
    AT;
    abi::MemoryAllocNode given{};
    given.bytes = bytes;
    Word made = 0;
    call(638, packed(&made, graph, before.data(), before.size(), &given), nullptr, context_here, [&] {
        LOCKED;
        Node node;
        node.type = abi::NodeType::mem_alloc;
        node.before = before;
        node.address = given.address = address = world().allocate(bytes, true);
        node.bytes = bytes;
        made = world().add(graph, node);
        return 0;
    });
    return made;
}

Status add_free(Word& made, Word graph, const std::vector<Word>& before, Word address, Where where) {
    AT;
    return call(639, packed(&made, graph, before.data(), before.size(), address), nullptr, context_here,
                [&]() -> Status {
                    LOCKED;
                    if (!world().memory[address].of_graph) return invalid_value;
                    Node node;
                    node.type = abi::NodeType::mem_free;
                    node.before = before;
                    node.address = address;
                    made = world().add(graph, node);
                    return 0;
                });
}

Word add_conditional(Word graph, const std::vector<Word>& before, std::vector<Word>& bodies, Where where) {
    AT;
    abi::NodeParameters given{};
    given.type = static_cast<std::int32_t>(abi::NodeType::conditional);
    auto& conditional = *reinterpret_cast<abi::ConditionalNode*>(&given.words);
    conditional.size = static_cast<std::uint32_t>(bodies.size());
    Word made = 0;
    const void* const no_edges = nullptr;
    call(723, packed(&made, graph, before.data(), no_edges, before.size(), &given), nullptr, context_here, [&] {
        LOCKED;
        for (Word& body : bodies) {
            body = world().handle();
            world().graphs[body] = {};
        }
        conditional.bodies = bodies.data();
        Node node;
        node.type = abi::NodeType::conditional;
        node.before = before;
        node.bodies = bodies;
        made = world().add(graph, node);
        return 0;
    });
    return made;
}

Status set_kernel(Word executable, Word node, const Kernel& kernel, std::vector<Word> arguments, Where where) {
    AT;
    std::vector<void*> pointers;
    for (Word& argument : arguments) pointers.push_back(&argument);
    abi::KernelNode given{};
    given.function = reinterpret_cast<Word>(&kernel);
    given.arguments = pointers.data();
    return call(692, packed(executable, node, &given), nullptr, context_here, [] { return 0; });
}

Status set_child(Word executable, Word node, Word child, Where where) {
    AT;
    return call(586, packed(executable, node, child), nullptr, context_here, [] { return 0; });
}

Status set_fill(Word executable, Word node, Word to, std::size_t bytes, Where where) {
    AT;
    abi::NodeParameters given{};
    given.type = static_cast<std::int32_t>(abi::NodeType::memset);
    given.memset = {to, 0, 0, 1, bytes, 1, 0};
    return call(714, packed(executable, node, &given), nullptr, context_here, [] { return 0; });
}

Status enable(Word executable, Word node, unsigned enabled, Where where) {
    AT;
    return call(650, packed(executable, node, enabled), nullptr, context_here, [] { return 0; });
}

}  // namespace fake
