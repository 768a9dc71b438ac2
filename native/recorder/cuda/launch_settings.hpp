// What is set of a function before a launch (cuParamSetv, cuFuncSetBlockShape and their relatives), as programs older
// than CUDA 4 do.
#pragma once
#include <array>
#include <cstdint>
#include <mutex>
#include <unordered_map>
#include <vector>

namespace streamsan::recorder::cuda {

/// Of one function.
struct LaunchSettings {
    std::vector<unsigned char> arguments;  ///< the argument buffer, as far as it was set
    std::array<std::uint32_t, 3> block{};  ///< threads; zeros: not set
    std::uint32_t shared = 0;              ///< bytes of dynamic shared memory
};

class AllLaunchSettings {
public:
    void set_argument(std::uint64_t function, std::uint64_t offset, const void* value, std::uint64_t size);
    void set_block(std::uint64_t function, const std::array<std::uint32_t, 3>& threads);
    void set_shared(std::uint64_t function, std::uint32_t bytes);
    [[nodiscard]] LaunchSettings of(std::uint64_t function) const;

private:
    mutable std::mutex mutex_;
    std::unordered_map<std::uint64_t, LaunchSettings> all_;
};

/// Of this process. Never destroyed.
AllLaunchSettings& launch_settings();

}  // namespace streamsan::recorder::cuda
