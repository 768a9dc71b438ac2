// Recognises a Python stack by comparing it, frame by frame, with one that was seen at the same place.
#pragma once
#include <cstdint>
#include <new>

#include "recorder/sites/memo_table.hpp"
#include "recorder/sites/memory_reading.hpp"
#include "recorder/sites/python_stack.hpp"

namespace streamsan::recorder::call_sites {

/// Stacks of one thread and their sites. A frame is read only after its address was found in the frame before it, a code
/// object only after all frames were found as they were: then it is alive.
class PythonMemo {
public:
    static constexpr std::uint32_t no_site = 0xffffffff;
    static constexpr unsigned frames_at_most = 24;

    [[nodiscard]] std::uint32_t find(const PythonLayout& layout, std::uint64_t innermost,
                                     std::uint32_t label) const noexcept {
        const MemoTable::Key key = key_of(layout, innermost, label);
        for (std::uint32_t candidates = table_.candidates(key); candidates != 0; candidates &= candidates - 1) {
            const auto& known = table_.record<Known>(key, candidates);
            const Frame* const frames = known.frames();
            if (known.label != label) continue;
            // Frames lie scattered, and each tells where the next one is: all are asked for at once.
            for (unsigned index = 0; index < known.count; ++index) {
                const std::uint64_t frame = frames[index].address;
                __builtin_prefetch(reinterpret_cast<const void*>(frame + layout.frame_previous));
                __builtin_prefetch(reinterpret_cast<const void*>(frame + layout.frame_instruction));
                const std::uint64_t code = frames[index].code_word & layout.code_mask;
                __builtin_prefetch(reinterpret_cast<const void*>(code + layout.code_file));
                __builtin_prefetch(reinterpret_cast<const void*>(code + layout.code_first_line));
            }
            std::uint64_t frame = innermost;
            std::uint64_t different = 0;
            unsigned index = 0;
            for (; index < known.count && frame == frames[index].address; ++index) {
                const Frame& then = frames[index];
                different |= load<std::uint64_t>(frame + layout.frame_code) ^ then.code_word;
                different |= load<std::uint64_t>(frame + layout.frame_instruction) ^ then.instruction_word;
                frame = load<std::uint64_t>(frame + layout.frame_previous);
            }
            if (index != known.count || different != 0 || (frame == 0) != (known.whole != 0)) continue;
            for (index = 0; index < known.count; ++index) {
                const Frame& then = frames[index];
                if ((known.functions >> index & 1) != 0)
                    different |= code_identity(layout, then.code_word & layout.code_mask) ^ then.identity;
            }
            if (different == 0) return known.site;
        }
        return no_site;
    }

    /// `whole`: there are no frames beyond these.
    void remember(const PythonLayout& layout, const PythonFrame* frames, unsigned count, std::uint32_t label,
                  std::uint32_t site) noexcept {
        if (count == 0 || count > frames_at_most) return;
        const MemoTable::Key key = key_of(layout, frames[0].address, label);
        auto& known = *new (table_.add(key, sizeof(Known) + count * sizeof(Frame))) Known;
        known.label = label;
        known.site = site;
        known.count = static_cast<std::uint16_t>(count);
        known.whole = load<std::uint64_t>(frames[count - 1].address + layout.frame_previous) == 0 ? 1 : 0;
        known.functions = 0;
        for (unsigned index = 0; index < count; ++index) {
            const PythonFrame& frame = frames[index];
            if (frame.code != 0) known.functions |= 1U << index;
            known.frames()[index] = {frame.address, frame.code_word, frame.instruction_word, frame.identity};
        }
    }

    void clear() noexcept { table_.clear(); }

private:
    struct Frame {
        std::uint64_t address;
        std::uint64_t code_word;
        std::uint64_t instruction_word;
        std::uint64_t identity;
    };
    /// Behind it lie its frames.
    struct alignas(8) Known {
        std::uint32_t label;
        std::uint32_t site;
        std::uint16_t count;
        std::uint16_t whole;      ///< there are no frames beyond these
        std::uint32_t functions;  ///< which frames are functions', as bits: those have an identity

        [[nodiscard]] Frame* frames() noexcept { return reinterpret_cast<Frame*>(this + 1); }
        [[nodiscard]] const Frame* frames() const noexcept { return reinterpret_cast<const Frame*>(this + 1); }
    };
    static_assert(frames_at_most <= 32);

    /// By the innermost frames' places: what a program does in a loop differs there.
    static MemoTable::Key key_of(const PythonLayout& layout, std::uint64_t frame, std::uint32_t label) noexcept {
        constexpr unsigned looked_at = 4;
        std::uint64_t hash = frame;
        for (unsigned index = 0; index < looked_at && frame != 0; ++index) {
            hash = hash * 5 + load<std::uint64_t>(frame + layout.frame_instruction);
            frame = load<std::uint64_t>(frame + layout.frame_previous);
        }
        return MemoTable::key(hash, label);
    }

    MemoTable table_;
};

}  // namespace streamsan::recorder::call_sites
