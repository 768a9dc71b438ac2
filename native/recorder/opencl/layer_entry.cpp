// What a loader of OpenCL calls: it loads this library because OPENCL_LAYERS names it.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <string>
#include <unistd.h>

#include "recorder/opencl/layer.hpp"
#include "recorder/opencl/recorder.hpp"
#include "recorder/run/omissions.hpp"
#include "recorder/run/settings.hpp"

namespace streamsan::recorder::opencl {
namespace {

constexpr char layer_name[] = "streamsan";

/// Tells `streamsan run` that a loader has taken the layer: a file beside the counter.
void tell_of_layer(const Settings& settings) {
    if (settings.counter.empty()) return;
    const std::string path = settings.counter + ".layer";
    const int file = open(path.c_str(), O_CREAT | O_NOFOLLOW | O_WRONLY | O_CLOEXEC, 0600);
    if (file >= 0) close(file);
}

void read_settings() {
    static const bool once = [] {
        if (const char* const text = std::getenv(settings_variable); text != nullptr) {
            const Settings settings = parse_settings(text);
            set_settings(settings);
            note_omissions_in(settings.omissions);
            tell_of_layer(settings);
        }
        return true;
    }();
    static_cast<void>(once);
}

std::int32_t begin_layer(std::uint32_t entries, const void* const* below, std::uint32_t* entries_of_ours,
                         const void* const** ours) {
    if (below == nullptr || entries_of_ours == nullptr || ours == nullptr) return abi::CL_INVALID_VALUE;
    const std::size_t count = std::min<std::size_t>(entries, most_places);
    try {
        read_settings();
        *ours = make_table(below, count);
        *entries_of_ours = static_cast<std::uint32_t>(count);
    } catch (...) {
        return abi::CL_OUT_OF_RESOURCES;
    }
    return abi::CL_SUCCESS;
}

}  // namespace
}  // namespace streamsan::recorder::opencl

#define STREAMSAN_EXPORTED extern "C" __attribute__((visibility("default")))

using namespace streamsan::recorder::opencl;

STREAMSAN_EXPORTED std::int32_t clGetLayerInfo(std::uint32_t what, std::size_t room, void* value, std::size_t* size) {
    const void* source = nullptr;
    std::size_t bytes = 0;
    if (what == abi::CL_LAYER_API_VERSION) {
        source = &abi::CL_LAYER_API_VERSION_100;
        bytes = sizeof abi::CL_LAYER_API_VERSION_100;
    } else if (what == abi::CL_LAYER_NAME) {
        source = layer_name;
        bytes = sizeof layer_name;
    } else {
        return abi::CL_INVALID_VALUE;
    }
    if (value != nullptr && room < bytes) return abi::CL_INVALID_VALUE;
    if (value != nullptr) std::memcpy(value, source, bytes);
    if (size != nullptr) *size = bytes;
    return abi::CL_SUCCESS;
}

STREAMSAN_EXPORTED std::int32_t clInitLayer(std::uint32_t entries, const void* const* below,
                                            std::uint32_t* entries_of_ours, const void* const** ours) {
    return begin_layer(entries, below, entries_of_ours, ours);
}

/// What newer loaders call: the same with properties, of which none concerns us.
STREAMSAN_EXPORTED std::int32_t clInitLayerWithProperties(std::uint32_t entries, const void* const* below,
                                                          std::uint32_t* entries_of_ours, const void* const** ours,
                                                          const std::uint64_t*) {
    return begin_layer(entries, below, entries_of_ours, ours);
}

/// The loader is about to go: the file is closed when the library is.
STREAMSAN_EXPORTED std::int32_t clDeinitLayer() { return abi::CL_SUCCESS; }
