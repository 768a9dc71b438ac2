// The native frames of the calling thread.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>

#include "recorder/sites/stack_memo.hpp"

namespace streamsan::recorder::call_sites {

/// How far a walk got.
enum class StackEnd : std::uint8_t {
    bottom,  ///< all frames, to the thread's first
    limit,   ///< as many as were asked for
    lost,    ///< no way on from some frame
};

/// Where a walk begins: in a function of ours, at one instruction of it.
struct StackStart {
    std::uint64_t pc = 0;  ///< address of an instruction, + 1
    std::uint64_t stack_pointer = 0;
    std::uint64_t frame_pointer = 0;
};

/// The calling function's own place.
[[gnu::always_inline]] inline StackStart stack_start() noexcept {
    StackStart start;
#if defined(__x86_64__)
    asm volatile(
        "leaq 1(%%rip), %0\n\t"
        "movq %%rsp, %1\n\t"
        "movq %%rbp, %2"
        : "=&r"(start.pc), "=&r"(start.stack_pointer), "=r"(start.frame_pointer));
#endif
    return start;
}

/// What one thread remembers about code. Made once for a thread; not for use by others.
class NativeStack {
public:
    /// `memo`: what walks depend on goes there; it is emptied when code has gone.
    explicit NativeStack(StackMemo& memo);
    ~NativeStack();
    NativeStack(const NativeStack&) = delete;
    NativeStack& operator=(const NativeStack&) = delete;

    /// Writes the addresses after the calls (return addresses; for what a signal interrupted, the instruction's address
    /// + 1) of the calling thread's frames, innermost first, without those in the driver's libraries and in ours: at
    /// most `limit`. Reads nothing but this thread's stack, and unwind tables for code not seen before. The function
    /// that gave `start` must still run.
    unsigned callers(const StackStart& start, std::uint64_t* addresses, unsigned limit, StackEnd& end) noexcept;

    /// The same of a piece of a stack that was copied: `copy` has `bytes` bytes from address `low` on. `start` was
    /// taken there. Frames that need more than a copy end the walk.
    unsigned callers_in_copy(const StackStart& start, std::uint64_t low, const void* copy, std::size_t bytes,
                             std::uint64_t* addresses, unsigned limit, StackEnd& end) noexcept;

    /// Changes when it was noticed that libraries were unloaded: other code may lie at addresses seen before.
    [[nodiscard]] std::uint64_t unloadings() const noexcept;

private:
    struct Parts;
    std::unique_ptr<Parts> parts_;
};

}  // namespace streamsan::recorder::call_sites
