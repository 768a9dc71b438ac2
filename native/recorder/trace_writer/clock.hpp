// The time of operations: CLOCK_MONOTONIC, read through the processor's time stamp counter where that is sure to tick
// evenly.
#pragma once
#include <atomic>
#include <cstdint>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace streamsan::recorder {

/// Of the process: all threads, and forked children, read the same. clock_gettime costs 20 to 70 ns in virtual
/// machines; the counter half of that at most, and no memory but one cache line.
///
/// Its rate is measured at `start` over one millisecond against CLOCK_MONOTONIC, to about 50 parts in a million, and
/// again at every `adjust`, over the whole time since: by then it is right to some ten nanoseconds a second, and what
/// had gone wrong before is caught up without a jump. Times of two threads of a process compare like readings of the
/// counter itself; those of two processes of a run may differ by the error of either.
class Clock {
public:
    /// Once in a process; later calls do nothing. Takes a millisecond.
    static void start();
    /// Measures the rate again, if a tenth of a second has passed since the last time. From any thread; may call the
    /// kernel.
    static void adjust();

    /// Nanoseconds of CLOCK_MONOTONIC, never less than it was on this thread.
    [[gnu::always_inline]] static std::uint64_t now() noexcept {
#if defined(__x86_64__)
        if (const Rate* const rate = rate_.load(std::memory_order_acquire); rate != nullptr) [[likely]] {
            const std::uint64_t ticks = __rdtsc() - rate->ticks;
            __extension__ typedef unsigned __int128 Wide;
            // A counter that lags behind on another core must not give a time 500 years from now.
            if (ticks >> 63 != 0) [[unlikely]]
                return rate->nanoseconds;
            return rate->nanoseconds + static_cast<std::uint64_t>(Wide{ticks} * rate->multiplier >> 32);
        }
#endif
        return asked();
    }

private:
    struct Rate {
        std::uint64_t ticks;        ///< when it came into force
        std::uint64_t nanoseconds;  ///< what the clock said then
        std::uint64_t multiplier;   ///< nanoseconds of 2^32 ticks
    };
    static std::uint64_t asked() noexcept;

    static inline std::atomic<const Rate*> rate_{nullptr};

    friend struct ClockMeasurement;
};

}  // namespace streamsan::recorder
