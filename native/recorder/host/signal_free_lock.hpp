// A lock that a handler of faults may take: whoever holds it touches no memory of the program, and runs no handler.
#pragma once
#include <atomic>
#include <cstdint>

#include <sched.h>
#include <signal.h>

#include "recorder/host/kernel_call.hpp"

namespace streamsan::recorder::host {

/// A thread's blocked signals, as the kernel keeps them: a bit each, from signal 1 on.
using SignalBits = std::uint64_t;
constexpr SignalBits signal_bit(int number) { return SignalBits{1} << (number - 1); }
inline SignalBits change_signals(int how, SignalBits bits) noexcept {
    SignalBits before = 0;
    kernel_call(SYS_rt_sigprocmask, how, &bits, &before, sizeof bits);
    return before;
}

/// All signals are blocked while it is held, but faults: a handler of the program that ran on the holder's thread could
/// touch a protected page, and its fault would wait for the lock for ever.
class SignalFreeLock {
public:
    SignalBits lock() noexcept {
        constexpr SignalBits faults = signal_bit(SIGSEGV) | signal_bit(SIGBUS) | signal_bit(SIGFPE) |
                                      signal_bit(SIGILL) | signal_bit(SIGTRAP) | signal_bit(SIGABRT);
        const SignalBits before = change_signals(SIG_BLOCK, ~faults);
        take();
        return before;
    }
    void unlock(SignalBits before) noexcept {
        give();
        change_signals(SIG_SETMASK, before);
    }
    /// Where signals are blocked already: in a handler that blocks all.
    void take() noexcept {
        for (int tries = 0; taken_.exchange(true, std::memory_order_acquire); ++tries)
            if (tries > 64) kernel_call(SYS_sched_yield);
    }
    void give() noexcept { taken_.store(false, std::memory_order_release); }

    class Guard {
    public:
        explicit Guard(SignalFreeLock& lock) noexcept : lock_(lock), before_(lock.lock()) {}
        ~Guard() { lock_.unlock(before_); }
        Guard(const Guard&) = delete;
        Guard& operator=(const Guard&) = delete;

    private:
        SignalFreeLock& lock_;
        SignalBits before_;
    };

private:
    std::atomic<bool> taken_{false};
};

}  // namespace streamsan::recorder::host
