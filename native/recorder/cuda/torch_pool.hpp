// PyTorch's caching allocator: its blocks, as its own trace tracker tells of them.
#pragma once
#include <cstdint>

namespace streamsan::recorder::cuda {

/// Memory was allocated in the driver: where PyTorch's allocator may have asked for it, and nobody listens to that yet,
/// it is asked to tell of its blocks. Its lock is held by the calling thread then, and it is recursive.
void listen_to_torch_pool();

/// The block for which this thread records an event, if it does: its allocator was told of a stream, and keeps the
/// block until the event has happened. 0: there is none. Right only until the thread calls anything else.
std::uint64_t block_kept_by_torch();

}  // namespace streamsan::recorder::cuda
