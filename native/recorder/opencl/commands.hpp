// What every command of a queue has: waits before it, an event after it.
#pragma once
#include "recorder/opencl/call.hpp"

namespace streamsan::recorder::opencl {

/// The queue of a command.
Word queue_of(const Call& call);

/// Before the command: its wait list.
void write_waits(Call& call);

/// Whether it waits until it is complete, and what its operation says of that.
bool is_blocking(const Call& call);
Detail wait_of(const Call& call);

/// Its wait list, then the command.
Slot* write_command(Call& call, OperationKind kind, Detail detail, const Reference* references = nullptr,
                    std::size_t count = 0);

/// After the command: completes it, then tells of the event that it gave.
void end_command(Call& call);
/// Only the event.
void tell_of_event(Call& call);

}  // namespace streamsan::recorder::opencl
