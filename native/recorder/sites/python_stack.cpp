#include "recorder/sites/python_stack.hpp"

namespace streamsan::recorder::call_sites {
namespace {

constexpr std::uint8_t owned_by_generator = 1;

/// The code object of a frame that runs a Python function, 0 for others. Sets the offset of the instruction.
std::uint64_t function_code(const PythonLayout& layout, const PythonFrame& frame, std::int64_t& offset) {
    std::uint8_t owner = 0;
    if (layout.frame_owner != PythonLayout::absent) {
        owner = load<std::uint8_t>(frame.address + layout.frame_owner);
        if (owner >= layout.foreign_owner) return 0;
    }
    const std::uint64_t code = frame.code_word & layout.code_mask;
    if (code == 0 || load<std::uint64_t>(code + object_type) != layout.code_type) return 0;
    if (layout.code_instructions == PythonLayout::absent) {
        offset = std::int64_t{static_cast<std::int32_t>(frame.instruction_word)} * layout.instruction_scale;
    } else {
        constexpr std::int64_t instruction_size = 2;
        offset = static_cast<std::int64_t>(frame.instruction_word - (code + layout.code_instructions));
        // Before its first traceable instruction a frame is being made: it is not in tracebacks either.
        if (layout.code_first_traceable != PythonLayout::absent && owner != owned_by_generator &&
            offset < instruction_size * load<std::int32_t>(code + layout.code_first_traceable))
            return 0;
    }
    return offset < 0 ? 0 : code;
}

}  // namespace

unsigned python_frames(const PythonLayout& layout, std::uint64_t frame, PythonFrame* frames, unsigned all,
                       unsigned functions) noexcept {
    unsigned count = 0;
    for (; frame != 0 && count < all && functions > 0; ++count) {
        PythonFrame& next = frames[count];
        next.address = frame;
        next.code_word = load<std::uint64_t>(frame + layout.frame_code);
        next.instruction_word = load<std::uint64_t>(frame + layout.frame_instruction);
        next.offset = 0;
        next.code = function_code(layout, next, next.offset);
        next.version = next.code != 0 ? code_version(layout, next.code) : 0;
        next.shape = next.code != 0 && next.version == 0 ? code_shape(layout, next.code) : 0;
        if (next.code != 0) --functions;
        frame = load<std::uint64_t>(frame + layout.frame_previous);
    }
    return count;
}

}  // namespace streamsan::recorder::call_sites
