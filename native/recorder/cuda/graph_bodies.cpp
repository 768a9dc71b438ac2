#include "recorder/cuda/graph_bodies.hpp"

#include <algorithm>
#include <functional>
#include <new>
#include <optional>
#include <queue>
#include <unordered_map>

#include "recorder/cuda/abi_graphs.hpp"
#include "recorder/cuda/graph_conditions.hpp"

namespace streamsan::recorder::cuda {
namespace {

using Edge = std::pair<std::uint32_t, std::uint32_t>;

// What a checker takes of one body.
constexpr std::size_t most_body_nodes = 1'000'000;
constexpr std::size_t most_edges = 8'000'000;
constexpr std::size_t most_body_references = 4'000'000;
/// Children in children: programs have a few; a cycle is impossible.
constexpr unsigned most_levels = 64;

/// The nodes of one graph and its edges, as positions among them.
struct Listed {
    std::vector<abi::Word> nodes;
    std::vector<Edge> edges;
};

bool list_nodes(const Driver& driver, abi::Word graph, std::vector<abi::Word>& nodes) {
    std::size_t count = 0;
    if (driver.cuGraphGetNodes == nullptr || driver.cuGraphGetNodes(graph, nullptr, &count) != abi::success)
        return false;
    if (count > most_body_nodes) return false;
    nodes.resize(count);
    if (count != 0 && driver.cuGraphGetNodes(graph, nodes.data(), &count) != abi::success) return false;
    nodes.resize(std::min(count, nodes.size()));
    return true;
}

/// An edge may be programmatic: the later kernel starts before the earlier one has ended. Such a kernel must wait for
/// the earlier one (griddepcontrol.wait) before it relies on it, and whatever comes after it is after both, so it is an
/// edge like any other; where in the kernel the wait is, nobody here sees. The first version of the call refuses graphs
/// with such edges.
bool list_edges(const Driver& driver, abi::Word graph, std::vector<abi::Word>& from, std::vector<abi::Word>& to) {
    std::size_t count = 0;
    const auto make_room = [&] {
        from.resize(count);
        to.resize(count);
    };
    if (const auto ask = driver.cuGraphGetEdges_v2; ask != nullptr) {
        if (ask(graph, nullptr, nullptr, nullptr, &count) != abi::success || count > most_edges) return false;
        make_room();
        std::vector<abi::EdgeData> data(count);
        if (count != 0 && ask(graph, from.data(), to.data(), data.data(), &count) != abi::success) return false;
    } else if (const auto ask_old = driver.cuGraphGetEdges; ask_old != nullptr) {
        if (ask_old(graph, nullptr, nullptr, &count) != abi::success || count > most_edges) return false;
        make_room();
        if (count != 0 && ask_old(graph, from.data(), to.data(), &count) != abi::success) return false;
    } else {
        return false;
    }
    count = std::min(count, from.size());
    from.resize(count);
    to.resize(count);
    return true;
}

bool list(const Driver& driver, abi::Word graph, Listed& listed) {
    std::vector<abi::Word> from, to;
    if (!list_nodes(driver, graph, listed.nodes) || !list_edges(driver, graph, from, to)) return false;
    std::unordered_map<abi::Word, std::uint32_t> positions;
    positions.reserve(listed.nodes.size());
    for (std::uint32_t position = 0; position < listed.nodes.size(); ++position) {
        positions.emplace(listed.nodes[position], position);
    }
    listed.edges.reserve(from.size());
    for (std::size_t edge = 0; edge < from.size(); ++edge) {
        const auto before = positions.find(from[edge]), after = positions.find(to[edge]);
        if (before == positions.end() || after == positions.end()) return false;
        listed.edges.emplace_back(before->second, after->second);
    }
    return true;
}

/// Lists of numbers, one for each position, in one array.
class Lists {
public:
    /// For each `second` the `first`s of these pairs.
    Lists(std::size_t positions, const std::vector<Edge>& edges, bool of_second)
        : starts_(positions + 1), values_(edges.size()) {
        for (const auto& [first, second] : edges) ++starts_[(of_second ? second : first) + std::size_t{1}];
        for (std::size_t position = 0; position < positions; ++position) starts_[position + 1] += starts_[position];
        std::vector<std::size_t> next(starts_.begin(), starts_.end() - 1);
        for (const auto& [first, second] : edges)
            values_[next[of_second ? second : first]++] = of_second ? first : second;
    }
    [[nodiscard]] std::pair<const std::uint32_t*, const std::uint32_t*> of(std::size_t position) const {
        return {values_.data() + starts_[position], values_.data() + starts_[position + 1]};
    }

private:
    std::vector<std::size_t> starts_;
    std::vector<std::uint32_t> values_;
};

/// Positions so that each node is after those it depends on, and else as the driver lists them. Empty: there is a
/// cycle.
std::vector<std::uint32_t> in_order(const Listed& listed, const Lists& before, const Lists& after) {
    std::vector<std::size_t> missing(listed.nodes.size());
    std::priority_queue<std::uint32_t, std::vector<std::uint32_t>, std::greater<>> ready;
    for (std::uint32_t position = 0; position < listed.nodes.size(); ++position) {
        const auto [begin, end] = before.of(position);
        missing[position] = static_cast<std::size_t>(end - begin);
        if (begin == end) ready.push(position);
    }
    std::vector<std::uint32_t> ordered;
    ordered.reserve(listed.nodes.size());
    while (!ready.empty()) {
        const std::uint32_t position = ready.top();
        ready.pop();
        ordered.push_back(position);
        const auto [begin, end] = after.of(position);
        for (const std::uint32_t* each = begin; each != end; ++each)
            if (--missing[*each] == 0) ready.push(*each);
    }
    if (ordered.size() != listed.nodes.size()) ordered.clear();
    return ordered;
}

class Reader {
public:
    Reader(const Driver& driver, Body& body) : driver_(driver), body_(body) {}

    /// Adds a graph's nodes after node `root` (0: none). `end` becomes the one node that is after all of them; 0: no
    /// nodes.
    bool add(abi::Word graph, std::uint32_t root, unsigned level, std::vector<std::uint32_t>& ends);
    /// Marks what a launch may leave out.
    void mark_conditional();

private:
    bool add_inner(abi::Word node, abi::NodeType type, std::uint32_t number, unsigned level, std::uint32_t& last);
    std::uint32_t add_node(abi::Word node, abi::NodeType type);
    [[nodiscard]] std::optional<std::size_t> surely_run(const Choice& choice) const;
    bool add_edge(std::uint32_t before, std::uint32_t after) {
        if (body_.edges.size() >= most_edges) return false;
        body_.edges.emplace_back(before, after);
        return true;
    }

    const Driver& driver_;
    Body& body_;
    NodeContent content_;
    std::vector<Choice> choices_;
};

std::uint32_t Reader::add_node(abi::Word node, abi::NodeType type) {
    content_.clear();
    read_node(driver_, node, type, content_);
    BodyNode made;
    made.handle = node;
    made.kind = content_.kind;
    made.object = content_.object;
    made.shape = content_.shape;
    made.kernel = content_.kernel;
    made.dimensions = content_.dimensions;
    made.origin = node_sites().origin(node);
    if (made.origin.uses != nullptr) {
        content_.references = *made.origin.uses;
        made.shape = 0;  // its arguments are not what it uses
    }
    made.first_reference = static_cast<std::uint32_t>(body_.references.size());
    made.references = static_cast<std::uint32_t>(content_.references.size());
    body_.references.insert(body_.references.end(), content_.references.begin(), content_.references.end());
    body_.nodes.push_back(made);
    return static_cast<std::uint32_t>(body_.nodes.size());
}

bool Reader::add(abi::Word graph, std::uint32_t root, unsigned level, std::vector<std::uint32_t>& ends) {
    Listed listed;
    if (level > most_levels || !list(driver_, graph, listed)) return false;
    const Lists before(listed.nodes.size(), listed.edges, true), after(listed.nodes.size(), listed.edges, false);
    const std::vector<std::uint32_t> ordered = in_order(listed, before, after);
    if (ordered.empty() && !listed.nodes.empty()) return false;
    std::vector<std::uint32_t> last(listed.nodes.size());
    for (const std::uint32_t position : ordered) {
        if (body_.nodes.size() >= most_body_nodes || body_.references.size() >= most_body_references) return false;
        const abi::Word node = listed.nodes[position];
        abi::NodeType type{};
        if (driver_.cuGraphNodeGetType == nullptr || driver_.cuGraphNodeGetType(node, &type) != abi::success)
            return false;
        const std::uint32_t number = add_node(node, type);
        const auto [begin, end] = before.of(position);
        for (const std::uint32_t* each = begin; each != end; ++each)
            if (!add_edge(last[*each], number)) return false;
        if (begin == end && root != 0 && !add_edge(root, number)) return false;
        last[position] = number;
        if (!add_inner(node, type, number, level, last[position])) return false;
        const auto [first, beyond] = after.of(position);
        if (first == beyond) ends.push_back(last[position]);
    }
    return true;
}

/// Adds what a node holds. `last` becomes the node that is after all of it: where several are last, one that only
/// orders is added, so that edges do not multiply.
bool Reader::add_inner(abi::Word node, abi::NodeType type, std::uint32_t number, unsigned level, std::uint32_t& last) {
    std::vector<abi::Word> graphs;
    Choice choice;
    if (type == abi::NodeType::graph) {
        abi::Word child = 0;
        if (driver_.cuGraphChildGraphNodeGetGraph == nullptr) return false;
        if (driver_.cuGraphChildGraphNodeGetGraph(node, &child) != abi::success || child == 0) return false;
        graphs.push_back(child);
    } else if (type == abi::NodeType::conditional) {
        choice.node = node_sites().conditional(node);
        graphs = choice.node.bodies;
        if (graphs.empty()) body_.nodes[number - 1].kind = NodeKind::OPAQUE;  // it was made before recording
    } else {
        return true;
    }
    const bool branches = type == abi::NodeType::conditional;
    std::vector<std::uint32_t> ends;
    for (const abi::Word graph : graphs) {
        const std::size_t first = body_.nodes.size();
        if (!add(graph, number, level + 1, ends)) return false;
        if (branches) choice.bodies.emplace_back(first, body_.nodes.size());
    }
    if (!choice.bodies.empty()) choices_.push_back(std::move(choice));
    if (branches && !ends.empty()) ends.push_back(number);  // perhaps none of its bodies runs
    if (ends.size() == 1) last = ends.front();
    if (ends.size() > 1) {
        if (body_.nodes.size() >= most_body_nodes) return false;
        BodyNode join;
        join.kind = NodeKind::EMPTY;
        join.origin = body_.nodes[number - 1].origin;
        join.first_reference = static_cast<std::uint32_t>(body_.references.size());
        body_.nodes.push_back(join);
        last = static_cast<std::uint32_t>(body_.nodes.size());
        for (const std::uint32_t each : ends)
            if (!add_edge(each, last)) return false;
    }
    body_.nodes[number - 1].inner = static_cast<std::uint32_t>(body_.nodes.size()) - number;
    return true;
}

std::optional<std::size_t> Reader::surely_run(const Choice& choice) const {
    const std::optional<std::uint32_t> initial = graph_conditions().initial(choice.node.condition);
    if (!initial) return std::nullopt;
    for (std::size_t at = 0; at < body_.nodes.size(); ++at) {
        if (at >= choice.bodies.front().first && at < choice.bodies.back().second) continue;  // too late for the first
        const BodyNode& node = body_.nodes[at];
        if (node.kind == NodeKind::OPAQUE) return std::nullopt;
        if (node.kind == NodeKind::KERNEL && may_set_condition(driver_, node.handle, choice.node.condition))
            return std::nullopt;
    }
    return chosen_body(choice, *initial);
}

void Reader::mark_conditional() {
    for (const Choice& choice : choices_) {
        const std::optional<std::size_t> surely = surely_run(choice);
        for (std::size_t number = 0; number < choice.bodies.size(); ++number) {
            if (surely && *surely == number) continue;
            const auto [first, last] = choice.bodies[number];
            for (std::size_t at = first; at < last; ++at) body_.nodes[at].conditional = true;
        }
    }
}

}  // namespace

void renew_shapes(const Driver& driver, Body& body) {
    NodeContent content;
    for (BodyNode& node : body.nodes) {
        if (node.kind != NodeKind::KERNEL || node.handle == 0 || node.origin.uses != nullptr) continue;
        content.clear();
        if (!read_node(driver, node.handle, abi::NodeType::kernel, content)) continue;
        node.shape = content.shape;
        node.kernel = content.kernel;
    }
}

bool has_memory_nodes(const Driver& driver, abi::Word graph) {
    const Body body = read_body(driver, graph);
    return std::any_of(body.nodes.begin(), body.nodes.end(), [](const BodyNode& node) {
        return node.kind == NodeKind::ALLOC || node.kind == NodeKind::FREE;
    });
}

Body read_body(const Driver& driver, abi::Word graph) {
    try {
        Body body;
        std::vector<std::uint32_t> ends;
        Reader reader(driver, body);
        if (reader.add(graph, 0, 0, ends)) {
            reader.mark_conditional();
            return body;
        }
    } catch (const std::bad_alloc&) {
        // The program's memory is tight: it is told like any other body that cannot be read.
    }
    Body unknown;
    unknown.known = false;
    unknown.nodes.emplace_back();
    return unknown;
}

}  // namespace streamsan::recorder::cuda
