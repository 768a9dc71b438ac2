#include "recorder/cuda/api_names.hpp"

#include <array>
#include <atomic>

#include "generated/cuda_callbacks.hpp"
#include "recorder/cuda/recorder.hpp"
#include "recorder/launch_path.hpp"

namespace streamsan::recorder::cuda {
namespace {

std::array<std::atomic<std::uint16_t>, callback_table.size()> ids{};

}  // namespace

STREAMSAN_LAUNCH_PATH std::uint16_t api_of(const ThreadState& state, const Call& call) {
    const Callback* const named = state.runtime != nullptr ? state.runtime : call.callback;
    if (named == nullptr) return 0;
    std::atomic<std::uint16_t>* const kept = state.runtime == nullptr ? call.api : nullptr;
    if (kept != nullptr) {
        if (const std::uint16_t id = kept->load(std::memory_order_relaxed); id != 0) [[likely]]
            return id;
    }
    const auto row = static_cast<std::size_t>(named - callback_table.data());
    if (row >= ids.size()) return recorder()->writer->api(named->name);  // a row of a test's own
    std::uint16_t id = ids[row].load(std::memory_order_relaxed);
    if (id == 0) [[unlikely]] {
        id = recorder()->writer->api(named->name);
        ids[row].store(id, std::memory_order_relaxed);
    }
    if (kept != nullptr) kept->store(id, std::memory_order_relaxed);
    return id;
}

void forget_api_names() {
    for (auto& id : ids) id.store(0, std::memory_order_relaxed);
}

}  // namespace streamsan::recorder::cuda
