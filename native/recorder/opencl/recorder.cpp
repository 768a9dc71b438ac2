#include "recorder/opencl/recorder.hpp"

#include <atomic>
#include <mutex>
#include <string>

#include "recorder/opencl/live_objects.hpp"
#include "recorder/opencl/processes.hpp"
#include "recorder/opencl/told_again.hpp"
#include "recorder/run/omissions.hpp"
#include "recorder/run/process_file.hpp"

namespace streamsan::recorder::opencl {
namespace {

std::atomic<Recorder*> the_recorder{nullptr};
std::atomic<bool> is_wanted{false};

Settings& settings_of_run() {
    static Settings& settings = *new Settings;
    return settings;
}

}  // namespace

Recorder* recorder() { return the_recorder.load(std::memory_order_acquire); }

bool wanted() { return is_wanted.load(std::memory_order_relaxed); }

void set_settings(const Settings& settings) {
    settings_of_run() = settings;
    is_wanted.store(!settings.output.empty(), std::memory_order_relaxed);
}

Recorder* begin_recorder() {
    static std::mutex& mutex = *new std::mutex;
    const std::lock_guard lock(mutex);
    if (Recorder* const there = recorder(); there != nullptr || !wanted()) return there;
    auto made = std::make_unique<Recorder>();
    made->settings = settings_of_run();
    std::string reason;
    made->writer = Writer::open(options_of_process(made->settings), reason);
    if (made->writer == nullptr) {
        note_omission("nothing of OpenCL is recorded: " + reason);
        is_wanted.store(false, std::memory_order_relaxed);
        return nullptr;
    }
    made->writer->on_stop([](std::string_view why) { note_omission("recording stopped: " + std::string(why)); });
    made->writer->on_rotation(tell_again);
    made->sites = std::make_unique<Sites>(*made->writer);
    the_recorder.store(made.release(), std::memory_order_release);
    watch_process();
    write_event(OperationKind::THREAD_START, 0, 0);
    return recorder();
}

WriterOptions options_of_process(const Settings& settings) {
    return recorder::options_of_process(settings, R"("platform": "opencl")");
}

}  // namespace streamsan::recorder::opencl
