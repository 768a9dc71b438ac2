// How to get from one x86-64 frame to its caller's, at one instruction: call frame information boiled down to eight
// bytes.
#pragma once
#include <cstdint>

#include "recorder/sites/modules.hpp"

namespace streamsan::recorder::call_sites {

/// Where the canonical frame address (CFA: the stack pointer before the call) comes from. The return address is at CFA
/// - 8.
enum class FrameAddress : std::uint8_t {
    from_rsp,            ///< rsp + offset
    from_rbp,            ///< rbp + offset
    from_memory_at_rbp,  ///< the word at rbp + offset: functions that align the stack
    signal,              ///< the frame of a signal handler's return: registers lie in the kernel's ucontext at rsp
    bottom,              ///< the outermost frame: the return address is undefined
    unusual,             ///< described in a way not handled here
    unknown,             ///< no unwind information
    guessed,             ///< as from_rsp, found by looking through the stack once
};

/// Where the caller's rbp is.
enum class SavedRbp : std::uint8_t { same, at_frame_address, at_rbp };

/// The rule of one instruction.
struct UnwindRule {
    std::int32_t offset = 0;      ///< for the frame address
    std::int16_t rbp_offset = 0;  ///< for the saved rbp, from the frame address or from rbp
    FrameAddress frame_address = FrameAddress::unknown;
    SavedRbp saved_rbp : 2 = SavedRbp::same;
    bool of_the_api : 1 = false;  ///< the instruction lies in the driver's libraries or ours
    bool of_the_runtime : 1 = false;
};
static_assert(sizeof(UnwindRule) == 8);

/// The rule for the instruction at `address`, which lies in `module` (null: in no module).
UnwindRule unwind_rule(const Module* module, std::uint64_t address);

}  // namespace streamsan::recorder::call_sites
