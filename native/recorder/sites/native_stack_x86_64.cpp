// x86-64: an unwinder that follows rsp and rbp only, with one cached rule for each return address. Frames that need
// more (other registers, DWARF expressions, code made at run time) are left to the language runtime's unwinder, for the
// whole stack.
#include <pthread.h>
#include <sys/uio.h>
#include <unistd.h>
#include <unwind.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "recorder/sites/memory_reading.hpp"
#include "recorder/sites/modules.hpp"
#include "recorder/sites/native_stack.hpp"
#include "recorder/sites/stack_memo.hpp"
#include "recorder/sites/unwind_rule.hpp"
#include "recorder/sites/zeroed_array.hpp"

// Stack memory of others' frames is read, a sanitizer's red zones included.
#define STREAMSAN_READS_STACK __attribute__((no_sanitize("address", "thread")))

namespace streamsan::recorder::call_sites {

/// Rules by return address: open addressing, two places for each address. An address that is pushed out is looked up
/// again.
class RuleCache {
public:
    struct Entry {
        std::uint64_t address = 0;  // 0: empty
        UnwindRule rule;
    };
    [[nodiscard]] const UnwindRule* find(std::uint64_t address) const noexcept {
        const std::size_t at = place(address);
        if (entries_[at].address == address) return &entries_[at].rule;
        if (entries_[at ^ 1].address == address) return &entries_[at ^ 1].rule;
        return nullptr;
    }
    const UnwindRule* put(std::uint64_t address, UnwindRule rule) noexcept {
        std::size_t at = place(address);
        if (entries_[at].address != 0 && entries_[at].address != address) {
            if (entries_[at ^ 1].address == 0 || entries_[at ^ 1].address == address) at ^= 1;
            else entries_[at ^ 1] = entries_[at];
        }
        entries_[at] = {address, rule};
        return &entries_[at].rule;
    }
    void clear() noexcept { std::fill_n(entries_.get(), count, Entry{}); }

private:
    static constexpr unsigned bits = 12;
    static std::size_t place(std::uint64_t address) noexcept { return (address * 0x9e3779b97f4a7c15) >> (64 - bits); }
    static constexpr std::size_t count = std::size_t{1} << bits;
    ZeroedArray<Entry> entries_{count};
};

namespace {

constexpr unsigned frames_at_most = 256;          // of all kinds, in one walk
constexpr std::uint64_t scanned_at_most = 65536;  // bytes of stack looked through for a return address
constexpr unsigned failed_scans_at_most = 64;     // in one thread: a scan can cost a millisecond
constexpr std::size_t page = 4096;
constexpr std::size_t copied_at_most = 16 * page;  // of a stack that is not the thread's own

/// A piece of stack: addresses [low, high) may be read, at `shift` bytes from where they are (a copy) or at 0.
struct StackMemory {
    std::uint64_t low = 0;
    std::uint64_t high = 0;
    std::uint64_t shift = 0;
    bool live = true;  ///< the thread is still where the walk begins: other unwinders can walk it, too
    [[nodiscard]] bool holds(std::uint64_t address) const noexcept {
        return address >= low && address + 8 <= high && (address & 7) == 0;
    }
    [[nodiscard]] STREAMSAN_READS_STACK std::uint64_t word(std::uint64_t address) const noexcept {
        return load<std::uint64_t>(address + shift);
    }
};

struct Registers {
    std::uint64_t pc = 0;  // one past the call, or one past the interrupted instruction
    std::uint64_t rsp = 0;
    std::uint64_t rbp = 0;
    std::uint64_t pc_at = 0;  // where it was read from, 0 for a register
    std::uint64_t rbp_at = 0;
};

/// From a frame to its caller's. False when the rule can't be followed within the stack.
[[gnu::always_inline]] inline bool step(Registers& registers, UnwindRule rule, const StackMemory& stack) noexcept {
    std::uint64_t address = 0;
    const auto offset = static_cast<std::uint64_t>(static_cast<std::int64_t>(rule.offset));
    switch (rule.frame_address) {
        case FrameAddress::from_rsp:
        case FrameAddress::guessed: address = registers.rsp + offset; break;
        case FrameAddress::from_rbp: address = registers.rbp + offset; break;
        case FrameAddress::from_memory_at_rbp:
            if (!stack.holds(registers.rbp + offset)) return false;
            address = stack.word(registers.rbp + offset);
            break;
        case FrameAddress::signal: {
            // ucontext: flags, link, stack (40 bytes), then r8-r15, rdi, rsi, rbp, rbx, rdx, rax, rcx, rsp, rip
            // (signal(7), psABI).
            constexpr std::uint64_t saved_rbp = 40 + 10 * 8;
            constexpr std::uint64_t saved_rsp = 40 + 15 * 8;
            constexpr std::uint64_t saved_rip = 40 + 16 * 8;
            if (!stack.holds(registers.rsp) || !stack.holds(registers.rsp + saved_rip)) return false;
            const std::uint64_t base = registers.rsp;
            registers.pc = stack.word(base + saved_rip) + 1;
            registers.rbp = stack.word(base + saved_rbp);
            registers.rsp = stack.word(base + saved_rsp);
            registers.pc_at = 0;
            registers.rbp_at = 0;
            return registers.rsp > base;
        }
        default: return false;
    }
    // Stacks grow down: a caller's frame lies above, or there would be no end.
    if (address <= registers.rsp || !stack.holds(address - 8)) return false;
    if (rule.saved_rbp != SavedRbp::same) {
        const auto saved_offset = static_cast<std::uint64_t>(static_cast<std::int64_t>(rule.rbp_offset));
        const std::uint64_t saved =
            (rule.saved_rbp == SavedRbp::at_frame_address ? address : registers.rbp) + saved_offset;
        if (!stack.holds(saved)) return false;
        registers.rbp = stack.word(saved);
        registers.rbp_at = saved;
    }
    registers.pc = stack.word(address - 8);
    registers.pc_at = address - 8;
    registers.rsp = address;
    return true;
}

/// Whether a frame is the program's: there most stacks differ from each other.
bool tells_apart(UnwindRule rule) noexcept { return !rule.of_the_api && !rule.of_the_runtime; }

/// Whether the bytes before `address` may be a call instruction: direct, or indirect with each length of its operand.
bool follows_call(const Module& module, std::uint64_t address) {
    if (!module.is_code(address - 7) || !module.is_code(address)) return false;
    const auto byte = [&](std::uint64_t back) { return load<std::uint8_t>(address - back); };
    if (byte(5) == 0xe8) return true;
    const auto indirect = [&](std::uint64_t length) {
        if (byte(length) != 0xff || (byte(length - 1) & 0x38) != 0x10) return false;
        const unsigned mode = byte(length - 1) >> 6;
        const unsigned base = byte(length - 1) & 7;
        const bool indexed = mode != 3 && base == 4;  // one byte more, which may name the base
        const bool no_base = mode == 0 && (indexed ? byte(length - 2) & 7 : base) == 5;
        const unsigned displacement = mode == 1 ? 1 : mode == 2 || no_base ? 4 : 0;
        return length == 2U + (indexed ? 1U : 0U) + displacement;
    };
    return indirect(2) || indirect(3) || indirect(4) || indirect(6) || indirect(7);
}

}  // namespace

struct NativeStack::Parts {
    explicit Parts(StackMemo& stack_memo) : memo(stack_memo) {}

    RuleCache rules;
    StackMemo& memo;
    std::uint64_t low = 0;  // of the thread's stack, as the thread library knows it
    std::uint64_t high = 0;
    std::uint64_t removals = 0;
    unsigned failed_scans = 0;
    ZeroedArray<std::byte> copy{copied_at_most};

    void find_bounds() noexcept {
        pthread_attr_t attributes;
        if (pthread_getattr_np(pthread_self(), &attributes) != 0) return;
        void* start = nullptr;
        std::size_t size = 0;
        if (pthread_attr_getstack(&attributes, &start, &size) == 0) {
            low = reinterpret_cast<std::uint64_t>(start);
            high = low + size;
        }
        pthread_attr_destroy(&attributes);
    }

    /// The stack from `rsp` on. A coroutine's or a signal handler's stack has unknown bounds: what the kernel can copy
    /// is copied.
    StackMemory memory_from(std::uint64_t rsp) noexcept {
        if (rsp >= low && rsp < high) return {rsp, high, 0, true};
        const std::uint64_t begin = rsp & ~std::uint64_t{page - 1};
        std::array<iovec, copied_at_most / page> pages{};
        for (std::size_t index = 0; index < pages.size(); ++index)
            pages[index] = {reinterpret_cast<void*>(begin + index * page), page};
        iovec whole{copy.get(), copied_at_most};
        const auto copied = process_vm_readv(getpid(), &whole, 1, pages.data(), pages.size(), 0);
        if (copied <= 0) return {};
        return {rsp, begin + static_cast<std::uint64_t>(copied), reinterpret_cast<std::uint64_t>(copy.get()) - begin,
                true};
    }

    const UnwindRule* rule(std::uint64_t pc) noexcept {
        if (const UnwindRule* known = rules.find(pc); known != nullptr) [[likely]]
            return known;
        return learn(pc);
    }

    [[gnu::noinline]] const UnwindRule* learn(std::uint64_t pc) noexcept {
        Modules& modules = Modules::instance();
        if (const std::uint64_t now = modules.removals(); now != removals) {
            removals = now;
            rules.clear();
            memo.clear();
        }
        return rules.put(pc, unwind_rule(modules.find(pc - 1), pc - 1));
    }

    /// Whether `registers` can be followed by unwind tables alone to the thread's first frame.
    bool reaches_bottom(Registers registers, const StackMemory& stack) noexcept {
        for (unsigned depth = 0; depth < frames_at_most; ++depth) {
            if (registers.pc == 0) return false;  // may mark a bottom, but zeros are everywhere
            const UnwindRule known = *rule(registers.pc);
            if (known.frame_address == FrameAddress::bottom) return true;
            if (known.frame_address == FrameAddress::guessed || !step(registers, known, stack)) return false;
        }
        return false;
    }

    /// For an instruction without unwind information: the next word of the stack that is a return address from which
    /// tables lead to the bottom. The distance is remembered as the instruction's rule, for it is the frame's size.
    [[gnu::noinline]] bool scan(Registers& registers, const StackMemory& stack) noexcept {
        if (failed_scans == failed_scans_at_most) return false;
        const std::uint64_t end = std::min(stack.high, registers.rsp + scanned_at_most);
        for (std::uint64_t at = registers.rsp; at + 8 <= end; at += 8) {
            const std::uint64_t word = stack.word(at);
            if (word < page) continue;
            if (rules.find(word) == nullptr) {
                const Module* module = Modules::instance().find(word - 1);
                if (module == nullptr || !follows_call(*module, word)) continue;
            }
            const UnwindRule candidate = *rule(word);
            // Not the outermost function: tables lead nowhere from it, and unwinders leave its address in dead words.
            if (candidate.frame_address >= FrameAddress::bottom) continue;
            // rbp: untouched by this frame, or pushed first.
            Registers caller{word, at + 8, registers.rbp, at, registers.rbp_at};
            bool pushed = false;
            if (!reaches_bottom(caller, stack)) {
                if (at < registers.rsp + 8) continue;
                caller.rbp = stack.word(at - 8);
                caller.rbp_at = at - 8;
                pushed = true;
                if (!reaches_bottom(caller, stack)) continue;
            }
            UnwindRule guess;
            guess.frame_address = FrameAddress::guessed;
            guess.offset = static_cast<std::int32_t>(at + 8 - registers.rsp);
            guess.saved_rbp = pushed ? SavedRbp::at_frame_address : SavedRbp::same;
            guess.rbp_offset = -16;
            const UnwindRule* before = rules.find(registers.pc);
            guess.of_the_api = before != nullptr && before->of_the_api;
            guess.of_the_runtime = before != nullptr && before->of_the_runtime;
            rules.put(registers.pc, guess);
            registers = caller;
            return true;
        }
        ++failed_scans;
        return false;
    }

    unsigned walk(const StackStart& start, const StackMemory& stack, bool trust_guesses, std::uint64_t* addresses,
                  unsigned limit, StackEnd& end, bool& guessed) noexcept;
    unsigned by_runtime(const StackMemory& stack, std::uint64_t* addresses, unsigned limit, StackEnd& end) noexcept;
};

/// One walk by cached rules. What it depends on goes into the memo.
STREAMSAN_READS_STACK unsigned NativeStack::Parts::walk(const StackStart& start, const StackMemory& stack,
                                                        bool trust_guesses, std::uint64_t* addresses, unsigned limit,
                                                        StackEnd& end, bool& guessed) noexcept {
    Registers registers{start.pc, start.stack_pointer, start.frame_pointer, 0, 0};
    unsigned count = 0;
    memo.begin();
    if (stack.shift != 0) memo.give_up();  // not the thread's own stack: next time it may be another
    end = StackEnd::lost;
    for (unsigned depth = 0; depth < frames_at_most; ++depth) {
        if (registers.pc == 0) [[unlikely]] {  // how some start code marks the outermost frame
            if (registers.pc_at != 0) memo.depends_on(registers.pc_at, 0, false);
            end = guessed && trust_guesses ? StackEnd::lost : StackEnd::bottom;
            return count;
        }
        const UnwindRule known = *rule(registers.pc);
        if (registers.pc_at != 0) memo.depends_on(registers.pc_at, registers.pc, tells_apart(known));
        if (!known.of_the_api) {
            if (count == limit) {
                end = StackEnd::limit;
                return count;
            }
            addresses[count++] = registers.pc;
        }
        const bool by_rbp =
            known.frame_address == FrameAddress::from_rbp || known.frame_address == FrameAddress::from_memory_at_rbp;
        if (by_rbp || known.saved_rbp == SavedRbp::at_rbp) {
            if (registers.rbp_at != 0) memo.depends_on(registers.rbp_at, registers.rbp, false);
            else memo.depends_on_rbp();
        }
        switch (known.frame_address) {
            case FrameAddress::bottom: end = StackEnd::bottom; return count;
            case FrameAddress::unusual: return stack.live ? by_runtime(stack, addresses, limit, end) : count;
            case FrameAddress::unknown:
                if (!scan(registers, stack)) return count;
                continue;
            case FrameAddress::guessed: {
                guessed = true;
                // The word must still be a return address: one that was seen before. Else look again.
                Registers next = registers;
                if (trust_guesses && step(next, known, stack) && next.pc >= page && rules.find(next.pc) != nullptr)
                    registers = next;
                else if (!scan(registers, stack)) return count;
                continue;
            }
            case FrameAddress::from_memory_at_rbp: {
                const std::uint64_t at =
                    registers.rbp + static_cast<std::uint64_t>(static_cast<std::int64_t>(known.offset));
                if (stack.holds(at)) memo.depends_on(at, stack.word(at), false);
                break;
            }
            case FrameAddress::signal: memo.give_up(); break;
            default: break;
        }
        if (!step(registers, known, stack)) return count;
    }
    return count;
}

/// The slow way, for stacks with unusual frames: all of them by the language runtime's unwinder.
unsigned NativeStack::Parts::by_runtime(const StackMemory& stack, std::uint64_t* addresses, unsigned limit,
                                        StackEnd& end) noexcept {
    memo.begin();
    memo.depends_on_rbp();
    struct Walk {
        Parts* parts;
        const StackMemory& stack;
        std::uint64_t* addresses;
        unsigned limit;
        bool own_stack;
        unsigned count = 0;
        unsigned depth = 0;
        bool bottom = false;
    } walk{this, stack, addresses, limit, stack.shift == 0, 0, 0, false};
    _Unwind_Backtrace(
        [](_Unwind_Context* context, void* argument) {
            auto& state = *static_cast<Walk*>(argument);
            int before = 0;
            const std::uint64_t address = _Unwind_GetIPInfo(context, &before);
            if (address == 0) {
                state.bottom = true;
                return _URC_END_OF_STACK;
            }
            const std::uint64_t pc = address + (before != 0 ? 1 : 0);
            const UnwindRule known = *state.parts->rule(pc);
            if (known.frame_address == FrameAddress::bottom) state.bottom = true;
            // The frame's rsp after the return: its return address, if nothing unusual is here, lies just below.
            const std::uint64_t slot = _Unwind_GetCFA(context) - 8;
            if (state.own_stack && state.stack.holds(slot) && state.stack.word(slot) == pc)
                state.parts->memo.depends_on(slot, pc, tells_apart(known));
            else if (state.depth != 0) state.parts->memo.give_up();
            if (!known.of_the_api) {
                if (state.count == state.limit) return _URC_NORMAL_STOP;
                state.addresses[state.count++] = pc;
            }
            return ++state.depth == frames_at_most ? _URC_NORMAL_STOP : _URC_NO_REASON;
        },
        &walk);
    end = walk.bottom ? StackEnd::bottom : walk.count == limit ? StackEnd::limit : StackEnd::lost;
    return walk.count;
}

NativeStack::NativeStack(StackMemo& memo) : parts_(new Parts(memo)) { parts_->find_bounds(); }
NativeStack::~NativeStack() = default;

std::uint64_t NativeStack::unloadings() const noexcept { return parts_->removals; }

STREAMSAN_READS_STACK unsigned NativeStack::callers(const StackStart& start, std::uint64_t* addresses, unsigned limit,
                                                    StackEnd& end) noexcept {
    Parts& parts = *parts_;
    const StackMemory stack = parts.memory_from(start.stack_pointer);
    end = StackEnd::lost;
    if (stack.high == 0) return 0;
    bool guessed = false;
    unsigned count = parts.walk(start, stack, true, addresses, limit, end, guessed);
    // Lost after a remembered guess: the frame was of another size this time.
    if (end == StackEnd::lost && guessed) count = parts.walk(start, stack, false, addresses, limit, end, guessed);
    return count;
}

unsigned NativeStack::callers_in_copy(const StackStart& start, std::uint64_t low, const void* copy, std::size_t bytes,
                                      std::uint64_t* addresses, unsigned limit, StackEnd& end) noexcept {
    const StackMemory stack{low, low + bytes, reinterpret_cast<std::uint64_t>(copy) - low, false};
    bool guessed = false;
    unsigned count = parts_->walk(start, stack, true, addresses, limit, end, guessed);
    if (end == StackEnd::lost && guessed) count = parts_->walk(start, stack, false, addresses, limit, end, guessed);
    return count;
}

}  // namespace streamsan::recorder::call_sites
