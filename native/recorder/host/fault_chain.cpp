#include "recorder/host/fault_chain.hpp"

#include <array>
#include <atomic>
#include <cerrno>

#include "recorder/host/next_function.hpp"
#include "recorder/host/signal_free_lock.hpp"

namespace streamsan::recorder::host {

thread_local constinit bool fault_signal_is_blocked __attribute__((tls_model("initial-exec"))) = false;

namespace {

constinit NextFunction<int(int, const struct sigaction*, struct sigaction*)> the_next_sigaction{"sigaction"};

std::atomic<FaultHandler> fault_handler{nullptr};

/// Actions of the program, the latest one in force: a handler on another thread may still be reading an older one.
struct ProgramActions {
    SignalFreeLock lock;
    std::array<struct sigaction, 64> kept{};
    std::atomic<std::size_t> latest{0};

    void put(const struct sigaction& action) noexcept {
        const std::size_t next = (latest.load(std::memory_order_relaxed) + 1) % kept.size();
        kept[next] = action;
        latest.store(next, std::memory_order_release);
    }
    [[nodiscard]] struct sigaction get() const noexcept { return kept[latest.load(std::memory_order_acquire)]; }
};
ProgramActions program_actions;

/// The thread runs the program's handler for a fault, during which the signal would be blocked.
thread_local constinit bool in_program_handler __attribute__((tls_model("initial-exec"))) = false;

/// The process ends as it would have: by the same signal, at the same instruction, with its core.
void end_by_default(int number, siginfo_t* fault) noexcept {
    struct sigaction by_default{};
    by_default.sa_handler = SIG_DFL;
    next_sigaction(number, &by_default, nullptr);
    // A fault happens again when we return; what was sent does not.
    if (fault->si_code <= 0)
        kernel_call(SYS_rt_tgsigqueueinfo, kernel_call(SYS_getpid), kernel_call(SYS_gettid), number, fault);
}

/// Gives the program a fault of its own.
void give_to_program(int number, siginfo_t* fault, ucontext_t* context) noexcept {
    const struct sigaction action = program_actions.get();
    const bool sent = fault->si_code <= 0;
    const bool ignored = action.sa_handler == SIG_IGN;
    if (ignored && sent) return;
    if (ignored || action.sa_handler == SIG_DFL || (!sent && (in_program_handler || fault_signal_is_blocked))) {
        end_by_default(number, fault);
        return;
    }
    if ((action.sa_flags & SA_RESETHAND) != 0) {
        struct sigaction by_default{};
        by_default.sa_handler = SIG_DFL;
        exchange_program_action(&by_default, nullptr);
    }
    // The mask that it would run with, but for the fault's own signal.
    SignalBits mask = 0;
    SignalBits asked = 0;
    __builtin_memcpy(&mask, &context->uc_sigmask, sizeof mask);
    __builtin_memcpy(&asked, &action.sa_mask, sizeof asked);
    const bool blocks = (action.sa_flags & SA_NODEFER) == 0;
    in_program_handler = blocks;
    const SignalBits ours = change_signals(SIG_SETMASK, (mask | asked) & ~signal_bit(number));
    if ((action.sa_flags & SA_SIGINFO) != 0) action.sa_sigaction(number, fault, context);
    else action.sa_handler(number);
    in_program_handler = false;
    change_signals(SIG_SETMASK, ours);
}

void on_fault(int number, siginfo_t* fault, void* context) {
    const int before = errno;
    const FaultHandler handler = fault_handler.load(std::memory_order_acquire);
    const bool ours = fault->si_code > 0 && handler != nullptr && handler(*fault, context);
    errno = before;
    if (!ours) give_to_program(number, fault, static_cast<ucontext_t*>(context));
}

struct sigaction our_action() noexcept {
    struct sigaction ours{};
    ours.sa_sigaction = on_fault;
    ours.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;
    sigfillset(&ours.sa_mask);
    // A fault of the handler itself must not be a silent death.
    for (const int each : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT}) sigdelset(&ours.sa_mask, each);
    return ours;
}

}  // namespace

int next_sigaction(int number, const struct sigaction* given, struct sigaction* before) noexcept {
    auto* const next = the_next_sigaction.get();
    if (next != nullptr) return next(number, given, before);
    errno = ENOSYS;
    return -1;
}

bool begin_fault_chain(FaultHandler handler) noexcept {
    struct sigaction before{};
    const struct sigaction ours = our_action();
    if (next_sigaction(SIGSEGV, nullptr, &before) != 0) return false;
    program_actions.put(before);
    fault_handler.store(handler, std::memory_order_release);
    if (next_sigaction(SIGSEGV, &ours, nullptr) == 0) return true;
    fault_handler.store(nullptr, std::memory_order_release);
    return false;
}

bool in_fault_chain() noexcept { return fault_handler.load(std::memory_order_relaxed) != nullptr; }

void keep_fault_chain_first() noexcept {
    struct sigaction now{};
    if (next_sigaction(SIGSEGV, nullptr, &now) != 0) return;
    if ((now.sa_flags & SA_SIGINFO) != 0 && now.sa_sigaction == on_fault) return;
    const struct sigaction ours = our_action();
    const SignalFreeLock::Guard guard(program_actions.lock);
    program_actions.put(now);
    next_sigaction(SIGSEGV, &ours, nullptr);
}

void exchange_program_action(const struct sigaction* given, struct sigaction* before) noexcept {
    // Both may be anywhere in the program's memory, protected pages too: not touched under the lock.
    struct sigaction wanted{};
    if (given != nullptr) wanted = *given;
    struct sigaction had{};
    {
        const SignalFreeLock::Guard guard(program_actions.lock);
        had = program_actions.get();
        if (given != nullptr) program_actions.put(wanted);
    }
    if (before != nullptr) *before = had;
}

void leave_program_handler() noexcept { in_program_handler = false; }

}  // namespace streamsan::recorder::host
