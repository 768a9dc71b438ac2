// The C library's functions about signals, as the program meets them when this library is preloaded: SIGSEGV is never
// blocked, and its first handler is ours. All else is as without. Not preloaded, nobody calls these.
#include <cerrno>
#include <csetjmp>
#include <cstdint>
#include <ctime>

#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/select.h>

#include "recorder/host/fault_chain.hpp"
#include "recorder/host/next_function.hpp"

#define STREAMSAN_INTERPOSED extern "C" __attribute__((visibility("default")))

namespace streamsan::recorder::host {
namespace {

/// Signals whose handlers the program wants to run with SIGSEGV blocked: what it asks back must say so.
std::atomic<std::uint64_t> blocks_faults{0};

constexpr std::uint64_t bit(int number) { return std::uint64_t{1} << (number - 1); }

/// A set without SIGSEGV.
struct WithoutFaults {
    explicit WithoutFaults(const sigset_t* given) {
        if (given == nullptr) return;
        set = *given;
        held = sigismember(&set, SIGSEGV) == 1;
        if (held) sigdelset(&set, SIGSEGV);
        used = &set;
    }
    sigset_t set;
    const sigset_t* used = nullptr;
    bool held = false;
};

template <class Next>
int change_mask(Next* next, int how, const sigset_t* given, sigset_t* before) {
    const WithoutFaults wanted(given);
    const bool was_blocked = fault_signal_is_blocked;
    const int status = next(how, wanted.used, before);
    if (status != 0) return status;
    if (before != nullptr && was_blocked) sigaddset(before, SIGSEGV);
    if (given == nullptr) return 0;
    if (how == SIG_SETMASK) fault_signal_is_blocked = wanted.held;
    else if (wanted.held) fault_signal_is_blocked = how == SIG_BLOCK;
    return 0;
}

using Mask = int(int, const sigset_t*, sigset_t*);
constinit NextFunction<Mask> next_pthread_sigmask{"pthread_sigmask"};
constinit NextFunction<Mask> next_sigprocmask{"sigprocmask"};

sighandler_t set_simple(int number, sighandler_t handler, int flags) {
    struct sigaction wanted{};
    wanted.sa_handler = handler;
    wanted.sa_flags = flags;
    sigemptyset(&wanted.sa_mask);
    if ((flags & SA_NODEFER) == 0) sigaddset(&wanted.sa_mask, number);
    struct sigaction before{};
    exchange_program_action(&wanted, &before);
    return before.sa_handler;
}

using Simple = sighandler_t(int, sighandler_t);
sighandler_t simple(NextFunction<Simple>& next, int number, sighandler_t handler, int flags) {
    if (number == SIGSEGV && in_fault_chain() && handler != SIG_ERR) return set_simple(number, handler, flags);
    return next.get()(number, handler);
}

/// The program's threads inherit what the process that started it had blocked.
__attribute__((constructor)) void unblock_faults() {
    sigset_t set;
    sigset_t before;
    sigemptyset(&set);
    sigaddset(&set, SIGSEGV);
    auto* const next = next_pthread_sigmask.get();
    // Only where the library was preloaded: then this symbol is ours.
    if (dlsym(RTLD_DEFAULT, "pthread_sigmask") == reinterpret_cast<void*>(next)) return;
    if (next != nullptr && next(SIG_UNBLOCK, &set, &before) == 0)
        fault_signal_is_blocked = sigismember(&before, SIGSEGV) == 1;
}

}  // namespace
}  // namespace streamsan::recorder::host

using namespace streamsan::recorder::host;

STREAMSAN_INTERPOSED int sigaction(int number, const struct sigaction* given, struct sigaction* before) noexcept {
    if (number == SIGSEGV && in_fault_chain()) {
        exchange_program_action(given, before);
        return 0;
    }
    if (number < 1 || number > 64) return next_sigaction(number, given, before);
    struct sigaction wanted{};
    bool held = false;
    if (given != nullptr) {
        wanted = *given;
        held = sigismember(&wanted.sa_mask, SIGSEGV) == 1;
        if (held && number != SIGSEGV) sigdelset(&wanted.sa_mask, SIGSEGV);
    }
    const int status = next_sigaction(number, given != nullptr ? &wanted : nullptr, before);
    if (status != 0) return status;
    if (before != nullptr && (blocks_faults.load(std::memory_order_relaxed) & bit(number)) != 0)
        sigaddset(&before->sa_mask, SIGSEGV);
    if (given != nullptr && number != SIGSEGV) {
        if (held) blocks_faults.fetch_or(bit(number), std::memory_order_relaxed);
        else blocks_faults.fetch_and(~bit(number), std::memory_order_relaxed);
    }
    return 0;
}
STREAMSAN_INTERPOSED int __sigaction(int number, const struct sigaction* given, struct sigaction* before) noexcept {
    return sigaction(number, given, before);
}

#define STREAMSAN_SIMPLE(name, flags)                                                   \
    STREAMSAN_INTERPOSED sighandler_t name(int number, sighandler_t handler) noexcept { \
        static constinit NextFunction<Simple> next{#name};                              \
        return simple(next, number, handler, flags);                                    \
    }
STREAMSAN_SIMPLE(signal, SA_RESTART)
STREAMSAN_SIMPLE(bsd_signal, SA_RESTART)
STREAMSAN_SIMPLE(ssignal, SA_RESTART)
STREAMSAN_SIMPLE(sysv_signal, SA_RESETHAND | SA_NODEFER)
STREAMSAN_SIMPLE(__sysv_signal, SA_RESETHAND | SA_NODEFER)

STREAMSAN_INTERPOSED int pthread_sigmask(int how, const sigset_t* given, sigset_t* before) noexcept {
    return change_mask(next_pthread_sigmask.get(), how, given, before);
}
STREAMSAN_INTERPOSED int sigprocmask(int how, const sigset_t* given, sigset_t* before) noexcept {
    return change_mask(next_sigprocmask.get(), how, given, before);
}

// Handlers that run while these wait have the mask that is given here.
STREAMSAN_INTERPOSED int sigsuspend(const sigset_t* mask) {
    static constinit NextFunction<int(const sigset_t*)> next{"sigsuspend"};
    return next.get()(WithoutFaults(mask).used);
}
STREAMSAN_INTERPOSED int ppoll(struct pollfd* files, nfds_t count, const struct timespec* most, const sigset_t* mask) {
    static constinit NextFunction<int(struct pollfd*, nfds_t, const struct timespec*, const sigset_t*)> next{"ppoll"};
    return next.get()(files, count, most, WithoutFaults(mask).used);
}
STREAMSAN_INTERPOSED int pselect(int count, fd_set* reads, fd_set* writes, fd_set* others, const struct timespec* most,
                                 const sigset_t* mask) {
    static constinit NextFunction<int(int, fd_set*, fd_set*, fd_set*, const struct timespec*, const sigset_t*)> next{
        "pselect"};
    return next.get()(count, reads, writes, others, most, WithoutFaults(mask).used);
}
STREAMSAN_INTERPOSED int epoll_pwait(int file, struct epoll_event* events, int count, int most, const sigset_t* mask) {
    static constinit NextFunction<int(int, struct epoll_event*, int, int, const sigset_t*)> next{"epoll_pwait"};
    return next.get()(file, events, count, most, WithoutFaults(mask).used);
}

// A handler that is left by a jump has ended.
#define STREAMSAN_JUMP(name, Buffer)                                                     \
    STREAMSAN_INTERPOSED __attribute__((noreturn)) void name(Buffer* place, int value) { \
        static constinit NextFunction<void(Buffer*, int)> next{#name};                   \
        leave_program_handler();                                                         \
        next.get()(place, value);                                                        \
        __builtin_unreachable();                                                         \
    }
STREAMSAN_JUMP(longjmp, struct __jmp_buf_tag)
STREAMSAN_JUMP(_longjmp, struct __jmp_buf_tag)
STREAMSAN_JUMP(siglongjmp, struct __jmp_buf_tag)
STREAMSAN_JUMP(__longjmp_chk, struct __jmp_buf_tag)
