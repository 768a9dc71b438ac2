// How an operation gets into the thread's lane.
#include <algorithm>
#include <atomic>
#include <limits>

#include "recorder/launch_path.hpp"
#include "recorder/opencl/call.hpp"
#include "recorder/opencl/live_objects.hpp"
#include "recorder/opencl/processes.hpp"
#include "recorder/opencl/recorder.hpp"
#include "recorder/opencl/told_again.hpp"
#include "recorder/trace_writer/row_table.hpp"

namespace streamsan::recorder::opencl {
namespace {

std::array<std::atomic<std::uint16_t>, function_table.size()> api_ids{};

std::int16_t narrow(std::int32_t status) {
    constexpr std::int32_t least = status_unknown + 1;
    return static_cast<std::int16_t>(std::clamp<std::int32_t>(status, least, std::numeric_limits<std::int16_t>::max()));
}

[[gnu::always_inline]] inline std::uint16_t api_of(const Call& call) {
    std::atomic<std::uint16_t>& kept = api_ids[static_cast<std::size_t>(call.function)];
    std::uint16_t id = kept.load(std::memory_order_relaxed);
    if (id == 0) [[unlikely]] {
        id = recorder()->writer->api(call.row().name);
        kept.store(id, std::memory_order_relaxed);
    }
    return id;
}

/// Inlined: each frame of ours is one more that the look-up of the call's site goes over.
[[gnu::always_inline]] inline Slot* write(Call& call, OperationKind kind, Detail detail, Word stream, Word object,
                                          const Reference* references, std::size_t count, std::int16_t status) {
    Recorder& all = *recorder();
    Lane* const lane = all.writer->lane();
    if (lane == nullptr) [[unlikely]]
        return nullptr;
    // Sites and names lie in the file before what refers to them.
    if (call.site == 0 && all.settings.sites) call.site = all.sites->here(call.label);
    const std::uint16_t api = api_of(call);
    count = std::min(count, 1 + most_further_references);
    const unsigned rows = kind == OperationKind::LAUNCH ? 0 : count_rows(references, count);
    Slot* const slot = lane->reserve(static_cast<unsigned>(count / 2) + rows);
    if (slot == nullptr) [[unlikely]]
        return nullptr;
    slot->time = call.entered;
    slot->stream = stream;
    slot->object = object;
    slot->site = call.site;
    slot->api = api;
    slot->kind = static_cast<std::uint8_t>(kind);
    slot->detail = detail.value;
    slot->flags = outside_main(call.site);
    slot->status = status;
    if (status == status_unknown) {
        slot->flags = static_cast<std::uint8_t>(slot->flags | static_cast<std::uint8_t>(SlotFlag::ENTER));
    }
    if (count != 0) {
        slot->address = references->address;
        slot->size = references->size;
        slot->flags = static_cast<std::uint8_t>(slot->flags | references->mode_flags);
        put_further_references(slot, references + 1, count - 1);
        if (rows != 0) [[unlikely]]
            put_rows(slot + count / 2, references, count);
    }
    remember_operation({slot, 1 + count / 2});
    lane->commit();
    return slot;
}

}  // namespace

STREAMSAN_LAUNCH_PATH Slot* write_entered(Call& call, OperationKind kind, Detail detail, Word stream, Word object,
                                          const Reference* references, std::size_t count) {
    call.slot = write(call, kind, detail, stream, object, references, count, status_unknown);
    return call.slot;
}

STREAMSAN_LAUNCH_PATH Slot* write_before(Call& call, OperationKind kind, Detail detail, Word stream, Word object,
                                         const Reference* references, std::size_t count) {
    // What there is no room for is told with success: a command that fails with a dozen waits is rare.
    const bool room = call.before_count < call.before.size();
    Slot* const slot = write(call, kind, detail, stream, object, references, count, room ? status_unknown : 0);
    if (room && slot != nullptr) call.before[call.before_count++] = slot;
    return slot;
}

Slot* write_returned(Call& call, OperationKind kind, Detail detail, Word stream, Word object,
                     const Reference* references, std::size_t count) {
    return write(call, kind, detail, stream, object, references, count, narrow(call.status));
}

void write_handle(Call& call, HandleKind sort, Word handle, Word context) {
    const Reference made_in{context, 0, 0};
    write_returned(call, OperationKind::HANDLE_CREATE, sort, 0, handle, &made_in, 1);
}

STREAMSAN_LAUNCH_PATH void complete(Call& call, bool renumber) {
    const std::int16_t status = narrow(call.status);
    for (std::size_t position = 0; position < call.before_count; ++position)
        Lane::complete(call.before[position], status, 0);
    call.before_count = 0;
    if (call.slot == nullptr) return;
    std::uint16_t duration = 0;
    if (renumber) {
        duration = Writer::duration(recorder()->writer->now() - call.entered);
        if (Lane* const lane = recorder()->writer->lane()) call.slot = lane->renumber(call.slot);
    }
    if (call.slot != nullptr) Lane::complete(call.slot, status, duration);
    call.slot = nullptr;
}

void forget_api_names() {
    for (auto& id : api_ids) id.store(0, std::memory_order_relaxed);
}

}  // namespace streamsan::recorder::opencl
