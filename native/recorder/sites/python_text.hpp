// Strings and line tables of CPython objects, read from memory.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>

#include "recorder/sites/python_layout.hpp"

namespace streamsan::recorder::call_sites {

/// A place in a source file. 0: not known.
struct PythonPosition {
    std::uint32_t line = 0;
    std::uint32_t column = 0;  ///< from 1, in bytes of UTF-8
};

/// The UTF-8 text of the str object at `address`; empty when it is none, or longer than a path may be.
std::string python_text(const PythonLayout& layout, std::uint64_t address);

/// The same text, written to a place of `room` bytes without taking memory; returns its size, 0 where it has no room.
std::size_t copy_python_text(const PythonLayout& layout, std::uint64_t address, char* place, std::size_t room) noexcept;

/// The position of the instruction at `offset` (bytes from the first) of the code object at `code`.
PythonPosition python_position(const PythonLayout& layout, std::uint64_t code, std::int64_t offset);

/// The same from a line table's bytes.
PythonPosition position_in(LineTable format, std::uint64_t table, std::uint64_t size, std::int32_t first_line,
                           std::int64_t offset);

}  // namespace streamsan::recorder::call_sites
