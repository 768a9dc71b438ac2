// Launches of kernels. This is the path that must cost next to nothing: no lock, no allocation, no system call once a
// kernel is known.
#include <algorithm>
#include <memory>

#include "recorder/cuda/abi_memory.hpp"
#include "recorder/cuda/handlers.hpp"
#include "recorder/cuda/kernels.hpp"
#include "recorder/cuda/not_understood.hpp"
#include "recorder/cuda/parameter_calls.hpp"
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

/// The references of the launch under way: too many for the stack of a small thread.
STREAMSAN_LAUNCH_PATH KernelReferences& references_here(ThreadState& state) {
    if (state.kernel_references == nullptr) [[unlikely]]
        state.kernel_references = std::make_shared<KernelReferences>();
    auto& found = *static_cast<KernelReferences*>(state.kernel_references.get());
    found.clear();
    return found;
}

STREAMSAN_LAUNCH_PATH std::uint32_t site_of(const Kernel& kernel) {
    Recorder& all = *recorder();
    return all.settings.sites ? all.sites->here(label_id(kernel, *all.writer)) : bare_site(kernel, *all.writer);
}

[[gnu::noinline]] void say_gaps(ThreadState& state, const Call& call, const Kernel& kernel,
                                const KernelReferences& found) {
    if (!kernel.layout_known && found.size() == 0) say_not_understood(state, call, unknown_layout);
    if (found.left_out() != 0) say_not_understood(state, call, too_many);
}

STREAMSAN_LAUNCH_PATH const Kernel& prepare_launch(ThreadState& state, Call& call, abi::Word function,
                                                   const char* symbol, void* const* arguments, void* const* extra,
                                                   KernelReferences& found) {
    const Kernel& kernel = kernel_of(function, symbol);
    found.collect(kernel, arguments, extra);
    call.site = site_of(kernel);
    if (!kernel.layout_known || found.left_out() != 0) [[unlikely]]
        say_gaps(state, call, kernel, found);
    return kernel;
}

/// What is sure comes first; if nothing is, the slot's own reference stays empty: its flags are the launch's, too.
STREAMSAN_LAUNCH_PATH void write_launch(ThreadState& state, Call& call, std::uint64_t stream, WaitClass wait,
                                        const KernelReferences& found, bool batched) {
    const auto write = batched ? write_batch_member : write_entered;
    const Reference* const first = found.data();
    const bool nothing_sure =
        found.size() != 0 && (first->mode_flags & static_cast<std::uint8_t>(SlotFlag::CONDITIONAL)) != 0;
    if (!nothing_sure) [[likely]] {
        write(state, call, OperationKind::LAUNCH, wait, stream, 0, first, found.size());
        return;
    }
    write(state, call, OperationKind::LAUNCH, wait, stream, 0, found.data_after_empty(), found.size() + 1);
}

STREAMSAN_LAUNCH_PATH void enter_launch(ThreadState& state, Call& call) {
    const auto& given = *reinterpret_cast<const abi::LaunchKernelCall*>(call.parameters);
    KernelReferences& found = references_here(state);
    prepare_launch(state, call, given.function, call.symbol, given.arguments, given.extra, found);
    write_launch(state, call, stream_named(call, given.stream), WaitClass::NONE, found, false);
}

/// Its parameters end before `extra`.
void enter_cooperative(ThreadState& state, Call& call) {
    const auto& given = *reinterpret_cast<const abi::LaunchKernelCall*>(call.parameters);
    KernelReferences& found = references_here(state);
    prepare_launch(state, call, given.function, call.symbol, given.arguments, nullptr, found);
    write_launch(state, call, stream_named(call, given.stream), WaitClass::NONE, found, false);
}

STREAMSAN_LAUNCH_PATH void exit_launch(ThreadState& state, Call& call) { complete(state, call, false); }

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
    const std::uint64_t stream = stream_named(call, given.configuration->stream);
    const Attributes attributes = attributes_of(*given.configuration);
    KernelReferences& found = references_here(state);
    prepare_launch(state, call, given.function, call.symbol, given.arguments, given.extra, found);
    // Such an event says nothing of the kernel's completion, but all before the kernel is behind it.
    for (const std::uint64_t event : attributes.events) {
        if (event != 0) write_batch_member(state, call, OperationKind::EVENT_RECORD, 0, stream, event, nullptr, 0);
    }
    write_launch(state, call, stream, attributes.programmatic ? WaitClass::PROGRAMMATIC : WaitClass::NONE, found, true);
}

void enter_multi_device(ThreadState& state, Call& call) {
    constexpr std::uint64_t most_devices = 1024;
    begin_batch(state, call);
    const auto* const list = reinterpret_cast<const abi::LaunchParameters*>(call.word(0));
    const std::uint64_t count = std::min(call.word(1), most_devices);
    if (list == nullptr) return;
    for (std::uint64_t index = 0; index < count; ++index) {
        KernelReferences& found = references_here(state);
        prepare_launch(state, call, list[index].function, nullptr, list[index].arguments, nullptr, found);
        write_launch(state, call, stream_named(call, list[index].stream), WaitClass::NONE, found, true);
    }
}

/// cuLaunch, cuLaunchGrid, cuLaunchGridAsync: the arguments were set before.
void enter_old(ThreadState& state, Call& call) {
    const std::uint64_t function = call.word(0);
    KernelReferences& found = references_here(state);
    const Kernel& kernel = kernel_of(function, nullptr);
    const std::vector<unsigned char> buffer = parameter_buffers().of(function);
    found.scan(buffer.data(), buffer.size(), static_cast<std::uint8_t>(AccessMode::OPAQUE));
    call.site = site_of(kernel);
    write_launch(state, call, call.stream(), WaitClass::NONE, found, false);
}

}  // namespace

void register_launches(HandlerTable& table) {
    table.on("cuLaunchKernel", {enter_launch, exit_launch});
    table.on("cuLaunchCooperativeKernel", {enter_cooperative, exit_launch});
    table.on("cuLaunchKernelEx", {enter_configured, complete_batch});
    table.on("cuLaunchCooperativeKernelMultiDevice", {enter_multi_device, complete_batch});
    table.on("cuLaunch", {enter_old, exit_launch});
    table.on("cuLaunchGrid", {enter_old, exit_launch});
    table.on("cuLaunchGridAsync", {enter_old, exit_launch});
}

void register_work(HandlerTable& table) {
    register_launches(table);
    register_parameter_calls(table);
    register_copies(table);
    register_fills(table);
    register_migrations(table);
    register_memory_operations(table);
}

}  // namespace streamsan::recorder::cuda
