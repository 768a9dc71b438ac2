// When memory may be overwritten, and why no right program notices:
//
// - A free in the order of a stream: whatever uses the memory has to be ordered before it. A fill that the stream gets
//   just before the free comes after all of that, and before the next owner.
// - `cudaFree` of memory of the driver's pools waits for nothing (F-03 in docs/facts.md): all accesses must be over
//   when it is called. So the memory is filled then, and the call goes on when that is done.
// - Other frees wait for the device; there is nothing to show.
// - A pool's block: reused_blocks.hpp says which; here is what it waits for. Everything that used it before has to be
//   over when its next owner's first work runs. That work may wait for it in its stream, so an event is put there: once
//   that has happened, all that the work would wait for has. Then the block is filled, and the call goes on when that
//   is done: so also work on other streams that the owner issues next comes later.
//
// The host waits for fills only, which wait for nothing but a free place on the device. Where none comes (a kernel has
// all of it and waits for the host) the host goes on after a while, and later work waits for the fill instead.
#include "recorder/cuda/poison.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <mutex>
#include <sched.h>
#include <string>
#include <string_view>
#include <vector>

#include "recorder/cuda/captures.hpp"
#include "recorder/cuda/driver.hpp"
#include "recorder/cuda/recorder.hpp"

namespace streamsan::recorder::cuda {
namespace {

constexpr std::uint64_t most_for_order = 100'000;       // ns that an event may take in a stream without work
constexpr std::uint64_t most_for_fill = 1'000'000'000;  // ns that the host waits for a fill
constexpr std::uint32_t without_timing = 2;             // CU_EVENT_DISABLE_TIMING
constexpr std::uint32_t stream_non_blocking = 1;        // CU_STREAM_NON_BLOCKING
constexpr std::int32_t attribute_context = 1;           // CU_POINTER_ATTRIBUTE_CONTEXT
constexpr std::int32_t attribute_memory_type = 2;       // ..._MEMORY_TYPE
constexpr std::int32_t attribute_device_ordinal = 9;    // ..._DEVICE_ORDINAL

constexpr std::array<std::string_view, poisoned_count> count_names{
    "freed",      "blocks", "capture", "elsewhere",    "busy",    "other_work",
    "read_first", "end",    "shared",  "held_by_pool", "refused",
};
std::array<std::atomic<std::uint64_t>, poisoned_count> counts{};

/// All that is called here is there; older drivers may lack a function.
const Driver* able_driver() {
    const Recorder& here = *recorder();
    const Driver* const driver = here.driver;
    if (driver == nullptr || !here.ready.load(std::memory_order_relaxed)) return nullptr;
    const bool able =
        driver->cuMemsetD8Async != nullptr && driver->cuEventCreate != nullptr && driver->cuEventRecord != nullptr &&
        driver->cuEventQuery != nullptr && driver->cuEventDestroy_v2 != nullptr && driver->cuStreamQuery != nullptr &&
        driver->cuStreamGetFlags != nullptr && driver->cuStreamGetCtx != nullptr && driver->cuStreamCreate != nullptr &&
        driver->cuStreamDestroy_v2 != nullptr && driver->cuStreamWaitEvent != nullptr &&
        driver->cuPointerGetAttribute != nullptr && driver->cuCtxGetDevice != nullptr;
    return able ? driver : nullptr;
}

bool captures_anything() { return recorder()->captures.load(std::memory_order_relaxed) != 0; }

bool is_default(abi::Word stream) { return stream <= abi::per_thread_stream; }

/// Whether the stream is one of the current context. The default ones are those of whichever that is.
bool is_of_current(const Driver& driver, const Call& call, abi::Word stream) {
    if (is_default(stream)) return true;
    abi::Word context = 0;
    return driver.cuStreamGetCtx(stream, &context) == abi::success && context == call.context;
}

/// Whether memory is the current device's, and the current context's where it belongs to one.
bool is_here(const Driver& driver, const Call& call, std::uint64_t address, bool of_context) {
    std::int32_t of = -1;
    std::int32_t current = -2;
    std::uint32_t type = 0;
    if (driver.cuCtxGetDevice(&current) != abi::success ||
        driver.cuPointerGetAttribute(&of, attribute_device_ordinal, address) != abi::success || of != current)
        return false;
    if (driver.cuPointerGetAttribute(&type, attribute_memory_type, address) != abi::success ||
        static_cast<abi::MemoryType>(type) != abi::MemoryType::device)
        return false;
    abi::Word owner = 0;
    return !of_context ||
           (driver.cuPointerGetAttribute(&owner, attribute_context, address) == abi::success && owner == call.context);
}

bool fill(const Driver& driver, const Bytes& bytes, abi::Word stream) {
    return driver.cuMemsetD8Async(bytes.address, poison_byte, bytes.size, stream) == abi::success;
}

/// An event, destroyed with this unless it is kept.
class OwnEvent {
public:
    explicit OwnEvent(const Driver& driver) : driver_(driver) {
        if (driver_.cuEventCreate(&event_, without_timing) != abi::success) event_ = 0;
    }
    ~OwnEvent() {
        if (event_ != 0) driver_.cuEventDestroy_v2(event_);
    }
    OwnEvent(const OwnEvent&) = delete;
    OwnEvent& operator=(const OwnEvent&) = delete;

    bool record(abi::Word stream) const { return event_ != 0 && driver_.cuEventRecord(event_, stream) == abi::success; }
    /// Whether it has happened, at the latest `limit` nanoseconds from now.
    [[nodiscard]] bool happens_within(std::uint64_t limit) const {
        constexpr unsigned without_a_break = 1000;
        const Writer& clock = *recorder()->writer;
        const std::uint64_t begin = clock.now();
        for (unsigned tries = 0;; ++tries) {
            const abi::Status answer = driver_.cuEventQuery(event_);
            if (answer != status::not_ready) return answer == abi::success;
            if (clock.now() - begin > limit) return false;
            if (tries > without_a_break) sched_yield();
        }
    }
    [[nodiscard]] abi::Word keep() {
        const abi::Word kept = event_;
        event_ = 0;
        return kept;
    }

private:
    const Driver& driver_;
    abi::Word event_ = 0;
};

/// Fills for which the host has not waited to the end.
struct Unfinished {
    std::mutex mutex;
    std::vector<abi::Word> events;
};
Unfinished& unfinished() {
    static Unfinished& all = *new Unfinished;
    return all;
}
std::atomic<bool> any_unfinished{false};

void finish_or_leave(OwnEvent& filled) {
    if (filled.happens_within(most_for_fill)) return;
    const std::lock_guard lock(unfinished().mutex);
    unfinished().events.push_back(filled.keep());
    any_unfinished.store(true, std::memory_order_relaxed);
}

/// Whether all that work on the stream would wait for is over. Others than its own streams' work may be part of that:
/// the legacy default stream and those that do not say otherwise wait for each other.
bool is_idle(const Driver& driver, abi::Word stream) {
    if (driver.cuStreamQuery(stream) != abi::success) return false;
    std::uint32_t flags = 0;
    const bool alone = !is_default(stream) && driver.cuStreamGetFlags(stream, &flags) == abi::success &&
                       (flags & stream_non_blocking) != 0;
    if (alone) return true;
    const OwnEvent before(driver);
    return before.record(stream) && before.happens_within(most_for_order);
}

/// In the order of the stream, just before the free.
Poisoned fill_in_order(const Driver& driver, const Call& call, const Range& range, abi::Word stream) {
    if (!is_of_current(driver, call, stream) || !is_here(driver, call, range.base, range.kind == MemoryKind::PLAIN))
        return Poisoned::ELSEWHERE;
    return fill(driver, {range.base, range.size}, stream) ? Poisoned::FREED : Poisoned::REFUSED;
}

/// At once, whatever streams do.
Poisoned fill_now(const Driver& driver, const Call& call, const Range& range) {
    if (!is_here(driver, call, range.base, false)) return Poisoned::ELSEWHERE;
    abi::Word stream = 0;
    if (driver.cuStreamCreate(&stream, stream_non_blocking) != abi::success) return Poisoned::REFUSED;
    Poisoned outcome = Poisoned::REFUSED;
    OwnEvent filled(driver);
    // Recorded before, to know that it can be: what is not waited for must not be begun.
    if (filled.record(stream) && fill(driver, {range.base, range.size}, stream)) {
        outcome = Poisoned::FREED;
        filled.record(stream);
        finish_or_leave(filled);
    }
    driver.cuStreamDestroy_v2(stream);
    return outcome;
}

}  // namespace

void count_poisoned(Poisoned outcome) {
    counts[static_cast<std::size_t>(outcome)].fetch_add(1, std::memory_order_relaxed);
}

void write_poisoned_counts() {
    std::string member = "\"poison\": {";
    for (std::size_t at = 0; at < poisoned_count; ++at) {
        if (at != 0) member += ", ";
        member +=
            '"' + std::string(count_names[at]) + "\": " + std::to_string(counts[at].load(std::memory_order_relaxed));
    }
    recorder()->writer->add_metadata(member + "}");
}

void poison_freed(ThreadState& state, const Call& call, const Range& range) {
    const auto how = static_cast<FreeClass>(call.callback->free);
    const bool of_pool = range.kind == MemoryKind::STREAM_ORDERED;
    const bool in_order = how == FreeClass::ASYNC && (of_pool || range.kind == MemoryKind::PLAIN);
    if (!in_order && !(how == FreeClass::DEVICE && of_pool)) return;
    if (call.status != status_unknown) return;  // it is over, and has failed
    const Driver* const driver = able_driver();
    if (captures_anything()) {
        count_poisoned(Poisoned::CAPTURE);
    } else if (driver == nullptr || range.size == 0) {
        count_poisoned(Poisoned::REFUSED);
    } else {
        const OwnCalls own(state);
        const RelaxedCaptures relaxed(true);
        count_poisoned(in_order ? fill_in_order(*driver, call, range, call.stream()) : fill_now(*driver, call, range));
    }
}

void poison_before_use(ThreadState& state, const Call& call, abi::Word stream, std::span<const Bytes> blocks) {
    const auto all_are = [&](Poisoned outcome) {
        for (std::size_t at = 0; at < blocks.size(); ++at) count_poisoned(outcome);
    };
    const Driver* const driver = able_driver();
    if (driver == nullptr) return all_are(Poisoned::REFUSED);
    if (captures_anything()) return all_are(Poisoned::CAPTURE);
    const OwnCalls own(state);
    const RelaxedCaptures relaxed(true);
    if (stream == 0 || !is_of_current(*driver, call, stream)) return all_are(Poisoned::ELSEWHERE);
    if (!is_idle(*driver, stream)) return all_are(Poisoned::BUSY);
    OwnEvent filled(*driver);
    if (!filled.record(stream)) return all_are(Poisoned::REFUSED);
    for (const Bytes& block : blocks) {
        const auto memory = recorder()->memory.find(block.address);
        if (!memory || !is_here(*driver, call, block.address, memory->kind == MemoryKind::PLAIN)) {
            count_poisoned(Poisoned::ELSEWHERE);
        } else {
            count_poisoned(fill(*driver, block, stream) ? Poisoned::BLOCK : Poisoned::REFUSED);
        }
    }
    filled.record(stream);
    finish_or_leave(filled);
}

void wait_for_poison(ThreadState& state, abi::Word stream) {
    if (!any_unfinished.load(std::memory_order_relaxed)) [[likely]]
        return;
    const Driver* const driver = able_driver();
    if (driver == nullptr || stream == 0 || captures_anything()) return;
    const OwnCalls own(state);
    const RelaxedCaptures relaxed(true);
    const std::lock_guard lock(unfinished().mutex);
    std::erase_if(unfinished().events, [&](abi::Word event) {
        if (driver->cuEventQuery(event) == status::not_ready) {
            driver->cuStreamWaitEvent(stream, event, 0);
            return false;
        }
        driver->cuEventDestroy_v2(event);
        return true;
    });
    any_unfinished.store(!unfinished().events.empty(), std::memory_order_relaxed);
}

}  // namespace streamsan::recorder::cuda
