// Commands of out-of-order queues, and empty commands: markers and barriers.
#include "engine.hpp"

namespace streamsan::order {

std::uint32_t Engine::choose_branch(Stream& queue, const Thread& thread, const Event* awaited) {
    OutOfOrderQueue& own = queues_[queue.out_of_order];
    const Clock& host = timelines_[thread.timeline].clock;
    // That a branch is known to its end means that the command is after all of it anyway.
    const auto fits = [&](std::uint32_t index) {
        const Stream& branch = *streams_[index];
        if (branch.reserved) return false;
        const Timeline& line = timelines_[branch.timeline];
        const Epoch end{line.slot, line.tick};
        if (host.knows(end, contract) || own.barrier.knows(end, contract)) return true;
        return awaited != nullptr && awaited->recorded &&
               ((awaited->at.slot == end.slot && awaited->at.tick == end.tick) || awaited->clock.knows(end, contract));
    };
    if (awaited != nullptr && awaited->recorded && awaited->source != none) {
        const Stream& source = *streams_[awaited->source];
        if (source.alive && source.branch_of == queue.out_of_order && fits(source.index)) return source.index;
    }
    if (own.latest != none && fits(own.latest)) return own.latest;
    constexpr std::size_t tries = 8;
    const std::size_t count = own.branches.size();
    for (std::size_t i = 0; i < std::min(tries, count); ++i) {
        const std::uint32_t index = own.branches[own.next];
        own.next = own.next + 1 == count ? 0 : own.next + 1;
        if (fits(index)) return index;
    }
    if (count < OutOfOrderQueue::most_branches) {
        const std::uint32_t index = new_stream(*processes_[thread.process], queue.context, queue.handle,
                                               StreamKind::OUT_OF_ORDER, queue.assumed, thread, queue.made);
        streams_[index]->branch_of = queue.out_of_order;
        queues_[queue.out_of_order].branches.push_back(index);
        return index;
    }
    crowded_ = true;
    for (std::size_t i = 0; i < count; ++i) {
        const std::uint32_t index = own.branches[own.next];
        own.next = own.next + 1 == count ? 0 : own.next + 1;
        if (!streams_[index]->reserved) return index;
    }
    return own.branches.front();
}

Stream& Engine::open_branch(Stream& queue, Thread& thread, const Event* awaited) {
    if (thread.branch_open) {
        if (thread.branch_of == queue.out_of_order) return *streams_[thread.branch];
        streams_[thread.branch]->reserved = false;  // its command never came
    }
    const std::uint32_t index = choose_branch(queue, thread, awaited);
    OutOfOrderQueue& own = queues_[queue.out_of_order];
    Stream& branch = *streams_[index];
    branch.reserved = true;
    thread.branch = index;
    thread.branch_of = queue.out_of_order;
    thread.branch_open = true;
    if (branch.barriers != own.barriers) {
        branch.barriers = own.barriers;
        timeline(branch).learn(own.barrier, edges_.in(EdgeKind::barrier_to_command, contract_edge));
    }
    return branch;
}

Stream& Engine::take_branch(Stream& queue, Thread& thread) {
    Stream& branch = open_branch(queue, thread, nullptr);
    branch.reserved = false;
    thread.branch_open = false;
    OutOfOrderQueue& own = queues_[queue.out_of_order];
    own.latest = branch.index;
    if (!branch.is_news) {
        branch.is_news = true;
        own.news.push_back(branch.index);
    }
    return branch;
}

Stream& Engine::latest_branch(Stream& queue, const Thread& thread) {
    if (thread.branch_of == queue.out_of_order && !thread.branch_open) return *streams_[thread.branch];
    gather(queue);
    return queue;
}

void Engine::gather(Stream& queue) {
    OutOfOrderQueue& own = queues_[queue.out_of_order];
    std::size_t kept = 0;
    for (const std::uint32_t index : own.news) {
        Stream& branch = *streams_[index];
        learn_all(branch, timeline(queue), EdgeKind::command_to_queue, contract_edge);
        // A body may still publish what it did.
        if (branch.bodies.empty()) branch.is_news = false;
        else own.news[kept++] = index;
    }
    own.news.resize(kept);
}

Stream* Engine::branch_for(const Slot& slot, Stream& queue, Thread& thread, const Process& process) {
    using enum OperationKind;
    switch (static_cast<OperationKind>(slot.kind)) {
        case STREAM_SYNCHRONIZE:
        case STREAM_QUERY: return &queue;
        case STREAM_WAIT_EVENT: return &open_branch(queue, thread, events_.live(process, slot.object));
        case EVENT_RECORD:
        case ALLOC: return &latest_branch(queue, thread);
        case FREE:
            // An unmap's end of the pointer stands between its wait list and its command.
            if (slot.detail == static_cast<std::uint8_t>(FreeClass::CL_UNMAP))
                return &open_branch(queue, thread, nullptr);
            return &latest_branch(queue, thread);
        default: return &take_branch(queue, thread);
    }
}

void Engine::end_queue(Stream& queue, const Operation& operation) {
    gather(queue);
    OutOfOrderQueue& own = queues_[queue.out_of_order];
    for (const std::uint32_t index : own.branches) {
        end_stream(index, operation);
        spare_streams_.push_back(index);
    }
    own = {};
}

void Engine::queue_marker(const Slot& slot, Thread& thread, Process& process, Operation& operation) {
    Stream* const named = stream_of(slot.stream, thread, process, operation);
    if (named == nullptr) return;
    operation.stream_name = named->name;
    const auto kind = static_cast<MarkerKind>(slot.detail);
    const bool queued = named->out_of_order != none;
    const bool all = kind == MarkerKind::ALL_BEFORE || kind == MarkerKind::BARRIER_ALL;
    Stream& stream = queued ? take_branch(*named, thread) : *named;
    enter(stream, thread, slot.thread);
    Timeline& own = timeline(stream);
    if (queued && all) {
        gather(*named);
        own.learn(timeline(*named), edges_.in(EdgeKind::queue_to_marker, contract_edge));
    }
    own.released = true;
    own.advance();
    if (queued && (kind == MarkerKind::BARRIER_ALL || kind == MarkerKind::BARRIER_WAIT_LIST)) {
        OutOfOrderQueue& queue = queues_[named->out_of_order];
        queue.barrier.assign(own.clock);
        stream.barriers = ++queue.barriers;
        own.released = true;
    }
    leave(stream);
}

}  // namespace streamsan::order
