// Recognises a Python stack by comparing it, frame by frame, with one that was seen at the same place.
#pragma once
#include <array>
#include <cstdint>

#include "recorder/sites/memory_reading.hpp"
#include "recorder/sites/python_stack.hpp"
#include "recorder/sites/zeroed_array.hpp"

namespace streamsan::recorder::call_sites {

/// Stacks of one thread and their sites. A frame is read only after its address was found in the frame before it.
class PythonMemo {
public:
    static constexpr std::uint32_t no_site = 0xffffffff;
    static constexpr unsigned frames_at_most = 24;

    [[nodiscard]] std::uint32_t find(const PythonLayout& layout, std::uint64_t innermost,
                                     std::uint32_t label) const noexcept {
        const std::size_t set = set_of(layout, innermost);
        for (std::size_t way = 0; way < ways; ++way) {
            const Known& known = known_[set + way];
            if (known.count == 0 || known.label != label) continue;
            std::uint64_t frame = innermost;
            unsigned index = 0;
            for (; index < known.count; ++index) {
                const PythonFrame& then = known.frames[index];
                if (frame != then.address) break;
                const std::uint64_t different =
                    (load<std::uint64_t>(frame + layout.frame_code) ^ then.code_word) |
                    (load<std::uint64_t>(frame + layout.frame_instruction) ^ then.instruction_word);
                if (different != 0) break;
                if (then.code != 0 && code_identity(layout, then.code) != then.identity) break;
                frame = load<std::uint64_t>(frame + layout.frame_previous);
            }
            if (index == known.count && (frame == 0) == known.whole) return known.site;
        }
        return no_site;
    }

    /// `whole`: there are no frames beyond these.
    void remember(const PythonLayout& layout, const PythonFrame* frames, unsigned count, std::uint32_t label,
                  std::uint32_t site) noexcept {
        if (count == 0 || count > frames_at_most) return;
        Known& known = known_[set_of(layout, frames[0].address) + next_way_++ % ways];
        known.label = label;
        known.site = site;
        known.count = count;
        known.whole = load<std::uint64_t>(frames[count - 1].address + layout.frame_previous) == 0;
        for (unsigned index = 0; index < count; ++index) known.frames[index] = frames[index];
        any_ = true;
    }

    void clear() noexcept {
        // Not touched as long as nothing is there: the memory stays the system's.
        for (std::size_t index = 0; index < sets * ways && any_; ++index) known_[index].count = 0;
        any_ = false;
    }

private:
    static constexpr std::size_t ways = 4;
    static constexpr unsigned set_bits = 7;
    static constexpr std::size_t sets = std::size_t{1} << set_bits;
    struct Known {
        std::uint32_t label;
        std::uint32_t site;
        std::uint32_t count;
        bool whole;
        std::array<PythonFrame, frames_at_most> frames;
    };

    /// By the innermost frames' places: what a program does in a loop differs there.
    static std::size_t set_of(const PythonLayout& layout, std::uint64_t frame) noexcept {
        constexpr unsigned looked_at = 4;
        std::uint64_t hash = frame;
        for (unsigned index = 0; index < looked_at && frame != 0; ++index) {
            hash = hash * 5 + load<std::uint64_t>(frame + layout.frame_instruction);
            frame = load<std::uint64_t>(frame + layout.frame_previous);
        }
        return ((hash * 0x9e3779b97f4a7c15) >> (64 - set_bits)) * ways;
    }
    ZeroedArray<Known> known_ = zeroed_array<Known>(sets * ways);
    std::size_t next_way_ = 0;
    bool any_ = false;
};

}  // namespace streamsan::recorder::call_sites
