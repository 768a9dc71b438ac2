#include "recorder/cuda/recording_start.hpp"

#include "recorder/run/json_text.hpp"
#include "recorder/run/process_file.hpp"

namespace streamsan::recorder::cuda {
namespace {

/// The version of the driver's kernel module, as it says itself; "" where that is not to be read.
std::string driver_version() {
    std::string version = contents_of("/sys/module/nvidia/version", 64);
    while (!version.empty() && (version.back() == '\n' || version.back() == ' ')) version.pop_back();
    return version;
}

/// What the header of a file says of the platform.
std::string platform(const Settings& settings) {
    std::string json = R"("platform": "cuda")";
    if (const std::string version = driver_version(); !version.empty())
        json += ", \"driver\": " + as_json(text_of(version));
    if (!settings.sanitizer.empty()) json += ", \"accesses\": true";
    if (settings.driver_pools) json += ", \"driver_pools\": true";
    if (settings.poison) json += ", \"poison\": {}";
    if (settings.host_accesses) json += ", \"host_accesses\": true";
    return json;
}

}  // namespace

WriterOptions options_of_process(const Settings& settings) {
    return recorder::options_of_process(settings, platform(settings));
}

}  // namespace streamsan::recorder::cuda
