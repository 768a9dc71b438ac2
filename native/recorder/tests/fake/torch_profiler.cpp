// Stands for PyTorch's libc10.so.
#include <atomic>

#include "torch_profiler.hpp"

namespace {

std::atomic<std::size_t> words{0};

}  // namespace

void c10::reportMemoryUsageToProfiler(void*, std::int64_t, std::size_t, std::size_t, Device) { ++words; }

std::size_t torch_profiled() { return words; }
