// The folder beside the trace that has the machine code, or the text, which kernels were launched from: one for all
// processes of a run.
#pragma once
#include <atomic>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "recorder/run/settings.hpp"
#include "recorder/trace_writer/writer.hpp"

namespace streamsan::recorder {

/// Writes images into it, each once by content. Any thread may use it.
class CodeFolder {
public:
    /// What is kept of one image, and by one process.
    static constexpr std::uint64_t most_of_image = std::uint64_t{64} << 20;
    static constexpr std::uint64_t most_of_process = std::uint64_t{512} << 20;

    /// Makes sure that the folder has the image, and returns its name there without the suffix: 32 hexadecimal digits.
    /// "" where it does not have it; why is said once, in the trace.
    std::string keep(const Settings& settings, Writer& writer, std::string_view suffix,
                     std::span<const unsigned char> image);

private:
    bool write(const std::string& folder, const std::string& file, std::span<const unsigned char> image,
               std::string& reason);

    std::atomic<std::uint64_t> written_{0};
    std::atomic<bool> said_{false};  ///< why something is not kept
};

}  // namespace streamsan::recorder
