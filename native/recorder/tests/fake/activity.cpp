// The activity API of the fake libcupti: records of what the device did, in the client's buffers. Times are made up:
// pieces of work follow each other, a microsecond apart, and each kind has a duration of its own.
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <set>
#include <string_view>
#include <thread>
#include <utility>

#include "recorder/cuda/abi_activity.hpp"
#include "tool.hpp"

using namespace fake;

namespace {

/// Of any record: the longest one has it.
constexpr std::size_t record_bytes = 224;
constexpr std::uint64_t gap = 1000;

constexpr abi::CuptiStatus not_enabled = 14;
constexpr abi::CuptiStatus no_more = 12;

struct Client {
    std::mutex lock;
    abi::BufferRequested requested = nullptr;
    abi::BufferCompleted completed = nullptr;
    abi::Timestamp timestamp = nullptr;
    std::set<abi::Activity> kinds;
    std::uint64_t clock = 0;  ///< when the device is free
    std::uint8_t* buffer = nullptr;
    std::size_t size = 0;
    std::size_t used = 0;
};

Client& client() {
    static Client& only = *new Client;
    return only;
}

bool mode_is(std::string_view mode) {
    const char* const asked = std::getenv("FAKE_CUPTI_ACTIVITY");
    return asked != nullptr && mode == asked;
}

/// Under the client's lock.
void hand_over() {
    Client& to = client();
    if (to.buffer == nullptr) return;
    std::uint8_t* const buffer = std::exchange(to.buffer, nullptr);
    to.completed(0, 0, buffer, to.size, std::exchange(to.used, 0));
}

/// ... as CUPTI's own thread does it.
void hand_over_elsewhere() { std::thread(hand_over).join(); }

template <class Record>
void append(const Record& record) {
    Client& to = client();
    if (to.buffer != nullptr && to.used + record_bytes > to.size) hand_over_elsewhere();
    if (to.buffer == nullptr) {
        std::size_t most = 0;
        to.requested(&to.buffer, &to.size, &most);
        if (to.buffer == nullptr) return;
    }
    static_assert(sizeof record <= record_bytes);
    std::memset(to.buffer + to.used, 0, record_bytes);
    std::memcpy(to.buffer + to.used, &record, sizeof record);
    to.used += record_bytes;
    if (mode_is("at_once")) hand_over_elsewhere();
}

/// A record that has the members which all kinds have.
template <class Record>
Record timed(abi::Activity kind, std::uint32_t correlation, std::uint64_t duration) {
    Client& to = client();
    if (to.clock == 0) to.clock = to.timestamp();
    Record record{};
    record.kind = kind;
    record.correlation = correlation;
    record.start = to.clock;
    record.end = to.clock + duration;
    to.clock = record.end + gap;
    return record;
}

void tell_kernel(const Work& work, std::uint64_t duration) {
    auto record = timed<abi::ActivityKernel>(abi::Activity::concurrent_kernel, work.correlation, duration);
    record.registers = 32;
    std::memcpy(record.grid, work.grid, sizeof record.grid);
    std::memcpy(record.block, work.block, sizeof record.block);
    record.dynamic_shared = static_cast<std::int32_t>(work.shared_bytes);
    append(record);
}

void tell(const Work& work) {
    Client& to = client();
    const std::lock_guard guard(to.lock);
    const bool wanted = to.kinds.contains(work.kind);
    switch (work.kind) {
        case abi::Activity::concurrent_kernel:
            if (wanted) tell_kernel(work, 4000);
            return;
        case abi::Activity::memcpy: {
            if (!wanted) return;
            const std::uint64_t duration = 1000 * static_cast<std::uint64_t>(work.copy);
            auto record = timed<abi::ActivityCopy>(work.kind, work.correlation, duration);
            record.copy_kind = work.copy;
            append(record);
            return;
        }
        case abi::Activity::memset:
            if (wanted) append(timed<abi::ActivityFill>(work.kind, work.correlation, 500));
            return;
        case abi::Activity::graph_trace:
            if (wanted) append(timed<abi::ActivityGraph>(work.kind, work.correlation, 20'000));
            else
                for (std::size_t kernel = 0; kernel < work.kernels; ++kernel) tell_kernel(work, 4000);
            return;
        case abi::Activity::memcpy_peer: return;
    }
}

}  // namespace

extern "C" {

abi::CuptiStatus cuptiActivityRegisterCallbacks(abi::BufferRequested requested, abi::BufferCompleted completed) {
    client().requested = requested;
    client().completed = completed;
    return abi::cupti_success;
}

abi::CuptiStatus cuptiActivityRegisterTimestampCallback(abi::Timestamp timestamp) {
    client().timestamp = timestamp;
    return abi::cupti_success;
}

abi::CuptiStatus cuptiActivityEnable(abi::Activity kind) {
    const bool of_graphs = kind == abi::Activity::graph_trace;
    if (client().timestamp == nullptr || mode_is("refused") || (of_graphs && mode_is("no_graphs"))) return not_enabled;
    client().kinds.insert(kind);
    fake_tool()->work = tell;
    return abi::cupti_success;
}

abi::CuptiStatus cuptiActivityDisable(abi::Activity kind) {
    client().kinds.erase(kind);
    return abi::cupti_success;
}

abi::CuptiStatus cuptiActivityGetNextRecord(std::uint8_t* buffer, std::size_t bytes, abi::ActivityRecord** record) {
    std::uint8_t* const before = reinterpret_cast<std::uint8_t*>(*record);
    std::uint8_t* const next = before == nullptr ? buffer : before + record_bytes;
    if (next >= buffer + bytes) return no_more;
    *record = reinterpret_cast<abi::ActivityRecord*>(next);
    return abi::cupti_success;
}

abi::CuptiStatus cuptiActivityFlushAll(std::uint32_t) {
    const std::lock_guard guard(client().lock);
    hand_over();
    return abi::cupti_success;
}

abi::CuptiStatus cuptiActivityFlushPeriod(std::uint32_t) { return abi::cupti_success; }

}  // extern "C"
