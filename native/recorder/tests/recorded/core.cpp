// The recorder's core: contexts, streams, events, failures, threads, forks, exits.
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include "recorder/cuda/callback_source.hpp"
#include "recorder/cuda/cupti.hpp"
#include "recorder/cuda/driver.hpp"
#include "recorder/cuda/failures.hpp"
#include "recorder/cuda/handlers.hpp"
#include "recorder/cuda/processes.hpp"
#include "recorder/cuda/recorder.hpp"
#include "recorder/run/omissions.hpp"
#include "recorder/run/settings.hpp"
#include "recorder/tests/fired.hpp"
#include "scenarios.hpp"

namespace recorded {
namespace core_calls {

Scenarios scenarios;

using namespace streamsan::recorder;
using namespace streamsan::recorder::cuda;
using fired::Call;
using streamsan::OperationKind;

constexpr abi::Word primary = 0xc0;
constexpr abi::Word created = 0xc1;

void begin_context(abi::Word context, int device) {
    Call retain("cuDevicePrimaryCtxRetain");
    abi::Word out = 0;
    retain.with(0, &out).with(1, device).enter();
    fired::resource(abi::Resource::context_created, context);
    out = context;
    retain.exit();
    fired::context = context;
}

void create_stream(abi::Word handle, std::uint32_t flags) {
    abi::Word out = 0;
    Call runtime("cudaStreamCreateWithFlags");
    runtime.with(0, &out).with(1, flags).enter();
    fired::inside([&] {
        Call call("cuStreamCreate");
        call.with(0, &out).with(1, flags).enter();
        out = handle;
        call.exit();
    });
    runtime.exit();
}

void create_event(abi::Word handle) {
    abi::Word out = 0;
    Call call("cuEventCreate");
    call.with(0, &out).with(1, 2u).enter();
    out = handle;
    call.exit();
}

void launch(abi::Word stream, abi::Status status = abi::success) {
    Call("cuLaunchKernel").symbol("_Z4fillPf").with(8, stream).done(status);
}

void free_failed(abi::Word address, abi::Status status) { Call("cudaFree").with(0, address).done(status); }

SCENARIO(streams_and_events) {
    begin_context(primary, 0);
    create_stream(0x51, 0);
    create_stream(0x52, 1);
    create_event(0xe1);
    Call("cuEventRecord").with(0, abi::Word{0xe1}).with(1, abi::Word{0x51}).done();
    Call("cuStreamWaitEvent").with(0, abi::Word{0}).with(1, abi::Word{0xe1}).done();
    Call("cuStreamWaitEvent", true).with(0, abi::Word{0}).with(1, abi::Word{0xe1}).done();
    Call("cuStreamQuery").with(0, abi::Word{0x51}).done(600);
    Call("cuEventSynchronize").with(0, abi::Word{0xe1}).done();
    float milliseconds = 0;
    Call("cuEventElapsedTime").with(0, &milliseconds).with(1, abi::Word{0xe1}).with(2, abi::Word{0xe2}).done(400);
    Call("cuStreamSynchronize").with(0, abi::Word{0x52}).done();
    Call("cuCtxSynchronize").with(0, abi::Word{0}).done();
    Call("cuEventDestroy").with(0, abi::Word{0xe1}).done();
    Call("cuStreamDestroy").with(0, abi::Word{0x51}).done();
}

/// A wait is numbered when it returns: what another thread did meanwhile is before its end.
SCENARIO(waits) {
    begin_context(primary, 0);
    Call wait("cuCtxSynchronize");
    wait.with(0, abi::Word{0}).enter();
    std::thread([] {
        fired::context = primary;
        launch(0x51);
    }).join();
    wait.exit();
    launch(0x52);
    Call hangs("cuStreamSynchronize");
    hangs.with(0, abi::Word{0x51}).enter();
}

SCENARIO(contexts) {
    begin_context(primary, 0);
    Call create("cuCtxCreate");
    abi::Word out = 0;
    create.with(0, &out).with(3, 1).enter();
    fired::resource(abi::Resource::context_created, created);
    out = created;
    create.exit();
    fired::context = created;
    create_stream(0x51, 0);
    Call("cuCtxEnablePeerAccess").with(0, primary).done();
    Call("cuCtxEnablePeerAccess").with(0, primary).done(704);
    Call("cuCtxSynchronize").with(0, primary).done();
    Call("cuCtxSetCurrent").with(0, primary).done();
    fired::context = primary;
    launch(0x51);
    Call destroy("cuCtxDestroy");
    destroy.with(0, created).enter();
    fired::resource(abi::Resource::context_destroy_starting, created);
    destroy.exit();
    Call("cuCtxSetCurrent").with(0, created).done(201);
    Call("cuCtxDestroy").with(0, created).done(201);
}

SCENARIO(resets) {
    begin_context(primary, 0);
    launch(0x51);
    Call reset("cudaDeviceReset");
    reset.enter();
    fired::inside([] {
        Call inner("cuDevicePrimaryCtxReset");
        inner.with(0, 0).enter();
        fired::resource(abi::Resource::context_destroy_starting, primary);
        inner.exit();
    });
    reset.exit();
    fired::context = 0;
    begin_context(primary, 0);
    Call again("cuDevicePrimaryCtxReset");
    again.with(0, 0).enter();
    fired::resource(abi::Resource::context_destroy_starting, primary);
    again.exit();
    begin_context(primary, 0);
    Call release("cuDevicePrimaryCtxRelease");
    release.with(0, 0).enter();
    fired::resource(abi::Resource::context_destroy_starting, primary);
    release.exit();
    // After the last call the driver tears itself down.
    begin_context(primary, 0);
    fired::resource(abi::Resource::context_destroy_starting, primary);
}

abi::LogFunction log_function = nullptr;

abi::Status register_log(abi::LogFunction function, void*, abi::Word*) {
    log_function = function;
    // An own call that fails while the recorder makes it is nothing of the program's.
    char own[] = "of the recorder itself";
    function(nullptr, abi::LogLevel::error, own, sizeof own - 1);
    return abi::success;
}

void log(std::string text) { log_function(nullptr, abi::LogLevel::error, text.data(), text.size()); }

SCENARIO(failures) {
    static Driver driver;
    driver.cuLogsRegisterCallback = register_log;
    recorder()->driver = &driver;
    listen_to_the_driver();
    begin_context(primary, 0);
    log("outside of any call");
    // An operation that fails, in the driver's words.
    Call bad("cuLaunchKernel");
    bad.symbol("_Z4fillPf").enter();
    log("[10:00:00.000][1][CUDA][E] One or more of block dimensions of (4096,1,1) exceeds the limits of "
        "(1024,1024,64): "
        "no kernel can be launched so");
    log("Returning 1 (CUDA_ERROR_INVALID_VALUE) from cuLaunchKernel");
    bad.exit(1);
    // A driver call without an operation of its own.
    Call reserve("cuMemAddressReserve");
    reserve.enter();
    log("Invalid alignment");
    reserve.exit(1);
    // What the driver says of a call that succeeds is of no use.
    Call fine("cuLaunchKernel");
    fine.enter();
    log("not a failure");
    fine.exit();
    // The runtime never asks the driver.
    Call("cudaSetDevice").with(0, 99).done(101);
    free_failed(0x7000, 1);
    // It asks, the driver refuses, and it fails: one call. It asks, the driver refuses, and it succeeds: nothing.
    for (const abi::Status status : {1, 0}) {
        Call runtime("cudaDeviceSetLimit");
        runtime.enter();
        fired::inside([] {
            Call call("cuMemAddressReserve");
            call.enter();
            log("Not supported here");
            call.exit(801);
        });
        runtime.exit(status);
    }
    // The failed operation of the driver stands for the runtime's failure.
    Call runtime("cudaStreamCreate");
    runtime.enter();
    fired::inside([] { Call("cuStreamCreate").done(2); });
    runtime.exit(2);
}

SCENARIO(nesting) {
    begin_context(primary, 0);
    // The driver's own calls inside a call are its business.
    Call outer("cuLaunchKernel");
    outer.enter();
    fired::inside([] { launch(0x99); });
    outer.exit();
    // So are ours.
    {
        const OwnCalls own;
        launch(0x98);
        Call("cudaMalloc").done(2);
    }
    // An exit without its enter: recording began in between.
    Call late("cuLaunchKernel");
    late.exit();
    launch(0x51);
}

/// A call that never returned to us: an exception went through it.
[[gnu::noinline]] void abandoned() {
    volatile char depth[4096];
    depth[0] = 0;
    Call call("cuLaunchKernel");
    call.with(8, abi::Word{0x61}).enter();
    Call("cudaMalloc").enter();
    depth[1] = depth[0];
}

SCENARIO(exceptions) {
    begin_context(primary, 0);
    abandoned();
    launch(0x62);
}

std::atomic<abi::Word> capturing_stream{0};

SCENARIO(captures) {
    static Driver driver;
    driver.cuStreamIsCapturing = [](abi::Word stream, abi::CaptureStatus* status) -> abi::Status {
        *status = stream == capturing_stream.load() ? abi::CaptureStatus::active : abi::CaptureStatus::none;
        return abi::success;
    };
    recorder()->driver = &driver;
    begin_context(primary, 0);
    recorder()->captures = 1;
    capturing_stream = 0x51;
    launch(0x51);
    launch(0x52);
    Call("cuStreamSynchronize").with(0, abi::Word{0x51}).done(900);
    // Waits for an event of the capture: the stream takes part from here on.
    capturing_stream = 0;
    Call joins("cuStreamWaitEvent");
    joins.with(0, abi::Word{0x53}).with(1, abi::Word{0xe1}).enter();
    capturing_stream = 0x53;
    joins.exit();
    Call("cuStreamWaitEvent").with(0, abi::Word{0x54}).with(1, abi::Word{0xe2}).done();
}

SCENARIO(threads) {
    begin_context(primary, 0);
    std::vector<std::thread> all;
    for (abi::Word number = 0; number < 4; ++number) {
        all.emplace_back([number] {
            fired::context = primary;
            for (int round = 0; round < 2000; ++round) {
                launch(0x100 + number);
                if (round % 4 == 0) {
                    create_event(0x1000 * (number + 1) + static_cast<abi::Word>(round));
                    Call("cuEventDestroy").with(0, 0x1000 * (number + 1) + static_cast<abi::Word>(round)).done();
                }
                if (round % 16 == 0) Call("cuStreamSynchronize").with(0, 0x100 + number).done();
            }
        });
    }
    for (std::thread& thread : all) thread.join();
}

std::uint32_t hot_now = 0;

abi::CuptiStatus fake_subscribe(abi::Subscriber* subscriber, abi::CallbackFunction, void*) {
    static int place;
    *subscriber = &place;
    return abi::cupti_success;
}

abi::CuptiStatus fake_enable(std::uint32_t wanted, abi::Subscriber, abi::Domain domain, std::uint32_t id) {
    const auto& launch_row = fired::row("cudaLaunchKernel");
    if (domain == abi::Domain::runtime && id == launch_row.id) hot_now = wanted;
    return abi::cupti_success;
}

void subscribe_to_fake() {
    const Cupti fake{fake_subscribe, nullptr, fake_enable, nullptr};
    if (!subscribe(fake, dispatch).empty()) std::abort();
    enable_callbacks();
    watch_process();
}

SCENARIO(forks) {
    subscribe_to_fake();
    begin_context(primary, 0);
    launch(0x51);
    std::thread([] {}).join();
    const pid_t child = fork();
    if (child == 0) {
        if (hot_now != 1) _exit(2);
        // The driver is not reached any more: the runtime fails by itself.
        Call("cudaLaunchKernel").done(3);
        _exit(0);
    }
    int status = 0;
    if (waitpid(child, &status, 0) != child || status != 0 || hot_now != 0) std::abort();
    launch(0x52);
    std::printf("%d %d\n", getpid(), child);
}

struct CallsWhenDestroyed {
    ~CallsWhenDestroyed() { free_failed(0x7000, 4); }
};

SCENARIO(ends) {
    subscribe_to_fake();
    begin_context(primary, 0);
    launch(0x51);
    // Destroyed after the exit handler, as an object that was made before recording began.
    std::exit(0);
}

SCENARIO(spoken) {
    note_omission("first");
    note_omission("first");
    note_omission("second\nline");
    note_lost_call("cuLaunchKernel");
    note_lost_call("cuLaunchKernel");
}

void begin(std::string& settings, std::string_view scenario) {
    if (scenario == "ends") static CallsWhenDestroyed object;
    recorded::begin(settings);
}

}  // namespace core_calls

const bool core_calls_are_there = families().emplace("core", Family{core_calls::scenarios, core_calls::begin}).second;

}  // namespace recorded
