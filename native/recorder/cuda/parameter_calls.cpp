#include "recorder/cuda/parameter_calls.hpp"

#include <cstring>

#include "recorder/cuda/handlers.hpp"
#include "recorder/cuda/work.hpp"

namespace streamsan::recorder::cuda {
namespace {

constexpr std::uint64_t largest_arguments = 4096;  // of such an argument buffer

void exit_set_value(ThreadState&, Call& call) {
    if (call.status != abi::success) return;
    parameter_buffers().set(call.word(0), call.word(1), reinterpret_cast<const void*>(call.word(2)), call.word(3));
}

/// A number: what was there before is no address any more.
void exit_set_number(ThreadState&, Call& call) {
    const std::uint64_t value = call.word(2);
    if (call.status == abi::success) parameter_buffers().set(call.word(0), call.word(1), &value, sizeof(std::uint32_t));
}

}  // namespace

void ParameterBuffers::set(std::uint64_t function, std::uint64_t offset, const void* value, std::uint64_t size) {
    if (value == nullptr || size > largest_arguments || offset > largest_arguments - size) return;
    const std::lock_guard lock(mutex_);
    std::vector<unsigned char>& buffer = buffers_[function];
    if (buffer.size() < offset + size) buffer.resize(offset + size);
    std::memcpy(buffer.data() + offset, value, size);
}

std::vector<unsigned char> ParameterBuffers::of(std::uint64_t function) const {
    const std::lock_guard lock(mutex_);
    const auto found = buffers_.find(function);
    return found == buffers_.end() ? std::vector<unsigned char>{} : found->second;
}

ParameterBuffers& parameter_buffers() {
    static auto* const all = new ParameterBuffers;
    return *all;
}

void register_parameter_calls(HandlerTable& table) {
    table.on("cuParamSetv", {nullptr, exit_set_value});
    table.on("cuParamSeti", {nullptr, exit_set_number});
    table.on("cuParamSetf", {nullptr, exit_set_number});
}

}  // namespace streamsan::recorder::cuda
