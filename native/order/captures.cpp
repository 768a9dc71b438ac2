// Captures, and calls about graphs that are refused.
#include <algorithm>

#include "engine.hpp"

namespace streamsan::order {
namespace {

FactVariant variant_of(const Operation& operation) {
    switch (operation.status) {
        case status::capture_implicit: return FactVariant::CAPTURE_LEGACY;
        case status::captured_event: return FactVariant::CAPTURE_WAIT;
        case status::capture_unsupported: break;
        default: return FactVariant::CAPTURE_STRUCTURE;
    }
    return waits_of_host.has(operation.kind) ? FactVariant::CAPTURE_WAIT : FactVariant::CAPTURE_UNSAFE;
}

}  // namespace

void Engine::capture_begin(const Slot& slot, Thread& thread, Process& process, Operation& operation) {
    process.allocations.keep_previous();
    if (place(slot, thread, process, operation) == nullptr) return;
    constexpr std::size_t most_captures = 256;
    capture_end(slot, process);  // whose end was not seen
    if (process.captures.size() >= most_captures) process.captures.erase(process.captures.begin());
    process.captures.push_back({slot.object, slot.stream, false, operation});
}

void Engine::capture_end(const Slot& slot, Process& process) {
    std::erase_if(process.captures,
                  [&](const Capture& each) { return each.id == slot.object || each.stream == slot.stream; });
}

bool Engine::judge_refusal(const Slot& slot, Process& process, Operation& operation) {
    if (status::of_capture(slot.status)) {
        judge_capture(slot, process, operation);
        return true;
    }
    if (slot.status != status::not_supported) return false;
    switch (operation.kind) {
        case OperationKind::GRAPH_INSTANTIATE:
            graphs_.report_restriction(process, FactVariant::SECOND_EXEC, slot.address, operation);
            return true;
        case OperationKind::GRAPH_CLONE:
            graphs_.report_restriction(process, FactVariant::CLONED, slot.address, operation);
            return true;
        case OperationKind::HANDLE_USE:
            if (slot.detail != static_cast<std::uint8_t>(HandleKind::GRAPH)) return false;
            graphs_.report_restriction(process, FactVariant::AS_CHILD, slot.object, operation);
            return true;
        default: return false;
    }
}

void Engine::judge_capture(const Slot& slot, Process& process, Operation& operation) {
    // Of several captures, the one whose stream the call names, else one of its own thread, else the latest.
    Capture* found = nullptr;
    int best = -1;
    const bool ends = operation.kind == OperationKind::CAPTURE_END;
    for (Capture& each : process.captures) {
        const int fit = ends && each.id == slot.object && slot.object != 0 ? 3
                        : slot.stream != 0 && each.stream == slot.stream   ? 2
                        : each.begin.thread == operation.thread            ? 1
                                                                           : 0;
        if (fit < best) continue;
        best = fit;
        found = &each;
    }
    const bool silent = operation.status == status::capture_invalidated || (found != nullptr && found->broken);
    if (found != nullptr) found->broken = true;
    if (!silent) {
        if (const std::uint32_t stream = slot.stream <= per_thread_handle ? none : process.streams.find(slot.stream);
            stream != none) {
            operation.stream_name = streams_[stream]->name;
        }
        Fact fact(RuleCode::ILLEGAL_DURING_CAPTURE, variant_of(operation), operation);
        if (found != nullptr) fact.with(RelatedRole::CREATE, found->begin);
        fact.assumed = operation.assumed();
        report(fact);
    }
    if (ends) capture_end(slot, process);
}

bool Engine::admit_graph_free(const Slot& slot, Thread& thread, Process& process, Operation& operation,
                              std::uint32_t index) {
    Stream* stream = nullptr;
    if (slot.detail == static_cast<std::uint8_t>(FreeClass::ASYNC) && !operation.failed()) {
        stream = place(slot, thread, process, operation);
        if (stream == nullptr) return false;
        enter(*stream, thread, slot.thread);
    }
    const Clock& clock = stream == nullptr ? timeline(thread).clock : timeline(*stream).clock;
    return admit_graph_memory(process, index, clock, stream, operation, FactVariant::GRAPH_FREE);
}

}  // namespace streamsan::order
