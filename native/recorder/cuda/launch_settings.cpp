#include "recorder/cuda/launch_settings.hpp"

#include <cstring>

#include "recorder/cuda/handlers.hpp"
#include "recorder/cuda/work.hpp"

namespace streamsan::recorder::cuda {
namespace {

constexpr std::uint64_t largest_arguments = 4096;  // of such an argument buffer

void exit_set_value(ThreadState&, Call& call) {
    if (call.status != abi::success) return;
    launch_settings().set_argument(call.word(0), call.word(1), reinterpret_cast<const void*>(call.word(2)),
                                   call.word(3));
}

/// A number: what was there before is no address any more.
void exit_set_number(ThreadState&, Call& call) {
    const std::uint64_t value = call.word(2);
    if (call.status == abi::success)
        launch_settings().set_argument(call.word(0), call.word(1), &value, sizeof(std::uint32_t));
}

void exit_set_block(ThreadState&, Call& call) {
    const auto threads = [&call](std::size_t position) { return static_cast<std::uint32_t>(call.word(position)); };
    if (call.status == abi::success) launch_settings().set_block(call.word(0), {threads(1), threads(2), threads(3)});
}

void exit_set_shared(ThreadState&, Call& call) {
    if (call.status == abi::success)
        launch_settings().set_shared(call.word(0), static_cast<std::uint32_t>(call.word(1)));
}

}  // namespace

void AllLaunchSettings::set_argument(std::uint64_t function, std::uint64_t offset, const void* value,
                                     std::uint64_t size) {
    if (value == nullptr || size > largest_arguments || offset > largest_arguments - size) return;
    const std::lock_guard lock(mutex_);
    std::vector<unsigned char>& buffer = all_[function].arguments;
    if (buffer.size() < offset + size) buffer.resize(offset + size);
    std::memcpy(buffer.data() + offset, value, size);
}

void AllLaunchSettings::set_block(std::uint64_t function, const std::array<std::uint32_t, 3>& threads) {
    const std::lock_guard lock(mutex_);
    all_[function].block = threads;
}

void AllLaunchSettings::set_shared(std::uint64_t function, std::uint32_t bytes) {
    const std::lock_guard lock(mutex_);
    all_[function].shared = bytes;
}

LaunchSettings AllLaunchSettings::of(std::uint64_t function) const {
    const std::lock_guard lock(mutex_);
    const auto found = all_.find(function);
    return found == all_.end() ? LaunchSettings{} : found->second;
}

AllLaunchSettings& launch_settings() {
    static auto* const all = new AllLaunchSettings;
    return *all;
}

void register_launch_settings(HandlerTable& table) {
    table.on("cuParamSetv", {nullptr, exit_set_value});
    table.on("cuParamSeti", {nullptr, exit_set_number});
    table.on("cuParamSetf", {nullptr, exit_set_number});
    table.on("cuFuncSetBlockShape", {nullptr, exit_set_block});
    table.on("cuFuncSetSharedSize", {nullptr, exit_set_shared});
}

}  // namespace streamsan::recorder::cuda
