// Which numbers are addresses of the host's memory.
#pragma once
#include <cstdint>

namespace streamsan::recorder::cuda {

/// Whether a word is, as far as can be told, an address of readable memory of this process: of its heap, a stack, a
/// library. False for numbers that only happen to be as large as the program's own code, or where the kernel does not
/// tell. Asks the kernel: for what is looked at rarely.
bool is_host_address(std::uint64_t word);

}  // namespace streamsan::recorder::cuda
