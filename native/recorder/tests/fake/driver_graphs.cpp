// The driver's functions for capture and graphs.
#include <algorithm>

#include "model.hpp"

using namespace fake;

namespace {

void fire_graph(abi::Resource resource, const abi::GraphData& data) {
    const abi::ResourceData of{fake_current_context(), 0, &data};
    fire_resource(resource, &of);
}

bool has_memory(const Graph& graph) {
    return std::any_of(graph.nodes.begin(), graph.nodes.end(), [](Word handle) {
        const abi::NodeType type = model().nodes[handle].type;
        return type == abi::NodeType::mem_alloc || type == abi::NodeType::mem_free;
    });
}

void leave(const std::shared_ptr<Capture>& capture) {
    for (auto& [handle, stream] : model().streams) {
        if (stream.capture == capture) stream.capture = nullptr;
    }
    for (auto& [handle, event] : model().events) {
        if (event.capture == capture) event = {};
    }
    model().captures.erase(capture);
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
        if (node.type == abi::NodeType::mem_alloc) {
            Block& block = model().memory[node.destination];
            if (block.alive && !executable.auto_free) return invalid_value;
            block.alive = true;
        } else if (node.type == abi::NodeType::mem_free) {
            model().memory[node.destination].alive = false;
        } else {
            Model::run(node);
        }
    }
    return 0;
}

}  // namespace

extern "C" {

Status cuStreamBeginCapture_v2(Word stream, int mode) {
    return driver_call(
        539, "cuStreamBeginCapture_v2", nullptr,
        [&] {
            Stream* in = model().stream(stream);
            if (in == nullptr) return invalid_handle;
            if (stream <= abi::legacy_stream) return capture_unsupported;
            if (in->capture) return 901;
            const Word graph = model().new_handle();
            model().graphs[graph] = {};
            in->capture = std::make_shared<Capture>(Capture{graph, stream, mode, model().next_capture++, false, {}});
            model().captures.insert(in->capture);
            abi::GraphData data{};
            data.graph = graph;
            fire_graph(abi::Resource::graph_created, data);
            return 0;
        },
        stream, mode);
}

Status cuStreamEndCapture(Word stream, Word* graph) {
    return driver_call(
        497, "cuStreamEndCapture", nullptr,
        [&] {
            Stream* in = model().stream(stream);
            if (in == nullptr) return invalid_handle;
            if (!in->capture) return invalid_value;
            const std::shared_ptr<Capture> capture = in->capture;
            if (capture->origin != stream) return 903;
            const Status status = capture->invalid ? capture_invalidated : joined(*capture) ? 0 : capture_unjoined;
            *graph = status == 0 ? capture->graph : 0;
            leave(capture);
            return status;
        },
        stream, graph);
}

Status cuStreamIsCapturing(Word stream, abi::CaptureStatus* status) {
    return driver_call(
        499, "cuStreamIsCapturing", nullptr,
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
        643, "cuGraphInstantiateWithFlags", nullptr,
        [&] {
            const auto found = model().graphs.find(graph);
            if (found == model().graphs.end()) return invalid_value;
            if (has_memory(found->second) && found->second.instantiated) return not_supported;
            found->second.instantiated = true;
            *executable = model().new_handle();
            Executable made;
            made.auto_free = (flags & 1) != 0;
            abi::GraphData data{};
            data.graph = *executable;  // the clone inside has the executable graph's handle
            fire_graph(abi::Resource::graph_created, data);
            for (const Word node : found->second.nodes) {
                made.nodes.push_back(model().nodes[node]);
                abi::GraphData cloned{};
                cloned.graph = *executable;
                cloned.original_graph = graph;
                cloned.node = model().new_handle();
                cloned.original_node = node;
                cloned.node_type = static_cast<std::int32_t>(made.nodes.back().type);
                fire_graph(abi::Resource::graph_node_created, cloned);
                fire_graph(abi::Resource::graph_node_cloned, cloned);
            }
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
        514, "cuGraphLaunch", nullptr,
        [&] {
            const auto found = model().executables.find(executable);
            if (found == model().executables.end() || model().stream(stream) == nullptr) return invalid_handle;
            return launch(found->second);
        },
        executable, stream);
}

Status cuGraphExecDestroy(Word executable) {
    return driver_call(
        516, "cuGraphExecDestroy", nullptr,
        [&] {
            if (model().executables.erase(executable) == 0) return invalid_value;
            model().release_handle(executable);
            return 0;
        },
        executable);
}

Status cuGraphDestroy(Word graph) {
    return driver_call(
        517, "cuGraphDestroy", nullptr,
        [&] {
            const auto found = model().graphs.find(graph);
            if (found == model().graphs.end()) return invalid_value;
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

// -- questions
// ----------------------------------------------------------------------------------------------------------

Status cuGraphGetNodes(Word graph, Word* nodes, std::size_t* count) {
    const std::lock_guard guard(model().lock);
    const auto found = model().graphs.find(graph);
    if (found == model().graphs.end()) return invalid_value;
    const std::vector<Word>& all = found->second.nodes;
    if (nodes != nullptr) std::copy_n(all.begin(), std::min(*count, all.size()), nodes);
    *count = all.size();
    return 0;
}

Status cuGraphGetEdges_v2(Word graph, Word* from, Word* to, void*, std::size_t* count) {
    const std::lock_guard guard(model().lock);
    const auto found = model().graphs.find(graph);
    if (found == model().graphs.end()) return invalid_value;
    std::size_t at = 0;
    for (const Word node : found->second.nodes) {
        for (const Word before : model().nodes[node].before) {
            if (from != nullptr && to != nullptr && at < *count) {
                from[at] = before;
                to[at] = node;
            }
            ++at;
        }
    }
    *count = at;
    return 0;
}

Status cuGraphGetEdges(Word graph, Word* from, Word* to, std::size_t* count) {
    return cuGraphGetEdges_v2(graph, from, to, nullptr, count);
}

Status cuGraphNodeGetType(Word node, abi::NodeType* type) {
    const std::lock_guard guard(model().lock);
    const auto found = model().nodes.find(node);
    if (found == model().nodes.end()) return invalid_value;
    *type = found->second.type;
    return 0;
}

Status cuGraphKernelNodeGetParams_v2(Word node, abi::KernelNode* parameters) {
    const std::lock_guard guard(model().lock);
    Node& of = model().nodes[node];
    of.argument_pointers.clear();
    for (auto& argument : of.arguments) of.argument_pointers.push_back(argument.data());
    *parameters = {};
    parameters->function = parameters->kernel = reinterpret_cast<Word>(of.kernel);
    std::copy(of.grid, of.grid + 3, parameters->grid);
    std::copy(of.block, of.block + 3, parameters->block);
    parameters->arguments = of.argument_pointers.data();
    return 0;
}

Status cuGraphMemcpyNodeGetParams(Word node, abi::Copy3D* copy) {
    const std::lock_guard guard(model().lock);
    const Node& of = model().nodes[node];
    *copy = {};
    copy->source.type = copy->destination.type = abi::MemoryType::unified;
    copy->source.device = of.source;
    copy->destination.device = of.destination;
    copy->source.pitch = copy->destination.pitch = copy->width = of.bytes;
    copy->height = copy->depth = copy->source.height = copy->destination.height = 1;
    return 0;
}

Status cuGraphMemsetNodeGetParams(Word node, abi::MemsetNode* fill) {
    const std::lock_guard guard(model().lock);
    const Node& of = model().nodes[node];
    *fill = {};
    fill->destination = of.destination;
    fill->value = of.value;
    fill->element_size = 1;
    fill->width = of.bytes;
    fill->height = 1;
    return 0;
}

Status cuGraphHostNodeGetParams(Word node, abi::HostNode* host) {
    const std::lock_guard guard(model().lock);
    *host = {model().nodes[node].function, model().nodes[node].user};
    return 0;
}

Status cuGraphMemAllocNodeGetParams(Word node, abi::MemoryAllocNode* alloc) {
    const std::lock_guard guard(model().lock);
    *alloc = {};
    alloc->bytes = model().nodes[node].bytes;
    alloc->address = model().nodes[node].destination;
    return 0;
}

Status cuGraphMemFreeNodeGetParams(Word node, Word* address) {
    const std::lock_guard guard(model().lock);
    *address = model().nodes[node].destination;
    return 0;
}

}  // extern "C"
