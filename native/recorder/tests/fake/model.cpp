#include "model.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <sys/mman.h>

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
    if (kind == Kind::pinned) {
        address = reinterpret_cast<Word>(std::aligned_alloc(4096, (size + 4095) / 4096 * 4096));
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
    if (address != 0) memory[address] = {size, kind, context};
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
    if (kind == Kind::pinned) {
        std::free(reinterpret_cast<void*>(address));
    } else if (kind != Kind::registered) {
        free_blocks_[(found->second.size + 511) / 512 * 512].push_back(address);
    }
    memory.erase(found);
    return 0;
}

Stream* Model::stream(Word handle) {
    if (handle > 2) {
        const auto found = streams.find(handle);
        return found != streams.end() ? &found->second : nullptr;
    }
    static std::map<Word, Stream> defaults;
    return &defaults[handle == 0 ? abi::legacy_stream : handle];
}

Word Model::capture(Stream& stream, Word handle, Node node) {
    Capture& capture = *stream.capture;
    node.before = capture.ends[handle];
    const Word name = new_handle();
    const abi::NodeType type = node.type;
    nodes[name] = std::move(node);
    graphs[capture.graph].nodes.push_back(name);
    capture.ends[handle] = {name};
    abi::GraphData data{};
    data.graph = capture.graph;
    data.node = name;
    data.node_type = static_cast<std::int32_t>(type);
    const abi::ResourceData resource{fake_current_context(), 0, &data};
    fire_resource(abi::Resource::graph_node_created, &resource);
    return name;
}

void Model::run(const Node& node) {
    if (node.type == abi::NodeType::memcpy) {
        std::memmove(reinterpret_cast<void*>(node.destination), reinterpret_cast<const void*>(node.source), node.bytes);
    } else if (node.type == abi::NodeType::memset) {
        std::memset(reinterpret_cast<void*>(node.destination), static_cast<int>(node.value), node.bytes);
    } else if (node.type == abi::NodeType::host) {
        node.function(node.user);
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
