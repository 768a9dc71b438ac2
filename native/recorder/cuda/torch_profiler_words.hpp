// PyTorch's blocks as its allocator tells them to the profiler: for builds whose own tracker is not found.
#pragma once
#include "recorder/sites/modules.hpp"

namespace streamsan::recorder::cuda {

/// Listens to what `library` (libc10_cuda.so) tells the profiler of, from now on. False: it tells nothing there.
/// The words have no stream, and do not say which blocks are a graph's.
bool listen_to_profiler_words(const call_sites::Module& library);

}  // namespace streamsan::recorder::cuda
