// What is issued to a capturing stream is not done: it becomes nodes of a graph. So it leaves nothing in the trace,
// except memory (an allocation has its address from then on) and what fails. Where a capture begins and ends is
// recorded.
//
// Whether a stream captures the driver is asked (cuStreamIsCapturing), because streams join a capture by waiting for an
// event of it. Asking is legal in every mode and does no harm to a capture. The legacy default stream is never asked:
// it cannot capture (C-13), and the answer would be an error (906) while a blocking stream does.
#include "recorder/cuda/captures.hpp"

#include <algorithm>

#include "recorder/cuda/abi_graphs.hpp"
#include "recorder/cuda/collectives.hpp"
#include "recorder/cuda/driver.hpp"
#include "recorder/cuda/graph_building.hpp"
#include "recorder/cuda/graph_operations.hpp"
#include "recorder/cuda/poison.hpp"
#include "recorder/cuda/recorder.hpp"

namespace streamsan::recorder::cuda {
namespace {

/// Effects that a capture swallows, or forbids because of the stream that the call names.
bool belongs_to_stream(Effect effect) {
    switch (effect) {
        case Effect::ALLOC:
        case Effect::FREE:
        case Effect::COPY:
        case Effect::MEMSET:
        case Effect::LAUNCH:
        case Effect::HOST_FUNCTION:
        case Effect::PREFETCH:
        case Effect::STREAM_MEMORY_OP:
        case Effect::COPY_BATCH:
        case Effect::PREFETCH_BATCH:
        case Effect::EVENT_RECORD:
        case Effect::STREAM_WAIT_EVENT:
        case Effect::STREAM_SYNCHRONIZE:
        case Effect::STREAM_QUERY:
        case Effect::GRAPH_LAUNCH:
        case Effect::UNMODELLED: return true;
        default: return false;
    }
}

/// Without a stream argument these are on the default stream.
bool uses_default_stream(Effect effect) { return effect == Effect::COPY || effect == Effect::MEMSET; }

/// The stream that a call issues to, as the trace names it; 0: none.
abi::Word issues_to(const Call& call) {
    const Effect effect = call.callback->effect;
    if (!belongs_to_stream(effect)) return 0;
    if (call.find_handle(Handle::STREAM) != nullptr || uses_default_stream(effect)) return call.stream();
    if (effect != Effect::LAUNCH) return 0;
    const CallbackParameter* const structure = call.find(Role::STRUCTURE);
    const auto* const configuration = reinterpret_cast<const abi::LaunchConfig*>(call.value(structure));
    if (configuration == nullptr) return 0;
    if (configuration->stream != 0) return configuration->stream;
    return call.callback->per_thread ? abi::per_thread_stream : abi::legacy_stream;
}

bool is_capturing(ThreadState& state, abi::Word stream) {
    const Driver* const driver = recorder()->driver;
    if (stream == 0 || stream == abi::legacy_stream || driver == nullptr || driver->cuStreamIsCapturing == nullptr)
        return false;
    const OwnCalls own(state);
    auto status = abi::CaptureStatus::none;
    return driver->cuStreamIsCapturing(stream, &status) == abi::success && status != abi::CaptureStatus::none;
}

/// The driver's number of the capture that a stream takes part in, 0 when there is none or it is invalidated.
std::uint64_t id_of(ThreadState& state, abi::Word stream) {
    const Driver* const driver = recorder()->driver;
    if (stream == abi::legacy_stream || driver == nullptr) return 0;
    const OwnCalls own(state);
    auto status = abi::CaptureStatus::none;
    std::uint64_t id = 0;
    abi::Status answer = abi::not_supported;
    if (driver->cuStreamGetCaptureInfo_v2 != nullptr) {
        answer = driver->cuStreamGetCaptureInfo_v2(stream, &status, &id, nullptr, nullptr, nullptr);
    } else if (driver->cuStreamGetCaptureInfo_v3 != nullptr) {
        answer = driver->cuStreamGetCaptureInfo_v3(stream, &status, &id, nullptr, nullptr, nullptr, nullptr);
    }
    return answer == abi::success && status == abi::CaptureStatus::active ? id : 0;
}

void count_down(std::uint32_t ended) { recorder()->captures.fetch_sub(ended, std::memory_order_relaxed); }

CaptureMode mode_of(const Call& call) {
    // The only argument of 4 bytes; the first version of the call has none, and was global.
    for (std::size_t position = call.callback->count; position-- > 0;) {
        if (call.callback->parameters[position].role != Role::VALUE || call.callback->parameters[position].size != 4)
            continue;
        const std::uint64_t mode = call.word(position);
        return mode == 0 ? CaptureMode::GLOBAL : mode == 1 ? CaptureMode::THREAD_LOCAL : CaptureMode::RELAXED;
    }
    return CaptureMode::GLOBAL;
}

void enter_begin(ThreadState&, Call&) {
    // Before the driver's own mark: another thread's call must not be missed in between.
    recorder()->captures.fetch_add(1, std::memory_order_relaxed);
}

void exit_begin(ThreadState& state, Call& call) {
    const abi::Word stream = call.stream();
    const auto detail = static_cast<std::uint8_t>(mode_of(call));
    if (call.status != abi::success) {
        count_down(1);
        write_returned(state, call, OperationKind::CAPTURE_BEGIN, detail, stream, 0);
        return;
    }
    std::uint64_t id = id_of(state, stream);
    if (id == 0) id = captures().fresh_id();
    const bool into_graph = call.find_handle(Handle::GRAPH) != nullptr;
    count_down(captures().end(stream));  // its end was not seen
    captures().begun({id, stream, call.context, into_graph});
    write_returned(state, call, OperationKind::CAPTURE_BEGIN, detail, stream, id);
}

struct EndScratch {
    enum : std::size_t { capture_id, origin, graph_is_new };
};

void enter_end(ThreadState& state, Call& call) {
    const abi::Word stream = call.stream();
    std::optional<Capture> capture = captures().begun_on(stream);
    if (!capture) {
        // Not where it began (903), or it began before recording.
        if (const std::uint64_t id = id_of(state, stream); id != 0) capture = captures().of_id(id);
    }
    call.scratch[EndScratch::capture_id] = capture ? capture->id : 0;
    call.scratch[EndScratch::origin] = capture ? capture->stream : stream;
    call.scratch[EndScratch::graph_is_new] = !capture || !capture->into_graph;
}

void exit_end(ThreadState& state, Call& call) {
    const abi::Word stream = call.scratch[EndScratch::origin];
    const bool ended = call.status == abi::success;
    const abi::Word graph = ended ? call.output(Role::OUT_HANDLE) : 0;
    write_addressed(state, call, OperationKind::CAPTURE_END, 0, stream, call.scratch[EndScratch::capture_id], graph, 0);
    if (graph != 0 && call.scratch[EndScratch::graph_is_new] != 0) {
        // Handles come back: the graph is not one of that handle that was destroyed.
        write_returned(state, call, OperationKind::HANDLE_CREATE, HandleKind::GRAPH, 0, graph);
    }
    // A call that failed may have ended it (901, 904) or not (903, 908).
    if (call.scratch[EndScratch::capture_id] != 0 && (ended || !is_capturing(state, stream)))
        count_down(captures().end(stream));
}

}  // namespace

void Captures::begun(const Capture& capture) {
    const std::lock_guard lock(mutex_);
    captures_.push_back(capture);
}

std::optional<Capture> Captures::begun_on(abi::Word stream) const {
    const std::lock_guard lock(mutex_);
    const auto found = std::find_if(captures_.begin(), captures_.end(),
                                    [stream](const Capture& each) { return each.stream == stream; });
    return found == captures_.end() ? std::nullopt : std::optional(*found);
}

std::optional<Capture> Captures::of_id(std::uint64_t id) const {
    const std::lock_guard lock(mutex_);
    const auto found =
        std::find_if(captures_.begin(), captures_.end(), [id](const Capture& each) { return each.id == id; });
    return found == captures_.end() ? std::nullopt : std::optional(*found);
}

std::uint32_t Captures::end(abi::Word stream) {
    const std::lock_guard lock(mutex_);
    return static_cast<std::uint32_t>(
        std::erase_if(captures_, [stream](const Capture& each) { return each.stream == stream; }));
}

std::uint32_t Captures::end_context(abi::Word context) {
    const std::lock_guard lock(mutex_);
    return static_cast<std::uint32_t>(
        std::erase_if(captures_, [context](const Capture& each) { return each.context == context; }));
}

std::uint64_t Captures::fresh_id() {
    const std::lock_guard lock(mutex_);
    return std::uint64_t{1} << 62 | ++ids_;  // far from the driver's own, which count from 1
}

Captures& captures() {
    static Captures* const all = new Captures;
    return *all;
}

void captures_lose_context(abi::Word context) {
    if (recorder() != nullptr) count_down(captures().end_context(context));
}

bool stream_captures(abi::Word stream) { return is_capturing(this_thread(), stream); }

CapturedNode captured_node(ThreadState& state, const Call& call) {
    const Driver* const driver = recorder()->driver;
    const abi::Word stream = issues_to(call);
    if (stream == 0 || stream == abi::legacy_stream || driver == nullptr) return {};
    const OwnCalls own(state);
    auto status = abi::CaptureStatus::none;
    std::uint64_t id = 0;
    CapturedNode found;
    const abi::Word* behind = nullptr;
    std::size_t count = 0;
    abi::Status answer = abi::not_supported;
    if (driver->cuStreamGetCaptureInfo_v2 != nullptr) {
        answer = driver->cuStreamGetCaptureInfo_v2(stream, &status, &id, &found.graph, &behind, &count);
    } else if (driver->cuStreamGetCaptureInfo_v3 != nullptr) {
        const void* edges = nullptr;
        answer = driver->cuStreamGetCaptureInfo_v3(stream, &status, &id, &found.graph, &behind, &edges, &count);
    }
    // What a call makes is all that its stream goes on behind.
    if (answer != abi::success || status != abi::CaptureStatus::active || count != 1 || behind == nullptr) return {};
    found.node = behind[0];
    return found;
}

RelaxedCaptures::RelaxedCaptures(bool also_later) {
    const Recorder& shared = *recorder();
    const bool needed = also_later || shared.captures.load(std::memory_order_relaxed) != 0;
    if (!needed || shared.driver == nullptr) return;
    if (shared.driver->cuThreadExchangeStreamCaptureMode == nullptr) return;
    mode_ = abi::capture_mode_relaxed;
    exchanged_ = shared.driver->cuThreadExchangeStreamCaptureMode(&mode_) == abi::success;
}

RelaxedCaptures::~RelaxedCaptures() {
    if (exchanged_) recorder()->driver->cuThreadExchangeStreamCaptureMode(&mode_);
}

bool is_captured(ThreadState& state, const Call& call) {
    switch (call.callback->effect) {
        case Effect::STREAM_DESTROY:
            // With the stream where it began a capture can never be ended (C-21).
            count_down(captures().end(call.stream()));
            return false;
        case Effect::CONTEXT_DESTROY:
            captures_lose_context(call.value(call.find_handle(Handle::CONTEXT)));
            return false;
        case Effect::DEVICE_RESET:
        case Effect::PRIMARY_RESET: captures_lose_context(call.context); return false;
        default: break;
    }
    const abi::Word stream = issues_to(call);
    if (stream == 0 || stream == abi::legacy_stream) return false;
    // A stream that does not capture joins by waiting: only when the call returns it is known whether it did.
    if (call.callback->effect == Effect::STREAM_WAIT_EVENT) return true;
    if (!is_capturing(state, stream)) return false;
    if (call.callback->effect == Effect::LAUNCH && &call == &state.call) place_captured_launch(state);
    return true;
}

void captured_exit(ThreadState& state, Call& call) {
    switch (call.callback->effect) {
        case Effect::STREAM_WAIT_EVENT: {
            const abi::Word stream = call.stream();
            if (is_capturing(state, stream)) return;
            write_returned(state, call, OperationKind::STREAM_WAIT_EVENT, 0, stream,
                           call.value(call.find_handle(Handle::EVENT)));
            return;
        }
        case Effect::ALLOC:
            write_graph_memory(state, call, call.output(Role::OUT_POINTER), call.value(Role::SIZE));
            return;
        case Effect::FREE:
            write_graph_free(state, call, call.value(Role::FREED));
            if (recorder()->poisons) count_poisoned(Poisoned::CAPTURE);
            return;
        case Effect::LAUNCH:
            if (state.launches_collective) collective_captured(state, call);
            return;
        default: return;
    }
}

bool captured_failure(ThreadState& state, Call& call) {
    // Memory from outside, say, refused in a capture that goes on (C-07). What the capture itself forbids is of the
    // call's kind.
    const bool forbidden = call.status >= abi::first_capture_status && call.status <= abi::last_capture_status;
    if (call.callback->effect != Effect::FREE || forbidden) return false;
    write_graph_free(state, call, call.value(Role::FREED));
    return true;
}

void register_captures(HandlerTable& table) {
    table.on(Effect::CAPTURE_BEGIN, {enter_begin, exit_begin}, true);
    table.on(Effect::CAPTURE_END, {enter_end, exit_end}, true);
}

}  // namespace streamsan::recorder::cuda
