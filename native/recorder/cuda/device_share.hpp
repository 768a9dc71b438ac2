// How much of a device a kernel can fill.
#pragma once
#include <cstdint>

namespace streamsan::recorder::cuda {

/// What a device has room for; 0: not known.
struct DeviceRoom {
    std::uint32_t multiprocessors = 0;
    // Of one of them.
    std::uint32_t threads = 0;
    std::uint32_t blocks = 0;
    std::uint32_t registers = 0;
    std::uint32_t shared_bytes = 0;
    std::uint32_t reserved_shared_bytes = 0;  ///< what the driver takes of them for each block
};

/// What the blocks of a kernel take.
struct KernelNeed {
    std::uint64_t blocks = 0;
    // One of them.
    std::uint64_t threads = 0;
    std::uint64_t registers_per_thread = 0;
    std::uint64_t shared_bytes = 0;
};

/// The multiprocessors that the kernel's blocks fill, in thousandths of the device's: 1 to 1000, 0 where the device is
/// not known.
std::uint32_t share_of_device(const KernelNeed& kernel, const DeviceRoom& device);

}  // namespace streamsan::recorder::cuda
