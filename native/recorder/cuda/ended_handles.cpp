#include "recorder/cuda/ended_handles.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include "recorder/cuda/live_handles.hpp"
#include "recorder/cuda/recorder.hpp"

namespace streamsan::recorder::cuda {
namespace {

struct Ended {
    HandleKind kind;
    abi::Word handle;
};

/// Their operation names the handle and nothing that the call makes; at its end it is completed.
constexpr std::array own_kind{Effect::STREAM_DESTROY,    Effect::STREAM_SYNCHRONIZE, Effect::EVENT_DESTROY,
                              Effect::EVENT_SYNCHRONIZE, Effect::GRAPH_DESTROY,      Effect::GRAPH_EXEC_DESTROY};
/// What they tell of a handle that is alive has no meaning for one that is not.
constexpr std::array plain_uses{Effect::STREAM_QUERY, Effect::EVENT_QUERY, Effect::EVENT_ELAPSED,
                                Effect::HANDLE_USE,   Effect::GRAPH_USE,   Effect::GRAPH_UPLOAD};

std::array<Handler, effect_count> handlers{};

template <std::size_t count>
bool is_among(const std::array<Effect, count>& effects, Effect effect) {
    return std::find(effects.begin(), effects.end(), effect) != effects.end();
}

std::optional<HandleKind> kind_if_ended(Handle sort, abi::Word handle) {
    switch (sort) {
        case Handle::STREAM: return live_streams().has_ended(handle) ? std::optional(HandleKind::STREAM) : std::nullopt;
        case Handle::EVENT: return live_events().has_ended(handle) ? std::optional(HandleKind::EVENT) : std::nullopt;
        case Handle::GRAPH: return ended_graphs().has(handle) ? std::optional(HandleKind::GRAPH) : std::nullopt;
        case Handle::GRAPH_EXEC:
            return ended_graph_execs().has(handle) ? std::optional(HandleKind::GRAPH_EXEC) : std::nullopt;
        default: return std::nullopt;
    }
}

std::optional<Ended> ended_handle_of(const Call& call) {
    for (std::size_t position = 0; position < call.callback->count; ++position) {
        const CallbackParameter& parameter = call.callback->parameters[position];
        if (parameter.role != Role::HANDLE) continue;
        const abi::Word handle = call.value(&parameter);
        if (handle <= abi::per_thread_stream) continue;
        if (const auto kind = kind_if_ended(parameter.handle, handle)) return Ended{*kind, handle};
    }
    return std::nullopt;
}

}  // namespace

void prepare_ended_handles(const HandlerTable& table) {
    Callback any{};
    for (const Effect effect : own_kind) {
        any.effect = effect;
        handlers[static_cast<std::size_t>(effect)] = table.of(any).handler;
    }
}

void tell_use_of_ended(ThreadState& state, Call& call) {
    const std::optional<Ended> ended = ended_handle_of(call);
    if (!ended) return;
    const Effect effect = call.callback->effect;
    // In a capture such a call is not done but recorded.
    const bool captures = recorder()->captures.load(std::memory_order_relaxed) != 0;
    if (const Handler& own = handlers[static_cast<std::size_t>(effect)]; own.enter != nullptr && !captures) {
        own.enter(state, call);
        state.covers_driver_calls = true;
        return;
    }
    write_entered(state, call, OperationKind::HANDLE_USE, ended->kind, 0, ended->handle, nullptr, 0);
    state.covers_driver_calls = is_among(plain_uses, effect);
}

void complete_use_of_ended(ThreadState& state, Call& call) {
    if (call.slot == nullptr) return;
    const Handler& own = handlers[static_cast<std::size_t>(call.callback->effect)];
    if (state.covers_driver_calls && own.exit != nullptr) own.exit(state, call);
    else complete(state, call, false);
    state.covers_driver_calls = false;
}

}  // namespace streamsan::recorder::cuda
