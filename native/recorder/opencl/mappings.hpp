// Mappings of buffers, images and shared virtual memory.
#pragma once
#include "recorder/opencl/call.hpp"

namespace streamsan::recorder::opencl {

/// A region that the host has, with the mode in which it has it.
struct Mapping {
    Reference region;
};

/// Before a map: the waits, and the command, which reads the region unless it is invalidated.
void begin_map(Call& call, Reference region, Word flags);
/// After it: the pointer, if there is one, and the event. `region`: with the mode that the host got.
void end_map(Call& call, Word object, Word pointer, std::uint64_t size, Reference region);
/// Before an unmap: the waits, the end of the pointer, and the command, which writes what the host may have written.
void begin_unmap(Call& call, Word object, Word pointer);

/// Whether an address lies in a mapping of an object that is alive, also one that has ended: its pointer may be used by
/// mistake. When the object is gone the place is the C library's again.
bool lies_in_mapping(Word address);

void mappings_after_fork();

}  // namespace streamsan::recorder::opencl
