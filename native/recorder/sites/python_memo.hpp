// Recognises a Python stack by what its frames hold, compared with one that was seen at the same place.
#pragma once
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <new>

#include "recorder/sites/memo_table.hpp"
#include "recorder/sites/memory_reading.hpp"
#include "recorder/sites/python_stack.hpp"
#include "recorder/sites/words_hash.hpp"

namespace streamsan::recorder::call_sites {

/// Stacks of one thread and their sites. A code object is read only after all frames were found as they were: frames
/// that are still being made, or are no function's, have none.
class PythonMemo {
public:
    static constexpr std::uint32_t no_site = 0xffffffff;
    static constexpr unsigned frames_at_most = 24;

    [[nodiscard]] std::uint32_t find(const PythonLayout& layout, std::uint64_t innermost,
                                     std::uint32_t label) const noexcept {
        const MemoTable::Key key = key_of(layout, innermost, label);
        for (std::uint32_t candidates = table_.candidates(key); candidates != 0; candidates &= candidates - 1) {
            const auto& known = table_.record<Known>(key, candidates);
            if (known.label != label) continue;
            std::array<std::uint64_t, frames_at_most> codes;
            Places places;
            std::uint64_t frame = innermost;
            unsigned index = 0;
            for (; index < known.count && frame != 0; ++index) {
                const auto code_word = load<std::uint64_t>(frame + layout.frame_code);
                places.add(frame, code_word, load<std::uint64_t>(frame + layout.frame_instruction));
                const std::uint64_t code = code_word & layout.code_mask;
                codes[index] = code;
                // Code objects lie scattered: all are asked for before the first is looked at.
                if ((known.functions >> index & 1) != 0) {
                    __builtin_prefetch(reinterpret_cast<const void*>(code + layout.code_file));
                    __builtin_prefetch(reinterpret_cast<const void*>(code + layout.code_first_line));
                }
                frame = load<std::uint64_t>(frame + layout.frame_previous);
            }
            if (index != known.count || places.value() != known.frames || (frame == 0) != known.whole) continue;
            std::uint64_t identities = 1;
            for (std::uint32_t functions = known.functions; functions != 0; functions &= functions - 1)
                identities = WordsHash::longer(identities, code_identity(layout, codes[std::countr_zero(functions)]));
            if (identities == known.identities) return known.site;
        }
        return no_site;
    }

    /// `whole`: there are no frames beyond these.
    void remember(const PythonLayout& layout, const PythonFrame* frames, unsigned count, std::uint32_t label,
                  std::uint32_t site) noexcept {
        if (count == 0 || count > frames_at_most) return;
        const MemoTable::Key key = key_of(layout, frames[0].address, label);
        auto& known = *new (table_.add(key, sizeof(Known))) Known;
        known.label = label;
        known.site = site;
        known.count = static_cast<std::uint16_t>(count);
        known.whole = load<std::uint64_t>(frames[count - 1].address + layout.frame_previous) == 0;
        known.functions = 0;
        Places places;
        known.identities = 1;
        for (unsigned index = 0; index < count; ++index) {
            const PythonFrame& frame = frames[index];
            places.add(frame.address, frame.code_word, frame.instruction_word);
            if (frame.code == 0) continue;
            known.functions |= 1U << index;
            known.identities = WordsHash::longer(known.identities, frame.identity);
        }
        known.frames = places.value();
    }

    void clear() noexcept { table_.clear(); }

private:
    /// Hashes, not the frames: then a record is one cache line, however deep the stack.
    struct Known {
        std::uint64_t frames;      ///< where they lie, and the instructions that they are at
        std::uint64_t identities;  ///< of their code objects
        std::uint32_t label;
        std::uint32_t site;
        std::uint32_t functions;  ///< which frames are functions', as bits: those have an identity
        std::uint16_t count;
        bool whole;  ///< there are no frames beyond these
    };
    static_assert(frames_at_most <= 32);

    /// A hash of frames: one chain for each of their words, which stay in registers.
    class Places {
    public:
        void add(std::uint64_t frame, std::uint64_t code_word, std::uint64_t instruction_word) noexcept {
            frames_ = WordsHash::longer(frames_, frame);
            codes_ = WordsHash::longer(codes_, code_word);
            instructions_ = WordsHash::longer(instructions_, instruction_word);
        }
        [[nodiscard]] std::uint64_t value() const noexcept {
            return WordsHash::longer(WordsHash::longer(frames_, codes_), instructions_);
        }

    private:
        std::uint64_t frames_ = 1;
        std::uint64_t codes_ = 2;
        std::uint64_t instructions_ = 3;
    };

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
