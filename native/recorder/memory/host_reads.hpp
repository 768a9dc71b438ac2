// Whether the host can read an address, without a fault.
#pragma once
#include <cerrno>
#include <cstdint>

#include "recorder/host/kernel_call.hpp"

namespace streamsan::recorder {

/// The kernel copies a mask of signals before it looks at what is to be done with it, and does nothing for no such
/// thing. Sets no errno, and may be called in a signal handler. Asks for the eight bytes around the address.
inline bool host_can_read(std::uint64_t address) noexcept {
    constexpr std::uint64_t mask_bytes = 8, nothing_to_do = 99;
    const std::uint64_t begin = address & ~(mask_bytes - 1);
    return begin != 0 &&
           host::kernel_call(SYS_rt_sigprocmask, nothing_to_do, begin, std::uint64_t{0}, mask_bytes) == -EINVAL;
}

}  // namespace streamsan::recorder
