// Memory of a device in which the kernels of one context note what they touch: allocated, read and cleared through the
// Sanitizer API, on a stream of its own, so that nothing of the program waits for it.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>

#include "recorder/accesses/access_ranges.hpp"
#include "recorder/accesses/device_notes.hpp"
#include "recorder/cuda/sanitizer.hpp"

namespace streamsan::recorder::cuda {

/// How much was noted in a part.
struct NotedAmount {
    std::uint32_t records;
    std::uint32_t notes;
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
        const auto head = reinterpret_cast<std::uint64_t>(parts_[part].head);
        return reinterpret_cast<const void*>(DeviceNotes::given_to(head, launch, entries_log2_));
    }
    /// What the kernels of a graph's launch are to be given: each notes under `launch` and the number of its grid.
    [[nodiscard]] const void* given_to_graph(std::size_t part, std::uint32_t launch) const {
        const auto head = reinterpret_cast<std::uint64_t>(parts_[part].head);
        return reinterpret_cast<const void*>(DeviceNotes::given_to_graph(head, launch, entries_log2_));
    }
    /// Reads what ended launches have noted. False where the device does not answer.
    bool read(const Sanitizer& api, std::size_t part, TouchedByLaunch& touched, NotedAmount& amount);
    /// Makes a part as it was before so much was noted in it.
    void clear(const Sanitizer& api, std::size_t part, const NotedAmount& amount);

private:
    /// On the device.
    struct Part {
        char* head = nullptr;
        char* entries = nullptr;
        char* bits = nullptr;
        char* records = nullptr;
    };
    bool stage(const Sanitizer& api, void* to, const void* from, std::size_t bytes);

    std::array<Part, parts> parts_{};
    unsigned entries_log2_ = DeviceNotes::least_entries_log2;
    abi::SanitizerStream stream_ = nullptr;
    void* staging_ = nullptr;  ///< page-locked
};

}  // namespace streamsan::recorder::cuda
