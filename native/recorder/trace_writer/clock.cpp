#include "recorder/trace_writer/clock.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <ctime>
#include <fcntl.h>
#include <string_view>
#include <unistd.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace streamsan::recorder {

std::uint64_t Clock::asked() noexcept {
    timespec time{};
    clock_gettime(CLOCK_MONOTONIC, &time);
    return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(time.tv_nsec);
}

#if defined(__x86_64__)

/// How the counter and the clock go together.
struct ClockMeasurement {
    __extension__ typedef unsigned __int128 Wide;
    struct Pair {
        std::uint64_t ticks;
        std::uint64_t nanoseconds;
    };

    /// Both at one moment: the reading of the clock that took least.
    static Pair pair() noexcept {
        Pair best{};
        std::uint64_t least = ~std::uint64_t{0};
        for (int attempt = 0; attempt < 16; ++attempt) {
            const std::uint64_t before = __rdtsc(), nanoseconds = Clock::asked(), took = __rdtsc() - before;
            if (took >= least) continue;
            least = took;
            best = {before + took / 2, nanoseconds};
        }
        return best;
    }

    static std::uint64_t rate_between(const Pair& one, const Pair& other) noexcept {
        const std::uint64_t ticks = other.ticks - one.ticks;
        return ticks == 0 ? 0 : static_cast<std::uint64_t>((Wide{other.nanoseconds - one.nanoseconds} << 32) / ticks);
    }

    static bool is_invariant() noexcept {
        constexpr unsigned power_leaf = 0x80000007, invariant_bit = 1U << 8;
        unsigned a = 0, b = 0, c = 0, d = 0;
        return __get_cpuid(power_leaf, &a, &b, &c, &d) != 0 && (d & invariant_bit) != 0;
    }

    /// What the kernel has found out, for instance that the counters of the processors differ. Where it does not say:
    /// true.
    static bool is_trusted_by_kernel() noexcept {
        const int file =
            ::open("/sys/devices/system/clocksource/clocksource0/current_clocksource", O_RDONLY | O_CLOEXEC);
        if (file < 0) return true;
        std::array<char, 64> text{};
        const ssize_t size = ::read(file, text.data(), text.size());
        ::close(file);
        if (size <= 0) return true;
        const std::string_view name(text.data(), static_cast<std::size_t>(size));
        return name.find("tsc") != std::string_view::npos || name.starts_with("kvm-clock");
    }

    /// A rate that nobody believes is not used: 100 MHz to 20 GHz.
    static bool is_plausible(std::uint64_t multiplier) noexcept {
        return multiplier < (std::uint64_t{10} << 32) && multiplier > (std::uint64_t{1} << 32) / 20;
    }

    static void publish(const Clock::Rate& rate) noexcept {
        // Readers may be in the one before: by the time a place comes again, a hundred milliseconds times their number
        // on, they are long out of it (one that was stopped there mixes two rates, which differ by parts in a million).
        rates[next % rates.size()] = rate;
        Clock::rate_.store(&rates[next++ % rates.size()], std::memory_order_release);
    }

    static inline std::array<Clock::Rate, 64> rates{};
    static inline std::size_t next = 0;
    static inline Pair began{};
    static inline std::atomic<std::uint64_t> adjusted{0};
    static inline std::atomic<int> busy{0};  ///< the number of the process that adjusts
};

void Clock::start() {
    using M = ClockMeasurement;
    static const bool started = [] {
        constexpr std::uint64_t window = 1'000'000;
        const int before = errno;
        const bool usable = M::is_invariant() && M::is_trusted_by_kernel();
        errno = before;
        if (!usable) return false;
        M::began = M::pair();
        while (asked() - M::began.nanoseconds < window) {
        }
        const M::Pair end = M::pair();
        const std::uint64_t multiplier = M::rate_between(M::began, end);
        if (!M::is_plausible(multiplier)) return false;
        M::adjusted.store(end.nanoseconds);
        M::publish({end.ticks, end.nanoseconds, multiplier});
        return true;
    }();
    static_cast<void>(started);
}

void Clock::adjust() {
    using M = ClockMeasurement;
    constexpr std::uint64_t pause = 100'000'000;
    const Rate* const rate = rate_.load(std::memory_order_acquire);
    if (rate == nullptr || now() - M::adjusted.load(std::memory_order_relaxed) < pause) return;
    // A child that was forked in the midst of this finds the number of its parent.
    const int self = getpid();
    int holder = M::busy.load(std::memory_order_relaxed);
    if (holder == self || !M::busy.compare_exchange_strong(holder, self, std::memory_order_acquire)) return;
    const M::Pair here = M::pair();
    const std::uint64_t said =
        rate->nanoseconds + static_cast<std::uint64_t>(M::Wide{here.ticks - rate->ticks} * rate->multiplier >> 32);
    const std::uint64_t measured = M::rate_between(M::began, here);
    const std::uint64_t since = here.nanoseconds - rate->nanoseconds;
    constexpr std::uint64_t most_off = 10'000'000;
    const bool ahead = said > here.nanoseconds;
    const std::uint64_t off = ahead ? said - here.nanoseconds : here.nanoseconds - said;
    if (off > most_off || !M::is_plausible(measured)) {
        // The counter is not what it seemed (a virtual machine that moved): the kernel knows better from now on.
        rate_.store(nullptr, std::memory_order_release);
    } else {
        // The difference goes within as much time as it took to come, at a thousandth of the rate at most.
        const std::uint64_t correction =
            std::min(static_cast<std::uint64_t>(M::Wide{measured} * off / std::max(since, pause)), measured / 1000);
        M::adjusted.store(here.nanoseconds, std::memory_order_relaxed);
        M::publish({here.ticks, said, ahead ? measured - correction : measured + correction});
    }
    M::busy.store(0, std::memory_order_release);
}

#else

void Clock::start() {}
void Clock::adjust() {}

#endif

}  // namespace streamsan::recorder
