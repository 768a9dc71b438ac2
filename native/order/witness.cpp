// What happens before chosen operations.
#include "witness.hpp"

#include <algorithm>

#include "engine.hpp"

namespace streamsan::order {
namespace {

/// Points that are kept; then the older half is forgotten.
constexpr std::size_t most_points = std::size_t{1} << 20;

}  // namespace

void Watch::ask(const std::vector<std::uint64_t>& sequences, const std::vector<std::uint64_t>& early) {
    active_ = !sequences.empty();
    early_.clear();
    for (const std::uint64_t sequence : early) early_.set(sequence, 0);
    asked_.clear();
    answers_.clear();
    points_.clear();
    for (const std::uint64_t sequence : sequences) {
        if (asked_.number(sequence, answers_.size()) == answers_.size()) answers_.emplace_back();
    }
}

void Watch::note(const WatchPoint& point) {
    if (points_.size() >= most_points) {
        points_.erase(points_.begin(), points_.begin() + static_cast<std::ptrdiff_t>(most_points / 2));
        forgotten_ += most_points / 2;
    }
    in_order_ = in_order_ && (points_.empty() || points_.back().sequence < point.sequence);
    points_.push_back(point);
}

void Watch::note_asked(const WatchPoint& point, const Clock& known) {
    Asked& answer = answers_[asked_.find(point.sequence)];
    answer.seen = true;
    answer.point = point;
    answer.place = forgotten_ + points_.size();
    answer.known.clear();
    for (std::uint32_t slot = 0; slot < known.slots(); ++slot) answer.known.push_back(known.at(slot)[visible]);
}

void Watch::note_node(std::uint64_t sequence, std::vector<std::uint64_t> before) {
    Asked& answer = answers_[asked_.find(sequence)];
    if (answer.node) return;  // other nodes were updated since: who is before whom stays as it is
    answer.seen = answer.node = true;
    answer.nodes = std::move(before);
}

Watch::Before Watch::before(std::uint64_t sequence) const {
    const std::uint32_t index = asked_.find(sequence);
    Before result;
    if (index == none || !answers_[index].seen) return result;
    const Asked& asked = answers_[index];
    result.seen = true;
    result.works = asked.nodes;
    if (asked.node) return result;
    // Whoever knows a point of a host thread, or what one of its calls started, knows that all calls up to there were
    // made.
    std::vector<std::uint64_t> reached;  // by thread
    const auto reach = [&](const WatchPoint& point) {
        if (point.thread >= reached.size()) reached.resize(point.thread + 1U);
        reached[point.thread] = std::max(reached[point.thread], point.sequence);
    };
    reach(asked.point);
    // A command that waited for a user event comes behind what has greater numbers.
    const std::size_t count =
        asked.place < forgotten_ ? 0 : std::min<std::size_t>(asked.place - forgotten_, points_.size());
    for (std::size_t i = 0; i < count; ++i) {
        const WatchPoint& point = points_[i];
        if (point.sequence == sequence) continue;
        const bool work = knows(asked, point.work);
        if (work) result.works.push_back(point.sequence);
        if (work || knows(asked, point.call)) reach(point);
    }
    for (const WatchPoint& point : points_) {
        const bool called = point.thread < reached.size() && point.sequence <= reached[point.thread];
        if (called && point.sequence != sequence) result.calls.push_back(point.sequence);
    }
    std::sort(result.calls.begin(), result.calls.end());
    std::sort(result.works.begin(), result.works.end());
    return result;
}

bool Watch::is_before(std::uint64_t earlier, std::uint64_t asked) const {
    if (!has_seen(asked) || earlier == asked) return false;
    const Asked& answer = answers_[asked_.find(asked)];
    if (answer.node) return std::find(answer.nodes.begin(), answer.nodes.end(), earlier) != answer.nodes.end();
    const auto less = [](const WatchPoint& point, std::uint64_t sequence) { return point.sequence < sequence; };
    const auto same = [earlier](const WatchPoint& point) { return point.sequence == earlier; };
    const auto at = in_order_ ? std::lower_bound(points_.begin(), points_.end(), earlier, less)
                              : std::find_if(points_.begin(), points_.end(), same);
    if (at == points_.end() || at->sequence != earlier) return false;
    const std::size_t place = forgotten_ + static_cast<std::size_t>(at - points_.begin());
    return place < answer.place && knows(answer, at->work);
}

void Engine::note_watched(const Slot& slot, const Thread& thread) {
    using enum OperationKind;
    const auto kind = static_cast<OperationKind>(slot.kind);
    if (kind == GRAPH_NODE || kind == GRAPH_EDGE || thread.timeline == none) return;
    const Process& process = *processes_[thread.process];
    const Timeline& host = timelines_[thread.timeline];
    WatchPoint point;
    point.sequence = slot.sequence;
    point.thread = slot.thread;
    // A call of CUDA is where the thread's next operation will be: see Engine::admit_call. Any other is at the latest
    // one, if nobody has looked at that yet; but what a release hands on is behind it.
    const bool after = host.released && kind != HOST_RELEASE && host.tick < last_tick;
    const bool call = thread.last_call.sequence == slot.sequence;
    point.call = {host.slot, call ? thread.call_tick : after ? host.tick + 1 : host.tick};
    const std::uint32_t index =
        failed(slot.status) || !runs_on_stream.has(kind) ? none : stream_at(slot, thread, process);
    const Timeline& own = index == none ? host : timelines_[streams_[index]->timeline];
    if (index != none) point.work = {own.slot, own.tick};
    const Clock* known = &own.clock;
    const bool at_once = kind == LAUNCH && index != none && streams_[index]->last_kernel == LastKernel::at_once;
    if (at_once && watch_.asks_early(slot.sequence)) known = &timelines_[streams_[index]->early].clock;
    watch_.note(point);
    if (watch_.asks(slot.sequence)) watch_.note_asked(point, *known);
}

std::uint32_t Engine::stream_at(const Slot& slot, const Thread& thread, const Process& process) const {
    if (slot.stream == 0) return none;
    if (slot.stream > per_thread_handle) {
        const std::uint32_t index = process.streams.find(slot.stream);
        const bool branched =
            index != none && streams_[index]->out_of_order != none && thread.branch_of == streams_[index]->out_of_order;
        return branched ? thread.branch : index;
    }
    if (thread.context == none) return none;
    if (slot.stream == legacy_handle) return contexts_[thread.context].legacy;
    const std::uint64_t owner = recording_ ? slot.thread % most_recorded_threads : slot.thread;
    return process.per_thread_streams.find(std::uint64_t{thread.context} << 16 | owner);
}

void Engine::note_watched_nodes(const GraphBody& body) {
    for (std::size_t node = 0; node < body.nodes.size(); ++node) {
        const std::uint64_t sequence = body.nodes[node].operation.sequence;
        if (!watch_.asks(sequence)) continue;
        std::vector<bool> is_before(body.nodes.size());
        is_before[node] = true;
        // Edges lead to higher numbers and are sorted by where they come from: one way back through them finds all.
        for (auto edge = body.edges.rbegin(); edge != body.edges.rend(); ++edge) {
            if (is_before[edge->second]) is_before[edge->first] = true;
        }
        std::vector<std::uint64_t> before;
        for (std::size_t each = 0; each < node; ++each) {
            if (is_before[each]) before.push_back(body.nodes[each].operation.sequence);
        }
        watch_.note_node(sequence, std::move(before));
    }
}

}  // namespace streamsan::order
