#include "recorder/opencl/commands.hpp"

#include "recorder/launch_path.hpp"
#include "recorder/opencl/live_objects.hpp"

namespace streamsan::recorder::opencl {
namespace {

/// Events of a list of the program's are read so far; more are not seen.
constexpr Word most_events = 1 << 16;

Word common(const Call& call, std::int8_t position) { return position < 0 ? 0 : call.arguments[position]; }

}  // namespace

STREAMSAN_LAUNCH_PATH Word queue_of(const Call& call) { return common(call, call.row().queue); }

STREAMSAN_LAUNCH_PATH void write_waits(Call& call) {
    const Word count = common(call, call.row().wait_count);
    const Word list = common(call, call.row().wait_list);
    if (count == 0 || list == 0 || count > most_events) return;
    for (Word position = 0; position < count; ++position) {
        if (const Word event = read_word(list + position * sizeof(Word)); event != 0)
            write_before(call, OperationKind::STREAM_WAIT_EVENT, 0, queue_of(call), event);
    }
}

bool is_blocking(const Call& call) { return common(call, call.row().blocking) != 0; }

Detail wait_of(const Call& call) { return is_blocking(call) ? WaitClass::COMPLETE : WaitClass::NONE; }

STREAMSAN_LAUNCH_PATH Slot* write_command(Call& call, OperationKind kind, Detail detail, const Reference* references,
                                          std::size_t count) {
    write_waits(call);
    return write_entered(call, kind, detail, queue_of(call), 0, references, count);
}

STREAMSAN_LAUNCH_PATH void tell_of_event(Call& call) {
    const Word place = common(call, call.row().event);
    if (place == 0 || !call.succeeded()) return;
    const Word event = read_word(place);
    if (event == 0) return;
    live().events.made(event, {});
    write_returned(call, OperationKind::EVENT_CREATE, EventKind::COMMAND, 0, event);
    write_returned(call, OperationKind::EVENT_RECORD, 0, queue_of(call), event);
}

STREAMSAN_LAUNCH_PATH void end_command(Call& call) {
    complete(call, is_blocking(call));
    tell_of_event(call);
}

}  // namespace streamsan::recorder::opencl
