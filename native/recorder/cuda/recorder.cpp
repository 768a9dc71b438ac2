#include "recorder/cuda/recorder.hpp"

#include "recorder/cuda/driver.hpp"
#include "recorder/cuda/failures.hpp"
#include "recorder/cuda/handlers.hpp"
#include "recorder/cuda/python_adapters.hpp"
#include "recorder/cuda/recording_start.hpp"
#include "recorder/run/omissions.hpp"
#include "recorder/launch_path.hpp"

namespace streamsan::recorder::cuda {
namespace {

std::atomic<Recorder*> the_recorder{nullptr};

}  // namespace

STREAMSAN_LAUNCH_PATH Recorder* recorder() { return the_recorder.load(std::memory_order_acquire); }

bool start_recorder(const Settings& settings, std::string& reason) {
    auto made = std::make_unique<Recorder>();
    made->settings = settings;
    made->poisons = settings.poison;
    if (!settings.sanitizer.empty()) made->memory.keep_bases();
    made->writer = Writer::open(options_of_process(settings), reason);
    if (made->writer == nullptr) return false;
    made->writer->on_stop([](std::string_view why) { note_omission("recording stopped: " + std::string(why)); });
    made->writer->on_rotation([](Lane& lane) {
        restate_handles(lane);
        restate_memory(lane);
        restate_graphs(lane);
    });
    made->sites = std::make_unique<Sites>(*made->writer);
    the_recorder.store(made.release(), std::memory_order_release);
    return true;
}

void driver_is_ready() {
    Recorder& all = *recorder();
    if (all.ready.load(std::memory_order_relaxed)) return;
    all.driver = find_driver();
    all.ready.store(true, std::memory_order_release);
    listen_to_the_driver();
    load_python_adapters();
}

}  // namespace streamsan::recorder::cuda
