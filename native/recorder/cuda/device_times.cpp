#include "recorder/cuda/device_times.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <future>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "recorder/cuda/abi_activity.hpp"
#include "recorder/cuda/device_share.hpp"
#include "recorder/cuda/driver.hpp"
#include "recorder/cuda/recorder.hpp"
#include "recorder/cuda/work_numbers.hpp"
#include "recorder/run/omissions.hpp"
#include "recorder/trace_writer/undisturbed.hpp"

namespace streamsan::recorder::cuda {
namespace {

/// CUPTI hands over what is full. A killed program loses what is not: some 300 kernels.
constexpr std::size_t activity_buffer_bytes = std::size_t{64} << 10;
constexpr std::uint32_t flush_period = 1000;  // milliseconds

constexpr std::array needed_activities{abi::Activity::concurrent_kernel, abi::Activity::memcpy, abi::Activity::memset};
/// Where the last one is refused, kernels of graphs come one by one.
constexpr std::array further_activities{abi::Activity::memcpy_peer, abi::Activity::graph_trace};

/// A stretch of the device's time, and whose it is.
struct TimedWork {
    std::uint32_t correlation = 0;
    DeviceEngine engine = DeviceEngine::COMPUTE;
    std::uint64_t start = 0;
    std::uint64_t end = 0;
    std::uint32_t share = 0;
    bool fill = false;
};

class DeviceTimes {
public:
    explicit DeviceTimes(const CuptiActivity& activity) : activity_(activity) {}

    void note(const ThreadState& state, std::uint64_t sequence) noexcept;
    void ask_devices(ThreadState& state);
    void take(std::uint8_t* buffer, std::size_t bytes);
    void flush(std::uint32_t flags);
    void count_lost();

private:
    [[nodiscard]] std::optional<TimedWork> work_of(const abi::ActivityRecord& record) const;
    [[nodiscard]] std::uint32_t share_of(const abi::ActivityKernel& kernel) const;
    void place(const TimedWork& work);
    void write(const TimedWork& work, std::uint64_t sequence);

    const CuptiActivity activity_;
    WorkNumbers numbers_;
    std::atomic<bool> asked_{false};
    std::atomic<bool> answered_{false};
    std::array<DeviceRoom, 64> rooms_{};  ///< of the devices by their numbers, when `answered_`

    std::mutex mutex_;
    std::int32_t thread_ = -1;
    Lane* lane_ = nullptr;
    std::vector<TimedWork> waiting_;  ///< for the numbers of their calls
    std::uint64_t written_ = 0;
    std::uint64_t lost_ = 0;
};

/// Null where none are taken. Never destroyed: CUPTI's thread may come at any time.
std::atomic<DeviceTimes*> device_times{nullptr};

/// A call of the driver inside one of the runtime: records may have the number of either.
void DeviceTimes::note(const ThreadState& state, std::uint64_t sequence) noexcept {
    numbers_.note(state.correlation, sequence);
    if (state.runtime != nullptr) numbers_.note(state.runtime_correlation, sequence);
}

void DeviceTimes::ask_devices(ThreadState& state) {
    const Driver* const driver = recorder()->driver;
    if (asked_.load(std::memory_order_relaxed) || driver == nullptr || asked_.exchange(true)) return;
    if (driver->cuDeviceGetCount == nullptr || driver->cuDeviceGetAttribute == nullptr) return;
    const OwnCalls own(state);
    int count = 0;
    if (driver->cuDeviceGetCount(&count) != abi::success) return;
    count = std::min(count, static_cast<int>(rooms_.size()));
    for (std::int32_t device = 0; device < count; ++device) {
        const auto attribute = [&](abi::DeviceAttribute name) {
            int value = 0;
            const bool known =
                driver->cuDeviceGetAttribute(&value, static_cast<std::int32_t>(name), device) == abi::success;
            return known && value > 0 ? static_cast<std::uint32_t>(value) : 0;
        };
        using enum abi::DeviceAttribute;
        rooms_[static_cast<std::size_t>(device)] = {
            .multiprocessors = attribute(multiprocessors),
            .threads = attribute(threads_per_multiprocessor),
            .blocks = attribute(blocks_per_multiprocessor),
            .registers = attribute(registers_per_multiprocessor),
            .shared_bytes = attribute(shared_bytes_per_multiprocessor),
            .reserved_shared_bytes = attribute(reserved_shared_bytes_per_block),
        };
    }
    answered_.store(true, std::memory_order_release);
}

std::uint32_t DeviceTimes::share_of(const abi::ActivityKernel& kernel) const {
    if (!answered_.load(std::memory_order_acquire) || kernel.device >= rooms_.size()) return 0;
    const auto product = [](const std::int32_t (&axes)[3]) {
        std::uint64_t all = 1;
        for (const std::int32_t axis : axes) all *= static_cast<std::uint32_t>(std::max(axis, 1));
        return all;
    };
    const std::int64_t shared = std::int64_t{kernel.static_shared} + kernel.dynamic_shared;
    return share_of_device({.blocks = product(kernel.grid),
                            .threads = product(kernel.block),
                            .registers_per_thread = kernel.registers,
                            .shared_bytes = static_cast<std::uint64_t>(std::max<std::int64_t>(shared, 0))},
                           rooms_[kernel.device]);
}

std::optional<DeviceEngine> engine_of(abi::CopyKind kind) {
    using enum abi::CopyKind;
    switch (kind) {
        case host_to_device:
        case host_to_array: return DeviceEngine::COPY_IN;
        case device_to_host:
        case array_to_host: return DeviceEngine::COPY_OUT;
        case array_to_array:
        case array_to_device:
        case device_to_array:
        case device_to_device: return DeviceEngine::COMPUTE;
        case peer_to_peer: return DeviceEngine::COPY_PEER;
        case host_to_host: break;  // no work of a device
    }
    return std::nullopt;
}

template <class Copy>
std::optional<TimedWork> copy_of(const Copy& copy) {
    const std::optional<DeviceEngine> engine = engine_of(copy.copy_kind);
    if (!engine) return std::nullopt;
    return TimedWork{.correlation = copy.correlation, .engine = *engine, .start = copy.start, .end = copy.end};
}

std::optional<TimedWork> DeviceTimes::work_of(const abi::ActivityRecord& record) const {
    switch (record.kind) {
        case abi::Activity::concurrent_kernel: {
            const auto& kernel = reinterpret_cast<const abi::ActivityKernel&>(record);
            return TimedWork{
                .correlation = kernel.correlation, .start = kernel.start, .end = kernel.end, .share = share_of(kernel)};
        }
        case abi::Activity::memcpy: return copy_of(reinterpret_cast<const abi::ActivityCopy&>(record));
        case abi::Activity::memcpy_peer: return copy_of(reinterpret_cast<const abi::ActivityPeerCopy&>(record));
        case abi::Activity::memset: {
            const auto& fill = reinterpret_cast<const abi::ActivityFill&>(record);
            return TimedWork{.correlation = fill.correlation, .start = fill.start, .end = fill.end, .fill = true};
        }
        case abi::Activity::graph_trace: {
            const auto& graph = reinterpret_cast<const abi::ActivityGraph&>(record);
            return TimedWork{.correlation = graph.correlation, .start = graph.start, .end = graph.end};
        }
    }
    return std::nullopt;
}

void DeviceTimes::write(const TimedWork& work, std::uint64_t sequence) {
    Writer& writer = *recorder()->writer;
    if (lane_ == nullptr) lane_ = writer.lane_for(thread_, "device times");
    Slot* const slot = lane_ != nullptr ? lane_->reserve(0) : nullptr;
    if (slot == nullptr) return;  // recording has stopped
    slot->time = writer.time_of(work.start);
    slot->object = sequence;
    slot->address = work.share;
    slot->size = work.end - work.start;
    slot->kind = static_cast<std::uint8_t>(OperationKind::DEVICE_TIME);
    slot->detail = static_cast<std::uint8_t>(work.engine);
    lane_->commit();
    ++written_;
}

void DeviceTimes::place(const TimedWork& work) {
    constexpr std::size_t most_waiting = 4096;
    const std::uint64_t sequence = numbers_.sequence_of(work.correlation);
    const bool awaited = sequence == WorkNumbers::awaited;
    if (sequence != 0 && !awaited) write(work, sequence);
    else if (awaited && waiting_.size() < most_waiting) waiting_.push_back(work);
    // What poison overwrites is filled by calls of our own.
    else if (!work.fill || !recorder()->poisons) ++lost_;
}

void DeviceTimes::take(std::uint8_t* buffer, std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    for (const TimedWork& work : std::exchange(waiting_, {})) place(work);
    abi::ActivityRecord* record = nullptr;
    while (activity_.next_record(buffer, bytes, &record) == abi::cupti_success && record != nullptr) {
        const std::optional<TimedWork> work = work_of(*record);
        // What has not ended when CUPTI must hand it over has no times.
        if (work && work->correlation != 0 && work->start != 0 && work->end >= work->start) place(*work);
    }
}

/// On a thread of its own, and not for ever: another thread may have CUPTI's lock inside a call that never returns.
void DeviceTimes::flush(std::uint32_t flags) {
    constexpr auto most_time = std::chrono::seconds(2);
    const Undisturbed undisturbed;  // the thread inherits that no handler of a signal runs
    try {
        std::promise<void> over;
        const std::future<void> is_over = over.get_future();
        std::thread([all = activity_.flush_all, flags, over = std::move(over)]() mutable {
            all(flags);
            over.set_value();
        }).detach();
        is_over.wait_for(most_time);
    } catch (const std::system_error&) {
        // No thread is to be had: what is full is handed over all the same.
    }
}

void DeviceTimes::count_lost() {
    const std::lock_guard lock(mutex_);
    for (const TimedWork& work : std::exchange(waiting_, {})) place(work);
    lost_ += waiting_.size();
    constexpr std::uint64_t few = 16;
    if (lost_ <= few + written_ / 100 || recorder()->writer->stopped()) return;
    note_omission("when work ran is not recorded of " + std::to_string(lost_) + " of " +
                  std::to_string(lost_ + written_) + " pieces of work: their calls were not seen");
}

void activity_buffer_requested(std::uint8_t** buffer, std::size_t* size, std::size_t* most_records) {
    const int before = errno;
    *buffer = static_cast<std::uint8_t*>(std::malloc(activity_buffer_bytes));
    *size = *buffer != nullptr ? activity_buffer_bytes : 0;
    *most_records = 0;
    errno = before;
}

void activity_buffer_completed(abi::Word, std::uint32_t, std::uint8_t* buffer, std::size_t, std::size_t valid_bytes) {
    if (buffer == nullptr) return;
    {
        const Undisturbed undisturbed;
        try {
            if (DeviceTimes* const times = device_times.load(std::memory_order_acquire); times != nullptr)
                times->take(buffer, valid_bytes);
        } catch (const std::bad_alloc&) {
            note_omission("when some work ran is not recorded: no memory");
        }
    }
    std::free(buffer);
}

std::uint64_t activity_timestamp() { return Clock::now(); }

bool is_timed_work(const Slot& slot) {
    switch (static_cast<OperationKind>(slot.kind)) {
        case OperationKind::LAUNCH:
        case OperationKind::COPY:
        case OperationKind::MEMSET:
        case OperationKind::GRAPH_LAUNCH: return true;
        default: return false;
    }
}

/// Whether the operation is numbered when its call returns (`complete`).
bool awaits_its_number(const Call& call) {
    if (call.callback->effect != Effect::COPY && call.callback->effect != Effect::MEMSET) return false;
    const auto wait = static_cast<WaitClass>(call.slot->detail);
    return wait == WaitClass::COMPLETE || wait == WaitClass::BEFORE;
}

bool may_end_contexts(Effect effect) {
    return effect == Effect::CONTEXT_DESTROY || effect == Effect::DEVICE_RESET || effect == Effect::PRIMARY_RELEASE ||
           effect == Effect::PRIMARY_RESET;
}

}  // namespace

std::string begin_device_times(const Cupti& cupti) {
    const CuptiActivity& activity = cupti.activity;
    if (!activity.is_whole()) return "CUPTI is too old, or not in use";
    std::unique_ptr<DeviceTimes> made;
    try {
        made = std::make_unique<DeviceTimes>(activity);
    } catch (const std::bad_alloc&) {
        return "no memory";
    }
    abi::CuptiStatus status = activity.register_callbacks(activity_buffer_requested, activity_buffer_completed);
    // Before any activity is enabled: else the first records have times of another clock.
    if (status == abi::cupti_success) status = activity.register_timestamp(activity_timestamp);
    for (const abi::Activity each : needed_activities) {
        if (status == abi::cupti_success) status = activity.enable(each);
    }
    if (status != abi::cupti_success) {
        for (const abi::Activity each : needed_activities) activity.disable(each);
        return cupti_refusal(cupti, status);
    }
    for (const abi::Activity each : further_activities) activity.enable(each);
    activity.flush_period(flush_period);
    device_times.store(made.release(), std::memory_order_release);
    recorder()->times = true;
    return "";
}

void work_entered(ThreadState& state, const Call& call) {
    DeviceTimes* const times = device_times.load(std::memory_order_acquire);
    if (times == nullptr) return;
    if (may_end_contexts(call.callback->effect)) times->flush(0);
    if (call.slot == nullptr || !is_timed_work(*call.slot)) return;
    times->ask_devices(state);
    times->note(state, awaits_its_number(call) ? WorkNumbers::awaited : call.slot->sequence);
}

void work_renumbered(const ThreadState& state, const Call& call) {
    DeviceTimes* const times = device_times.load(std::memory_order_acquire);
    if (times != nullptr && call.slot != nullptr && is_timed_work(*call.slot)) times->note(state, call.slot->sequence);
}

void device_times_after_fork() {
    recorder()->times = false;
    device_times.store(nullptr, std::memory_order_relaxed);
}

void finish_device_times() {
    DeviceTimes* const times = device_times.load(std::memory_order_acquire);
    if (times == nullptr) return;
    times->flush(abi::flush_unfinished);
    times->count_lost();
}

}  // namespace streamsan::recorder::cuda
