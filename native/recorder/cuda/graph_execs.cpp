#include "recorder/cuda/graph_execs.hpp"

#include <algorithm>
#include <utility>

#include "recorder/cuda/abi_graphs.hpp"

namespace streamsan::recorder::cuda {
namespace {

bool same_shape(const Body& one, const Body& other) {
    if (!one.known || !other.known || one.nodes.size() != other.nodes.size()) return false;
    return std::equal(
        one.nodes.begin(), one.nodes.end(), other.nodes.begin(), [](const BodyNode& left, const BodyNode& right) {
            return left.kind == right.kind && left.inner == right.inner && (left.handle == 0) == (right.handle == 0);
        });
}

GraphExecs*& the_execs() {
    static GraphExecs* execs = new GraphExecs;
    return execs;
}

}  // namespace

const GraphExecs::Exec* GraphExecs::find(abi::Word exec) const {
    const auto found = execs_.find(exec);
    return found == execs_.end() ? nullptr : &found->second;
}

BodyNode GraphExecs::now(const Exec& exec, std::uint32_t number) {
    BodyNode node = exec.body->nodes[number - 1];
    if (const auto changed = exec.changed.find(number); changed != exec.changed.end()) {
        const NodeContent& content = changed->second.content;
        node.kind = content.kind;
        node.object = content.object;
        node.shape = content.shape;
        node.kernel = content.kernel;
        node.dimensions = content.dimensions;
        node.origin = changed->second.origin;
        node.references = static_cast<std::uint32_t>(content.references.size());
    }
    if (const auto enabled = exec.enabled.find(number); enabled != exec.enabled.end()) node.enabled = enabled->second;
    return node;
}

void GraphExecs::made(abi::Word exec, const Slot& header, std::shared_ptr<const Body> body) {
    const std::lock_guard lock(mutex_);
    ++versions_;
    execs_.insert_or_assign(exec, Exec{header, std::move(body), {}, {}, {}, versions_, versions_});
}

void GraphExecs::destroyed(abi::Word exec) {
    const std::lock_guard lock(mutex_);
    execs_.erase(exec);
}

std::shared_ptr<const Body> GraphExecs::updated(abi::Word exec, Body body) {
    const std::lock_guard lock(mutex_);
    const auto found = execs_.find(exec);
    if (found == execs_.end()) return std::make_shared<const Body>(std::move(body));
    Exec& known = found->second;
    if (same_shape(*known.body, body)) {
        for (std::size_t index = 0; index < body.nodes.size(); ++index) {
            body.nodes[index].handle = known.body->nodes[index].handle;
        }
        for (const auto& [number, enabled] : known.enabled) body.nodes[number - 1].enabled = enabled;
    } else {
        for (BodyNode& node : body.nodes) node.handle = 0;
        known.enabled.clear();
    }
    known.version = ++versions_;
    known.numbers.clear();
    known.changed.clear();
    known.header.size = body.size_in_trace();
    known.body = std::make_shared<const Body>(std::move(body));
    return known.body;
}

std::uint32_t GraphExecs::number_of(abi::Word exec, abi::Word node) {
    const std::lock_guard lock(mutex_);
    const auto found = execs_.find(exec);
    if (found == execs_.end() || node == 0) return 0;
    Exec& known = found->second;
    if (known.numbers.empty()) {
        known.numbers.reserve(known.body->nodes.size());
        for (std::uint32_t index = 0; index < known.body->nodes.size(); ++index) {
            if (known.body->nodes[index].handle != 0) known.numbers.emplace(known.body->nodes[index].handle, index + 1);
        }
    }
    const auto number = known.numbers.find(node);
    return number == known.numbers.end() ? 0 : number->second;
}

std::optional<BodyNode> GraphExecs::node(abi::Word exec, std::uint32_t number) const {
    const std::lock_guard lock(mutex_);
    const Exec* const known = find(exec);
    if (known == nullptr || number == 0 || number > known->body->nodes.size()) return std::nullopt;
    return now(*known, number);
}

std::vector<Reference> GraphExecs::references_of(abi::Word exec, std::uint32_t number) const {
    const std::lock_guard lock(mutex_);
    const Exec* const known = find(exec);
    if (known == nullptr || number == 0 || number > known->body->nodes.size()) return {};
    if (const auto changed = known->changed.find(number); changed != known->changed.end())
        return changed->second.content.references;
    const BodyNode& node = known->body->nodes[number - 1];
    const Reference* const first = known->body->references_of(node);
    return {first, first + node.references};
}

void GraphExecs::set_node(abi::Word exec, std::uint32_t number, const NodeContent& content, NodeOrigin origin) {
    const std::lock_guard lock(mutex_);
    const auto found = execs_.find(exec);
    if (found == execs_.end() || number == 0 || number > found->second.body->nodes.size()) return;
    found->second.changed.insert_or_assign(number, Changed{content, origin});
    found->second.version = ++versions_;
}

void GraphExecs::set_enabled(abi::Word exec, std::uint32_t number, bool enabled) {
    const std::lock_guard lock(mutex_);
    const auto found = execs_.find(exec);
    if (found == execs_.end() || number == 0 || number > found->second.body->nodes.size()) return;
    found->second.enabled.insert_or_assign(number, enabled);
    found->second.version = ++versions_;
}

GraphState GraphExecs::state_of(abi::Word exec) const {
    const std::lock_guard lock(mutex_);
    const Exec* const known = find(exec);
    if (known == nullptr || !known->body->known) return {};
    return {known->made, known->version, known->body->nodes.size(),
            (known->header.detail & abi::instantiate_for_device) != 0};
}

std::vector<GraphKernel> GraphExecs::kernels_of(abi::Word exec, std::uint64_t version) const {
    const std::lock_guard lock(mutex_);
    const Exec* const known = find(exec);
    if (known == nullptr || known->version != version) return {};
    std::vector<GraphKernel> kernels;
    for (std::uint32_t number = 1; number <= known->body->nodes.size(); ++number) {
        const BodyNode node = now(*known, number);
        if (node.kind == NodeKind::KERNEL && node.enabled) kernels.push_back({number, node.kernel, node.dimensions});
    }
    return kernels;
}

std::vector<std::pair<Slot, Body>> GraphExecs::all() const {
    const std::lock_guard lock(mutex_);
    std::vector<std::pair<Slot, Body>> found;
    found.reserve(execs_.size());
    for (const auto& [handle, exec] : execs_) {
        Body body = *exec.body;
        const bool as_read = exec.changed.empty() && exec.enabled.empty();
        for (std::uint32_t number = 1; number <= body.nodes.size() && !as_read; ++number) {
            BodyNode node = now(exec, number);
            if (const auto changed = exec.changed.find(number); changed != exec.changed.end()) {
                node.first_reference = static_cast<std::uint32_t>(body.references.size());
                const std::vector<Reference>& references = changed->second.content.references;
                body.references.insert(body.references.end(), references.begin(), references.end());
            }
            body.nodes[number - 1] = node;
        }
        found.emplace_back(exec.header, std::move(body));
    }
    std::sort(found.begin(), found.end(),
              [](const auto& left, const auto& right) { return left.first.sequence < right.first.sequence; });
    return found;
}

GraphExecs& graph_execs() { return *the_execs(); }

void forget_graph_execs() { the_execs() = new GraphExecs; }

}  // namespace streamsan::recorder::cuda
