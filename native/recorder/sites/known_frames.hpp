// Python frames as they were when they were seen. Stacks share those that they have in common.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>

#include "recorder/sites/memory_reading.hpp"
#include "recorder/sites/python_stack.hpp"
#include "recorder/sites/words_hash.hpp"
#include "recorder/sites/zeroed_array.hpp"

namespace streamsan::recorder::call_sites {

/// One frame, in one line of the cache, and the frames around it.
struct alignas(64) KnownFrame {
    std::uint64_t address;
    std::uint64_t instruction_word;
    std::uint64_t code_word;
    std::uint64_t version_at;  ///< where the code object has its version; elsewhere that of no code
    std::uint32_t version;
    bool has_shape;  ///< a function's whose code has no version: then `shape` tells it
    std::uint64_t shape;
    const KnownFrame* outer;

    /// Whether this frame is at `frame` and holds what it held. A code object is read only if the frame still refers to
    /// it: then it is alive.
    [[nodiscard, gnu::always_inline]] bool is_at(const PythonLayout& layout, std::uint64_t frame) const noexcept {
        return frame == address && load<std::uint64_t>(frame + layout.frame_instruction) == instruction_word &&
               load<std::uint64_t>(frame + layout.frame_code) == code_word &&
               load<std::uint32_t>(version_at) == version;
    }
};

/// Frames of one thread's stacks. Frames that are the same, and have the same frames around them, are kept once: a
/// program's outer frames are those of most of its calls, and stay in the nearest cache.
class KnownFrames {
public:
    /// Behind the outermost frame of a stack: there are no more, or more than were looked at.
    [[nodiscard]] static const KnownFrame* end() noexcept { return &ends_[0]; }
    [[nodiscard]] static const KnownFrame* more() noexcept { return &ends_[1]; }
    /// One that no frame is.
    [[nodiscard]] static const KnownFrame* nowhere() noexcept { return &nowhere_; }

    /// Whether so many further frames can be known. Else `clear` first.
    [[nodiscard]] bool has_room(std::size_t count) const noexcept { return used_ + count <= frames_at_most; }

    /// The one that is like `frame` within `outer`; there is room.
    const KnownFrame* known(const PythonLayout& layout, const PythonFrame& frame, const KnownFrame* outer) noexcept {
        const bool has_version = frame.version != 0;
        const KnownFrame wanted{
            frame.address,
            frame.instruction_word,
            frame.code_word,
            has_version ? frame.code + layout.code_version : reinterpret_cast<std::uint64_t>(&version_of_no_code),
            frame.version,
            frame.code != 0 && !has_version,
            frame.shape,
            outer};
        std::uint64_t hash = WordsHash::longer(wanted.address, wanted.instruction_word);
        for (const std::uint64_t word :
             {wanted.code_word, std::uint64_t{wanted.version}, wanted.shape, reinterpret_cast<std::uint64_t>(outer)})
            hash = WordsHash::longer(hash, word);
        for (std::size_t at = hash % places;; at = (at + 1) % places) {
            const std::uint16_t number = numbers_[at];
            if (number == 0) {
                KnownFrame& made = frames_[used_++] = wanted;
                numbers_[at] = static_cast<std::uint16_t>(used_);
                return &made;
            }
            if (const KnownFrame& found = frames_[number - 1]; is_same(found, wanted)) return &found;
        }
    }

    /// Whether the code objects of a stack whose frames are as they were have the shapes that they had.
    [[nodiscard]] static bool shapes_are_same(const PythonLayout& layout, const KnownFrame* frame) noexcept {
        for (; frame->address != 0; frame = frame->outer)
            if (frame->has_shape && code_shape(layout, frame->code_word & layout.code_mask) != frame->shape)
                return false;
        return true;
    }

    void clear() noexcept {
        if (used_ != 0) std::memset(numbers_.get(), 0, places * sizeof(std::uint16_t));
        used_ = 0;
    }

private:
    static constexpr std::size_t frames_at_most = 4096;
    static constexpr std::size_t places = 2 * frames_at_most;
    static constexpr std::uint32_t version_of_no_code = 0;
    static constexpr KnownFrame ends_[2]{};
    static constexpr KnownFrame nowhere_{1, 0, 0, 0, 0, false, 0, &ends_[0]};

    static bool is_same(const KnownFrame& one, const KnownFrame& other) noexcept {
        return one.address == other.address && one.instruction_word == other.instruction_word &&
               one.code_word == other.code_word && one.version_at == other.version_at && one.version == other.version &&
               one.has_shape == other.has_shape && one.shape == other.shape && one.outer == other.outer;
    }

    ZeroedArray<KnownFrame> frames_{frames_at_most};
    ZeroedArray<std::uint16_t> numbers_{places};  ///< of frames, from 1, where their hash leads
    std::size_t used_ = 0;
};

}  // namespace streamsan::recorder::call_sites
