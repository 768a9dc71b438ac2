// What libc10.so has for the allocator: it is told of each block, profiler or none.
#pragma once
#include <cstddef>
#include <cstdint>

namespace c10 {

enum class DeviceType : std::int8_t { CPU = 0, CUDA = 1 };

struct Device {
    DeviceType type;
    std::int8_t number;
};

void reportMemoryUsageToProfiler(void* block, std::int64_t size, std::size_t allocated, std::size_t reserved,
                                 Device device);

}  // namespace c10

/// How often it was told.
std::size_t torch_profiled();
