// The entry that the driver calls: it loads this library in cuInit, because CUDA_INJECTION64_PATH names it.
#include <cstdlib>
#include <exception>

#include "recorder/cuda/callback_source.hpp"
#include "recorder/cuda/cupti.hpp"
#include "recorder/cuda/device_times.hpp"
#include "recorder/cuda/dispatch.hpp"
#include "recorder/cuda/driver.hpp"
#include "recorder/cuda/failures.hpp"
#include "recorder/cuda/handlers.hpp"
#include "recorder/cuda/host_accesses.hpp"
#include "recorder/cuda/processes.hpp"
#include "recorder/cuda/recorder.hpp"
#include "recorder/cuda/recording_start.hpp"
#include "recorder/run/omissions.hpp"
#include "recorder/cuda/sanitizer.hpp"
#include "recorder/run/settings.hpp"

namespace streamsan::recorder::cuda {
namespace {

Settings& settings() {
    static Settings& read = *new Settings;
    return read;
}

/// Becomes whom CUPTI tells of calls, or the Sanitizer API. Returns "", or why it is impossible.
std::string listen(Cupti& cupti) {
    if (!settings().sanitizer.empty()) return subscribe_to_sanitizer(settings().sanitizer);
    if (std::string reason = load_cupti(settings().cupti, cupti); !reason.empty()) return reason;
    return subscribe(cupti, dispatch);
}

/// The recording goes on without times where there are none.
void begin_times(const Cupti& cupti) {
    const std::string reason = begin_device_times(cupti);
    if (reason.empty()) recorder()->writer->add_metadata("\"times\": true");
    else note_omission("when work ran is not recorded: " + reason);
}

/// Begins to record. Returns "", or why it is impossible.
std::string begin() {
    if (settings().output.empty()) return "STREAMSAN_RECORD names no output";
    // The source of callbacks first: where it is missing no file is left behind.
    Cupti cupti;
    if (std::string reason = listen(cupti); !reason.empty()) return reason;
    std::string reason;
    if (!start_recorder(settings(), reason)) return reason;
    begin_host_accesses();
    if (settings().times) begin_times(cupti);
    prepare_dispatch();
    enable_callbacks();
    watch_process();
    return "";
}

}  // namespace
}  // namespace streamsan::recorder::cuda

/// Called by the driver, once. Whatever happens here, the program runs.
extern "C" __attribute__((visibility("default"))) int InitializeInjection() {
    using namespace streamsan::recorder;
    using namespace streamsan::recorder::cuda;
    try {
        const char* const text = std::getenv(settings_variable);
        if (text == nullptr || recorder() != nullptr) return 1;
        settings() = parse_settings(text);
        note_omissions_in(settings().omissions);
        if (const std::string reason = begin(); !reason.empty()) note_omission("nothing is recorded: " + reason);
    } catch (const std::exception& error) {
        note_omission(error.what());
    } catch (...) {
    }
    return 1;
}
