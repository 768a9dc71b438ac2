#include "recorder/cuda/device_share.hpp"

#include <algorithm>

namespace streamsan::recorder::cuda {
namespace {

constexpr std::uint64_t threads_of_warp = 32;
constexpr std::uint64_t registers_at_once = 256;  // a warp gets a multiple of them
constexpr std::uint64_t shared_bytes_at_once = 128;

std::uint64_t multiple(std::uint64_t value, std::uint64_t unit) { return (value + unit - 1) / unit * unit; }

/// Blocks that a multiprocessor has room for at once, one at least: the kernel ran.
std::uint64_t blocks_at_once(const KernelNeed& kernel, const DeviceRoom& device) {
    const std::uint64_t threads = multiple(std::max<std::uint64_t>(kernel.threads, 1), threads_of_warp);
    const std::uint64_t registers =
        threads / threads_of_warp * multiple(kernel.registers_per_thread * threads_of_warp, registers_at_once);
    const std::uint64_t shared = multiple(kernel.shared_bytes + device.reserved_shared_bytes, shared_bytes_at_once);
    std::uint64_t most = device.threads / threads;
    if (device.blocks != 0) most = std::min<std::uint64_t>(most, device.blocks);
    if (registers != 0 && device.registers != 0) most = std::min(most, device.registers / registers);
    if (shared != 0 && device.shared_bytes != 0) most = std::min(most, device.shared_bytes / shared);
    return std::max<std::uint64_t>(most, 1);
}

}  // namespace

std::uint32_t share_of_device(const KernelNeed& kernel, const DeviceRoom& device) {
    constexpr std::uint64_t all = 1000;
    if (device.multiprocessors == 0 || device.threads == 0) return 0;
    const std::uint64_t room = device.multiprocessors * blocks_at_once(kernel, device);
    const std::uint64_t blocks = std::min(kernel.blocks, room);
    return static_cast<std::uint32_t>(std::max<std::uint64_t>(blocks * all / room, 1));
}

}  // namespace streamsan::recorder::cuda
