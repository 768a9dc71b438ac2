#include "model.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <sys/mman.h>
#include <thread>
#include <unistd.h>

namespace fake {

Model& model() {
    static Model* one = new Model;  // outlives static destructors, which may call the API
    return *one;
}

Word Model::new_handle() {
    if (free_handles_.empty()) return next_handle_ += 0x80;
    const Word handle = free_handles_.back();
    free_handles_.pop_back();
    return handle;
}

Word Model::allocate(std::size_t size, Kind kind, Word context) {
    const std::size_t room = (size + 511) / 512 * 512;
    Word address = 0;
    Word view = 0;
    if (kind == Kind::pinned || kind == Kind::managed) {
        // Two mappings of the same pages: the host may protect its own, and the device goes on.
        const std::size_t whole = (size + 4095) / 4096 * 4096;
        const int file = memfd_create("fake pinned memory", MFD_CLOEXEC);
        if (file < 0 || ftruncate(file, static_cast<off_t>(whole)) != 0) return 0;
        void* const of_host = mmap(nullptr, whole, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        void* const of_device = mmap(nullptr, whole, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        close(file);
        if (of_host == MAP_FAILED || of_device == MAP_FAILED) return 0;
        address = reinterpret_cast<Word>(of_host);
        view = reinterpret_cast<Word>(of_device);
    } else if (auto& free = free_blocks_[room]; !free.empty()) {
        address = free.back();
        free.pop_back();
    } else {
        if (end_ - next_block_ < room) {
            const std::size_t reserve = std::max<std::size_t>(std::size_t{1} << 30, room);
            void* range =
                mmap(nullptr, reserve, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
            if (range == MAP_FAILED) return 0;
            next_block_ = (reinterpret_cast<Word>(range) + 511) / 512 * 512;
            end_ = reinterpret_cast<Word>(range) + reserve;
        }
        address = next_block_;
        next_block_ += room;
    }
    if (address != 0) memory[address] = {size, kind, context, kind != Kind::graph, view};
    return address;
}

Status Model::release(Word address, std::initializer_list<Kind> kinds) {
    const auto found = memory.find(address);
    if (found == memory.end() || !found->second.alive) return invalid_value;
    const Kind kind = found->second.kind;
    if (std::find(kinds.begin(), kinds.end(), kind) == kinds.end()) return invalid_value;
    if (kind == Kind::graph) {
        found->second.alive = false;  // its address is the graph's for good
        return 0;
    }
    if (kind == Kind::pinned || kind == Kind::managed) {
        munmap(reinterpret_cast<void*>(address), (found->second.size + 4095) / 4096 * 4096);
        munmap(reinterpret_cast<void*>(found->second.device_view), (found->second.size + 4095) / 4096 * 4096);
    } else if (kind != Kind::registered) {
        free_blocks_[(found->second.size + 511) / 512 * 512].push_back(address);
    }
    memory.erase(found);
    return 0;
}

Word Model::device_view(Word address) const {
    auto after = memory.upper_bound(address);
    if (after == memory.begin()) return address;
    const auto& [base, block] = *--after;
    return block.device_view != 0 && address - base < block.size ? block.device_view + (address - base) : address;
}

bool Model::is_of_graph(Word address) const {
    const auto found = memory.find(address);
    return found != memory.end() && found->second.kind == Kind::graph;
}

Stream* Model::stream(Word handle) {
    if (handle > 2) {
        const auto found = streams.find(handle);
        return found != streams.end() ? &found->second : nullptr;
    }
    static std::map<Word, Stream> defaults;
    return &defaults[handle == 0 ? abi::legacy_stream : handle];
}

Word Model::held_before(Word handle) {
    const Stream* const own = stream(handle);
    if (own == nullptr) return 0;
    if (own->held) return handle == 0 ? abi::legacy_stream : handle;
    if (own->flags != 0) return 0;
    if (handle > abi::legacy_stream) return stream(abi::legacy_stream)->held ? abi::legacy_stream : 0;
    for (const auto& [other, each] : streams) {
        if (each.held && each.flags == 0) return other;
    }
    return 0;
}

Node node_of(abi::NodeType type) {
    Node node;
    node.given.type = static_cast<std::int32_t>(type);
    return node;
}

Node kernel_node(const Kernel* kernel, void** arguments) {
    Node node = node_of(abi::NodeType::kernel);
    node.kernel = kernel;
    for (std::size_t at = 0; at < kernel->count; ++at) {
        const auto* bytes = static_cast<const unsigned char*>(arguments[at]);
        node.arguments.emplace_back(bytes, bytes + kernel->sizes[at]);
    }
    return node;
}

Node host_node(void (*function)(void*), void* user) {
    Node node = node_of(abi::NodeType::host);
    node.given.host = {function, user};
    return node;
}

Node alloc_node(Word address, std::size_t bytes) {
    Node node = node_of(abi::NodeType::mem_alloc);
    node.given.alloc.address = address;
    node.given.alloc.bytes = bytes;
    return node;
}

Node free_node(Word address) {
    Node node = node_of(abi::NodeType::mem_free);
    node.given.free.address = address;
    return node;
}

void fire_graph(abi::Resource resource, const abi::GraphData& data) {
    const abi::ResourceData of{fake_current_context(), 0, &data};
    fire_resource(resource, &of);
}

Word Model::add(Word graph, Node node) {
    const Word made = new_handle();
    abi::GraphData data{};
    data.graph = graph;
    data.node = made;
    data.node_type = node.given.type;
    nodes[made] = std::move(node);
    graphs[graph].nodes.push_back(made);
    fire_graph(abi::Resource::graph_node_created, data);
    return made;
}

Status Model::capture(Stream& stream, Word handle, Node node) {
    Capture& capture = *stream.capture;
    if (capture.invalid) return capture_invalidated;
    node.before = capture.ends[handle];
    capture.ends[handle] = {add(capture.graph, std::move(node))};
    return 0;
}

void Model::leave(const std::shared_ptr<Capture>& capture) {
    for (auto& [handle, stream] : streams) {
        if (stream.capture == capture) stream.capture = nullptr;
    }
    for (auto& [handle, event] : events) {
        if (event.capture == capture) event = {};
    }
    captures.erase(capture);
}

void Model::tell(const Node& node) {
    if (node.correlation == 0 || fake_tool()->work == nullptr) return;
    const auto is_device = [this](Word address) {
        auto block = memory.upper_bound(address);
        if (block == memory.begin() || address >= (--block)->first + block->second.size) return false;
        return block->second.kind != Kind::pinned && block->second.kind != Kind::registered;
    };
    Work work{.kind = abi::Activity::concurrent_kernel, .correlation = node.correlation};
    if (node.is(abi::NodeType::memcpy)) {
        const abi::Copy3D& copy = node.given.copy.copy;
        const bool from_device = is_device(copy.source.device), to_device = is_device(copy.destination.device);
        work.kind = abi::Activity::memcpy;
        work.copy = from_device ? to_device ? abi::CopyKind::device_to_device : abi::CopyKind::device_to_host
                    : to_device ? abi::CopyKind::host_to_device
                                : abi::CopyKind::host_to_host;
    } else if (node.is(abi::NodeType::memset)) {
        work.kind = abi::Activity::memset;
    } else if (!node.is(abi::NodeType::kernel)) {
        return;
    }
    std::copy(std::begin(node.launch.grid), std::end(node.launch.grid), work.grid);
    std::copy(std::begin(node.launch.block), std::end(node.launch.block), work.block);
    work.shared_bytes = node.launch.shared_bytes;
    fake_tool()->work(work);
}

void Model::run(const Node& node) {
    tell(node);
    if (node.is(abi::NodeType::memcpy)) {
        const abi::Copy3D& copy = node.given.copy.copy;
        std::memmove(reinterpret_cast<void*>(device_view(copy.destination.device)),
                     reinterpret_cast<const void*>(device_view(copy.source.device)), copy.width);
    } else if (node.is(abi::NodeType::memset)) {
        const abi::MemsetNode& fill = node.given.memset;
        for (std::size_t row = 0; row < fill.height; ++row)
            std::memset(reinterpret_cast<void*>(device_view(fill.destination + row * fill.pitch)),
                        static_cast<int>(fill.value), fill.width);
    } else if (node.is(abi::NodeType::host)) {
        ++host_functions;
        std::thread(node.given.host.function, node.given.host.user_data).join();  // on a thread of the driver
    }
}

Status Model::unsafe_call() {
    Status status = 0;
    for (const auto& capture : captures) {
        if (capture->mode != 0) continue;
        capture->invalid = true;
        status = capture_unsupported;
    }
    return status;
}

}  // namespace fake
