// SIGSEGV: ours first, then as if we were not there.
//
// The kernel has our handler. What the program asks of sigaction for this signal is kept here and given back to it; a
// fault that is not ours goes to the program's handler with the kernel's own arguments, or ends the process by the
// kernel's hand at the instruction that faulted.
//
// A fault while the signal is blocked is death. So the program's masks never contain it (interposed_signals.cpp), and
// whether the program believes that it is blocked is kept for each thread.
#pragma once
#include <signal.h>

namespace streamsan::recorder::host {

/// Whether a fault was of a protected page, which is accessible now. Runs with all signals blocked, wherever the fault
/// was.
using FaultHandler = bool (*)(const siginfo_t& fault, void* context) noexcept;

/// Installs our handler before the program's. False where the kernel would not.
bool begin_fault_chain(FaultHandler handler) noexcept;
/// Puts ours first again if somebody went around the C library.
void keep_fault_chain_first() noexcept;
[[nodiscard]] bool in_fault_chain() noexcept;

/// What sigaction does for SIGSEGV while the chain is there: either may be null.
void exchange_program_action(const struct sigaction* given, struct sigaction* before) noexcept;

/// Whether this thread of the program believes that SIGSEGV is blocked.
extern thread_local bool fault_signal_is_blocked;
/// A jump out of a handler of the program, by which it ended.
void leave_program_handler() noexcept;

/// The C library's own.
int next_sigaction(int number, const struct sigaction* given, struct sigaction* before) noexcept;

}  // namespace streamsan::recorder::host
