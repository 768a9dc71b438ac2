// What is told of the blocks of PyTorch's allocator, by whichever way they are heard of.
#pragma once
#include <cstdint>

namespace streamsan::recorder::cuda {

/// From here on nothing is told of them, and a line says so; `why` is its end.
void give_up_torch_blocks(const char* why);
/// Whether there is anybody to tell, and anything that may be told.
bool torch_blocks_are_told();

/// A block was allocated for a stream (0: not known), or freed. `size` is what it has, or what was asked for.
void torch_block_allocated(std::uint64_t address, std::uint64_t size, std::uint64_t stream);
void torch_block_freed(std::uint64_t address);
/// Of the bytes of this block nobody knows any more who has them.
void torch_block_untold(std::uint64_t address, std::uint64_t size);

/// Where words about blocks do not say which are a graph's: whether it is too late to listen to them.
bool capture_ends_torch_blocks();

}  // namespace streamsan::recorder::cuda
