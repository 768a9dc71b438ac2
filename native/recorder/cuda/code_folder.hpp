// The folder beside the trace that has the machine code which kernels were launched from: one for all processes of a
// run.
#pragma once
#include <atomic>
#include <cstdint>
#include <span>
#include <string>

namespace streamsan::recorder::cuda {

/// Writes images into it, each once by content. Any thread may use it.
class CodeFolder {
public:
    /// What is kept of one image, and by one process.
    static constexpr std::uint64_t most_of_image = std::uint64_t{64} << 20;
    static constexpr std::uint64_t most_of_process = std::uint64_t{512} << 20;

    /// Makes sure that the folder has the image under this name. False where it does not: then `reason` says why.
    bool keep(const std::string& folder, const std::string& name, std::span<const unsigned char> image,
              std::string& reason);

private:
    std::atomic<std::uint64_t> written_{0};
};

}  // namespace streamsan::recorder::cuda
