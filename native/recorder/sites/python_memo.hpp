// Recognises a Python stack by what its frames hold, compared with one that was seen at the same place.
#pragma once
#include <cstdint>
#include <new>

#include "recorder/sites/known_frames.hpp"
#include "recorder/sites/memo_table.hpp"
#include "recorder/sites/memory_reading.hpp"
#include "recorder/sites/python_stack.hpp"

namespace streamsan::recorder::call_sites {

/// Stacks of one thread and their sites. A program does the same things in the same order again and again: the stack
/// that followed the latest one the last time is compared first, then those whose innermost frames are at the same
/// instructions. Every frame is compared whole, each time: that a stack was expected proves nothing.
class PythonMemo {
public:
    static constexpr std::uint32_t no_site = 0xffffffff;
    static constexpr unsigned frames_at_most = 24;

    PythonMemo() = default;
    PythonMemo(const PythonMemo&) = delete;
    PythonMemo& operator=(const PythonMemo&) = delete;

    [[nodiscard, gnu::always_inline]] std::uint32_t find(const PythonLayout& layout, std::uint64_t innermost,
                                                         std::uint32_t label) noexcept {
        const Stack& expected = *latest_->follower;
        if (expected.label != label || !is_here(layout, expected, innermost)) [[unlikely]]
            return find_any(layout, innermost, label);
        latest_ = &expected;
        return expected.site;
    }

    /// The frames of a stack, innermost first, at most `frames_at_most`.
    void remember(const PythonLayout& layout, const PythonFrame* frames, unsigned count, std::uint32_t label,
                  std::uint32_t site) noexcept {
        if (count == 0 || count > frames_at_most) return;
        if (!table_.has_room(sizeof(Stack)) || !frames_.has_room(count)) clear();
        const bool whole = load<std::uint64_t>(frames[count - 1].address + layout.frame_previous) == 0;
        const KnownFrame* known = whole ? KnownFrames::end() : KnownFrames::more();
        bool has_shapes = false;
        for (unsigned index = count; index-- > 0;) {
            known = frames_.known(layout, frames[index], known);
            has_shapes |= known->has_shape;
        }
        follow(*new (table_.add(key_of(layout, frames[0].address, label), sizeof(Stack)))
                   Stack{known, &nothing_, label, site, has_shapes});
    }

    void clear() noexcept {
        table_.clear();
        frames_.clear();
        nothing_.follower = &nothing_;
        latest_ = &nothing_;
    }

private:
    struct Stack {
        const KnownFrame* innermost;
        mutable const Stack* follower;  ///< the one that came after it the last time
        std::uint32_t label;
        std::uint32_t site;
        bool has_shapes;  ///< some of its frames do
    };

    [[gnu::always_inline]] static bool is_here(const PythonLayout& layout, const Stack& stack,
                                               std::uint64_t frame) noexcept {
        const KnownFrame* known = stack.innermost;
        do {
            if (!known->is_at(layout, frame)) return false;
            frame = load<std::uint64_t>(frame + layout.frame_previous);
            known = known->outer;
        } while (known->address != 0);
        if ((frame == 0) != (known == KnownFrames::end())) return false;
        return !stack.has_shapes || KnownFrames::shapes_are_same(layout, stack.innermost);
    }

    [[gnu::hot, gnu::noinline]] std::uint32_t find_any(const PythonLayout& layout, std::uint64_t innermost,
                                                       std::uint32_t label) noexcept {
        const MemoTable::Key key = key_of(layout, innermost, label);
        for (std::uint32_t candidates = table_.candidates(key); candidates != 0; candidates &= candidates - 1) {
            const auto& stack = table_.record<Stack>(key, candidates);
            if (stack.label != label || !is_here(layout, stack, innermost)) continue;
            follow(stack);
            return stack.site;
        }
        return no_site;
    }

    void follow(const Stack& stack) noexcept {
        latest_->follower = &stack;
        latest_ = &stack;
    }

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
    KnownFrames frames_;
    Stack nothing_{KnownFrames::nowhere(), &nothing_, 0, no_site, false};  ///< is never here
    const Stack* latest_ = &nothing_;
};

}  // namespace streamsan::recorder::call_sites
