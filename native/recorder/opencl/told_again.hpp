// What is alive is told again when the older part of the file is rotated away: so it is remembered, if that can happen.
#pragma once
#include <span>

#include "recorder/opencl/recorder.hpp"
#include "recorder/trace_writer/writer.hpp"

namespace streamsan::recorder::opencl {

/// Remembers an operation that makes or ends something, with its continuations; to be called between reserve and
/// commit.
void remember_slots(std::span<const Slot> slots);
inline void remember_operation(std::span<const Slot> slots) {
    if (recorder()->settings.max_bytes != 0) remember_slots(slots);
}

void tell_again(Lane& lane);

void told_after_fork();

}  // namespace streamsan::recorder::opencl
