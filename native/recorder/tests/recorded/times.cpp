// When work ran, as the fake device tells it while threads go on.
#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "driver_calls.hpp"
#include "recorder/cuda/device_times.hpp"
#include "scenarios.hpp"

namespace abi = streamsan::recorder::cuda::abi;

extern "C" {
abi::CuptiStatus cuptiActivityRegisterCallbacks(abi::BufferRequested, abi::BufferCompleted);
abi::CuptiStatus cuptiActivityRegisterTimestampCallback(abi::Timestamp);
abi::CuptiStatus cuptiActivityEnable(abi::Activity);
abi::CuptiStatus cuptiActivityDisable(abi::Activity);
abi::CuptiStatus cuptiActivityGetNextRecord(std::uint8_t*, std::size_t, abi::ActivityRecord**);
abi::CuptiStatus cuptiActivityFlushAll(std::uint32_t);
abi::CuptiStatus cuptiActivityFlushPeriod(std::uint32_t);
}

namespace recorded {
namespace timed_work {

Scenarios scenarios;

using namespace fake;

const Kernel fill{"_Z4fillPfi", {8, 8}};

/// Threads launch and copy, another one has records handed over all the time, and files are full meanwhile.
SCENARIO(threads) {
    constexpr int steps = 2000;
    std::atomic<bool> over{false};
    std::thread flushes([&over] {
        while (!over.load()) cuptiActivityFlushAll(0);
    });
    std::vector<std::thread> workers;
    for (int thread = 0; thread < 4; ++thread) {
        workers.emplace_back([] {
            fake_set_current_context(context);
            std::array<char, kib> host{};
            const Word memory = allocate(kib), stream = stream_create();
            for (int step = 0; step < steps; ++step) {
                launch(fill, stream, {memory, 1});
                if (step % 16 == 0)
                    call(Where::current(), "cuMemcpyDtoH_v2", static_cast<void*>(host.data()), memory, kib);
            }
            stream_synchronize(stream);
            release(memory);
        });
    }
    for (std::thread& each : workers) each.join();
    over.store(true);
    flushes.join();
    streamsan::recorder::cuda::finish_device_times();
}

void begin(std::string& settings, std::string_view) {
    settings += "max_bytes=1048576\n";
    begin_with_driver(settings);
    streamsan::recorder::cuda::Cupti cupti;
    cupti.activity = {cuptiActivityRegisterCallbacks,
                      cuptiActivityRegisterTimestampCallback,
                      cuptiActivityEnable,
                      cuptiActivityDisable,
                      cuptiActivityGetNextRecord,
                      cuptiActivityFlushAll,
                      cuptiActivityFlushPeriod};
    if (const std::string reason = streamsan::recorder::cuda::begin_device_times(cupti); !reason.empty()) {
        std::fprintf(stderr, "%s\n", reason.c_str());
        std::exit(1);
    }
    model().contexts.insert(context);
    fake_set_current_context(context);
}

}  // namespace timed_work

const bool timed_work_is_there = families().emplace("times", Family{timed_work::scenarios, timed_work::begin}).second;

}  // namespace recorded
