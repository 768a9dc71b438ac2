// The driver's functions for capture and graphs.
#include <algorithm>
#include <iterator>

#include "model.hpp"

using namespace fake;

namespace {

bool has_memory(const Graph& graph) {
    return std::any_of(graph.nodes.begin(), graph.nodes.end(), [](Word handle) {
        const Node& node = model().nodes[handle];
        return node.is(abi::NodeType::mem_alloc) || node.is(abi::NodeType::mem_free) ||
               node.is(abi::NodeType::conditional);
    });
}

/// Whether a fill, also one in a child, is given what is no memory.
bool fills_nothing(const Graph& graph) {
    return std::any_of(graph.nodes.begin(), graph.nodes.end(), [](Word handle) {
        const Node& node = model().nodes[handle];
        if (node.is(abi::NodeType::graph)) return fills_nothing(model().graphs[node.given.child.graph]);
        if (!node.is(abi::NodeType::memset)) return false;
        const Word to = node.given.memset.destination;
        const auto after = model().memory.upper_bound(to);
        return after == model().memory.begin() || to - std::prev(after)->first >= std::prev(after)->second.size;
    });
}

/// Whether every node without a successor is at the end of the origin's branch.
bool joined(const Capture& capture) {
    std::set<Word> open(model().graphs[capture.graph].nodes.begin(), model().graphs[capture.graph].nodes.end());
    for (const Word node : model().graphs[capture.graph].nodes) {
        for (const Word before : model().nodes[node].before) open.erase(before);
    }
    const auto ends = capture.ends.find(capture.origin);
    if (ends != capture.ends.end()) {
        for (const Word node : ends->second) open.erase(node);
    }
    return open.empty();
}

Status launch(Executable& executable) {
    for (const Node& node : executable.nodes) {
        if (node.is(abi::NodeType::mem_alloc)) {
            Block& block = model().memory[node.given.alloc.address];
            if (block.alive && !executable.auto_free) return invalid_value;
            block.alive = true;
        } else if (node.is(abi::NodeType::mem_free)) {
            model().memory[node.given.free.address].alive = false;
        } else {
            model().run(node);
        }
    }
    return 0;
}

Status begin_capture(Word stream, Word graph, int mode) {
    Stream* in = model().stream(stream);
    if (in == nullptr) return invalid_handle;
    if (stream <= abi::legacy_stream) return capture_unsupported;
    if (in->capture) return illegal_state;
    if (graph == 0) {
        graph = model().new_handle();
        model().graphs[graph] = {};
        abi::GraphData data{};
        data.graph = graph;
        fire_graph(abi::Resource::graph_created, data);
    }
    in->capture = std::make_shared<Capture>(Capture{graph, stream, mode, model().next_capture++, false, {}});
    model().captures.insert(in->capture);
    return 0;
}

/// Copies of a graph's nodes, announced as those of a new graph with the handle `made`.
std::vector<Word> clone_nodes(Word graph, Word made);

Word clone_graph(Word graph) {
    const Word made = model().new_handle();
    model().graphs[made].nodes = clone_nodes(graph, made);
    return made;
}

std::vector<Word> clone_nodes(Word graph, Word made) {
    abi::GraphData data{};
    data.graph = made;
    fire_graph(abi::Resource::graph_created, data);
    data.original_graph = graph;
    std::map<Word, Word> copies;
    std::vector<Word> nodes;
    for (const Word original : model().graphs[graph].nodes) {
        Node node = model().nodes[original];
        for (Word& before : node.before) before = copies[before];
        if (node.is(abi::NodeType::graph)) node.given.child.graph = clone_graph(node.given.child.graph);
        data.node = copies[original] = model().new_handle();
        data.original_node = original;
        data.node_type = node.given.type;
        model().nodes[data.node] = std::move(node);
        nodes.push_back(data.node);
        fire_graph(abi::Resource::graph_node_created, data);
        fire_graph(abi::Resource::graph_node_cloned, data);
    }
    return nodes;
}

void add_kernels(Word graph, std::vector<ExecutableKernel>& kernels) {
    static std::uint64_t next_grid = 4;
    for (const Word handle : model().graphs[graph].nodes) {
        const Node node = model().nodes[handle];
        if (node.is(abi::NodeType::kernel)) kernels.push_back({handle, next_grid, node});
        ++next_grid;  // others leave gaps
        if (node.is(abi::NodeType::graph)) add_kernels(node.given.child.graph, kernels);
        for (const Word body : node.bodies) add_kernels(body, kernels);
    }
}

ExecutableKernel* kernel_of(Word executable, Word node) {
    for (ExecutableKernel& each : model().executables[executable].kernels)
        if (each.node == node) return &each;
    return nullptr;
}

/// A call that adds the node that `make` gives; `more`: its arguments after the dependencies.
template <class Make, class... More>
Status add_node(std::uint32_t id, const char* name, Word* made, Word graph, const Word* before, std::size_t count,
                Make make, More... more) {
    return driver_call(
        id, name,
        [&] {
            Node node = make();
            node.before.assign(before, before + count);
            *made = model().add(graph, std::move(node));
            return 0;
        },
        made, graph, before, count, more...);
}

/// A node with the parameters of a member of CUgraphNodeParams.
template <class Parameters>
Node with(abi::NodeType type, Parameters abi::NodeParameters::* member, const Parameters& given) {
    Node node = node_of(type);
    node.given.*member = given;
    return node;
}

/// An answer about a node, or about a graph.
template <class Things, class Answer>
Status answer(Things& things, Word handle, Answer give) {
    const std::lock_guard guard(model().lock);
    const auto found = things.find(handle);
    if (!model().answers_about_graphs || found == things.end()) return invalid_value;
    give(found->second);
    return 0;
}

}  // namespace

extern "C" {

std::size_t fake_graph_kernels(Word executable, GraphKernel* kernels, std::size_t most) {
    const std::lock_guard guard(model().lock);
    std::size_t count = 0;
    for (ExecutableKernel& each : model().executables[executable].kernels) {
        if (!each.enabled || count == most) continue;
        GraphKernel& told = kernels[count++];
        told = {each.node, each.grid, each.content.kernel, {}};
        for (std::size_t at = 0; at < each.content.arguments.size(); ++at)
            told.arguments[at] = each.content.arguments[at].data();
    }
    return count;
}

Status cuStreamBeginCapture_v2(Word stream, int mode) {
    return driver_call(539, "cuStreamBeginCapture_v2", [&] { return begin_capture(stream, 0, mode); }, stream, mode);
}

Status cuStreamBeginCaptureToGraph(Word stream, Word graph, const Word* before, const void* edges, std::size_t count,
                                   int mode) {
    return driver_call(
        720, "cuStreamBeginCaptureToGraph", [&] { return begin_capture(stream, graph, mode); }, stream, graph, before,
        edges, count, mode);
}

Status cuStreamEndCapture(Word stream, Word* graph) {
    return driver_call(
        497, "cuStreamEndCapture",
        [&] {
            Stream* in = model().stream(stream);
            if (in == nullptr) return invalid_handle;
            *graph = 0;
            if (!in->capture) return illegal_state;
            const std::shared_ptr<Capture> capture = in->capture;
            if (capture->origin != stream) {
                capture->invalid = true;
                return capture_unmatched;
            }
            const Status status = capture->invalid ? capture_invalidated : joined(*capture) ? 0 : capture_unjoined;
            if (status == 0) *graph = capture->graph;
            model().leave(capture);
            return status;
        },
        stream, graph);
}

Status cuStreamIsCapturing(Word stream, abi::CaptureStatus* status) {
    return driver_call(
        499, "cuStreamIsCapturing",
        [&] {
            const Stream* in = model().stream(stream);
            if (in == nullptr) return invalid_handle;
            *status = !in->capture           ? abi::CaptureStatus::none
                      : in->capture->invalid ? abi::CaptureStatus::invalidated
                                             : abi::CaptureStatus::active;
            return 0;
        },
        stream, status);
}

Status cuStreamGetCaptureInfo_v3(Word stream, abi::CaptureStatus* status, std::uint64_t* id, Word* graph,
                                 const Word** before, const void** edges, std::size_t* count) {
    const std::lock_guard guard(model().lock);
    const Stream* in = model().stream(stream);
    if (in == nullptr) return invalid_handle;
    *status = in->capture ? abi::CaptureStatus::active : abi::CaptureStatus::none;
    if (!in->capture) return 0;
    const std::vector<Word>& ends = in->capture->ends[stream];
    if (id != nullptr) *id = in->capture->id;
    if (graph != nullptr) *graph = in->capture->graph;
    if (before != nullptr) *before = ends.data();
    if (edges != nullptr) *edges = nullptr;
    if (count != nullptr) *count = ends.size();
    return 0;
}

Status cuStreamGetCaptureInfo_v2(Word stream, abi::CaptureStatus* status, std::uint64_t* id, Word* graph,
                                 const Word** before, std::size_t* count) {
    return cuStreamGetCaptureInfo_v3(stream, status, id, graph, before, nullptr, count);
}

Status cuGraphInstantiateWithFlags(Word* executable, Word graph, unsigned long long flags) {
    return driver_call(
        643, "cuGraphInstantiateWithFlags",
        [&] {
            const auto found = model().graphs.find(graph);
            if (found == model().graphs.end()) return invalid_value;
            if (has_memory(found->second) && found->second.instantiated) return not_supported;
            if (fills_nothing(found->second)) return invalid_value;
            found->second.instantiated = true;
            abi::GraphData data{};
            data.graph = *executable = model().new_handle();  // the clone inside has the executable graph's handle
            Executable made{{}, graph, (flags & 1) != 0};
            for (const Word node : clone_nodes(graph, *executable)) made.nodes.push_back(model().nodes[node]);
            add_kernels(graph, made.kernels);
            model().executables[*executable] = std::move(made);
            data.graph_exec = *executable;
            data.original_graph = graph;
            fire_graph(abi::Resource::graph_exec_created, data);
            return 0;
        },
        executable, graph, flags);
}

Status cuGraphLaunch(Word executable, Word stream) {
    return driver_call(
        514, "cuGraphLaunch",
        [&] {
            const auto found = model().executables.find(executable);
            if (found == model().executables.end() || model().stream(stream) == nullptr) return invalid_handle;
            const Status status = launch(found->second);
            if (status == 0 && fake_tool()->work != nullptr) {
                const auto& nodes = found->second.nodes;
                const auto is_kernel = [](const Node& node) { return node.is(abi::NodeType::kernel); };
                fake_tool()->work({.kind = abi::Activity::graph_trace,
                                   .correlation = *fake_work_correlation(),
                                   .kernels = static_cast<std::size_t>(std::ranges::count_if(nodes, is_kernel))});
            }
            return status;
        },
        executable, stream);
}

Status cuGraphExecDestroy(Word executable) {
    return driver_call(
        516, "cuGraphExecDestroy",
        [&] {
            if (model().executables.erase(executable) == 0) return invalid_value;
            model().release_handle(executable);
            return 0;
        },
        executable);
}

Status cuGraphDestroy(Word graph) {
    return driver_call(
        517, "cuGraphDestroy",
        [&] {
            const auto found = model().graphs.find(graph);
            if (found == model().graphs.end()) return invalid_value;
            abi::GraphData data{};
            data.graph = graph;
            fire_graph(abi::Resource::graph_destroy_starting, data);
            for (auto& [handle, executable] : model().executables) {
                if (executable.graph != graph) continue;
                for (ExecutableKernel& each : executable.kernels) each.node = model().new_handle();
            }
            for (const Word node : found->second.nodes) {
                model().nodes.erase(node);
                model().release_handle(node);
            }
            model().graphs.erase(found);
            model().release_handle(graph);
            return 0;
        },
        graph);
}

Status cuGraphExecUpdate_v2(Word executable, Word graph, void* result) {
    return driver_call(
        696, "cuGraphExecUpdate_v2",
        [&] {
            Executable& updated = model().executables[executable];
            if (updated.nodes.size() != model().graphs[graph].nodes.size()) return 910;
            std::vector<ExecutableKernel> kernels;
            add_kernels(graph, kernels);
            for (std::size_t at = 0; at < std::min(kernels.size(), updated.kernels.size()); ++at)
                updated.kernels[at].content = kernels[at].content;
            return 0;
        },
        executable, graph, result);
}

Status cuGraphExecKernelNodeSetParams_v2(Word executable, Word node, const abi::KernelNode* given) {
    return driver_call(
        692, "cuGraphExecKernelNodeSetParams_v2",
        [&] {
            const auto* const kernel = reinterpret_cast<const Kernel*>(given->kernel);
            if (ExecutableKernel* const known = kernel_of(executable, node); known != nullptr && kernel != nullptr)
                known->content = kernel_node(kernel, given->arguments);
            return 0;
        },
        executable, node, given);
}

Status cuGraphExecChildGraphNodeSetParams(Word executable, Word node, Word child) {
    return driver_call(586, "cuGraphExecChildGraphNodeSetParams", [] { return 0; }, executable, node, child);
}

Status cuGraphNodeSetEnabled(Word executable, Word node, unsigned enabled) {
    return driver_call(
        650, "cuGraphNodeSetEnabled",
        [&] {
            if (ExecutableKernel* const known = kernel_of(executable, node)) known->enabled = enabled != 0;
            return 0;
        },
        executable, node, enabled);
}

// -- building
// -----------------------------------------------------------------------------------------------------------

Status cuGraphCreate(Word* graph, unsigned flags) {
    return driver_call(
        501, "cuGraphCreate",
        [&] {
            *graph = model().new_handle();
            model().graphs[*graph] = {};
            return 0;
        },
        graph, flags);
}

Status cuGraphClone(Word* made, Word graph) {
    return driver_call(
        523, "cuGraphClone",
        [&] {
            if (has_memory(model().graphs[graph])) return not_supported;
            *made = clone_graph(graph);
            return 0;
        },
        made, graph);
}

#define ADDED_TO Word *made, Word graph, const Word *before, std::size_t count
#define PLACE made, graph, before, count

Status cuGraphAddKernelNode_v2(ADDED_TO, const abi::KernelNode* given) {
    const auto make = [&] { return kernel_node(reinterpret_cast<const Kernel*>(given->kernel), given->arguments); };
    return add_node(689, "cuGraphAddKernelNode_v2", PLACE, make, given);
}

Status cuGraphAddMemcpyNode(ADDED_TO, const abi::Copy3D* given, Word context) {
    const auto make = [&] { return with(abi::NodeType::memcpy, &abi::NodeParameters::copy, {0, 0, context, *given}); };
    return add_node(504, "cuGraphAddMemcpyNode", PLACE, make, given, context);
}

Status cuGraphAddMemsetNode(ADDED_TO, const abi::MemsetNode* given, Word context) {
    const auto make = [&] { return with(abi::NodeType::memset, &abi::NodeParameters::memset, *given); };
    return add_node(506, "cuGraphAddMemsetNode", PLACE, make, given, context);
}

Status cuGraphAddHostNode(ADDED_TO, const abi::HostNode* given) {
    const auto make = [&] { return host_node(given->function, given->user_data); };
    return add_node(530, "cuGraphAddHostNode", PLACE, make, given);
}

Status cuGraphAddEmptyNode(ADDED_TO) {
    return add_node(526, "cuGraphAddEmptyNode", PLACE, [] { return node_of(abi::NodeType::empty); });
}

Status cuGraphAddEventRecordNode(ADDED_TO, Word event) {
    const auto make = [&] { return with(abi::NodeType::event_record, &abi::NodeParameters::event, {event}); };
    return add_node(589, "cuGraphAddEventRecordNode", PLACE, make, event);
}

Status cuGraphAddEventWaitNode(ADDED_TO, Word event) {
    const auto make = [&] { return with(abi::NodeType::wait_event, &abi::NodeParameters::event, {event}); };
    return add_node(590, "cuGraphAddEventWaitNode", PLACE, make, event);
}

Status cuGraphAddChildGraphNode(ADDED_TO, Word child) {
    const auto make = [&] { return with(abi::NodeType::graph, &abi::NodeParameters::child, {clone_graph(child), 0}); };
    return add_node(525, "cuGraphAddChildGraphNode", PLACE, make, child);
}

Status cuGraphAddExternalSemaphoresSignalNode(ADDED_TO, const void* given) {
    const auto make = [] { return node_of(abi::NodeType::semaphores_signal); };
    return add_node(618, "cuGraphAddExternalSemaphoresSignalNode", PLACE, make, given);
}

Status cuGraphAddBatchMemOpNode(ADDED_TO, const abi::BatchMemoryNode* given) {
    const auto make = [&] {
        return with(abi::NodeType::batch_mem_op, &abi::NodeParameters::memory_operations, *given);
    };
    return add_node(669, "cuGraphAddBatchMemOpNode", PLACE, make, given);
}

Status cuGraphAddMemAllocNode(ADDED_TO, abi::MemoryAllocNode* given) {
    const auto make = [&] {
        given->address = model().allocate(given->bytes, Kind::graph, fake_current_context());
        return alloc_node(given->address, given->bytes);
    };
    return add_node(638, "cuGraphAddMemAllocNode", PLACE, make, given);
}

Status cuGraphAddMemFreeNode(ADDED_TO, Word address) {
    return add_node(639, "cuGraphAddMemFreeNode", PLACE, [&] { return free_node(address); }, address);
}

Status cuGraphConditionalHandleCreate(Word* made, Word graph, Word context, unsigned value, unsigned flags) {
    return driver_call(
        722, "cuGraphConditionalHandleCreate",
        [&] {
            *made = model().new_handle();
            return 0;
        },
        made, graph, context, value, flags);
}

/// The generic call; here for conditional nodes only.
Status cuGraphAddNode_v2(Word* made, Word graph, const Word* before, const void* edges, std::size_t count,
                         abi::NodeParameters* given) {
    return driver_call(
        723, "cuGraphAddNode_v2",
        [&] {
            auto* conditional = reinterpret_cast<abi::ConditionalNode*>(&given->words);
            Node node = node_of(abi::NodeType::conditional);
            node.before.assign(before, before + count);
            node.bodies.resize(conditional->size);
            for (Word& body : node.bodies) {
                body = model().new_handle();
                model().graphs[body] = {};
            }
            *made = model().add(graph, std::move(node));
            conditional->bodies = model().nodes[*made].bodies.data();
            return 0;
        },
        made, graph, before, edges, count, given);
}

// -- questions
// ----------------------------------------------------------------------------------------------------------

Status cuGraphGetNodes(Word graph, Word* nodes, std::size_t* count) {
    return answer(model().graphs, graph, [&](const Graph& of) {
        if (nodes != nullptr) std::copy_n(of.nodes.begin(), std::min(*count, of.nodes.size()), nodes);
        *count = of.nodes.size();
    });
}

Status cuGraphGetEdges_v2(Word graph, Word* from, Word* to, void*, std::size_t* count) {
    return answer(model().graphs, graph, [&](const Graph& of) {
        std::size_t at = 0;
        for (const Word node : of.nodes) {
            for (const Word before : model().nodes[node].before) {
                if (from != nullptr && to != nullptr && at < *count) {
                    from[at] = before;
                    to[at] = node;
                }
                ++at;
            }
        }
        *count = at;
    });
}

Status cuGraphGetEdges(Word graph, Word* from, Word* to, std::size_t* count) {
    return cuGraphGetEdges_v2(graph, from, to, nullptr, count);
}

Status cuGraphNodeGetType(Word node, abi::NodeType* type) {
    return answer(model().nodes, node, [&](const Node& of) { *type = static_cast<abi::NodeType>(of.given.type); });
}

Status cuGraphKernelNodeGetParams_v2(Word node, abi::KernelNode* parameters) {
    return answer(model().nodes, node, [&](Node& of) {
        of.argument_pointers.clear();
        for (auto& argument : of.arguments) of.argument_pointers.push_back(argument.data());
        *parameters = {};
        parameters->function = parameters->kernel = reinterpret_cast<Word>(of.kernel);
        parameters->arguments = of.argument_pointers.data();
    });
}

Status cuGraphKernelNodeGetParams(Word node, abi::KernelNode* parameters) {
    return cuGraphKernelNodeGetParams_v2(node, parameters);
}

#define ANSWER(name, type, member)                                                          \
    Status name(Word node, type* to) {                                                      \
        return answer(model().nodes, node, [&](const Node& of) { *to = of.given.member; }); \
    }
ANSWER(cuGraphMemcpyNodeGetParams, abi::Copy3D, copy.copy)
ANSWER(cuGraphMemsetNodeGetParams, abi::MemsetNode, memset)
ANSWER(cuGraphHostNodeGetParams, abi::HostNode, host)
ANSWER(cuGraphChildGraphNodeGetGraph, Word, child.graph)
ANSWER(cuGraphEventRecordNodeGetEvent, Word, event.event)
ANSWER(cuGraphEventWaitNodeGetEvent, Word, event.event)
ANSWER(cuGraphMemAllocNodeGetParams, abi::MemoryAllocNode, alloc)
ANSWER(cuGraphMemFreeNodeGetParams, Word, free.address)
ANSWER(cuGraphBatchMemOpNodeGetParams, abi::BatchMemoryNode, memory_operations)

Status cuThreadExchangeStreamCaptureMode(int* mode) {
    static thread_local int current = 0;
    std::swap(*mode, current);
    return 0;
}

}  // extern "C"
