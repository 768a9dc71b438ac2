// Memory objects: where each lies among the addresses of the trace.
#pragma once
#include <optional>

#include "recorder/opencl/call.hpp"
#include "recorder/opencl/live_objects.hpp"

namespace streamsan::recorder::opencl {

/// A box of bytes: `columns` bytes of each of `rows` rows of each of `slices` slices, from `address` on.
struct Box {
    Word address;
    std::uint64_t columns;
    std::uint64_t rows;
    std::uint64_t slices;
    std::uint64_t row_pitch;
    std::uint64_t slice_pitch;
};

/// The reference that touches a box.
Reference reference_to(const Box& box, AccessMode mode);

/// Three numbers of the program's (an origin, a region); 0 each where there are none.
std::array<std::uint64_t, 3> read_triple(Word address);

/// A region of an image; all of it, not told exactly, where its parts are not told apart.
Reference region_of_image(const MemoryInfo& image, Word origin, Word region, AccessMode mode);

/// `size` bytes of a buffer from `offset` on. No bytes, and a handle that is not known, give nothing: address 0.
Reference part_of_buffer(Word buffer, std::uint64_t offset, std::uint64_t size, AccessMode mode);

/// A box of a rectangular copy, in memory that begins at `base`; pitches of 0 are tight (5.2.2).
Reference rectangle_at(Word base, Word origin, Word region, std::uint64_t row_pitch, std::uint64_t slice_pitch,
                       AccessMode mode);

/// One holder of a storage less, beside the program: the last one ends it.
void let_go(Call& call, Storage& storage);

/// The host's side of a transfer, if it names memory that OpenCL knows: shared memory, memory under a buffer, a
/// mapping. Other host memory is nobody's here (address 0): also what was shared once, and is the C library's again.
/// A transfer of no bytes names none.
Reference host_memory(Reference reference);

/// Writes a copy between an object and the host's memory, into that whose mode is to be written.
void write_host_copy(Call& call, const Reference& object, const Reference& host);

/// An object that a function of OpenCL has made: what is not told with the call is asked of the runtime.
void memory_made(Call& call, Word handle, Word flags, std::uint64_t size, Word host_pointer);

}  // namespace streamsan::recorder::opencl
