// Where CPython keeps its frames: offsets in the structures of the interpreter that is loaded.
#pragma once
#include <cstdint>
#include <optional>

namespace streamsan::recorder::call_sites {

/// Offset of every object's type, after the reference count.
constexpr std::uint64_t object_type = 8;

/// How a code object maps instructions to lines.
enum class LineTable : std::uint8_t {
    increments,  ///< 3.9: pairs of an address increment and a signed line increment (CPython's
                 ///< Objects/lnotab_notes.txt)
    ranges,      ///< 3.10: pairs of a range's length and a signed line increment, -128 for no line (PEP 626, same file)
    locations,   ///< 3.11 and later: one to nine bytes a range, with columns (Objects/locations.md)
};

/// Offsets in bytes. `absent` where a version has no such member.
struct PythonLayout {
    static constexpr std::uint16_t absent = 0xffff;

    void* (*thread_state)() = nullptr;  ///< the calling thread's state, whether or not it holds the GIL
    int (*finalizing)() = nullptr;
    std::uint64_t code_type = 0;  ///< addresses of type objects: what has another type is left alone
    std::uint64_t text_type = 0;
    std::uint64_t bytes_type = 0;

    std::uint16_t state_frame = 0;         ///< thread state: frame, or C frame
    std::uint16_t c_frame_frame = absent;  ///< C frame: frame
    std::uint16_t frame_previous = 0;
    std::uint16_t frame_code = 0;
    std::uint16_t frame_instruction = 0;  ///< pointer (3.11 and later), or int
    std::uint16_t frame_owner = absent;
    std::uint8_t foreign_owner = 3;               ///< owners from here on are no Python function's
    std::uint64_t code_mask = ~std::uint64_t{0};  ///< of the frame's reference to its code

    std::uint16_t code_file = 0;
    std::uint16_t code_name = 0;  ///< qualified where there is one
    std::uint16_t code_first_line = 0;
    std::uint16_t code_lines = 0;
    std::uint16_t code_instructions = absent;     ///< 3.11 and later: the instructions lie in the code object
    std::uint16_t code_first_traceable = absent;  ///< instructions before it are the frame's own preparation
    std::uint16_t code_version = absent;          ///< 4 bytes: the interpreter's number of this code object
    std::uint8_t instruction_scale = 1;           ///< bytes for each unit of an int instruction
    LineTable line_table = LineTable::locations;

    std::uint16_t bytes_size = 16;
    std::uint16_t bytes_data = 32;
    std::uint16_t text_length = 16;
    std::uint16_t text_hash = 24;
    std::uint16_t text_state = 32;
    std::uint8_t text_kind_bit = 2;   ///< in the state word: 3 bits of kind, then compact, then ASCII
    std::uint16_t ascii_size = 48;    ///< characters begin here in ASCII strings
    std::uint16_t compact_size = 72;  ///< and here in others
};

/// The layout for a version of CPython (PY_VERSION_HEX), functions and types not filled in; nothing for unknown
/// versions. `runtime` is the address of _PyRuntime: from 3.13 on, offsets are published at its start.
std::optional<PythonLayout> python_layout(std::uint32_t version, std::uint64_t runtime);

/// The layout of the CPython in this process. Nothing when there is none, or none that can be read.
std::optional<PythonLayout> loaded_python();

}  // namespace streamsan::recorder::call_sites
