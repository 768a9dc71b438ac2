// Memory of a device in which the kernels of one context note what they touch: allocated, read and cleared through the
// Sanitizer API, on a stream of its own, so that nothing of the program waits for it.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "recorder/accesses/device_notes.hpp"
#include "recorder/cuda/sanitizer.hpp"

namespace streamsan::recorder::cuda {

/// What was read of some notes. Valid until the next reading.
struct ReadNotes {
    std::span<const DeviceNotes::Record> records;
    std::span<const std::uint32_t> bits;
    bool whole;  ///< there was room for all
};

class AccessMemory {
public:
    /// A part is read and cleared when all launches that note there have ended, while others go on in another part.
    static constexpr std::size_t parts = 4;

    /// In the context that is current. False where the device has no room, or no stream can be made.
    bool allocate(const Sanitizer& api, abi::Word context);
    /// What the launch of this number is to be given.
    [[nodiscard]] const void* given(std::size_t part, std::uint32_t launch) const {
        return static_cast<const char*>(heads_[part].device) + launch;
    }
    /// Reads what ended launches have noted. Nothing where the device does not answer.
    bool read(const Sanitizer& api, std::size_t part, ReadNotes& notes);
    /// As new, less what was read.
    void clear(const Sanitizer& api, std::size_t part, const ReadNotes& notes);

private:
    struct Head {
        void* device = nullptr;
        DeviceNotes layout{};  ///< as it is when nothing is noted
    };
    bool copy(const Sanitizer& api, void* to, const void* from, std::size_t bytes);

    std::array<Head, parts> heads_{};
    abi::SanitizerStream stream_ = nullptr;
    void* staging_ = nullptr;  ///< page-locked
    std::vector<DeviceNotes::Record> records_;
    std::vector<std::uint32_t> bits_;
};

}  // namespace streamsan::recorder::cuda
