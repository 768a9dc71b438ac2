// Where a thread was, kept as it was: for moments in which nothing can be looked up.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>

#include "recorder/sites/native_stack.hpp"

namespace streamsan::recorder::call_sites {

/// A copy of the innermost part of a stack, and what Python's frames say of themselves. Text is copied: a code object
/// may be gone when the note is read.
struct StackNote {
    struct PythonPlace {
        std::uint32_t line;
        std::uint32_t column;
        std::uint16_t file;  ///< where its text begins
        std::uint16_t file_size;
        std::uint16_t function;
        std::uint16_t function_size;
    };
    static constexpr std::size_t most_bytes = 16384;

    StackStart start;
    std::uint64_t low = 0;    ///< address of the copy's first byte
    std::uint32_t bytes = 0;  ///< of the copy
    std::uint32_t python_count = 0;
    std::array<PythonPlace, 12> python;  ///< innermost first
    std::array<char, 2560> text;
    alignas(16) std::array<std::byte, most_bytes> stack;
};

}  // namespace streamsan::recorder::call_sites
