// The Python frames of the calling thread, read from the interpreter's memory: no GIL, no lock, no allocation.
#pragma once
#include <cstdint>

#include "recorder/sites/memory_reading.hpp"
#include "recorder/sites/python_layout.hpp"

namespace streamsan::recorder::call_sites {

/// One frame of the interpreter.
struct PythonFrame {
    std::uint64_t address;           ///< of the frame
    std::uint64_t code_word;         ///< the frame's reference to its code, as it is there
    std::uint64_t instruction_word;  ///< and its place in the code
    std::uint64_t code;     ///< address of the code object; 0 for a frame that is no function's, or is still being made
    std::uint32_t version;  ///< what tells the code object from others that had its address: its version,
    std::uint64_t shape;    ///< or its shape where it has none: see below
    std::int64_t offset;    ///< of the instruction, in bytes
};

/// The number that the interpreter gave a code object when it made it, and gives no other (3.12 and later); 0 where
/// there is none: older versions, and when four thousand million were made.
[[gnu::always_inline]] inline std::uint32_t code_version(const PythonLayout& layout, std::uint64_t code) noexcept {
    return layout.code_version != PythonLayout::absent ? load<std::uint32_t>(code + layout.code_version) : 0;
}

/// What tells a code object without a number from one that had its address before. A code object is freed with its
/// function, and a new one may get its address; no reference is taken, for that needs the GIL, and would keep the
/// program's code alive. So keys also have the addresses of the line table and of the file name (objects of other
/// sizes, freed and reused in another order), the first line, and the file name's hash where the interpreter has
/// computed it. Two different codes agree in all of it only if the same source is compiled anew (then the answer is
/// right), or text of the same shape is executed under the same name, such as <string>.
inline std::uint64_t code_shape(const PythonLayout& layout, std::uint64_t code) noexcept {
    const auto file = load<std::uint64_t>(code + layout.code_file);
    const auto lines = load<std::uint64_t>(code + layout.code_lines);
    const auto first_line = load<std::uint32_t>(code + layout.code_first_line);
    const std::uint64_t hash = file != 0 ? load<std::uint64_t>(file + layout.text_hash) : 0;
    return (hash ^ file << 7) + (lines << 20 ^ std::uint64_t{first_line});
}

/// The calling thread's innermost frame, 0 when it runs no Python.
[[gnu::always_inline]] inline std::uint64_t innermost_python_frame(const PythonLayout& layout) noexcept {
    const auto state = reinterpret_cast<std::uint64_t>(layout.thread_state());
    if (state == 0) return 0;
    const std::uint64_t frame = load<std::uint64_t>(state + layout.state_frame);
    if (layout.c_frame_frame == PythonLayout::absent || frame == 0) return frame;
    return load<std::uint64_t>(frame + layout.c_frame_frame);
}

/// Writes the frames from `frame` outwards: at most `all` of them, at most `functions` of functions.
unsigned python_frames(const PythonLayout& layout, std::uint64_t frame, PythonFrame* frames, unsigned all,
                       unsigned functions) noexcept;

}  // namespace streamsan::recorder::call_sites
