// Who tells of calls: CUPTI, or in exact mode the Sanitizer API.
#pragma once
#include <cstdint>

#include "recorder/cuda/abi.hpp"

namespace streamsan::recorder::cuda {

struct CallbackSource {
    /// Of one function of the driver or the runtime. An id that the library does not know yet is passed over.
    void (*enable)(abi::Domain domain, std::uint32_t id, bool wanted) = nullptr;
    /// All that tells of the life of contexts, modules, graphs, ...
    void (*enable_resources)() = nullptr;
};

/// From here on this is the source.
void set_callback_source(const CallbackSource& source);

/// Enables the callbacks of all functions and resources that are recorded, but those of hot runtime functions.
void enable_callbacks();

/// Enables or disables the callbacks of hot runtime functions.
void enable_hot_callbacks(bool enable);

}  // namespace streamsan::recorder::cuda
