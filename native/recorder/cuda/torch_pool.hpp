// PyTorch's caching allocator: its blocks, as its own trace tracker tells of them.
#pragma once

namespace streamsan::recorder::cuda {

/// Memory was allocated in the driver: where PyTorch's allocator may have asked for it, and nobody listens to that yet,
/// it is asked to tell of its blocks. Its lock is held by the calling thread then, and it is recursive.
void listen_to_torch_pool();

}  // namespace streamsan::recorder::cuda
