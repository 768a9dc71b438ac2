// What a callback's parameters say, and how an operation gets into the thread's lane.
#include "recorder/cuda/call.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <pthread.h>

#include "recorder/cuda/abi.hpp"
#include "recorder/cuda/api_names.hpp"
#include "recorder/cuda/device_times.hpp"
#include "recorder/cuda/host_accesses.hpp"
#include "recorder/cuda/processes.hpp"
#include "recorder/cuda/recorder.hpp"
#include "recorder/cuda/reused_blocks.hpp"
#include "recorder/trace_writer/row_table.hpp"
#include "recorder/launch_path.hpp"

namespace streamsan::recorder::cuda {

static_assert(abi::legacy_stream == handle::legacy_default_stream);
static_assert(abi::per_thread_stream == handle::per_thread_default_stream);

namespace {

pthread_key_t at_thread_end() {
    static const pthread_key_t key = [] {
        pthread_key_t made{};
        // A call of the API from a later destructor of the same thread makes another state, which is freed in its turn.
        pthread_key_create(&made, [](void* state) {
            state_of_this_thread = nullptr;
            delete static_cast<ThreadState*>(state);
        });
        return made;
    }();
    return key;
}

std::int16_t narrow(std::int32_t status) {
    constexpr std::int32_t least = status_unknown + 1;
    return static_cast<std::int16_t>(std::clamp<std::int32_t>(status, least, std::numeric_limits<std::int16_t>::max()));
}

std::uint16_t duration_of(const Call& call) {
    return call.timed ? Writer::duration(recorder()->writer->now() - call.entered) : std::uint16_t{0};
}

STREAMSAN_LAUNCH_PART Slot* prepare(ThreadState& state, Call& call, Lane* lane, OperationKind kind, Detail detail,
                                    std::uint64_t stream, std::uint64_t object, const Reference* references,
                                    std::size_t count) {
    Recorder& all = *recorder();
    if (lane == nullptr) [[unlikely]]
        return nullptr;
    // Sites and names lie in the file before what refers to them.
    if (call.site == 0 && all.settings.sites) call.site = all.sites->here(0);
    const std::uint16_t api = api_of(state, call);
    count = std::min(count, 1 + most_further_references);
    if (all.host_accesses) [[unlikely]]
        note_host_uses(state, kind, detail, references, count);
    if (all.poisons) [[unlikely]]
        poison_before(state, call, kind, stream, references, count);
    // Only copies and fills touch rows, two references at most, or a node that is one.
    const unsigned rows = kind == OperationKind::LAUNCH ? 0 : count_rows(references, count);
    Slot* const slot = lane->reserve(static_cast<unsigned>(count / 2) + rows);
    if (slot == nullptr) [[unlikely]]
        return nullptr;
    call.sequence = slot->sequence;
    slot->time = call.entered;
    slot->stream = stream;
    slot->object = object;
    slot->site = call.site;
    slot->api = api;
    slot->kind = static_cast<std::uint8_t>(kind);
    slot->detail = detail.value;
    slot->flags = outside_main(call.site);
    if (count != 0) {
        slot->address = references->address;
        slot->size = references->size;
        slot->flags = static_cast<std::uint8_t>(slot->flags | references->mode_flags);
        put_further_references(slot, references + 1, count - 1);
        if (rows != 0) [[unlikely]] {
            // A node's update has its number in the place of the first reference.
            const bool numbered = kind == OperationKind::GRAPH_NODE_UPDATE;
            put_rows(slot + count / 2, references + numbered, count - numbered);
        }
    }
    ++state.written;
    state.runtime_wrote = true;
    return slot;
}

}  // namespace

[[gnu::cold, gnu::noinline]] ThreadState& make_state_of_this_thread() {
    state_of_this_thread = new ThreadState;
    pthread_setspecific(at_thread_end(), state_of_this_thread);
    if (recorder() != nullptr) write_event(OperationKind::THREAD_START, 0, 0);
    return *state_of_this_thread;
}

[[gnu::hot]] std::uint64_t Call::value(const CallbackParameter* parameter) const {
    if (parameter == nullptr || parameters == nullptr) return 0;
    const unsigned char* const at = parameters + parameter->offset;
    switch (parameter->size) {
        case 8: {
            std::uint64_t word;
            std::memcpy(&word, at, 8);
            return word;
        }
        case 4: {
            std::uint32_t word;
            std::memcpy(&word, at, 4);
            return word;
        }
        case 2: {
            std::uint16_t word;
            std::memcpy(&word, at, 2);
            return word;
        }
        case 1: return *at;
        default: break;
    }
    // A structure by value: its first word (cudaPitchedPtr begins with the address).
    std::uint64_t first = 0;
    std::memcpy(&first, at, std::min<std::size_t>(parameter->size, sizeof first));
    return first;
}

std::uint64_t Call::word(std::size_t position) const {
    return position < callback->count ? value(&callback->parameters[position]) : 0;
}

[[gnu::hot]] const CallbackParameter* Call::find(Role role, std::size_t nth) const {
    for (std::size_t position = 0; position < callback->count; ++position) {
        const CallbackParameter& parameter = callback->parameters[position];
        if (parameter.role == role && nth-- == 0) return &parameter;
    }
    return nullptr;
}

[[gnu::hot]] const CallbackParameter* Call::find_handle(Handle handle, std::size_t nth) const {
    for (std::size_t position = 0; position < callback->count; ++position) {
        const CallbackParameter& parameter = callback->parameters[position];
        const bool is = parameter.handle == handle && parameter.role == Role::HANDLE;
        if (is && nth-- == 0) return &parameter;
    }
    return nullptr;
}

std::uint64_t Call::output(const CallbackParameter* parameter) const {
    const std::uint64_t address = value(parameter);
    if (address == 0) return 0;
    std::uint64_t given;
    std::memcpy(&given, reinterpret_cast<const void*>(address), sizeof given);
    return given;
}

[[gnu::hot]] std::uint64_t Call::stream() const {
    const std::uint64_t handle = value(find_handle(Handle::STREAM));
    if (handle != 0) return handle;
    return callback->per_thread ? abi::per_thread_stream : abi::legacy_stream;
}

STREAMSAN_LAUNCH_PART Slot* prepare_entered(ThreadState& state, Call& call, Lane* lane, OperationKind kind,
                                            Detail detail, std::uint64_t stream, std::uint64_t object,
                                            const Reference* references, std::size_t count) {
    Slot* const slot = prepare(state, call, lane, kind, detail, stream, object, references, count);
    call.slot = slot;
    if (slot == nullptr) [[unlikely]]
        return nullptr;
    slot->status = status_unknown;
    slot->flags = static_cast<std::uint8_t>(slot->flags | static_cast<std::uint8_t>(SlotFlag::ENTER));
    return slot;
}

STREAMSAN_LAUNCH_PATH Slot* prepare_entered(ThreadState& state, Call& call, OperationKind kind, Detail detail,
                                            std::uint64_t stream, std::uint64_t object, const Reference* references,
                                            std::size_t count) {
    Lane* const lane = recorder()->writer->lane();
    return prepare_entered(state, call, lane, kind, detail, stream, object, references, count);
}

[[gnu::hot]] Slot* prepare_returned(ThreadState& state, Call& call, OperationKind kind, Detail detail,
                                    std::uint64_t stream, std::uint64_t object, const Reference* references,
                                    std::size_t count) {
    Lane* const lane = recorder()->writer->lane();
    Slot* const slot = prepare(state, call, lane, kind, detail, stream, object, references, count);
    if (slot == nullptr) [[unlikely]]
        return nullptr;
    slot->status = narrow(call.status);
    slot->duration = duration_of(call);
    return slot;
}

STREAMSAN_LAUNCH_PATH void commit_prepared(ThreadState&) {
    if (Lane* const lane = recorder()->writer->lane()) lane->commit();
}

STREAMSAN_LAUNCH_PATH Slot* write_entered(ThreadState& state, Call& call, OperationKind kind, Detail detail,
                                          std::uint64_t stream, std::uint64_t object, const Reference* references,
                                          std::size_t count) {
    Lane* const lane = recorder()->writer->lane();
    Slot* const slot = prepare_entered(state, call, lane, kind, detail, stream, object, references, count);
    if (slot != nullptr) lane->commit();
    return slot;
}

[[gnu::hot]] Slot* write_returned(ThreadState& state, Call& call, OperationKind kind, Detail detail,
                                  std::uint64_t stream, std::uint64_t object, const Reference* references,
                                  std::size_t count) {
    Slot* const slot = prepare_returned(state, call, kind, detail, stream, object, references, count);
    if (slot != nullptr) commit_prepared(state);
    return slot;
}

STREAMSAN_LAUNCH_PATH void complete(ThreadState& state, Call& call, bool renumber) {
    if (call.slot == nullptr) return;
    if (renumber) {
        if (Lane* const lane = recorder()->writer->lane()) call.slot = lane->renumber(call.slot);
        if (recorder()->times) [[unlikely]]
            work_renumbered(state, call);
    }
    if (call.slot != nullptr) Lane::complete(call.slot, narrow(call.status), duration_of(call));
}

}  // namespace streamsan::recorder::cuda
