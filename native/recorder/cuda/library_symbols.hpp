// Functions and tables of a library that it does not offer to others: as its file names them, where it was not
// stripped.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace streamsan::recorder::cuda {

/// Calls `found(name, value)` for each named function and object of an ELF file for this machine, in `.symtab` where it
/// has one, else in `.dynsym`; `value` is the address as in the file. False where it is no such file, or damaged.
bool symbols_of_library(const std::string& path,
                        const std::function<void(std::string_view name, std::uint64_t value)>& found);

}  // namespace streamsan::recorder::cuda
