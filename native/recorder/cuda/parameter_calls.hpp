// Arguments that were set one by one before a launch (cuParamSetv and its relatives), as programs older than CUDA 4 do.
#pragma once
#include <cstdint>
#include <mutex>
#include <unordered_map>
#include <vector>

namespace streamsan::recorder::cuda {

class ParameterBuffers {
public:
    void set(std::uint64_t function, std::uint64_t offset, const void* value, std::uint64_t size);
    [[nodiscard]] std::vector<unsigned char> of(std::uint64_t function) const;
    void after_fork() { new (&mutex_) std::mutex; }

private:
    mutable std::mutex mutex_;
    std::unordered_map<std::uint64_t, std::vector<unsigned char>> buffers_;
};

/// Of this process. Never destroyed.
ParameterBuffers& parameter_buffers();

}  // namespace streamsan::recorder::cuda
