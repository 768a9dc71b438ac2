// Launches of kernels. This is the path that must cost next to nothing: no lock, no allocation, no system call once a
// kernel is known.
#include <algorithm>
#include <memory>

#include "recorder/cuda/abi_memory.hpp"
#include "recorder/cuda/collectives.hpp"
#include "recorder/cuda/device_variables.hpp"
#include "recorder/cuda/handlers.hpp"
#include "recorder/cuda/kernels.hpp"
#include "recorder/cuda/launch_arguments.hpp"
#include "recorder/cuda/launch_shapes.hpp"
#include "recorder/cuda/not_understood.hpp"
#include "recorder/cuda/launch_settings.hpp"
#include "recorder/cuda/launch_under_way.hpp"
#include "recorder/cuda/recorder.hpp"
#include "recorder/cuda/batches.hpp"
#include "recorder/cuda/work.hpp"
#include "recorder/launch_path.hpp"

namespace streamsan::recorder::cuda {
namespace {

Gap unknown_layout{"the driver does not tell the parameters of kernels: what this one uses is not seen"};
Gap too_many{"a kernel's arguments hold more addresses than an operation has room for"};

std::uint64_t stream_named(const Call& call, abi::Word handle) {
    if (handle != 0) return handle;
    return call.callback->per_thread ? abi::per_thread_stream : abi::legacy_stream;
}

/// What a thread that launches keeps: too much for the stack of a small one.
struct LaunchState {
    LaunchShapesMet shapes;
    // Of the launch under way.
    abi::Word function = 0;
    LaunchGiven given;
    LaunchArguments arguments;
};

[[gnu::cold, gnu::noinline]] void make_launch_state(ThreadState& state) {
    state.launches = std::make_shared<LaunchState>();
}

STREAMSAN_LAUNCH_PART LaunchState& launch_state(ThreadState& state) {
    if (state.launches == nullptr) [[unlikely]]
        make_launch_state(state);
    return *static_cast<LaunchState*>(state.launches.get());
}

STREAMSAN_LAUNCH_PART std::uint32_t site_of(const Kernel& kernel) {
    Recorder& all = *recorder();
    return all.settings.sites ? all.sites->here(label_id(kernel, *all.writer)) : bare_site(kernel, *all.writer);
}

[[gnu::noinline]] void say_gaps(ThreadState& state, const Call& call, const Kernel& kernel,
                                const LaunchArguments& arguments) {
    if (!kernel.layout_known && arguments.count() == 0) say_not_understood(state, call, unknown_layout);
    if (arguments.left_out() != 0) say_not_understood(state, call, too_many);
}

/// Fills the thread's arguments and `call.site`. Returns the LAUNCH's `object`: the launch shape in its upper half.
STREAMSAN_LAUNCH_PART std::uint64_t prepare_launch(ThreadState& state, Call& call, abi::Word function,
                                                   const char* symbol, const LaunchGiven& given, LaunchState& here) {
    const Kernel& kernel = kernel_of(function, symbol);
    state.launches_collective = kernel.collective;
    here.function = function;
    here.given = given;
    if (kernel.tells_variables(call.context)) [[unlikely]]
        tell_variables_of(state, call, kernel);
    if (kernel.uses_managed.load(std::memory_order_relaxed)) [[unlikely]]
        note_managed_variables(state, kernel);
    const std::uint64_t shape = collect_launch(here.shapes, kernel, here.given, here.arguments);
    call.site = site_of(kernel);
    if (!kernel.layout_known || here.arguments.left_out() != 0) [[unlikely]]
        say_gaps(state, call, kernel, here.arguments);
    return shape << 32;
}

/// What is sure comes first; if nothing is, the slot's own reference stays empty: its flags are the launch's, too.
STREAMSAN_LAUNCH_PART void write_launch(ThreadState& state, Call& call, std::uint64_t stream, WaitClass wait,
                                        std::uint64_t object, const LaunchArguments& found, bool batched) {
    const auto write = [&](const Reference* references, std::size_t count) {
        if (batched) write_batch_member(state, call, OperationKind::LAUNCH, wait, stream, object, references, count);
        else write_entered(state, call, OperationKind::LAUNCH, wait, stream, object, references, count);
    };
    const Reference* const first = found.references();
    const bool nothing_sure =
        found.count() != 0 && (first->mode_flags & static_cast<std::uint8_t>(SlotFlag::CONDITIONAL)) != 0;
    if (!nothing_sure) [[likely]]
        write(first, found.count());
    else write(found.references_after_empty(), found.count() + 1);
}

STREAMSAN_LAUNCH_PATH void enter_launch(ThreadState& state, Call& call) {
    const auto& given = *reinterpret_cast<const abi::LaunchKernelCall*>(call.parameters);
    LaunchState& here = launch_state(state);
    const std::uint64_t object =
        prepare_launch(state, call, given.function, call.symbol,
                       {given.arguments, given.extra, {given.grid, given.block, given.shared_bytes}}, here);
    write_launch(state, call, stream_named(call, given.stream), WaitClass::NONE, object, here.arguments, false);
}

/// Its parameters end before `extra`.
void enter_cooperative(ThreadState& state, Call& call) {
    const auto& given = *reinterpret_cast<const abi::LaunchKernelCall*>(call.parameters);
    LaunchState& here = launch_state(state);
    const std::uint64_t object =
        prepare_launch(state, call, given.function, call.symbol,
                       {given.arguments, nullptr, {given.grid, given.block, given.shared_bytes}}, here);
    write_launch(state, call, stream_named(call, given.stream), WaitClass::NONE, object, here.arguments, false);
}

/// The driver has loaded the kernel's machine code in the middle of this launch: only now it is known where it is.
[[gnu::noinline]] void find_code_of_launch(ThreadState& state, const Call& call) {
    if (call.slot == nullptr || state.launches == nullptr) return;
    auto& here = *static_cast<LaunchState*>(state.launches.get());
    const Kernel& kernel = kernels().learn(here.function, call.symbol);
    // What was expected has no copy of its arguments. An old launch's are not here any more.
    if (here.given.arguments != nullptr || here.given.extra != nullptr)
        here.arguments.collect(kernel, here.given.arguments, here.given.extra);
    const std::uint64_t shape = launch_shape(kernel, here.given.dimensions, here.arguments);
    call.slot->object = shape << 32;
}

STREAMSAN_LAUNCH_PATH void exit_launch(ThreadState& state, Call& call) {
    if (has_loaded_code(state)) [[unlikely]]
        find_code_of_launch(state, call);
    complete(state, call, false);
    if (state.launches_collective) [[unlikely]]
        collective_launched(state, call);
}

STREAMSAN_LAUNCH_PATH void exit_configured(ThreadState& state, Call& call) {
    if (has_loaded_code(state)) [[unlikely]]
        find_code_of_launch(state, call);
    complete_batch(state, call);
    if (state.launches_collective) [[unlikely]]
        collective_launched(state, call);
}

/// The attributes that change what a launch orders.
struct Attributes {
    bool programmatic = false;
    std::uint64_t events[2]{};  ///< recorded by the launch: when its blocks say so, when all of them have begun
};

Attributes attributes_of(const abi::LaunchConfig& configuration) {
    constexpr std::uint32_t most = 64;
    Attributes found;
    if (configuration.attributes == nullptr) return found;
    for (std::uint32_t index = 0; index < std::min(configuration.attribute_count, most); ++index) {
        const abi::LaunchAttribute& each = configuration.attributes[index];
        if (each.id == abi::launch_attribute_programmatic_serialization)
            found.programmatic |= static_cast<std::uint32_t>(each.value[0]) != 0;
        if (each.id == abi::launch_attribute_programmatic_event) found.events[0] = each.value[0];
        if (each.id == abi::launch_attribute_completion_event) found.events[1] = each.value[0];
    }
    return found;
}

STREAMSAN_LAUNCH_PATH void enter_configured(ThreadState& state, Call& call) {
    const auto& given = *reinterpret_cast<const abi::LaunchKernelExCall*>(call.parameters);
    begin_batch(state, call);
    if (given.configuration == nullptr) return;
    const abi::LaunchConfig& configuration = *given.configuration;
    const std::uint64_t stream = stream_named(call, configuration.stream);
    const Attributes attributes = attributes_of(configuration);
    LaunchState& here = launch_state(state);
    const std::uint64_t object = prepare_launch(
        state, call, given.function, call.symbol,
        {given.arguments, given.extra, {configuration.grid, configuration.block, configuration.shared_bytes}}, here);
    // Such an event says nothing of the kernel's completion, but all before the kernel is behind it.
    for (const std::uint64_t event : attributes.events) {
        if (event != 0) write_batch_member(state, call, OperationKind::EVENT_RECORD, 0, stream, event, nullptr, 0);
    }
    write_launch(state, call, stream, attributes.programmatic ? WaitClass::PROGRAMMATIC : WaitClass::NONE, object,
                 here.arguments, true);
}

void enter_multi_device(ThreadState& state, Call& call) {
    constexpr std::uint64_t most_devices = 1024;
    begin_batch(state, call);
    const auto* const list = reinterpret_cast<const abi::LaunchParameters*>(call.word(0));
    const std::uint64_t count = std::min(call.word(1), most_devices);
    if (list == nullptr) return;
    for (std::uint64_t index = 0; index < count; ++index) {
        const abi::LaunchParameters& each = list[index];
        LaunchState& here = launch_state(state);
        const std::uint64_t object =
            prepare_launch(state, call, each.function, nullptr,
                           {each.arguments, nullptr, {each.grid, each.block, each.shared_bytes}}, here);
        write_launch(state, call, stream_named(call, each.stream), WaitClass::NONE, object, here.arguments, true);
    }
}

/// cuLaunch, cuLaunchGrid, cuLaunchGridAsync: the arguments and the block were set before.
void enter_old(ThreadState& state, Call& call) {
    const std::uint64_t function = call.word(0);
    LaunchState& here = launch_state(state);
    here.shapes.last = nullptr;
    const Kernel& kernel = kernel_of(function, nullptr);
    state.launches_collective = false;
    const LaunchSettings settings = launch_settings().of(function);
    here.arguments.clear();
    here.arguments.collect(settings.arguments.data(), settings.arguments.size(),
                           static_cast<std::uint8_t>(AccessMode::OPAQUE));
    call.site = site_of(kernel);
    LaunchDimensions dimensions;
    dimensions.block = settings.block;
    dimensions.shared = settings.shared;
    // cuLaunch launches one block.
    dimensions.grid = {1, 1, 1};
    for (std::size_t axis = 0; axis < 2 && call.callback->count > 2; ++axis)
        dimensions.grid[axis] = static_cast<std::uint32_t>(call.word(1 + axis));
    here.function = function;
    here.given = {nullptr, nullptr, dimensions};
    const std::uint64_t object = std::uint64_t{launch_shape(kernel, dimensions, here.arguments)} << 32;
    write_launch(state, call, call.stream(), WaitClass::NONE, object, here.arguments, false);
}

}  // namespace

LaunchUnderWay launch_under_way(const ThreadState& state) {
    if (state.launches == nullptr) return {};
    const auto& here = *static_cast<const LaunchState*>(state.launches.get());
    const LaunchArguments& arguments = here.arguments;
    return {here.shapes.last, {arguments.references(), arguments.count()}, arguments.left_out() == 0};
}

void register_launches(HandlerTable& table) {
    table.on("cuLaunchKernel", {enter_launch, exit_launch});
    table.on("cuLaunchCooperativeKernel", {enter_cooperative, exit_launch});
    table.on("cuLaunchKernelEx", {enter_configured, exit_configured});
    table.on("cuLaunchCooperativeKernelMultiDevice", {enter_multi_device, complete_batch});
    table.on("cuLaunch", {enter_old, exit_launch});
    table.on("cuLaunchGrid", {enter_old, exit_launch});
    table.on("cuLaunchGridAsync", {enter_old, exit_launch});
}

void register_work(HandlerTable& table) {
    register_launches(table);
    register_launch_settings(table);
    register_copies(table);
    register_fills(table);
    register_migrations(table);
    register_memory_operations(table);
}

}  // namespace streamsan::recorder::cuda
