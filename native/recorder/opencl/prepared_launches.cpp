#include "recorder/opencl/prepared_launches.hpp"

#include <atomic>
#include <pthread.h>

#include "recorder/launch_path.hpp"

namespace streamsan::recorder::opencl {
namespace {

/// A count for each kernel would have to outlive it: threads look at it without a lock.
std::array<std::atomic<std::uint32_t>, 1024> changes{};

constexpr std::size_t most_launches = 16;
using Launches = std::array<PreparedLaunch, most_launches>;

/// A pointer, for a library that is loaded late has little room for thread-locals.
thread_local Launches* launches = nullptr;

/// Other thread-locals' destructors may call the API after ours: they find null.
pthread_key_t launches_key() {
    static const pthread_key_t key = [] {
        pthread_key_t made{};
        pthread_key_create(&made, [](void* value) {
            launches = nullptr;
            delete static_cast<Launches*>(value);
        });
        return made;
    }();
    return key;
}

[[gnu::noinline]] void make_launches() {
    auto* const made = new Launches{};
    pthread_setspecific(launches_key(), made);
    launches = made;
}

std::uint64_t mixed(abi::Word kernel) { return kernel * 0x9e3779b97f4a7c15; }

std::atomic<std::uint32_t>& count_of(abi::Word kernel) {
    constexpr unsigned bits = 10;
    static_assert(changes.size() == std::size_t{1} << bits);
    return changes[mixed(kernel) >> (64 - bits)];
}

}  // namespace

STREAMSAN_LAUNCH_PATH std::uint32_t changes_of(abi::Word kernel) {
    return count_of(kernel).load(std::memory_order_acquire);
}

void kernel_changed(abi::Word kernel) { count_of(kernel).fetch_add(1, std::memory_order_release); }

void forget_prepared_launches() {
    for (auto& count : changes) count.fetch_add(1, std::memory_order_relaxed);
}

STREAMSAN_LAUNCH_PATH PreparedLaunch& place_for_launch(abi::Word kernel) {
    constexpr unsigned bits = 4;
    static_assert(most_launches == std::size_t{1} << bits);
    if (launches == nullptr) [[unlikely]]
        make_launches();
    return (*launches)[mixed(kernel) >> (64 - bits)];
}

STREAMSAN_LAUNCH_PATH const PreparedLaunch* prepared_launch(abi::Word kernel) {
    const PreparedLaunch& found = place_for_launch(kernel);
    return found.kernel == kernel && kernel != 0 && found.change == changes_of(kernel) ? &found : nullptr;
}

}  // namespace streamsan::recorder::opencl
